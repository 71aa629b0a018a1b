"""CONF-1: settings are checked, with file and line, and `config show` says where each comes from."""

import os

import pytest


def setting(fleet, name: str) -> dict:
    [found] = [each for each in fleet.ask("config", "show") if each["name"] == name]
    return found


@pytest.mark.req("CONF-1")
def test_config_show_says_where_each_value_comes_from(fleet):
    (fleet.home / "config.toml").write_text('# mine\n\nkeep_operations = "30d"\n')
    (fleet.where / "fleet.toml").write_text('[task]\n# slow\nverify = "make test"\n\npriority = 3\n')
    fleet("trust", "--yes").ok()
    assert setting(fleet, "keep_operations")["source"] == f"{fleet.home}/config.toml:3"
    assert (setting(fleet, "task.verify")["value"], setting(fleet, "task.priority")["value"]) == ("make test", 3)
    assert setting(fleet, "task.verify")["source"] == f"{fleet.where}/fleet.toml:3"
    assert setting(fleet, "task.priority")["source"] == f"{fleet.where}/fleet.toml:5"
    assert setting(fleet, "store")["source"] == "default"
    page = fleet("config", "show").ok().out
    assert page.splitlines()[0].split() == ["SETTING", "VALUE", "FROM", "WHAT", "IT", "IS"]
    assert f"keep_operations 30d {fleet.home}/config.toml:3" in " ".join(page.split())


@pytest.mark.req("CONF-1")
def test_outside_a_project_only_the_operators_own_are_shown_with_defaults_for_the_rest(fleet, tmp_path):
    (fleet.where / "fleet.toml").write_text("[task]\npriority = 3\n")
    assert [
        each["value"] for each in fleet.ask("config", "show", where=tmp_path) if each["name"] == "task.priority"
    ] == [0]
    assert [
        each["value"]
        for each in fleet.ask("config", "show", "-p", "web", where=tmp_path)
        if each["name"] == "task.priority"
    ] == [3]


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('\n\nstore_wait = "x"\n', 3, ["store_wait is 'x'", "seconds"]),
        ("store_wait = 0\n", 1, ["store_wait", "more than 0"]),
        ('# x\nstore = "mysql://x"\n', 2, ["store is 'mysql://x'", "postgresql://"]),
        ('keep_operations = "soon"\n', 1, ["keep_operations", "90d"]),
        ("\nstorewait = 3\n", 2, ["unknown setting 'storewait'", "did you mean 'store_wait'?"]),
        ('\n\n[task]\nverify = "x"\n', 4, ["unknown setting 'task.verify'", "fleet.toml"]),
        ("xyzzy = 1\n", 1, ["unknown setting 'xyzzy'", "fleet config show"]),
        ("\nstore = \n", 2, ["toml.io"]),
        ("a = 1\na = 2\n", 2, ["toml.io"]),
        ("[store\n", 1, ["toml.io"]),
        ("\n\n[[keep_operations]]\nx = 1\n", 3, ["keep_operations"]),
    ],
    ids=lambda value: repr(value) if isinstance(value, str) else "",
)
def test_a_mistake_in_the_operators_file_is_told_with_file_and_line(text, line, told, fleet):
    (fleet.home / "config.toml").write_text(text)
    fleet("config", "show").refused(2, f"{fleet.home}/config.toml:{line}: ", *told)


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("[task]\n\npriority = 5000\n", 3, ["task.priority is 5000", "-1000 to 1000"]),
        ("task.prio = 1\n", 1, ["'task.prio'", "did you mean 'task.priority'?"]),
        ('\n[tasks]\nverify = "x"\n', 3, ["'tasks.verify'", "did you mean 'task.verify'?"]),
        ("\n\ntask = { priority = true }\n", 3, ["task.priority is True"]),
        ("\ntask = 5\n", 2, ["'task'"]),
        ('\nstore = "sqlite"\n', 2, ["'store'", "config.toml"]),
        ('[task]\nengine = "Claude Code"\n', 2, ["task.engine", "Claude Code"]),
        ('[task]\nverify = "a\\nb"\n', 2, ["task.verify", "one line"]),
    ],
    ids=lambda value: repr(value) if isinstance(value, str) else "",
)
def test_a_mistake_in_a_projects_file_is_told_with_file_and_line_wherever_it_matters(text, line, told, fleet):
    (fleet.where / "fleet.toml").write_text(text)
    for words in (["config", "show"], ["task", "add", "X"]):
        fleet(*words).refused(2, f"{fleet.where}/fleet.toml:{line}: ", *told)
    assert fleet.ask("task", "list") == []


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize("text", ['stroe = "postgresql:///fleet"\n', 'Store = "postgresql:///fleet"\n', "[sqlite]\n"])
@pytest.mark.alone("a daemon has read the file before, and goes on with its store")
def test_no_command_works_on_while_the_operators_file_holds_an_unknown_key(text, fleet):
    """A misspelt `store` must not let agents write into another store than the one that was meant."""
    fleet.add("a")
    (fleet.home / "config.toml").write_text(text)
    for words in (["task", "log", "a", "hi"], ["task", "list"], ["status"]):
        fleet(*words).refused(2, f"{fleet.home}/config.toml:1: ", "unknown setting")
    (fleet.home / "config.toml").unlink()
    assert fleet.show("a")["log"] == [], "nothing was written, wherever"


@pytest.mark.req("CONF-1")
def test_a_file_that_is_no_utf_8_is_named(fleet):
    (fleet.home / "config.toml").write_bytes(b"# caf\xe9\n")
    fleet("config", "show").refused(2, f"{fleet.home}/config.toml:1", "UTF-8")


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize("what", ["endless", "pipe", "folder", "huge"])
def test_a_projects_file_that_is_no_file_of_settings_is_named_and_holds_nothing_else_up(what, fleet):
    path = fleet.where / "fleet.toml"
    if what == "endless":
        path.symlink_to("/dev/zero")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        path.write_text("#" * 1_000_001)
    why = "larger than 1 MB" if what == "huge" else "not a regular file"
    fleet("config", "show").refused(2, f"{path}:1: ", why)
    assert why in fleet("status").ok().out
    fleet("task", "list").ok()


@pytest.mark.req("CONF-1")
def test_a_projects_file_may_be_a_link_to_a_file(fleet):
    (fleet.where / "shared.toml").write_text("[task]\r\npriority = 7\r\n")
    (fleet.where / "fleet.toml").symlink_to("shared.toml")
    assert setting(fleet, "task.priority")["value"] == 7


def test_a_password_in_the_stores_address_is_not_shown(either, store_url_kind):
    if store_url_kind == "postgres":
        config = either.home / "config.toml"
        config.write_text(config.read_text().replace("fleet@", "fleet:secret@"))
    assert "secret" not in either("config", "show").ok().out
    assert "secret" not in either("config", "show", "--json").ok().out


def test_an_empty_file_sets_nothing(fleet):
    (fleet.home / "config.toml").write_text("")
    (fleet.where / "fleet.toml").write_text("# nothing yet\n")
    assert {each["source"] for each in fleet.ask("config", "show")} == {"default"}


@pytest.mark.req("TUI-2")
def test_a_wrong_key_of_the_screen_is_named_and_stops_no_other_command(fleet):
    (fleet.home / "config.toml").write_text('[keys]\nhelp = "H"\nkill = "y"\n')
    assert fleet("status").code == 0
    why = f"{fleet.home}/config.toml:3: keys: 'y' is both approve and kill"
    assert why in fleet("config", "show").out
    assert [each["wrong"] for each in fleet("config", "show", "--json").json if each["wrong"]] == [why]
    found = [each for each in fleet("doctor", "--json").json if each["about"] == "keys"]
    assert [(each["ok"], each["says"]) for each in found] == [(False, why)]

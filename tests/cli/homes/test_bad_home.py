"""Bad luck with the fleet home: each is one clear line with what to do, and nothing half-written."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from cli.commandline import FLEET

COMMANDS = [["task", "log", "a", "hi"], ["task", "add", "More"], ["status"], ["init"]]
each_command = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
WITHOUT_POWERS = ("no-root-powers",)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def used(fleet):
    """A home that has been worked with."""
    fleet.add("a")
    return fleet


@pytest.mark.req("STORE-15")
@each_command
def test_a_home_that_is_a_file_is_left_alone(words, program, tmp_path):
    file = tmp_path / "file"
    file.write_text("precious")
    answer = program(*words, env={"FLEET_HOME": str(file)})
    answer.refused(1, str(file), "not a directory", "FLEET_HOME")
    assert file.read_text() == "precious"


def test_a_home_below_a_file_cannot_be_made(program, tmp_path):
    (tmp_path / "file").write_text("precious")
    program("status", env={"FLEET_HOME": str(tmp_path / "file" / "home")}).refused(1, "not a directory", "FLEET_HOME")


@pytest.mark.parametrize("place", ["/proc/fleet", "/sys/fleet", "/dev/null/fleet"])
def test_a_home_where_none_can_be_made_is_refused(place, program):
    program("status", env={"FLEET_HOME": place}).refused(1, place, "FLEET_HOME")


@pytest.mark.req("STORE-10")
@each_command
def test_a_home_that_may_not_be_written_to_is_refused(words, used, program):
    before = contents(used.home)
    used.home.chmod(0o500)
    try:
        program(*words, under=WITHOUT_POWERS).refused(1, str(used.home), "cannot be written to", "FLEET_HOME")
    finally:
        used.home.chmod(0o700)
    assert contents(used.home) == before


@pytest.mark.req("STORE-10", "STORE-15")
def test_a_database_that_may_not_be_written_to_is_an_error_and_stays_as_it_is(used, program):
    database = used.home / "fleet.db"
    before = database.read_bytes()
    database.chmod(0o400)
    answer = program("task", "log", "a", "hi", under=WITHOUT_POWERS)
    answer.refused(1, str(database), "nothing was changed")
    assert database.read_bytes() == before
    database.chmod(0o600)
    assert used.show("a")["log"] == []


@pytest.mark.req("STORE-15")
def test_a_database_that_may_not_be_read_is_an_error(used, program):
    database = used.home / "fleet.db"
    before = database.read_bytes()
    database.chmod(0)
    program("task", "list", under=WITHOUT_POWERS).refused(1, str(database))
    program("task", "log", "a", "hi", under=WITHOUT_POWERS).refused(1, str(database))
    database.chmod(0o600)
    assert database.read_bytes() == before
    assert used.show("a")["log"] == []


def test_a_configuration_that_may_not_be_read_is_an_error(used, program):
    config = used.home / "config.toml"
    config.write_text('store = "sqlite"\n')
    config.chmod(0)
    program("task", "log", "a", "hi", under=WITHOUT_POWERS).refused(2, str(config), "permission")


def test_a_configuration_that_is_a_directory_is_an_error(used, program):
    (used.home / "config.toml").mkdir()
    program("task", "log", "a", "hi").refused(2, str(used.home / "config.toml"), "not a regular file")


def test_a_home_is_made_private_with_all_that_is_missing_above_it(program, tmp_path):
    home = tmp_path / "deep" / "down" / "home"
    assert program("status", env={"FLEET_HOME": str(home)}).ok()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for path in home.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_relative_home_and_one_with_signs_that_mean_something_in_addresses_work(program, tmp_path):
    for name in ("home?mode=ro", "100%25#", "with blank", "naïve"):
        assert program("status", env={"FLEET_HOME": name}, where=tmp_path).ok()
        assert (tmp_path / name / "fleet.db").is_file()


def test_a_home_of_somebody_else_is_refused(used, program, monkeypatch):
    if os.geteuid() != 0:
        program("status", env={"FLEET_HOME": "/"}).refused(1, "/", "FLEET_HOME")
        return
    os.chown(used.home, 12345, 12345)
    program("status").refused(1, "belongs to user 12345", "FLEET_HOME")


def test_a_current_directory_that_was_removed_is_no_traceback(used, program, tmp_path):
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    for words, code in ((["task", "list"], 2), (["task", "list", "-p", "web"], 0), (["log", "hi"], 2)):
        gone = tmp_path / "gone"
        gone.mkdir()
        command = ["sh", "-c", script, "sh", gone, FLEET, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done


@pytest.mark.req("STORE-10")
@pytest.mark.parametrize(
    "words", [["task", "log", "a", "x" * 60_000], ["task", "add", "Big", "-d", "x" * 100_000]], ids=["log", "add"]
)
def test_a_full_disk_is_an_error_and_leaves_what_was(words, used, program):
    before = used.everything()
    answer = program(*words, under=("file-size=40000",))
    answer.refused(1, "nothing was changed", "fleet.db", "space")
    assert used.everything() == before
    assert [found["ok"] for found in used("doctor", "--json").json if found["about"] == "store"] == [True]
    assert program(*words).ok()


@pytest.mark.req("STORE-10")
@pytest.mark.parametrize("size", [0, 10, 4_096, 40_000, 100_000])
def test_a_disk_too_full_for_a_new_home_is_an_error_and_the_next_try_succeeds(size, program):
    answer = program("init", "--json", under=(f"file-size={size}",))
    answer.refused(1, "space")
    assert json.loads(answer.out)["error"]["code"] == 1
    assert not (program.home / "fleet.db").exists()
    assert program("init").ok()


def test_an_export_that_fails_leaves_the_old_file(used, program, tmp_path):
    target = tmp_path / "tasks.jsonl"
    target.write_text("precious")
    program("task", "export", "-p", "nope", "-o", str(target)).refused(11, "nope")
    assert target.read_text() == "precious"
    used("task", "add", "Big", "-d", "x" * 50_000).ok()
    answer = program("task", "export", "-o", str(target), under=("file-size=40000",))
    assert (answer.code, "Traceback" in answer.err) == (1, False), answer
    assert target.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "tasks.jsonl", "web"]

"""CONF-1, as a function: text in, values with their lines out."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors.given import BadSetting
from fleet.model.settings.document import read
from fleet.model.settings.setting_names import HOME_FILE
from fleet.model.settings.table import PROJECT_FILE, SETTINGS, merged

EXAMPLES = {
    str: [
        '"7d"',
        '"none"',
        '"make test"',
        '"sqlite"',
        '"full"',
        '"any"',
        '"person"',
        '"pr"',
        '"5GB"',
        '"always"',
        '"checkout"',
        '"down"',
        '"never"',
        '"22:00-07:00"',
        '"socket"',
        '"bwrap"',
        '"act"',
        '"light"',
    ],
    list: [
        '["needs you", "failed"]',
        '["desktop"]',
        '["ntfy://my-topic"]',
        '["node_modules", "*.pyc"]',
        '["npm test"]',
        '["GH_TOKEN"]',
        '["~/.cache/uv"]',
    ],
    bool: ["true"],
    int: ["3", "3000"],
    float: ["2.5"],
    dict: ['{kill = "X"}'],
}


def example(setting) -> str:
    """Some text that the setting accepts."""
    for texts in EXAMPLES.values():
        for text in texts:
            if setting.kind.accepts(tomllib.loads(f"x = {text}")["x"]):
                return text
    raise AssertionError(setting.name)


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_typed_has_help_and_a_default_that_it_accepts(setting):
    assert setting.help
    assert setting.kind.expects
    assert setting.default is None or setting.kind.accepts(setting.default)
    assert setting.file in {HOME_FILE, PROJECT_FILE}
    assert not setting.kind.accepts(object())
    assert not setting.kind.accepts([]) or isinstance(setting.default, list)
    assert not setting.kind.accepts([1])
    assert not setting.kind.accepts(True) or isinstance(setting.default, bool)  # noqa: FBT003


@pytest.mark.req("CONF-1")
def test_names_are_unique_and_the_defaults_are_all_there():
    names = [setting.name for setting in SETTINGS]
    assert len(set(names)) == len(names)
    assert [value.name for value in merged().values()] == names
    assert {value.source for value in merged().values()} == {"default"}


@pytest.mark.req("CONF-1")
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_value_knows_its_line_however_the_file_is_laid_out(data):
    file = data.draw(st.sampled_from([HOME_FILE, PROJECT_FILE]))
    chosen = data.draw(st.lists(st.sampled_from([each for each in SETTINGS if each.file == file]), unique=True))
    lines, expected = [], {}
    for setting in sorted(chosen, key=lambda setting: "." in setting.name):  # what stands in a table comes last
        lines += data.draw(st.lists(st.sampled_from(["", "# store = 1", "   ", "# [task]"]), max_size=2))
        table, _, key = setting.name.rpartition(".")
        if table:
            if f"[{table}]" in lines and lines[len(lines) - 1 - lines[::-1].index(f"[{table}]")] != current(lines):
                continue
            if current(lines) != f"[{table}]":
                lines.append(f"[{table}]")
        spaces = data.draw(st.sampled_from(["", "  "]))
        lines.append(f"{spaces}{key}{spaces} ={spaces} {example(setting)}  # so")
        expected[setting.name] = f"the file:{len(lines)}"
    found = read("the file", "\n".join(lines), file)
    assert {name: value.source for name, value in found.items()} == expected


def current(lines: list[str]) -> str:
    return next((line for line in reversed(lines) if line.startswith("[")), "")


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("task.priority = 'x'", 1),
        ("\n\ntask.priority = 'x'", 3),
        ("[task]\npriority = 'x'", 2),
        ("[ task ]\n\n priority='x'", 3),
        ('["task"]\n"priority" = 1.5', 2),
        ("\n\ntask = {priority = 'x'}", 3),
    ],
)
def test_a_mistake_is_told_with_its_line(text, line):
    with pytest.raises(BadSetting) as refused:
        read("fleet.toml", text, PROJECT_FILE)
    assert refused.value.facts["line"] == line


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[task]\npriority = 2", "config.toml:2: unknown setting 'task.priority' in this file"),
        (
            "store = 'mysql://ada:secret@there/db'",
            "config.toml:1: store is 'mysql://…@there/db', but should be 'sqlite' or",
        ),
        ("a" + ".a" * 150 + " = 1", "config.toml:1: it is nested too deep"),
    ],
    ids=["of the other file", "a password", "nested"],
)
def test_a_mistake_is_told_in_words(text, told):
    with pytest.raises(BadSetting) as refused:
        read("config.toml", text, HOME_FILE)
    assert str(refused.value).startswith(told)
    assert ("fleet.toml" in refused.value.facts["advice"]) == ("task" in text)


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize("name", ["store", "store_wait", "keep_operations"])
@given(data=st.data())
def test_a_key_with_one_slip_of_the_finger_suggests_the_right_one(name, data):
    place = data.draw(st.integers(0, len(name) - 1))
    slip = data.draw(st.sampled_from([name[:place] + name[place + 1 :], name[:place] + "x" + name[place:]]))
    if slip in {setting.name for setting in SETTINGS}:
        return
    with pytest.raises(BadSetting) as refused:
        read("config.toml", f"{slip} = 1", HOME_FILE)
    assert refused.value.facts["advice"].startswith("did you mean '")


@given(text=st.text(max_size=60))
def test_whatever_a_file_holds_the_answer_is_values_or_a_line(text):
    lines = []
    try:
        read("config.toml", text, HOME_FILE)
    except BadSetting as error:
        lines.append(error.facts["line"])
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize("text", ['["*"]', '["/"]', '[""]', "[1]", '"node_modules"'])
def test_what_is_disposable_is_a_list_of_names_and_never_everything(text):
    with pytest.raises(BadSetting, match=r"worktree\.disposable"):
        read("fleet.toml", f"[worktree]\ndisposable = {text}", PROJECT_FILE)


@pytest.mark.parametrize("text", ['"5"', '"GB"', '"5XB"', '"-1GB"', "5"])
def test_a_size_has_a_number_and_a_unit(text):
    with pytest.raises(BadSetting, match=r"trash\.limit"):
        read("config.toml", f"[trash]\nlimit = {text}", HOME_FILE)


@pytest.mark.parametrize(
    ("text", "accepted"), [("0s", True), ("10s", True), ("0m", False), ("-1s", False), ("", False)]
)
def test_a_task_may_rest_for_no_time_after_a_failed_start(text, accepted):
    (setting,) = [each for each in SETTINGS if each.name == "spawn_cooldown"]
    assert setting.kind.accepts(text) == accepted


@pytest.mark.parametrize(
    ("text", "accepted"),
    [("mine", True), ("'my program' --flag", True), ("mine 'y", False), ('mine "y', False), ("mine \\", False)],
)
def test_a_command_that_is_split_into_words_has_every_quote_closed(text, accepted):
    lines = f"[pr]\ncommand = {json.dumps(text)}\n"
    if accepted:
        assert read("fleet.toml", lines, PROJECT_FILE)["pr.command"].value == text
    else:
        with pytest.raises(BadSetting, match="every quote is closed"):
            read("fleet.toml", lines, PROJECT_FILE)

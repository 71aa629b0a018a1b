"""The keys of the screen: no clashes by default, and none that the settings could make."""

from pathlib import Path

import pytest

from fleet import errors
from fleet.model.settings import document, keys


@pytest.mark.req("TUI-2")
def test_no_two_acts_of_one_place_have_a_key():
    assert not list(keys.key_faults({}))
    assert len({act.name for act in keys.ACTS}) == len(keys.ACTS)
    assert all(keys.is_key(key) for act in keys.ACTS for key in act.keys)
    assert all(act.help.endswith(".") for act in keys.ACTS)


@pytest.mark.req("TUI-2")
def test_the_keys_that_people_know_are_those_of_the_acts():
    known = {
        "attach": "enter o", "coordinator": "a", "new": "n", "run": "N", "dispatch": "d", "approve": "y", "deny": "!",
        "review": "R", "comment": "c", "message": "m", "hand-off": "h", "resume": "r", "kill": "x", "merge": "M", "land": "L",
        "next": "space", "tab": "tab", "filter": "/", "graph": "g", "timeline": "t", "sweep": "s", "palette": ":", "help": "?",
        "quit": "q ctrl+c", "down": "j down", "up": "k up",
    }  # fmt: skip
    assert {name: " ".join(keys.keys_in_force({})[name]) for name in known} == known


@pytest.mark.req("TUI-2")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('kill = "j"', "'j' is both down and kill"),
        ('kil = "X"', "there is no act 'kil'; did you mean 'kill'?"),
        ('zzz = "X"', "there is no act 'zzz'; there are down, up, first"),
        ('kill = "hyper+x"', "kill: there is no key 'hyper+x'"),
        ('kill = "1"', "kill: 1 chooses an answer"),
        ("kill = 3", "kill needs a text with one key or several, like 'x'"),
        ('kill = ""', "kill needs a text with one key or several, like 'x'"),
        ('accept = "S"', "'S' is both accept and send-back"),
        ('kill = "escape"', "kill: escape always ends the filter"),
    ],
)
def test_a_wrong_key_is_named_with_its_line_and_no_other_setting_is_refused(text, why):
    read = document.read("config.toml", f'[keys]\nhelp = "H"\n{text}\n[screen]\ntheme = "light"\n', "config.toml")
    assert read["keys"].wrong.startswith(f"config.toml:3: keys: {why}")
    assert read["screen.theme"].value == "light"


@pytest.mark.req("TUI-2")
def test_each_wrong_key_is_named_and_escape_is_free_in_a_review():
    read = document.read("config.toml", '[keys]\nkill = "y"\nnew = "2"\nclose = "escape Q"\n', "config.toml")
    assert [line.split(":")[1] for line in read["keys"].wrong.splitlines()] == ["3", "2"]
    assert document.read("config.toml", '[keys]\nkill = "X"\n', "config.toml")["keys"].wrong == ""


def test_keys_that_are_no_table_are_refused():
    with pytest.raises(errors.BadSetting, match="keys is 3"):
        document.read("config.toml", "keys = 3\n", "config.toml")


def test_a_key_that_is_free_is_taken_and_the_old_one_is_free():
    read = document.read("config.toml", '[keys]\nkill = "X ctrl+k"\nnew = "x"\n', "config.toml")
    force = keys.keys_in_force(read["keys"].value)
    assert (force["kill"], force["new"]) == (("X", "ctrl+k"), ("x",))


@pytest.mark.req("TUI-2")
@pytest.mark.parametrize("wrong", ['kill = "hyper+x"', "kill = 3", 'kil = "X"', 'merge = "j"', 'land = ""'])
def test_a_wrong_key_leaves_out_only_itself(wrong):
    read = document.read("config.toml", f'[keys]\napprove = "Y"\n{wrong}\n', "config.toml")["keys"]
    assert read.wrong
    force = keys.keys_in_force(read.value)
    assert force["approve"] == ("Y",)
    assert {name: force[name] for name in force if name != "approve"} == {
        act.name: act.keys for act in keys.ACTS if act.name != "approve"
    }


@pytest.mark.req("TUI-2")
@pytest.mark.parametrize("wrong", ["hyper+q", "", "1", "j", 3])
def test_a_key_that_was_given_to_another_act_does_not_come_back_when_the_entry_of_its_own_act_is_wrong(wrong):
    given = {"approve": wrong, "message": "y"}
    assert {name for name, _why in keys.key_faults(given)} == {"approve"}
    force = keys.keys_in_force(given)
    assert (force["approve"], force["message"]) == ((), ("y",))


@pytest.mark.req("TUI-2")
def test_a_key_that_became_a_default_one_loses_its_entry_and_no_other():
    force = keys.keys_in_force({"kill": ">", "new": "x", "help": "H"})
    assert (force["scroll-right"], force["kill"], force["new"], force["help"]) == ((">",), (), ("x",), ("H",))


def test_a_key_may_mean_one_thing_on_the_board_and_another_in_a_review():
    assert not list(keys.key_faults({"accept": "x"}))


def test_the_page_of_keys_lists_every_act_with_its_keys():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "keys.md").read_text()
    rows = [f"| {act.name} | {' '.join(f'`{key}`' for key in act.keys)} | {act.help} |" for act in keys.ACTS]
    assert [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| act ")] == rows

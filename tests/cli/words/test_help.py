"""Every command explains itself."""

import click
import pytest
from cli.commands import ALL, COMMANDS, WITHOUT_JSON, is_group

from fleet.model import VERSION
from fleet.surfaces.cli.app import root
from fleet.surfaces.cli.table import SECTIONS

DESIGNED = """init status ops doctor log done fail block artifact, project add, project list, project show, project remove,
task add, task edit, task claim, task unclaim, task done, task fail, task block, task retry, task abandon, task pause,
task log, task artifact, task archive, task show, task list, task ready, task why, task graph, task watch, task import,
task export"""


def test_every_command_of_the_design_is_there():
    single, *others = (words.split() for words in DESIGNED.split(","))
    assert {*((word,) for word in single), *map(tuple, others)} <= set(COMMANDS)


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_help_shows_examples_and_needs_no_home(words, nowhere):
    answer = nowhere(*words, "--help").ok()
    assert answer.out.startswith(f"Usage: fleet {' '.join(words)}")
    assert is_group(words) or "Examples:" in answer.out
    assert f"fleet {' '.join(words)}" in answer.out.split("\n\n", 1)[1]
    assert not nowhere.home.exists()


@pytest.mark.req("GRAPH-1")
@pytest.mark.parametrize("words", [path for path in COMMANDS if path not in WITHOUT_JSON], ids=" ".join)
def test_every_command_takes_json(words, nowhere):
    assert "--json" in nowhere(*words, "--help").ok().out


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_is_explained_in_plain_words(words):
    command, context = root, click.Context(root)
    for word in words:
        command = command.get_command(context, word)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert parameter.help, parameter.name


def test_fleet_alone_shows_every_command_with_its_summary(nowhere):
    page = " ".join(nowhere().ok().out.split())
    for _title, entries in SECTIONS:
        for entry in entries:
            assert f" {entry.name} {entry.summary}" in page


@pytest.mark.parametrize("group", [path for path in ALL if is_group(path)], ids=" ".join)
def test_a_group_alone_shows_its_commands(group, nowhere):
    """As `fleet` alone does. The exit code may be that of a usage error, but the page is for reading."""
    answer = nowhere(*group)
    page = answer.out or answer.err
    assert page.count("\n") > 5, page
    assert "Commands:\n" in page


@pytest.mark.parametrize("words", [("task",), ("task", "log"), ("log",), ("ops",)], ids=" ".join)
def test_help_has_a_short_name(words, nowhere):
    assert nowhere(*words, "-h").ok().out == nowhere(*words, "--help").ok().out


def test_the_version_is_told(nowhere):
    assert nowhere("--version").ok().out == f"fleet {VERSION}\n"
    assert nowhere("-V").ok().out == f"fleet {VERSION}\n"


def test_an_example_of_every_command_is_one_that_fleet_understands():
    """Whatever `fleet …` an example shows, its words lead to a command that is there."""
    for words in COMMANDS:
        command, context = root, click.Context(root)
        for word in words:
            command = command.get_command(context, word)
        for line in (command.help or "").splitlines():
            if line.strip().startswith("fleet "):
                named = tuple(line.split()[1:4])
                assert any(named[:count] in COMMANDS for count in (1, 2, 3)), line

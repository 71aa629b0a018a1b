"""The shell completes commands, options, projects and slugs."""

import subprocess

import pytest


def complete(program, *words: str, shell: str = "bash") -> list[str]:
    """What the shell is offered for the last word."""
    env = {
        "_FLEET_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(["fleet", *words]),
        "COMP_CWORD": str(len(words)),
    }
    answer = program(env=env).ok()
    return [line.partition(",")[2] for line in answer.out.split()]


@pytest.fixture
def three(fleet, program):
    for slug in ("parser", "parrot", "tests"):
        fleet.add(slug)
    return program


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_calls_fleet(shell, fleet):
    script = fleet("completion", shell).ok().out
    assert f"_FLEET_COMPLETE={shell}_complete" in script


def test_the_script_of_bash_is_one_that_bash_understands(fleet):
    script = fleet("completion", "bash").ok().out
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_another_shell_is_a_mistake_that_lists_those_there_are(fleet):
    fleet("completion", "tcsh").refused(2, "tcsh", "bash", "zsh", "fish")
    fleet("completion").refused(2, "bash", "zsh", "fish")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["task", "show", "par"], ["parrot", "parser"]),
        (["task", "log", "t"], ["tests"]),
        (["task", "claim", ""], ["parrot", "parser", "tests"]),
        (["task", "add", "x", "--after", "pars"], ["parser"]),
        (["task", "show", "-p", "w"], ["web"]),
        (["project", "show", ""], ["web"]),
        (["task", "cl"], ["claim"]),
        (["stat"], ["status"]),
        (["task", "list", "--sta"], ["--status"]),
        (["task", "list", "--status", "do"], ["done"]),
        (["task", "show", "zzz"], []),
    ],
    ids=lambda value: " ".join(value) or "nothing",
)
def test_words_are_completed(words, offered, three):
    assert complete(three, *words) == offered


def test_slugs_of_a_named_project_are_completed_elsewhere_too(three, tmp_path):
    env = {"_FLEET_COMPLETE": "bash_complete", "COMP_WORDS": "fleet task show -p web te", "COMP_CWORD": "5"}
    assert three(env=env, where=tmp_path).ok().out.split() == ["plain,tests"]


def test_titles_are_shown_where_the_shell_can(three):
    env = {"_FLEET_COMPLETE": "zsh_complete", "COMP_WORDS": "fleet task show te", "COMP_CWORD": "3"}
    assert three(env=env).ok().out.split("\n")[:3] == ["plain", "tests", "The tests"]


def test_where_nothing_can_be_completed_there_is_silence(program, tmp_path):
    """No project, a broken home: the shell shows no error in the middle of a line."""
    assert complete(program, "task", "show", "x") == []
    (tmp_path / "home" / "fleet.db").write_bytes(b"garbage" * 1_000)
    assert complete(program, "task", "show", "x") == []

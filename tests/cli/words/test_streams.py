"""Pipes that close, files that are full, and streams that are not there."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from cli.commandline import FLEET


@pytest.fixture
def many(fleet):
    """More tasks than a pipe holds."""
    title = "x" * 200
    lines = "".join(f'{{"slug": "t{n:04d}", "title": "{title}"}}\n' for n in range(1_000))
    fleet("task", "import", "-", stdin=lines.encode()).ok()
    return fleet


def shell(script: str, program) -> "subprocess.CompletedProcess[str]":
    around = {**os.environ, "FLEET_HOME": str(program.home), "FLEET": str(FLEET)}
    return subprocess.run(
        ["bash", "-c", script], env=around, cwd=program.where, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "words",
    [
        "task list",
        "task list --json",
        "task ready",
        "task graph",
        "task graph --dot",
        "task export",
    ],
)
def test_a_closed_pipe_is_no_error(words, many, program):
    """`fleet task list | head -1`: a line, no word on stderr, and no failure even under pipefail."""
    done = shell(f'set -o pipefail; "$FLEET" {words} | head -1', program)
    assert (done.returncode in {0, 141}, done.stderr) == (True, "")
    assert done.stdout.count("\n") == 1


def test_whoever_follows_ends_when_its_reader_is_gone(fleet, program):
    """`fleet task watch | head -1` in a quiet project: it must not stay behind for ever."""
    child = program.start("task", "watch", "--after", "0")
    assert child.stdout.readline()
    child.stdout.close()
    try:
        child.wait(timeout=60)
    except subprocess.TimeoutExpired:
        pytest.fail("it waits for changes that nobody will read")


def test_a_change_whose_reader_is_gone_is_made_all_the_same(fleet, program):
    fleet.add("a")
    shell('"$FLEET" task log a hi | true; "$FLEET" task log a ho >&-', program)
    assert [each["message"] for each in fleet.show("a")["log"]] == ["hi", "ho"]


def test_an_error_keeps_its_exit_code_when_nobody_reads_it(fleet, program):
    done = shell('"$FLEET" task show nope 2> >(exec true); echo $?', program)
    assert done.stdout == "11\n"
    assert shell('"$FLEET" task show nope 2>&-; echo $?', program).stdout == "11\n"


@pytest.mark.parametrize(
    "words", ["task list", "task show a", "status", "doctor", "task log a hi", "--help", "completion bash"]
)
def test_a_standard_output_that_is_closed_is_no_traceback(words, fleet, program):
    fleet.add("a")
    done = shell(f'"$FLEET" {words} >&-', program)
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", ["task list", "task log a hi", "status --json", "--help", "task export"])
def test_a_standard_output_that_is_full_is_one_line(words, fleet, program):
    """/dev/full, as a disk would be: what could not be printed is an error, but not a traceback."""
    fleet.add("a")
    done = shell(f'"$FLEET" {words} > /dev/full', program)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done
    assert done.stderr.startswith("fleet: ")
    assert done.stderr.count("\n") == 1


def test_a_standard_input_that_is_closed_is_an_empty_one(fleet, program):
    fleet.add("a")
    done = shell('"$FLEET" task log a - <&-', program)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done
    assert shell('"$FLEET" task log a hi <&-', program).returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_knows_few_letters_gets_what_it_can_show(encoding, fleet, program):
    fleet("task", "add", "Äpfel → Birnen", "--slug", "a").ok()
    for words in (
        ["task", "show", "a"],
        ["task", "graph"],
        ["task", "list"],
        ["doctor"],
        ["config", "show"],
        ["task", "export"],
    ):
        answer = program(*words, env={"PYTHONIOENCODING": encoding}, encoding="latin-1")
        assert (answer.code in {0, 1}, answer.err) == (True, ""), answer
    answer = program("task", "show", "a", "--json", env={"PYTHONIOENCODING": encoding}, encoding=encoding)
    assert json.loads(answer.out)["slug"] == "a"


def test_no_colours_go_into_a_pipe_unless_they_are_wanted(fleet, program):
    fleet.add("a")
    assert "\x1b" not in program("task", "list").ok().out
    assert "\x1b" in program("task", "list", env={"FORCE_COLOR": "1"}).ok().out
    assert "\x1b" not in program("task", "list", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).ok().out
    assert "\x1b" not in program("task", "list", "--json", env={"FORCE_COLOR": "1"}).ok().out

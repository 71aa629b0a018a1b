"""Ctrl-C at any time: exit 130, one line, no traceback, and nothing half-done."""

import array
import contextlib
import fcntl
import json
import signal
import sqlite3
import subprocess
import sys
import termios
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone("it is about what a process does by itself when it waits")
SOON = 50
linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="/proc/locks tells who waits for a lock; only Linux has it"
)

early = pytest.mark.skipif(
    "coverage" in sys.modules, reason="while coverage is measured, Python imports it before fleet begins"
)


def interrupt(child: "subprocess.Popen[str]", *, within: float = SOON) -> tuple[int, str, str]:
    """How it ends. An empty line before the first word is welcome: the terminal shows ^C there."""
    child.send_signal(signal.SIGINT)
    try:
        out, err = child.communicate(timeout=within)
    except subprocess.TimeoutExpired:
        pytest.fail("it goes on after Ctrl-C")
    return child.returncode, out, err.lstrip("\n")


def until_it_waits(child: "subprocess.Popen[str]") -> None:
    """Return when the process is queued behind a lock."""
    while child.poll() is None:
        waiting = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line]
        if any(str(child.pid) in words for words in waiting):
            return
    pytest.fail(f"it did not wait: {child.communicate()}")


@pytest.mark.req("GRAPH-12")
@pytest.mark.parametrize(
    "words", [["task", "watch", "--after", "0", "--json"], ["ops", "--follow", "--json"]], ids=" ".join
)
def test_ctrl_c_ends_what_follows_for_ever(words, fleet, program):
    fleet.add("a")
    child = program.start(*words)
    assert [json.loads(child.stdout.readline())["seq"] for _ in range(2)] == [1, 2]
    assert interrupt(child) == (130, "", "fleet: interrupted\n")


@linux_only
@pytest.mark.req("GRAPH-5")
@pytest.mark.parametrize("words", [["task", "log", "a", "hi"], ["task", "add", "More"]], ids=["hot", "cold"])
def test_ctrl_c_ends_the_wait_for_the_turn_to_write(words, fleet, program):
    fleet.add("a")
    before = fleet.everything()
    with (fleet.home / "fleet.db.writer").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        child = program.start(*words)
        until_it_waits(child)
        assert interrupt(child) == (130, "", "fleet: interrupted\n")
    assert fleet.everything() == before


@linux_only
def test_a_writer_gets_its_turn_when_the_one_before_it_dies(fleet, program):
    fleet.add("a")
    script = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, 2); print(flush=True); input()"
    command = [sys.executable, "-c", script, fleet.home / "fleet.db.writer"]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        holder.stdout.readline()
        child = program.start("task", "log", "a", "hi")
        until_it_waits(child)
        holder.kill()
    assert (child.communicate(timeout=SOON), child.returncode) == (("logged on web/a\n", ""), 0)


def test_ctrl_c_ends_the_wait_for_another_program(fleet, program):
    """Someone has the database open in a shell with a transaction: Ctrl-C must not have to wait until store_wait is over."""
    fleet.add("a")
    (fleet.home / "config.toml").write_text("store_wait = 60\n")
    with contextlib.closing(sqlite3.connect(fleet.home / "fleet.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        child = program.start("task", "log", "a", "hi")
        until_written(fleet.home / "fleet.db.writer", str(child.pid))
        assert interrupt(child) == (130, "", "fleet: interrupted\n")


def until_written(path: Path, text: str) -> None:
    """Whoever has the turn to write says so in the file; right afterwards it asks the database."""
    while text not in path.read_text():
        pass


@pytest.mark.parametrize(
    "module", [pytest.param("_json", marks=early), "fcntl", "click", pytest.param("datetime", marks=early)]
)
def test_ctrl_c_while_modules_are_loaded_is_no_traceback(module, fleet, program, tmp_path):
    """A module in front of the real one that is interrupted: Ctrl-C at that very moment."""
    fleet.add("a")
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / f"{module}.py").write_text("raise KeyboardInterrupt\n")
    words = ["task", "log", "a", "hi"] if module in {"_json", "fcntl"} else ["project", "list"]
    answer = program(*words, env={"PYTHONPATH": str(tmp_path / "first")})
    assert (answer.code, answer.err) == (130, "fleet: interrupted\n"), answer


@pytest.mark.req("GRAPH-5")
def test_ctrl_c_in_the_middle_of_an_import_takes_in_nothing(fleet, program):
    child = program.start("task", "import", "-", stdin=subprocess.PIPE)
    child.stdin.write('{"slug": "a", "title": "A"}\n')
    child.stdin.flush()
    code, out, err = interrupt_when_reading(child)
    assert (code, out, err) == (130, "", "fleet: interrupted\n")
    assert fleet.ask("task", "list") == []


def interrupt_when_reading(child: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Its first line was taken from the pipe when the pipe is empty."""
    waiting = array.array("i", [1])
    while waiting[0]:
        fcntl.ioctl(child.stdin.fileno(), termios.FIONREAD, waiting)
    return interrupt(child)

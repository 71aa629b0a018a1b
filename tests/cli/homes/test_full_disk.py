"""A full disk: what only reads works, what writes is refused in one line, and nothing is lost."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

READS = (
    ("status",),
    ("ps",),
    ("task", "list"),
    ("task", "show", "a"),
    ("task", "why", "a"),
    ("task", "graph"),
    ("task", "export"),
    ("ops",),
    ("recap",),
    ("questions",),
    ("claims", "list"),
    ("coord", "status", "-p", "p"),
    ("dispatches", "list"),
    ("review", "--list"),
    ("maintenance", "sweep-leaks"),
)
# Writes into the log of the database, says so and waits to be killed.
WRITER = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE tasks SET title = 'in the log'")
db.commit()
print("written", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def full(program):
    """Every file that would grow fails to, as on a full disk."""
    program("init", "--name", "p").ok()
    program("task", "add", "A task", "--slug", "a").ok()
    return lambda *words: program(*words, under=("file-size=100",))


@pytest.mark.req("OBS-1")
@pytest.mark.slow("twenty programs, one after the other")
def test_what_only_reads_works_and_what_writes_is_refused(full, program):
    for words in READS:
        full(*words).ok()
    assert "A task" in full("task", "list").ok().out
    full("task", "add", "More").refused(1, "nothing was changed")
    full("task", "log", "a", "more").refused(1, "nothing was changed")
    assert [each["slug"] for each in program("task", "list", "--json").ok().json] == ["a"]
    program("task", "add", "More", "--slug", "b").ok()


@pytest.mark.req("OBS-1")
def test_what_a_killed_writer_left_in_the_log_is_read_too(full, program):
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(program.home / "fleet.db")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.communicate()
    Path(program.home, "fleet.db-shm").unlink()
    assert "in the log" in full("task", "show", "a").ok().out
    assert "in the log" in program("task", "show", "a").ok().out


@contextlib.contextmanager
def small_disk(where: Path):
    where.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", where], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount")
    try:
        yield where
    finally:
        subprocess.run(["umount", where], check=True)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting is for root")
@pytest.mark.slow("twenty programs, one after the other")
def test_on_a_disk_that_is_really_full(program, tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        program.home = disk / "home"
        program("init", "--name", "p").ok()
        program("task", "add", "A task", "--slug", "a").ok()
        with (disk / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        for words in READS:
            program(*words).ok()
        program("task", "add", "More").refused(1, "nothing was changed")
        (disk / "filler").unlink()
        program("task", "add", "More", "--slug", "b").ok()
        assert [each["slug"] for each in program("task", "list", "--json").ok().json] == ["a", "b"]

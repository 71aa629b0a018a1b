"""What a program prints is kept by its beginning and its end, and takes bounded room."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.world.funnel import Funnel
from fleet.world.process.captured_output import Recording
from fleet.world.process.programs import Programs

SHOUT = "import sys\nfor _ in range({n}): sys.stdout.buffer.write(b'x' * 1_000_000)\n"


@pytest.mark.beneath_funnel
@given(chunks=st.lists(st.binary(max_size=40), max_size=12), head=st.integers(0, 60), tail=st.integers(1, 60))
def test_what_is_kept_is_the_beginning_and_the_end(tmp_path_factory, chunks, head, tail):
    path = tmp_path_factory.mktemp("recording") / "log"
    recording = Recording(str(path), head=head, tail=tail)
    for chunk in chunks:
        recording.take(chunk)
    recording.close()
    whole, kept = b"".join(chunks), path.read_bytes()
    if len(whole) <= head + tail:
        assert kept == whole
    else:
        assert (
            kept
            == whole[:head] + f"\n[fleet: {len(whole) - head - tail:,} bytes left out here]\n".encode() + whole[-tail:]
        )


@pytest.mark.beneath_funnel
def test_a_text_says_how_much_is_left_out(tmp_path):
    recording = Recording(str(tmp_path / "log"))
    for _ in range(100):
        recording.take(b"a" * 50 + b"b" * 50)
    assert recording.text(20_000) == ("a" * 50 + "b" * 50) * 100
    assert recording.text(20) == f"{'a' * 10}\n[9,980 bytes left out here: {tmp_path}/log]\n{'b' * 10}"


@pytest.mark.req("MERGE-2")
@pytest.mark.slow("a flood of data")
def test_six_hundred_megabytes_are_recorded_in_bounded_memory_and_room(tmp_path):
    """The measuring process is one of its own: what pytest holds does not count."""
    log = tmp_path / "log"
    program = (
        "import resource, sys\nfrom fleet.world.funnel import Funnel\nfrom fleet.world.process.programs import Programs\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"done = Programs(Funnel()).record('x', [sys.executable, '-c', {SHOUT.format(n=600)!r}], path={str(log)!r}, limit=300)\n"
        "assert done.ok, done\nassert 'bytes left out here' in done.out\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    said = Programs(Funnel()).run("measure", [sys.executable, "-c", program], limit=300)
    assert said.ok, said
    assert int(said.out) < 30_000  # KiB
    assert log.stat().st_size < 10_000_000


@pytest.mark.slow("a time limit has to pass")
def test_one_that_never_ends_is_ended_and_what_it_said_is_kept(tmp_path):
    log = tmp_path / "log"
    words = ["/bin/sh", "-c", "echo begun; while :; do echo more; done"]
    done = Programs(Funnel()).record("x", words, path=str(log), limit=1)
    assert (done.status, done.err, done.out.startswith("begun\nmore\n")) == (None, "no answer within 1 s", True)
    assert log.stat().st_size < 10_000_000


@pytest.mark.parametrize("last", ["exec >&- 2>&-", 'sleep 1000 & echo $! >"$0"'], ids=["closed", "held by a child"])
def test_how_it_ended_is_known_whoever_holds_the_pipe(tmp_path, last):
    child = tmp_path / "child"
    words = ["/bin/sh", "-c", f"echo hello; {last}; exit 3", str(child)]
    done = Programs(Funnel()).record("x", words, path=str(tmp_path / "log"), limit=60)
    if child.exists():
        os.kill(int(child.read_text()), signal.SIGKILL)
    assert (done.status, done.out) == (3, "hello\n")
    assert Path(tmp_path / "log").read_text() == "hello\n"


def test_a_program_that_is_not_there_and_a_disk_that_takes_nothing(tmp_path):
    gone = Programs(Funnel()).record("x", [str(tmp_path / "none")], limit=1)
    assert (gone.status, "No such file" in gone.err) == (None, True)
    done = Programs(Funnel()).record("x", ["/bin/sh", "-c", "echo hello"], path="/dev/full", limit=60)
    assert (done.status, done.out) == (0, "hello\n")


def test_a_carriage_return_stays_one():
    assert Programs(Funnel()).run("x", ["printf", "a\\rb\\r\\n"], limit=60).out == "a\rb\r\n"

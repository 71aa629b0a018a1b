"""A program is started and read alike by posix_spawn and by subprocess, which takes over what posix_spawn cannot do."""

import os
import signal
import subprocess
import sys

import pytest
from staging.fixtures import Once

from fleet.world.funnel import Funnel
from fleet.world.process import captured_output, programs
from fleet.world.process.programs import Programs

LIMIT = 60.0
# What a program finds when it begins: its descriptors, session, standard input.
LOOK = """
import os, sys
def is_open(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False
print([number for number in range(256) if is_open(number)])
print(os.getsid(0) == os.getpid() == os.getpgrp())
print(repr(sys.stdin.read()))
"""
WAYS = ["posix_spawn", "posix_spawn without pidfd", "subprocess"]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """The way in which programs are started; it fails when one is started in the other way."""

    def unwanted(*_words, **_how):
        raise AssertionError(request.param)

    if request.param == "subprocess":
        monkeypatch.setattr(os, "posix_spawn", unwanted)
        monkeypatch.setattr(programs, "spawn", lambda *_words, **_how: None)
    else:
        monkeypatch.setattr(subprocess, "Popen", unwanted)
    if request.param.endswith("without pidfd"):
        monkeypatch.setattr(captured_output, "handle_of", lambda _pid: None)
    return request.param


def run(words, **how):
    return Programs(Funnel()).run("test", words, **{"limit": LIMIT} | how)


def ended(pid: int) -> None:
    """Wait for its end, and leave it to whoever started it."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.req("ADO-12")
@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_program_has_the_descriptors_that_it_is_to_inherit_and_no_others(way):
    read, lock = os.pipe()
    namespace_lock, foreign = os.dup(read), os.dup(read)
    os.set_inheritable(foreign, True)  # noqa: FBT003 - as a shell leaves one to what it starts
    found = Programs(Funnel(), lambda: namespace_lock).run("test", [sys.executable, "-c", LOOK], limit=LIMIT, lock=lock)
    for each in (read, lock, namespace_lock, foreign):
        os.close(each)
    open_ones, leads, given = found.out.splitlines()
    assert open_ones == str(sorted([0, 1, 2, lock, namespace_lock])), way
    assert (leads, given) == ("True", "''")


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_program_does_not_ignore_the_signals_that_python_ignores(way):
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
    ignored = run(["grep", "SigIgn", "/proc/self/status"]).out.split()[1]
    assert not int(ignored, 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1), way


def test_a_program_has_the_environment_that_it_is_given_and_is_searched_for_in_it(way, tmp_path):
    (tmp_path / "folder" / "said").mkdir(parents=True)
    (tmp_path / "said").write_text('#!/bin/sh\necho "$0 $1 $A"\n')
    (tmp_path / "said").chmod(0o700)
    env = {"PATH": f"{tmp_path}/none:{tmp_path}/folder:{tmp_path}", "A": "é", "TMUX": "x"}
    assert run(["said", "b c"], env=env).out == f"{tmp_path}/said b c é\n", way
    assert (
        run(["env"], env={"PATH": os.environ["PATH"], "A": "1", "TMUX": "x"}).out == f"PATH={os.environ['PATH']}\nA=1\n"
    )


def test_what_a_program_reads_and_says_is_passed_on_whole(way):
    done = run(["sh", "-c", "tee /dev/stderr; exit 3"], given="é" * 200_000)
    assert (done.status, done.out, done.err) == (3, "é" * 200_000, "é" * 200_000), way
    unread = run(["true"], given="x" * 300_000)
    assert (unread.status, unread.out) == (0, "")
    assert run(["cat"], given="").out == ""
    assert run(["sh", "-c", "kill -9 $$"]).status == -signal.SIGKILL


def test_a_program_that_closes_its_output_and_lives_on_is_waited_for(way):
    done = run(["sh", "-c", "echo said; exec >&- 2>&-; sleep 0.1; exit 3"])
    assert (done.status, done.out) == (3, "said\n"), way
    late = run(["sh", "-c", "echo said; exec >&- 2>&-; sleep 1000"], limit=0.05)
    assert (late.status, late.err) == (None, "no answer within 0.05 s")


def test_a_program_that_cannot_be_executed_is_an_answer(tmp_path):
    (tmp_path / "plain").write_text("")
    (tmp_path / "other").write_text("no program")
    (tmp_path / "other").chmod(0o700)
    env = {"PATH": str(tmp_path)}
    for words, why in (
        (["absent"], "absent: No such file or directory"),
        (["plain"], "plain: Permission denied"),
        ([f"{tmp_path}/absent"], f"{tmp_path}/absent: No such file or directory"),
        ([f"{tmp_path}/plain"], f"{tmp_path}/plain: Permission denied"),
        (["other"], "other: Exec format error"),
    ):
        done = run(words, env=env)
        assert (done.status, done.out, done.err) == (None, "", why)


def test_what_posix_spawn_cannot_do_is_left_to_subprocess(tmp_path, monkeypatch):
    assert run(["pwd"], cwd=str(tmp_path)).out == f"{tmp_path}\n"
    before = sorted(os.listdir("/dev/fd"))
    monkeypatch.setattr(os, "posix_spawn", lambda *_words, **_how: (_ for _ in ()).throw(NotImplementedError))
    assert run(["echo", "said"]).out == "said\n"
    assert sorted(os.listdir("/dev/fd")) == before, "a pipe was left open"


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_program_is_started_by_a_process_without_a_standard_stream(closed):
    code = (
        f"import os; os.close({closed})\nfrom fleet.world.funnel import Funnel\n"
        "from fleet.world.process.programs import Programs\n"
        "done = Programs(Funnel()).run('x', ['sh', '-c', 'cat; echo said; echo trouble >&2'], limit=60, given='given ')\n"
        "os._exit(0 if (done.out, done.err) == ('given said\\n', 'trouble\\n') else 1)\n"
    )
    assert run([sys.executable, "-c", code]).status == 0


def test_what_a_program_said_before_it_ended_is_read_though_we_slept_until_the_time_to_read_it_was_over(way):
    kept = Programs(Funnel(Once("during", "test", ended)))
    done = kept.run("test", ["sh", "-c", "echo said; echo trouble >&2"], limit=0)
    assert (done.status, done.out, done.err) == (0, "said\n", "trouble\n"), way

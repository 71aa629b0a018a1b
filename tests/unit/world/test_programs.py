"""Other programs: a program has ended when its process has, whoever holds its pipes."""

import contextlib
import os
import signal
import stat
import subprocess
from types import SimpleNamespace

import pytest

from fleet.world import host
from fleet.world.funnel import Funnel
from fleet.world.host import Host
from fleet.world.machine import Machine
from fleet.world.process.job_commands import CommandEnd, JobCommand, JobCommands
from fleet.world.process.processes import Processes
from fleet.world.process.programs import Programs

LIMIT = 20.0


@pytest.mark.req("MERGE-2")
@pytest.mark.parametrize("status", [0, 3])
def test_a_program_whose_child_lives_on_in_its_pipes_ended_as_it_did_and_what_it_said_is_kept(status):
    script = f"sleep 1000 & echo $!; echo trouble >&2; exit {status}"
    done = Programs(Funnel()).run("verify", ["/bin/sh", "-c", script], limit=LIMIT)
    with contextlib.suppress(ValueError, ProcessLookupError):
        os.kill(int(done.out), signal.SIGKILL)
    assert (done.status, done.err) == (status, "trouble\n")
    assert done.out.strip().isdigit()


@pytest.mark.req("AGENT-3")
@pytest.mark.parametrize(("words", "boot"), [(["echo", "0A-1B"], "0A-1B"), (["false"], ""), (["/no/such/program"], "")])
def test_on_macos_the_boot_is_asked_for_once_through_the_funnel(monkeypatch, words, boot):
    monkeypatch.setattr(host, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(host, "_BOOT_PROGRAM", words)
    effects = []

    class Watcher:
        before = during = after = staticmethod(lambda name, *_: effects.append(name))

    here = Host("", Funnel(Watcher()))
    assert (here.boot, here.boot) == (boot, boot)
    assert set(effects) == {"read the boot's id"}


@pytest.mark.req("MERGE-2")
def test_a_program_that_does_not_end_in_time_is_ended_with_all_that_it_started():
    read, write = os.pipe()  # open at the other end for as long as any of them lives
    done = Programs(Funnel()).run("verify", ["/bin/sh", "-c", "sleep 1000 & wait"], limit=0.1, lock=write)
    os.close(write)
    assert done.status is None
    assert os.read(read, 1) == b""
    os.close(read)


@pytest.mark.req("ENG-3")
def test_a_program_that_reads_late_gets_all_that_it_is_given():
    done = Programs(Funnel()).run("test", ["sh", "-c", "sleep 0.1; wc -c"], limit=60, given="x" * 300_000)
    assert (done.status, done.out.strip()) == (0, "300000")


@pytest.mark.req("ENG-3")
def test_what_a_slow_program_says_is_read_to_its_end():
    done = Programs(Funnel()).run("test", ["sh", "-c", "printf a; sleep 0.1; printf b; sleep 0.1; printf c"], limit=60)
    assert (done.status, done.out) == (0, "abc")


@pytest.mark.req("JOB-1")
def test_the_output_of_the_first_step_of_a_job_has_its_folders_made_but_never_the_home(tmp_path):
    output = tmp_path / "home/jobs/0123abcd/steps/1.log"
    commands = JobCommands(Funnel(), str(tmp_path / "home"))

    def start():
        return commands.start("job step", ["true"], env={}, cwd=str(tmp_path), output=str(output), limit=60)

    with pytest.raises(FileNotFoundError):
        start()
    (tmp_path / "home").mkdir()
    child = start()
    assert isinstance(child, JobCommand)
    child.kill()
    assert output.exists()


@pytest.mark.req("MERGE-2")
@pytest.mark.parametrize("how", ["a folder", "a file in it"])
def test_what_is_made_outside_the_home_is_private_with_every_new_folder_above_it(tmp_path, how):
    machine, there = Machine(Funnel()), tmp_path / "ann"
    there.mkdir(mode=0o755)
    if how == "a folder":
        machine.make_folder(f"{there}/a/b/c")
    else:
        machine.replace_file(f"{there}/a/b/c/file", "text")
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (there / "a", there / "a/b", there / "a/b/c", there)]
    assert modes == [0o700, 0o700, 0o700, 0o755], "an existing folder stays as it is"


def test_a_program_gets_the_variables_that_its_words_begin_with():
    words = [
        "/usr/bin/env",
        "GIT_COMMON_DIR=/a=b",
        "GIT_DIR=",
        "/bin/sh",
        "-c",
        'echo "$GIT_COMMON_DIR ${GIT_DIR-none}"',
    ]
    done = Programs(Funnel()).run("test", words, limit=LIMIT)
    assert (done.status, done.out) == (0, "/a=b \n")


@pytest.mark.req("JOB-1")
def test_the_end_of_a_step_is_waited_for(tmp_path):
    commands = JobCommands(Funnel(), str(tmp_path))
    words = ["/bin/sh", "-c", "sleep 0.1; exit 3"]
    child = commands.start("job step", words, env={}, cwd=str(tmp_path), output=str(tmp_path / "out"), limit=60)
    assert isinstance(child, JobCommand)
    child.wait(60)
    assert child.look() == CommandEnd(status=3)


@pytest.mark.req("JOB-1")
def test_the_exit_of_a_process_is_waited_for_and_one_that_was_is_said_at_once():
    processes = Processes(Host(), Funnel(), "/nowhere", "/nowhere/tmux.sock")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        who = processes.identify(child.pid)
        assert processes.wait_for_exit([who], 0)
        assert processes.life(who) == "alive"
        child.stdin.close()
        processes.wait_for_exit([who], 60)
        assert processes.life(who) == "dead"
        assert not processes.wait_for_exit([processes.me(), who], 60)
    assert not processes.wait_for_exit([], 60)

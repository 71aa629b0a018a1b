"""What psutil says of real processes is what /proc says: macOS is asked through it, and judged by the same rules."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from fleet.world.process import ps, ps_library

NOBODY = 2**22 + 1  # larger than any pid


@pytest.fixture
def child(tmp_path) -> Iterator[subprocess.Popen]:
    """A program of this user, in a session and a folder of its own, that has a file open."""
    words = ["sh", "-c", "exec 3>written; echo ready; read _"]  # a program that starts has files of its own open
    env = {**os.environ, "FLEET_DISPATCH_ID": "0000000a"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, cwd=tmp_path, env=env, start_new_session=True, **pipes) as made:
        assert made.stdout.readline() == b"ready\n"
        os.waitid(os.P_PID, made.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        yield made
        made.kill()


@pytest.mark.req("AGENT-3")
def test_a_living_process_is_described_as_proc_describes_it(child, tmp_path):
    pid = child.pid
    start, is_zombie = ps_library.status(pid)
    assert (start.isdigit(), is_zombie) == (True, False)
    assert ps_library.status(pid) == (start, False), "the start stays the same while the process lives"
    assert b"FLEET_DISPATCH_ID=0000000a" in ps_library.environment(pid)
    assert ps_library.environment(pid) == ps.environment(pid) - {b""}
    assert (ps_library.command(pid), ps_library.program(pid)) == (ps.command(pid), ps.program(pid))
    assert ps_library.is_own(pid)
    assert os.path.realpath(ps_library.place(pid)) == os.path.realpath(tmp_path)
    assert [os.path.basename(path) for path in ps_library.open_files(pid)] == ["written"]
    assert ps_library.parents()[pid] == os.getpid()
    (entry,) = [each for each in ps_library.everyone() if each[0] == pid]
    assert entry == (pid, os.getpid(), pid, False, start, False)


@pytest.mark.req("AGENT-3")
def test_a_stopped_process_is_called_stopped_and_lives(child):
    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    (entry,) = [each for each in ps_library.everyone() if each[0] == child.pid]
    assert entry[-1] is True
    assert ps_library.status(child.pid)[1] is False


@pytest.mark.req("AGENT-3")
def test_a_zombie_is_no_living_process_and_whose_pid_nobody_has_is_gone(child):
    os.kill(child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and not reaped
    assert ps_library.status(child.pid)[1] is True
    assert child.pid not in [each[0] for each in ps_library.everyone()]
    for pid in (NOBODY,):
        assert ps_library.status(pid) is None
        assert (ps_library.environment(pid), ps_library.command(pid), ps_library.program(pid)) == (frozenset(), "", "")
        assert (ps_library.is_own(pid), ps_library.place(pid), ps_library.open_files(pid)) == (False, "", [])


class OtherLibrary(ps_library.psutil.Process):
    """A process of a psutil whose private class has changed: `create_time` has no `monotonic`, or is not there."""

    error: type[Exception]

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        inner, error = self._proc, self.error

        class Changed:
            def __getattr__(self, name: str) -> object:
                if name == "create_time" and error is AttributeError:
                    raise AttributeError(name)
                return (lambda: 0.0) if name == "create_time" else getattr(inner, name)

        self._proc = Changed()


@pytest.mark.req("AGENT-3", "EXC-7")
@pytest.mark.parametrize("error", [TypeError, AttributeError])
def test_a_psutil_without_the_private_method_makes_a_start_unknown_and_hides_no_process(child, monkeypatch, error):
    monkeypatch.setattr(OtherLibrary, "error", error, raising=False)
    monkeypatch.setattr(ps_library.psutil, "Process", OtherLibrary)
    monkeypatch.setattr(ps_library.psutil, "process_iter", lambda: [OtherLibrary(child.pid)])
    with pytest.raises(ps_library.Unknown):
        ps_library.status(child.pid)
    assert ps_library.everyone() == [(child.pid, os.getpid(), child.pid, False, "", False)]


@pytest.mark.req("AGENT-3", "EXC-7")
def test_what_the_kernel_does_not_tell_is_unknown_and_never_death(child, monkeypatch):
    def refuse(*_):
        raise ps_library.psutil.AccessDenied(child.pid)

    monkeypatch.setattr(ps_library, "start_of", refuse)
    with pytest.raises(ps_library.Unknown):
        ps_library.status(child.pid)
    monkeypatch.setattr(ps_library.psutil.Process, "cwd", refuse)
    assert ps_library.place(child.pid) is None, "not permitted to look is not gone"

"""Who a process is, on Linux and macOS: what cannot be told is unknown, never dead."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from fleet.model.identity import Identity
from fleet.world.funnel import Funnel
from fleet.world.host import Host
from fleet.world.process import ps, ps_library
from fleet.world.process.processes import Processes


@pytest.fixture
def processes():
    return Processes(Host(), Funnel(), "/nowhere", "/nowhere/tmux.sock")


def of(processes: Processes, pid: int, start: str) -> Identity:
    me = processes.me()
    return Identity(host=me.host, boot=me.boot, pid=pid, start=start)


@pytest.fixture
def without_proc(monkeypatch):
    """As on macOS: psutil is asked, here of the same kernel."""
    monkeypatch.setattr(ps, "_library", ps_library)


@pytest.fixture
def child(tmp_path):
    with (
        (tmp_path / "written").open("w") as file,
        subprocess.Popen(
            ["sleep", "1000"], env={"MINE": "a b"}, cwd=tmp_path, stdout=file, start_new_session=True
        ) as child,
    ):
        while not ps.command(child.pid):  # the kernel tells of its start before its words can be read
            pass
        yield child.pid
        child.kill()


def answers(pid: int, folder: str) -> dict[str, object]:
    entry = next(each for each in ps.everyone() if each.pid == pid)
    return {
        "parent": (ps.parents()[pid], entry.parent),
        "session": entry.session,
        "terminal": entry.terminal,
        "environment": ps.environment(pid) - {b""},
        "command": ps.command(pid),
        "program": ps.program(pid),
        "own": ps.is_own(pid),
        "works in": (ps.works_in(pid, folder), ps.works_in(pid, f"{folder}/other")),
        "place": ps._directory_of_process(pid),
    }


@pytest.mark.req("RES-13")
def test_psutil_and_proc_say_the_same_of_a_process(child, tmp_path, monkeypatch):
    by_proc, files = answers(child, str(tmp_path)), ps._written_files(child)
    start = int(ps.status(child).start)
    monkeypatch.setattr(ps, "_library", ps_library)
    assert answers(child, str(tmp_path)) == by_proc
    assert str(tmp_path / "written") in ps._written_files(child)
    assert str(tmp_path / "written") in files
    assert int(ps.status(child).start) == start * 1_000_000 // os.sysconf("SC_CLK_TCK")


@pytest.mark.req("RES-13")
def test_without_proc_the_start_of_a_process_is_the_same_text_for_everybody_who_asks(processes, child, without_proc):
    program = f"from fleet.world.process import ps_library; print(ps_library.status({child})[0])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    entry = next(each for each in ps.everyone() if each.pid == child)
    assert {said, entry.start, ps.status(child).start, processes.identify(child).start} == {said}
    assert said.isdigit()


@pytest.mark.req("RES-13")
def test_without_proc_a_dead_process_is_dead_and_a_living_one_alive(processes, without_proc):
    with subprocess.Popen(["sleep", "1000"]) as child:
        who = processes.identify(child.pid)
        assert processes.life(who) == "alive"
        assert processes.life(of(processes, child.pid, "1")) == "dead"
        assert processes.life(of(processes, child.pid, "Sun_Nov_15_06:17:39_2026")) == "unknown"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert processes.life(who) == "dead", "a zombie"
    assert processes.life(who) == "dead"


@pytest.mark.req("RES-13")
@pytest.mark.parametrize("error", [psutil.AccessDenied(4711), OSError("no")])
def test_without_proc_a_refusal_proves_nothing(processes, without_proc, monkeypatch, error):
    who = of(processes, 4711, "1")

    def refuse(_pid: int) -> None:
        raise error

    monkeypatch.setattr(ps_library.psutil, "Process", refuse)
    assert processes.life(who) == "unknown"


@pytest.mark.req("RES-13")
def test_on_linux_a_process_that_proc_hides_is_unknown(processes, monkeypatch):
    """As with hidepid, or without /proc at all."""
    me = processes.me()

    def hiding(genuine):
        def opened(path, *rest, **more):
            if str(path).startswith("/proc/"):
                raise FileNotFoundError(path)
            return genuine(path, *rest, **more)

        return opened

    monkeypatch.setattr("builtins.open", hiding(open))
    monkeypatch.setattr("os.open", hiding(os.open))
    assert processes.life(me) == "unknown"


@pytest.mark.req("RES-13")
def test_on_linux_a_pid_that_nobody_has_or_another_has_is_dead(processes):
    gone = subprocess.Popen(["true"])
    start = Path(f"/proc/{gone.pid}/stat").read_text().rpartition(")")[2].split()[19]
    gone.wait()
    assert processes.life(of(processes, gone.pid, start)) == "dead"
    assert processes.life(of(processes, os.getpid(), "1")) == "dead"
    assert processes.life(processes.me()) == "alive"


@pytest.mark.req("RES-8", "RES-13")
def test_a_process_of_another_host_or_of_a_boot_that_is_not_known_is_unknown(processes):
    me = processes.me()
    assert processes.life(Identity(host="moon", boot=me.boot, pid=999_999_999, start="1")) == "unknown"
    assert processes.life(Identity(host=me.host, boot="", pid=me.pid, start=me.start)) == "unknown"
    assert processes.life(Identity(host=me.host, boot="before", pid=me.pid, start=me.start)) == "unknown", "it is seen"
    assert processes.life(Identity(host=me.host, boot="before", pid=999_999_999, start="1")) == "dead"
    assert processes.life(None) == "unknown"

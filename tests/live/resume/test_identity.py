"""Who a process is, on Linux and macOS: what cannot be told is unknown, never dead."""

import os
import subprocess
from pathlib import Path

import pytest

from fleet.model.identity import Identity
from fleet.world.funnel import Funnel
from fleet.world.host import Host
from fleet.world.process import ps
from fleet.world.process.processes import Processes

PS = """#!/bin/sh
# What ps of macOS prints; the test says which case.
test "$LC_ALL/$TZ" = C/UTC || {{ echo "S    So. 15 Nov. 06:17:39 2026"; exit 0; }}
case {case} in
    there) echo "S    Sun Nov 15 06:17:39 2026";;
    zombie) echo "Z    Sun Nov 15 06:17:39 2026";;
    another) echo "S    Sun Nov 15 07:00:00 2026";;
    missing) exit 1;;
    refused) echo "ps: not permitted" >&2; exit 1;;
    killed) kill -9 $$;;
    silent) echo "S";;
esac
"""
START = "Sun_Nov_15_06:17:39_2026"


@pytest.fixture
def processes():
    return Processes(Host(), Funnel(), "/nowhere", "/nowhere/tmux.sock")


def of(processes: Processes, pid: int, start: str) -> Identity:
    me = processes.me()
    return Identity(host=me.host, boot=me.boot, pid=pid, start=start)


@pytest.mark.req("RES-13")
@pytest.mark.parametrize(
    ("case", "life"),
    [
        ("there", "alive"),
        ("zombie", "dead"),
        ("another", "dead"),
        ("missing", "dead"),
        ("refused", "unknown"),
        ("killed", "unknown"),
        ("silent", "unknown"),
    ],
)
def test_on_macos_the_answer_of_ps_is_weighed(processes, monkeypatch, tmp_path, case, life):
    who = of(processes, 4711, START)
    program = tmp_path / "ps"
    program.write_text(PS.format(case=case))
    program.chmod(0o700)
    genuine = subprocess.run
    monkeypatch.setattr(ps.sys, "platform", "darwin")
    monkeypatch.setattr(ps.subprocess, "run", lambda words, **how: genuine([str(program), *words[1:]], **how))
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert processes.life(who) == life


@pytest.mark.req("RES-13")
def test_on_macos_a_ps_that_is_not_there_proves_nothing(processes, monkeypatch):
    who = of(processes, 4711, START)

    def fail(*_words: object, **_how: object) -> None:
        raise FileNotFoundError("/bin/ps")

    monkeypatch.setattr(ps.sys, "platform", "darwin")
    monkeypatch.setattr(ps.subprocess, "run", fail)
    assert processes.life(who) == "unknown"


@pytest.mark.req("RES-13")
def test_on_linux_a_process_that_proc_hides_is_unknown(processes, monkeypatch):
    """As with hidepid, or without /proc at all."""
    me = processes.me()
    genuine = open

    def hiding(path, *rest, **more):
        if str(path).startswith("/proc/"):
            raise FileNotFoundError(path)
        return genuine(path, *rest, **more)

    monkeypatch.setattr("builtins.open", hiding)
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

"""The environment of a process that is just becoming another program is looked at again."""

import builtins
import os
import subprocess

from fleet.world.process import ps


def test_nothing_read_in_mid_change_is_read_again(tmp_path, monkeypatch):
    (tmp_path / "empty").touch()
    left = ["mid-change"]

    def opened(path: str, *words: str):
        return builtins.open(tmp_path / "empty" if left and left.pop() else path, *words)

    monkeypatch.setattr(ps, "open", opened, raising=False)
    monkeypatch.setattr(ps, "_is_becoming", lambda _pid: True, raising=False)
    with subprocess.Popen(["sleep", "1000"], env={"MINE": "1"}) as child:
        found = ps.environment(child.pid)
        child.kill()
    assert (b"MINE=1" in found, left) == (True, [])


def test_one_that_has_none_is_not_waited_for(monkeypatch):
    waited: list[float] = []
    monkeypatch.setattr(ps, "sleep", waited.append, raising=False)
    with subprocess.Popen(["sleep", "1000"], env={}) as child:
        while not ps.command(child.pid):  # the kernel tells of its start before its words can be read
            pass
        found = ps.environment(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        ended = ps.environment(child.pid)
    assert (found - {b""}, ended - {b""}, waited) == (set(), set(), [])

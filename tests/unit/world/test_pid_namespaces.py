"""A process of another pid namespace is gone only when none of its processes is visible, and none of them listens."""

import os
import socket

import pytest

from fleet.model.identity import Identity
from fleet.world.funnel import Funnel
from fleet.world.host import Host
from fleet.world.process import pid_namespaces
from fleet.world.process.processes import Processes

ELSEWHERE = "pid:[7]"


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "tmux.sock")


@pytest.fixture
def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        yield path


@pytest.mark.req("EXC-2")
def test_a_room_in_which_nobody_is_seen_is_gone_when_nobody_listens(path):
    assert pid_namespaces.is_gone(ELSEWHERE, path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
    assert pid_namespaces.is_gone(ELSEWHERE, path), "its socket was left behind"


def test_a_room_is_gone_when_the_one_who_listens_is_of_ours(listening):
    assert pid_namespaces.is_gone(ELSEWHERE, listening)


@pytest.mark.req("EXC-2", "EXC-7")
def test_a_room_may_be_where_the_one_who_listens_is_who_cannot_be_seen(listening, monkeypatch):
    namespace_of = pid_namespaces._namespace_of
    monkeypatch.setattr(
        pid_namespaces, "_namespace_of", lambda pid: "" if pid == str(os.getpid()) else namespace_of(pid)
    )
    assert not pid_namespaces.is_gone(ELSEWHERE, listening)


@pytest.mark.req("EXC-2", "EXC-7")
def test_a_room_in_which_somebody_is_seen_is_not_gone(path):
    assert not pid_namespaces.is_gone(pid_namespaces.own(), path)


@pytest.mark.req("AGENT-3")
@pytest.mark.parametrize("gone", [True, False])
def test_a_process_of_another_room_of_this_boot_is_dead_only_with_its_room(path, monkeypatch, gone):
    processes = Processes(Host(), Funnel(), "/nowhere", path)
    me, asked = processes.me(), []
    monkeypatch.setattr(pid_namespaces, "is_gone", lambda *which: asked.append(which) or gone)
    there = Identity(host=me.host, boot=f"{me.boot.partition('.')[0]}.{ELSEWHERE}", pid=me.pid, start=me.start)
    assert processes.life(there) == ("dead" if gone else "unknown")
    assert asked == [(ELSEWHERE, path)]

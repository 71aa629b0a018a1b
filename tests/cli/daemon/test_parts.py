"""Parts of the daemon that meet what seldom happens: a child that prints much, no descriptor left, a subscriber far behind."""

import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from fleet.surfaces.daemon.serving.changes import Changes, Subscriber
from fleet.surfaces.daemon.serving.children import Children
from fleet.surfaces.daemon.serving.connection import BEHIND, Connection
from fleet.surfaces.daemon.serving.loop import Loop
from fleet.surfaces.daemon.serving.requests import Request
from fleet.surfaces.daemon.serving.server import Server
from fleet.world.files.sockets import Listener
from fleet.world.funnel import Funnel

PATIENCE = 60


@pytest.fixture
def client():
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    with ours, theirs:
        yield Connection(ours, pid=os.getpid(), is_for_agents=False)


class PlayedHousehold:
    """Starts a program of the test instead of fleet."""

    def __init__(self, program: str) -> None:
        self.home, self.funnel, self.fleet_program = "/", Funnel(), "fleet"
        self.programs = self
        self._program = program
        self.child: subprocess.Popen[bytes] | None = None

    def world(self) -> "PlayedHousehold":
        return self

    def begin(self, *_words: object, **_how: object) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        self.child = subprocess.Popen([sys.executable, "-c", self._program], stdin=pipe, stdout=pipe, stderr=pipe)
        return self.child


def attended(program: str, connection: Connection) -> tuple[PlayedHousehold, dict]:
    """The answer of a child to a request."""
    household, answers, answered = PlayedHousehold(program), [], threading.Event()

    def send(_connection, answer) -> None:
        answers.append(answer)
        answered.set()

    Children(household, send).perform(Request(connection, {"id": 7, "method": "merge.run"}))
    assert answered.wait(PATIENCE)
    return household, answers[0]


@pytest.mark.req("IPC-4")
def test_a_child_that_prints_more_than_a_pipe_holds_is_not_stopped_by_it(client):
    prints = 'import sys; sys.stdin.read(); sys.stderr.write("x" * 1000000); sys.stderr.flush(); print(\'{"id": 7, "result": 1}\')'
    assert attended(prints, client)[1] == {"id": 7, "result": 1}


@pytest.mark.req("IPC-4")
def test_what_a_child_without_an_answer_printed_last_is_told(client):
    answer = attended('import sys; sys.stdin.read(); sys.stderr.write("x" * 100000 + "the end"); sys.exit(3)', client)[
        1
    ]
    assert "ended with 3" in answer["error"]["message"]
    assert answer["error"]["message"].endswith("the end")


@pytest.mark.req("IPC-4")
def test_a_child_whose_client_left_while_it_was_started_is_interrupted(client):
    client.is_open = False
    household, answer = attended("import time; time.sleep(1000)", client)
    assert household.child.returncode == -signal.SIGINT
    assert "error" in answer


@pytest.mark.req("IPC-4")
@pytest.mark.beneath_funnel("the descriptors of this process are used up")
def test_without_a_descriptor_left_who_waits_is_refused_and_not_found_again(tmp_path, monkeypatch):
    listener, logged = Listener(str(tmp_path / "sock"), Funnel()), []
    loop = Loop({listener: False}, greet=lambda _: None, take=lambda *_: None, gone=lambda _: None, work=list,
                log=lambda event, **_facts: logged.append(event))  # fmt: skip
    loop.open()
    accept = socket.socket.accept
    spare = loop._spare

    def accept_with_spare(sock):
        if _is_open(spare):
            raise OSError(24, "too many open files")
        return accept(sock)

    monkeypatch.setattr(socket.socket, "accept", accept_with_spare)
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.settimeout(PATIENCE)
        waiting.connect(str(tmp_path / "sock"))
        loop.run_once(PATIENCE)
        assert waiting.recv(1) == b""
    monkeypatch.undo()
    assert logged == ["not accepted"]
    loop.stop_listening()
    loop.close()
    loop.wake()
    assert loop._wakes == -1


def _is_open(number: int) -> bool:
    """Whether the descriptor is still the null device's."""
    try:
        return os.fstat(number).st_rdev == os.stat(os.devnull).st_rdev
    except OSError:
        return False


@pytest.mark.req("IPC-5")
def test_a_subscriber_far_behind_gets_no_more_than_it_reads_and_nobody_reads_on_for_one_that_is_gone(
    client, monkeypatch
):
    pages = []

    def page(_rows, *, after, **_more):
        pages.append(after)
        return [] if len(pages) > 50 else [type("Row", (), {"seq": after + 1})()]

    module = sys.modules[Changes.__module__]
    monkeypatch.setattr(module.q, "operations_after", page)
    monkeypatch.setattr(module.q, "first_operation", lambda _rows: type("Row", (), {"seq": 0})())
    monkeypatch.setattr(module, "operation_view", lambda _row: "x" * (BEHIND // 3))
    monkeypatch.setattr(module.wire, "plain", lambda given: given)
    changes = Changes.__new__(Changes)
    changes._send = lambda connection, line: connection.put(line)
    subscriber = Subscriber(client, 1, 0)
    changes._serve(None, subscriber)
    assert (subscriber.after, len(pages)) == (3, 3)
    client.is_open = False
    client._outgoing.clear()
    before = len(pages)
    changes._serve(None, subscriber)
    assert len(pages) == before


@pytest.mark.req("IPC-4")
def test_an_answer_that_is_no_json_is_told_and_kills_no_thread(client):
    server, logged = Server.__new__(Server), []
    server._log = lambda event, **_facts: logged.append(event)
    server.loop = type("Loop", (), {"wake": lambda *_: None})()
    client._outgoing += b"an answer that the client has not taken yet\n"
    server._push(client, {"id": 3, "result": object()})
    assert logged == ["cannot answer"]
    assert b'"id": 3' in client._outgoing
    assert b"not JSON serializable" in client._outgoing

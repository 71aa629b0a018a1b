"""Parts of the daemon that meet what seldom happens: a child that prints much, no descriptor left, a subscriber far behind."""

import os
import signal
import socket
import subprocess
import sys
import threading
from time import monotonic
from types import SimpleNamespace

import pytest

from fleet.api.remote import lifecycle
from fleet.api.remote.door import Door
from fleet.errors import BadRequest
from fleet.surfaces.daemon import run
from fleet.surfaces.daemon.household import Household
from fleet.surfaces.daemon.serving.changes import ChangeFeed, Subscriber
from fleet.surfaces.daemon.serving.children import Children
from fleet.surfaces.daemon.serving.connection import BEHIND, Connection
from fleet.surfaces.daemon.serving.loop import SocketLoop
from fleet.surfaces.daemon.serving.requests import DaemonRequest, in_surroundings
from fleet.surfaces.daemon.serving.server import Server
from fleet.surfaces.daemon.serving.workers import Workers
from fleet.surfaces.daemon.writer import WaitingChange, Writer
from fleet.world.files.sockets import Listener
from fleet.world.funnel import Funnel
from fleet.world.process import surroundings

PATIENCE = 60


@pytest.fixture
def client():
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    with ours, theirs:
        yield Connection(ours, pid=os.getpid(), is_for_agents=False)


@pytest.fixture
def agent():
    """A client of the agents' socket, and its other end."""
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    theirs.settimeout(0)
    with ours, theirs:
        yield Connection(ours, pid=os.getpid(), is_for_agents=True), theirs


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

    Children(household, send).perform(DaemonRequest(connection, {"id": 7, "method": "merge.run"}))
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


@pytest.mark.req("IPC-6", "IPC-2")
@pytest.mark.parametrize(
    ("method", "is_interrupted"), [("dispatches.start", False), ("merge.task", False), ("jobs.run", True)]
)
def test_a_daemon_that_ends_lets_its_children_finish_but_for_jobs_which_their_clients_go_on_with(
    client, monkeypatch, method, is_interrupted
):
    begun, interrupted = threading.Event(), []
    monkeypatch.setattr(sys.modules[Children.__module__], "_interrupt", interrupted.append)
    begins = 'import sys, time; print(\'{"push": "tell"}\', flush=True); time.sleep(1000)'
    household = PlayedHousehold(begins)
    children = Children(household, lambda *_: begun.set())
    server = Server.__new__(Server)
    stops = SimpleNamespace(stop=lambda _until: None)
    server._at_work, server._workers, server._own_workers, server.changes = 0, stops, stops, stops
    server._answering = 0
    server._children = children
    server.loop = SimpleNamespace(stop_listening=list, close=lambda: children.interrupt(client))
    children.perform(DaemonRequest(client, {"id": 7, "method": method}))
    assert begun.wait(PATIENCE)
    server.drain(monotonic() + PATIENCE)
    household.child.kill()
    household.child.wait(PATIENCE)
    assert interrupted == ([household.child] if is_interrupted else [])


@pytest.mark.req("IPC-4")
@pytest.mark.beneath_funnel("the descriptors of this process are used up")
def test_without_a_descriptor_left_who_waits_is_refused_and_not_found_again(tmp_path, monkeypatch):
    listener, logged = Listener(str(tmp_path / "sock"), Funnel()), []
    loop = SocketLoop({listener: False}, greet=lambda _: None, take_line=lambda *_: None, gone=lambda _: None, work=list,
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
    assert loop._wake_write_end == -1


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

    module = sys.modules[ChangeFeed.__module__]
    monkeypatch.setattr(module.q, "operations_after", page)
    monkeypatch.setattr(module.q, "first_operation", lambda _rows: type("Row", (), {"seq": 0})())
    monkeypatch.setattr(module, "operation_view", lambda _row: "x" * (BEHIND // 3))
    monkeypatch.setattr(module.wire, "plain", lambda given: given)
    changes = ChangeFeed.__new__(ChangeFeed)
    changes._send = lambda connection, line: connection.put(line)
    subscriber = Subscriber(client, 1, 0)
    changes._serve(None, subscriber)
    assert (subscriber.after, len(pages)) == (3, 3)
    client.is_open = False
    client._outgoing.clear()
    before = len(pages)
    changes._serve(None, subscriber)
    assert len(pages) == before


def nested(depth: int) -> list:
    """A list in a list, and so on."""
    made: list = []
    for _ in range(depth):
        made = [made]
    return made


@pytest.mark.req("IPC-4")
@pytest.mark.parametrize(("result", "why"), [(object(), b"not JSON serializable"), (nested(100_000), b"recursion")])
def test_an_answer_that_is_no_json_is_told_and_kills_no_thread(client, result, why):
    server, logged = Server.__new__(Server), []
    server._log = lambda event, **_facts: logged.append(event)
    server.loop = type("Loop", (), {"wake": lambda *_: None})()
    client._outgoing += b"an answer that the client has not taken yet\n"
    server._push(client, {"id": 3, "result": result})
    assert logged == ["cannot answer"]
    assert b'"id": 3' in client._outgoing
    assert why in client._outgoing


@pytest.mark.req("IPC-4")
def test_an_error_whose_facts_cannot_be_written_is_told_all_the_same(client):
    request = DaemonRequest(client, {"id": 3, "method": "x"})
    told = request.failed(BadRequest(why="", value=nested(100_000)))
    assert (told["id"], told["error"]["code"]) == (3, 1)
    assert "BadRequest" in told["error"]["message"]


@pytest.mark.req("IPC-4")
def test_a_request_whose_surroundings_cannot_be_entered_is_answered(client):
    request = DaemonRequest(client, {"id": 3, "method": "command", "args": {"columns": "abc"}})
    told = in_surroundings(request, dict)
    assert (told["id"], told["error"]["name"]) == (3, "BadRequest")
    assert surroundings.asker() is None


@pytest.mark.req("IPC-4")
def test_an_act_that_fails_costs_no_thread():
    logged, done = [], threading.Event()
    workers = Workers(log=lambda event, **_facts: logged.append(event), most=1)
    workers.submit(lambda: {}["nothing"])
    workers.submit(lambda: sys.exit(3))
    workers.submit(done.set)
    assert done.wait(5)
    assert logged == ["failed at a request"] * 2
    workers.stop(monotonic() + PATIENCE)


@pytest.mark.req("IPC-4")
def test_a_request_that_cannot_be_answered_keeps_nobody_waiting():
    logged, finished = [], []
    writer = Writer(lambda: None)
    writer.log = lambda event, **_facts: logged.append(event)

    def fail(_done: WaitingChange) -> None:
        raise LookupError

    writer._finish([WaitingChange(list, fail), WaitingChange(list, lambda _done: finished.append("the second"))])
    assert (logged, finished) == (["cannot answer"], ["the second"])


def test_a_request_that_is_longer_than_the_daemon_takes_is_refused_before_it_is_sent(tmp_path):
    door = Door(str(tmp_path / "nobody.sock"), longest=1 << 20)
    with pytest.raises(BadRequest, match="longer than 1 MiB"):
        door.send("tasks.log", {"message": "x" * (1 << 20)})
    door.close()


@pytest.mark.req("SEC-2")
def test_the_requests_of_all_agents_at_work_are_bounded_and_there_is_room_again_when_they_are_done(agent, monkeypatch):
    monkeypatch.setattr(sys.modules[Server.__module__], "MOST_AT_WORK", 100)
    connection, theirs = agent
    server, routed = Server.__new__(Server), []
    server._lock, server._at_work, server._taken, server._errors, server._of_agents = threading.Lock(), 0, 0, 0, 0
    server._answering = 0
    server.loop = SimpleNamespace(wake=lambda *_: None)
    server._route = routed.append
    long = b'{"id": 1, "method": "tasks.log", "args": {"message": "%s"}}' % (b"x" * 30)
    server._take_line(connection, long)
    server._take_line(connection, long)
    assert len(routed) == 1
    connection.flush()
    assert b"too much at once" in theirs.recv(10_000)
    server._send(connection, {"id": 1, "result": None})
    assert (server._of_agents, connection.working) == (0, 0)
    server._take_line(connection, long)
    assert len(routed) == 2


@pytest.mark.req("IPC-2")
def test_a_daemon_that_ends_closes_no_connection_before_the_answer_is_sent():
    server, order = Server.__new__(Server), []
    server._lock, server._at_work, server._answering = threading.Lock(), 1, 0
    server._errors, server._of_agents = 0, 0
    stops = SimpleNamespace(stop=lambda _until: None)
    server._workers, server._own_workers, server.changes = stops, stops, stops
    server._children = SimpleNamespace(leave=list)
    sending, goes_on = threading.Event(), threading.Event()

    def send(_answer) -> bool:
        sending.set()
        assert goes_on.wait(PATIENCE)
        order.append("sent")
        return True

    connection = SimpleNamespace(at_work=1, working=9, is_for_agents=False, events=1, send=send)
    sender = threading.Thread(target=server._send, args=(connection, {"id": 1, "result": None}))

    def run_once(_seconds: float) -> None:
        goes_on.set()
        sender.join(PATIENCE)

    server.loop = SimpleNamespace(stop_listening=list, run_once=run_once, close=lambda: order.append("closed"))
    sender.start()
    assert sending.wait(PATIENCE)
    server.drain(monotonic() + PATIENCE)
    goes_on.set()
    sender.join(PATIENCE)
    assert order == ["sent", "closed"]


@pytest.mark.req("LOG-1")
def test_a_subscriber_is_answered_before_anything_is_pushed(client):
    server, order = Server.__new__(Server), []
    fleet = SimpleNamespace(operations=SimpleNamespace(newest=lambda: 7))
    server._household = SimpleNamespace(open=lambda: fleet)
    server._workers = SimpleNamespace(submit=lambda act: act())
    server._send = lambda _connection, answer: order.append(answer)
    server.changes = SimpleNamespace(subscribe=lambda _connection, *of: order.append(of))
    server._subscribe(DaemonRequest(client, {"id": 5, "method": "subscribe", "args": {"after": 3}}))
    answer, subscribed = order
    assert answer == {"id": 5, "result": {"newest": 7, "after": 3, "snapshot": None}}
    assert subscribed == (5, 3)


@pytest.mark.req("LOG-1")
def test_nobody_subscribes_for_a_client_that_is_gone(client):
    changes = ChangeFeed(None, send=print, tell=print, lost=print, log=print)
    changes.subscribe(client, 1, 0)
    assert len(changes) == 1
    client.is_open = False
    changes.subscribe(client, 2, 0)
    assert len(changes) == 0


def test_a_hang_up_only_wakes_the_loop_which_reads_the_settings_again(monkeypatch):
    """The handler may interrupt a thread that holds the lock of the log."""
    logged, noticed = [], []
    loop = SocketLoop({}, greet=print, take_line=print, gone=print, work=list, log=print)
    loop.open()
    daemon = run.Daemon.__new__(run.Daemon)
    daemon._log = lambda event, **_facts: logged.append(event)
    daemon._server = SimpleNamespace(loop=loop, changes=SimpleNamespace(notice=lambda: noticed.append(1)))
    monkeypatch.setattr(run, "_has_terminal", lambda: False)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        daemon._listen_to_signals()
        signal.raise_signal(signal.SIGHUP)
        assert logged == []
        loop.run_once(PATIENCE)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert (logged, noticed) == (["reads the settings again"], [1])
    loop.close()


class Endless:
    """A thread that does not end, with a clock of the test."""

    def __init__(self) -> None:
        self.now = 100.0

    def join(self, seconds: float | None) -> None:
        assert seconds is not None
        self.now += seconds


@pytest.mark.req("IPC-6")
def test_a_daemon_whose_parts_do_not_end_has_ended_before_its_client_gives_up(monkeypatch):
    endless = Endless()
    for module in (run, sys.modules[Server.__module__], sys.modules[Workers.__module__],
                   sys.modules[ChangeFeed.__module__], sys.modules[Household.__module__]):  # fmt: skip
        monkeypatch.setattr(module, "monotonic", lambda: endless.now)
    workers = Workers(log=print)
    workers._threads = [endless] * 16
    household = Household("/", None, Funnel())
    household.writer._thread = endless
    changes = ChangeFeed(household, send=print, tell=print, lost=print, log=print)
    changes._thread = endless
    server = Server.__new__(Server)
    server.loop = SimpleNamespace(stop_listening=list, close=list, run_once=endless.join)
    server._at_work, server._workers, server._own_workers, server.changes = 1, workers, workers, changes
    server._children = Children(household, print)
    daemon = run.Daemon.__new__(run.Daemon)
    daemon._log = lambda *_event, **_facts: None
    daemon._duties, daemon._server, daemon._household = SimpleNamespace(stop=endless.join), server, household
    daemon._end()
    assert endless.now - 100.0 <= run.ENDING + 1 < lifecycle._END

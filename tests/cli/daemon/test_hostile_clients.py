"""Clients that are slow, broken or hostile harm nobody else."""

import errno
import json
import socket
from collections.abc import Iterator
from threading import Event, Lock, Thread

import pytest

from fleet.errors.refused import Refused
from fleet.surfaces.daemon.serving import children, loop
from fleet.surfaces.daemon.serving.children import Children
from fleet.surfaces.daemon.serving.connection import LONGEST_LINE, LONGEST_LINE_OF_AGENTS, MOST_AT_ONCE, PATIENCE
from fleet.surfaces.daemon.serving.loop import SocketLoop
from fleet.testing.crash.scenarios import until
from fleet.world.files.sockets import Listener
from fleet.world.funnel import Funnel

pytestmark = pytest.mark.req("IPC-4")


def connected(home, name="daemon.sock"):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(60)
    sock.connect(str(home / name))
    return sock


def lines_of(sock, number):
    text = b""
    while text.count(b"\n") < number:
        chunk = sock.recv(65536)
        if not chunk:
            break
        text += chunk
    return [json.loads(line) for line in text.splitlines()]


def is_well(fleet, served):
    fleet("task", "list").ok()
    return served.call("daemon.status")["running"]


@pytest.mark.parametrize(
    "line",
    [b"", b"garbage", b"[1, 2]", b'"x"', b"{}", b'{"id": 1}', b'{"id": [], "method": "x"}', b"\xff\xfe", b"[" * 100_000,
     b'{"id": true, "method": "daemon.status"}', b'{"id": 1, "method": "command", "args": {"words": ["ps"], "columns": "x"}}',
     b'{"id": 1, "method": "command", "args": {"words": ["ps"], "columns": -5}}',
     b'{"id": 1, "method": "tasks.log", "args": 3}', b'{"id": 1, "method": "tasks.log", "caller": {"environ": {"A": 1}}}',
     b'{"id": 1, "method": "command", "args": {"words": "log"}}',
     b'{"id": 1, "method": "tasks.log", "caller": {"dispatch": "../../etc"}}'],
    ids=range(16),
)  # fmt: skip
def test_a_line_that_is_no_request_is_refused_and_the_connection_goes_on(fleet, served, line):
    with connected(fleet.home) as sock:
        sock.sendall(line + b"\n" + b'{"id": 7, "method": "daemon.status"}\n')
        greeting, *answers = lines_of(sock, 3)
    error, answer = sorted(answers, key=lambda line: "result" in line)
    assert greeting["protocol"] == 1
    assert error["error"]["code"] == 2
    assert error["id"] in {None, 1}
    assert (answer["id"], answer["result"]["running"]) == (7, True)


def test_a_line_without_end_is_cut_off(fleet, served):
    with connected(fleet.home) as sock, pytest.raises((BrokenPipeError, ConnectionResetError)):
        sock.sendall(b"x" * (2 * LONGEST_LINE))
    assert is_well(fleet, served)


@pytest.mark.req("SEC-2")
def test_a_longer_line_than_an_agent_sends_is_cut_off_at_the_agents_socket(fleet, served):
    with connected(fleet.home, "door/agents.sock") as sock, pytest.raises((BrokenPipeError, ConnectionResetError)):
        sock.sendall(b"x" * (LONGEST_LINE_OF_AGENTS + (1 << 20)))
    assert is_well(fleet, served)


@pytest.mark.req("SEC-2")
def test_an_id_of_any_depth_harms_nobody_and_comes_back_to_nobody(fleet, served):
    """Some depth can be read and cannot be written."""
    depths = range(900, 1_010)
    with connected(fleet.home, "door/agents.sock") as sock:
        for depth in depths:
            sock.sendall(b'{"id": %s%s, "method": "x"}\n' % (b"[" * depth, b"]" * depth))
        answers = lines_of(sock, len(depths) + 1)[1:]
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(None, 2)] * len(depths)
    assert is_well(fleet, served)


@pytest.mark.req("SEC-2")
def test_requests_with_a_wrong_width_use_up_no_thread(fleet, served):
    words = {"words": ["status"], "columns": "abc"}
    with connected(fleet.home, "door/agents.sock") as sock:
        for number in range(20):
            caller = {"dispatch": "deadbeef", "token": "x"}
            request = {"id": number, "method": "command", "args": words, "caller": caller}
            sock.sendall(json.dumps(request).encode() + b"\n")
        answers = lines_of(sock, 21)[1:]
    assert sorted(answer["id"] for answer in answers) == list(range(20))
    assert {answer["error"]["name"] for answer in answers} == {"BadRequest"}
    assert is_well(fleet, served)


def test_requests_of_one_connection_are_answered_in_any_order_each_with_its_id(fleet, served):
    fleet.add("a")
    with connected(fleet.home) as sock:
        for number in range(300):
            args = {"project": "web", "slug": "a", "message": f"line {number}"}
            request = {"id": number, "method": "tasks.log", "args": args, "key": f"k{number}", "caller": {"as": "ann"}}
            sock.sendall(json.dumps(request).encode() + b"\n")
        answers = lines_of(sock, 301)[1:]
    assert sorted(answer["id"] for answer in answers) == list(range(300))
    assert [answer for answer in answers if "result" not in answer] == []
    assert served.call("daemon.status")["largest"] > 1
    logged = [(line["actor"], line["message"]) for line in fleet.show("a")["log"]]
    assert sorted(logged) == sorted(("ann", f"line {number}") for number in range(300))


def test_a_thousand_connections_are_served_beside_each_other(fleet, served):
    fleet.add("a")
    clients = [connected(fleet.home) for _ in range(1_000)]
    try:
        fleet("task", "log", "a", "x").ok()
        clients[-1].sendall(b'{"id": 1, "method": "daemon.status"}\n')
        assert lines_of(clients[-1], 2)[1]["result"]["clients"] >= 1_000
    finally:
        for client in clients:
            client.close()
    assert is_well(fleet, served)


def test_a_client_that_never_reads_is_dropped_and_holds_up_nobody(fleet, served):
    fleet.add("a", "--description", "x" * 60_000)
    request = b'{"id": 1, "method": "tasks.show", "args": {"project": "web", "slug": "a"}}\n'
    with connected(fleet.home) as sock:
        sock.settimeout(0.2)
        try:
            for _ in range(2_000):
                sock.sendall(request)
        except (TimeoutError, BrokenPipeError, ConnectionResetError):
            pass
        assert is_well(fleet, served)
    assert is_well(fleet, served)


def test_half_a_line_and_a_hang_up_leave_nothing(fleet, served):
    for _ in range(20):
        with connected(fleet.home) as sock:
            sock.sendall(b'{"id": 1, "method": "tasks.log", "args": {"project"')
    assert is_well(fleet, served)
    assert served.call("daemon.status")["at_work"] == 1  # this question itself


class Asked:
    """A request whose process never comes to be: its start fails once the test says so."""

    method = "merge.task"
    connection = None

    def __init__(self, go: Event) -> None:
        self._go = go

    @property
    def surroundings(self):
        self._go.wait(60)
        raise InterruptedError

    def failed(self, _error):
        return {"error": {}}


class Household:
    def world(self):
        return None


@pytest.mark.req("IPC-4")
def test_no_more_than_the_limit_are_begun_however_many_ask_before_the_first_has_started():
    go, told, refused, lock = Event(), [], [], Lock()
    every = Children(Household(), lambda _connection, answer: told.append(answer))

    def ask() -> None:
        try:
            every.perform(Asked(go))
        except Refused as error:
            with lock:
                refused.append(error)

    asking = [Thread(target=ask) for _ in range(children.MOST + 10)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert (len(every), len(refused)) == (children.MOST, 10)
    go.set()
    until(lambda: len(told) == children.MOST)
    assert len(every) == 0


@pytest.mark.req("IPC-4")
def test_requests_for_which_the_system_has_no_thread_do_not_count_as_begun(monkeypatch):
    class NoThread:
        def __init__(self, **_how):
            pass

        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(children, "Thread", NoThread)
    every = Children(Household(), print)
    for _ in range(children.MOST + 1):
        with pytest.raises(RuntimeError):
            every.perform(Asked(Event()))
    assert len(every) == 0


class Doors:
    """The loop of a daemon at both sockets, in this process, with a clock of the test."""

    def __init__(self, folder) -> None:
        self.folder, self.now, self.logged, self.taken = folder, 0.0, [], []
        self.listeners = {Listener(str(folder / name), Funnel()): name == "agents" for name in ("persons", "agents")}
        self.loop = SocketLoop(self.listeners, greet=lambda client: client.put({"hello": 1}), take_line=self._take_line,
                         gone=lambda _: None, work=list, log=lambda event, **_facts: self.logged.append(event))  # fmt: skip
        self.loop.open()

    def _take_line(self, connection, line: bytes) -> None:
        if line == b"bad":
            raise LookupError(line)
        self.taken.append(line)
        connection.put({"long": "x" * (4 << 20 if line == b"long" else 1)})

    def turn(self, seconds: float = 0.0) -> None:
        """Let time pass, then handle all that has come, and look after the clients."""
        self.now += seconds
        for _ in range(4):
            self.loop.run_once(0)
        self.loop._look_after()

    def client(self, name: str = "agents") -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(self.folder / name))
        sock.settimeout(0)
        self.turn()
        return sock

    def close(self) -> None:
        self.loop.stop_listening()
        self.loop.close()


def is_open(sock: socket.socket) -> bool:
    """Whether the daemon has not closed the connection. Reads what it has sent."""
    try:
        while sock.recv(1 << 16):
            pass
    except BlockingIOError:
        return True
    except ConnectionResetError:
        pass
    return False


@pytest.fixture
def doors(tmp_path, monkeypatch):
    made = Doors(tmp_path)
    for module in ("connection", "loop"):
        monkeypatch.setattr(f"fleet.surfaces.daemon.serving.{module}.monotonic", lambda: made.now)
    yield made
    made.close()


def test_half_a_line_a_byte_a_second_and_an_unread_answer_are_cut_off_after_30_seconds(doors):
    half, slow, deaf, silent = clients = [doors.client() for _ in range(4)]
    begun, closed = doors.now, {}
    half.send(b'{"id"')
    deaf.send(b"long\n")
    doors.turn()
    for second in range(1, int(PATIENCE) + 10):
        if slow not in closed:
            slow.send(b" ")
        doors.turn(1)
        closed.update({sock: second for sock in (half, slow) if sock not in closed and not is_open(sock)})
    assert closed == {half: PATIENCE + 1, slow: PATIENCE + 2}
    assert doors.now == begun + PATIENCE + 9
    assert (doors.logged.count("closed a connection"), len(doors.loop.connections)) == (3, 1)
    assert is_open(silent)
    for client in clients:
        client.close()


def test_what_arrives_while_requests_are_performed_is_taken_but_no_connection_is_closed_meanwhile(doors):
    asking, leaving, flooding = [doors.client() for _ in range(3)]
    gone, open_meanwhile = [], []
    doors.loop._gone = gone.append

    def work() -> bool:
        if doors.taken == [b"first"]:
            asking.send(b"second\n")
            leaving.close()
            flooding.send(b"x" * 8)
            doors.loop.take_arrived()
            doors.loop.take_arrived()
            open_meanwhile.append((list(doors.taken), list(gone), len(doors.loop.connections)))
        return False

    doors.loop._work = work
    for connection in doors.loop.connections:
        connection._longest = 6
    asking.send(b"first\n")
    doors.loop.run_once(0)
    assert open_meanwhile == [([b"first", b"second"], [], 3)]
    asked_for = []
    select = doors.loop._selector.select
    doors.loop._selector.select = lambda seconds: asked_for.append(seconds) or select(seconds)
    doors.loop.run_once(60)
    assert asked_for == [0]
    assert len(gone) == 2
    assert doors.logged == ["closed a connection"]
    assert is_open(asking)
    for sock in (asking, flooding):
        sock.close()


def several(doors, count: int = 3) -> list[socket.socket]:
    """So many clients, and a `work` that takes what arrives while a transaction is open, until nothing has come."""
    clients = [doors.client() for _ in range(count)]

    def work() -> bool:
        before = -1
        while before != len(doors.taken):
            before = len(doors.taken)
            doors.loop.take_arrived()
        return False

    doors.loop._work = work
    return clients


def test_an_unexpected_error_at_what_arrives_costs_only_the_connection_that_it_is_of(doors):
    asking, bad, good = clients = several(doors)
    take = doors.loop._work

    def work() -> bool:
        bad.send(b"bad\n")
        good.send(b"good\n")
        return take()

    doors.loop._work = work
    asking.send(b"first\n")
    doors.loop.run_once(0)
    assert doors.taken == [b"first", b"good"]
    doors.loop._work = lambda: False
    doors.turn()
    assert (is_open(asking), is_open(bad), is_open(good)) == (True, False, True)
    assert doors.logged == ["closed a connection"]
    for sock in clients:
        sock.close()


def test_what_arrives_is_taken_for_a_moment_only_and_the_rest_afterwards(doors):
    clients = several(doors, 4)
    take_line = doors.loop._take_line

    def slowly(connection, line: bytes) -> None:
        doors.now += loop._TAKING * 0.6
        take_line(connection, line)

    doors.loop._take_line = slowly
    doors.loop._next_events, next_events = (lambda _seconds: []), doors.loop._next_events
    for number, sock in enumerate(clients):
        sock.send(b"%d\n" % number)
    doors.loop._work = doors.loop.take_arrived
    doors.loop.run_once(0)
    assert len(doors.taken) == 2
    doors.loop._next_events = next_events
    doors.turn()
    assert sorted(doors.taken) == [b"0", b"1", b"2", b"3"]
    for sock in clients:
        sock.close()


def test_a_client_whose_line_is_too_long_gets_nothing_done_any_more(doors):
    asking, flooding, _other = clients = several(doors)
    for connection in doors.loop.connections:
        connection._longest = 6
    take = doors.loop._work

    def work() -> bool:
        flooding.send(b"x" * 8)
        take()
        flooding.send(b"y\nmore\n")
        return False

    doors.loop._work = work
    asking.send(b"first\n")
    doors.loop.run_once(0)
    doors.loop._work = lambda: False
    doors.turn()
    assert doors.taken == [b"first"]
    assert not is_open(flooding)
    for sock in clients:
        sock.close()


def test_a_long_line_is_not_read_on_while_a_transaction_is_open(doors, monkeypatch):
    monkeypatch.setattr(loop, "_FEW", 10)
    asking, long, _other = clients = several(doors)
    take = doors.loop._work
    long.send(b"x" * 20)
    doors.turn()

    def work() -> bool:
        long.send(b"\n")
        return take()

    doors.loop._work = work
    asking.send(b"first\n")
    doors.loop.run_once(0)
    assert doors.taken == [b"first"]
    doors.loop._work = lambda: False
    doors.turn()
    assert doors.taken == [b"first", b"x" * 20]
    for sock in clients:
        sock.close()


def test_lines_that_wait_in_the_daemon_are_taken_when_a_request_ends_just_before_the_loop_looks(doors):
    (asking,) = several(doors, 1)
    doors.loop._work = lambda: False
    (connection,) = doors.loop.connections
    doors.loop._take_line = lambda of, line: (doors.taken.append(line), setattr(of, "at_work", of.at_work + 1))
    lines = connection.lines

    def answered_just_after() -> Iterator[bytes]:
        yield from lines()
        connection.at_work = 0  # by another thread, which sees that the loop waits for what the client sends

    connection.lines = answered_just_after
    asking.send(b"line\n" * (MOST_AT_ONCE + 36))
    doors.loop.run_once(0)
    doors.loop.run_once(0)
    assert len(doors.taken) == MOST_AT_ONCE + 36
    asking.close()


def test_after_requests_the_loop_looks_for_more_before_it_sleeps(doors, monkeypatch):
    asked_for = []

    def select(seconds: float) -> list:
        doors.now += loop._AWAKE / 3
        asked_for.append(seconds)
        return []

    monkeypatch.setattr(loop, "_AWAKE", 0.0001)
    doors.loop._selector.select = select
    doors.loop._work = lambda: True
    doors.loop.run_once(0)
    doors.loop._work = lambda: False
    doors.loop.run_once(5.0)
    assert asked_for == [0, *[0] * (len(asked_for) - 2), 5.0]
    assert len(asked_for) > 3
    asked_for.clear()
    doors.loop.run_once(5.0)
    assert asked_for == [5.0]
    del doors.loop._selector.select


def test_an_unexpected_error_costs_only_the_connection_that_it_is_of(doors):
    bad, good = doors.client(), doors.client()
    doors.loop._work = lambda: {}["nothing"]
    bad.send(b"bad\n")
    good.send(b"good\n")
    doors.turn()
    assert (doors.taken, is_open(bad), is_open(good)) == ([b"good"], False, True)
    assert {"failed at a connection", "failed at requests"} == set(doors.logged)
    good.close()
    bad.close()


@pytest.mark.req("SEC-2")
def test_agents_use_up_their_own_connections_and_persons_have_room_left(doors):
    doors.loop._most_agents = 2
    agents = [doors.client() for _ in range(5)]
    assert [is_open(sock) for sock in agents] == [True, True, False, False, False]
    assert doors.logged == ["refused a connection"]
    person = doors.client("persons")
    assert is_open(person)
    agents[0].close()
    doors.turn()
    again = doors.client()
    assert is_open(again)
    for client in (*agents, person, again):
        client.close()


@pytest.mark.req("SEC-2")
def test_what_is_held_for_all_agents_together_is_bounded_and_the_oldest_half_line_goes_first(doors, monkeypatch):
    monkeypatch.setattr("fleet.surfaces.daemon.serving.loop.MOST_HELD", 100_000)
    person, few, first, second = clients = [doors.client("persons"), *(doors.client() for _ in range(3))]
    few.send(b"x" * 1_000)
    for sock in (person, person, first, second):
        sock.send(b"x" * 60_000)
        doors.turn(0.1)
    assert [is_open(sock) for sock in (person, few, first, second)] == [True, True, False, True]
    for client in clients:
        client.close()


def test_a_client_that_has_gone_before_it_is_known_harms_nobody(doors, monkeypatch):
    """On macOS the kernel does not know the peer of a socket that was closed at the other end."""

    def gone(_sock):
        raise OSError(errno.ENOTCONN, "Socket is not connected")

    with monkeypatch.context() as patched:
        patched.setattr("fleet.surfaces.daemon.serving.loop.peer_of", gone)
        lost = doors.client()
    assert not is_open(lost)
    here = doors.client()
    assert is_open(here)
    assert doors.logged == []
    here.close()
    lost.close()


def test_a_client_that_gave_up_costs_the_one_behind_it_nothing(doors, monkeypatch):
    accept, failures = socket.socket.accept, [ConnectionAbortedError(errno.ECONNABORTED, "given up")]

    def accept_later(sock):
        if failures:
            raise failures.pop()
        return accept(sock)

    monkeypatch.setattr(socket.socket, "accept", accept_later)
    waiting = doors.client()
    assert is_open(waiting)
    assert doors.logged == ["not accepted"]
    waiting.close()


def test_a_foreign_file_in_the_socket_s_place_is_logged_once(doors):
    path = doors.folder / "persons"
    for _ in range(2):
        path.unlink()
        path.write_text("mine")
        for _ in range(3):
            doors.turn(10)
        path.unlink()
        doors.turn(10)
    assert doors.logged == ["the socket is gone", "listens again"] * 2

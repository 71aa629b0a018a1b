"""Clients that are slow, broken or hostile harm nobody else."""

import json
import socket
from threading import Event, Lock, Thread

import pytest

from fleet.errors.refused import Refused
from fleet.surfaces.daemon.serving import children
from fleet.surfaces.daemon.serving.children import Children
from fleet.surfaces.daemon.serving.connection import LONGEST_LINE
from fleet.testing.crash.scenarios import until

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
     b'{"id": 1, "method": "tasks.log", "args": 3}', b'{"id": 1, "method": "tasks.log", "caller": {"environ": {"A": 1}}}',
     b'{"id": 1, "method": "command", "args": {"words": "log"}}',
     b'{"id": 1, "method": "tasks.log", "caller": {"dispatch": "../../etc"}}'],
    ids=range(13),
)  # fmt: skip
def test_a_line_that_is_no_request_is_refused_and_the_connection_goes_on(fleet, served, line):
    with connected(fleet.home) as sock:
        sock.sendall(line + b"\n" + b'{"id": 7, "method": "daemon.status"}\n')
        greeting, error, answer = lines_of(sock, 3)
    assert greeting["protocol"] == 1
    assert error["error"]["code"] == 2
    assert (answer["id"], answer["result"]["running"]) == (7, True)


def test_a_line_without_end_is_cut_off(fleet, served):
    with connected(fleet.home) as sock, pytest.raises((BrokenPipeError, ConnectionResetError)):
        sock.sendall(b"x" * (2 * LONGEST_LINE))
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

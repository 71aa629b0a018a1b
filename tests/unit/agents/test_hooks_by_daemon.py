"""Hooks of agents that have the home: the daemon records what they tell while it answers; else they do so, under the same key."""

import json
import threading
from socket import AF_UNIX, socket

import pytest

from fleet.api.hooking import Hooking
from fleet.model.agents.dialect import Dialect
from fleet.surfaces.cli.hot import hook
from fleet.surfaces.cli.hot.daemon_or_local_hooks import DaemonOrLocalHooks
from fleet.surfaces.cli.hot.socket_hooks import SocketHooks
from fleet.verbs.agents.hook import Reply
from fleet.world.funnel import Funnel

DIALECT = Dialect({"engine": "shell", "events": {"Start": "started"}, "wait": 10})
# The facts that a hook sends of what the engine told, and no more: the output of a tool may be long.
TOLD = {"tool_name": "Write", "tool_input": {"content": "x"}, "cost": {"total_cost_usd": 1}}
DONE = {"result": {"messages": ["m1"], "payload": None}}


class PlayedDaemon:
    """Greets each client, reads its request, and answers with what the test gives; None: it closes without an answer."""

    def __init__(self, path, *answers) -> None:
        self.requests: list[dict] = []
        self._answers = list(answers)
        self._socket = socket(AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        for answer in self._answers:
            client, _ = self._socket.accept()
            with client, client.makefile("rwb") as lines:
                lines.write(b'{"fleet": "x"}\n')
                lines.flush()
                self.requests.append(json.loads(lines.readline()))
                if answer is not None:
                    lines.write(json.dumps({"id": 1, **answer}).encode() + b"\n")

    def end(self) -> None:
        self._thread.join(60)
        self._socket.close()


class Home:
    """What a hook does by itself: which keys it used, and what it did."""

    def __init__(self) -> None:
        self.keys: list[str | None] = []
        self.did: list[str] = []
        self.store = self

    def close(self) -> None:
        self.did.append("close")

    def under(self, key):
        from contextlib import nullcontext  # noqa: PLC0415

        self.keys.append(key)
        return nullcontext()

    def prove(self) -> None:
        self.did.append("prove")

    def handle_event(self, *_: object) -> Reply:
        self.did.append("event")
        return Reply()

    def acknowledge(self, idents) -> None:
        self.did.append(f"acknowledge {idents}")


@pytest.fixture
def at_home(monkeypatch) -> Home:
    home = Home()
    monkeypatch.setattr(Hooking, "here", lambda _funnel: home)
    return home


@pytest.mark.req("IPC-2")
def test_the_daemon_handles_the_event_and_the_home_is_not_opened(tmp_path, at_home):
    daemon = PlayedDaemon(tmp_path / "sock", DONE, {"result": None})
    with DaemonOrLocalHooks(str(tmp_path / "sock"), Funnel()) as hooks:
        reply = hooks.handle_event(DIALECT, "Start", TOLD | {"tool_response": "x" * 2_000_000}, 5)
        hooks.acknowledge(reply.messages)
    daemon.end()
    assert [each["method"] for each in daemon.requests] == ["hooks.event", "hooks.acknowledge"]
    assert (daemon.requests[0]["args"]["payload"], daemon.requests[1]["args"]) == (TOLD, {"messages": ["m1"]})
    assert at_home.did == []


@pytest.mark.req("IPC-2", "IPC-3")
@pytest.mark.parametrize(
    "answer", [None, {"error": {"name": "WrongToken", "message": "no"}}, {"error": {"name": "Draining"}}]
)
def test_without_an_answer_the_hook_goes_on_by_itself_under_the_same_key_and_at_once(tmp_path, at_home, answer):
    daemon = PlayedDaemon(tmp_path / "sock", answer)
    with DaemonOrLocalHooks(str(tmp_path / "sock"), Funnel()) as hooks:
        hooks.handle_event(DIALECT, "Start", {}, 5)
        hooks.acknowledge(["m1"])
    daemon.end()
    assert at_home.did == ["prove", "event", "acknowledge ['m1']", "close"]
    assert at_home.keys == [daemon.requests[0]["key"], None], "what follows is another request"


@pytest.mark.req("IPC-3", "SEC-3")
def test_an_agent_with_only_the_socket_asks_a_restarted_daemon_again_under_the_same_key(tmp_path, monkeypatch):
    daemon = PlayedDaemon(tmp_path / "sock", None, {"error": {"name": "Draining"}}, DONE)
    hooks = SocketHooks(str(tmp_path / "sock"))
    monkeypatch.setattr(type(hooks._clock), "wait", lambda *_: None)
    assert hooks.handle_event(DIALECT, "Start", {}, 5).messages == ["m1"]
    daemon.end()
    first, second, third = (each["key"] for each in daemon.requests)
    assert first == second == third


class PlayedClock:
    """A clock that moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def ticks(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def connected_hooks(path) -> SocketHooks:
    hooks = SocketHooks(str(path))
    hooks._clock = PlayedClock()
    return hooks


def never() -> bool:
    return False


@pytest.mark.req("SEC-3", "MSG-1")
def test_an_agent_with_only_the_socket_looks_every_second_for_what_wakes_it(tmp_path):
    nothing, woken = {"result": {"over": False}}, {"result": {"over": True, "text": "go on", "messages": ["m1"]}}
    daemon = PlayedDaemon(tmp_path / "sock", nothing, woken)
    hooks = connected_hooks(tmp_path / "sock")
    assert hooks.wait_for_messages(DIALECT, 5, never) == ("go on", ["m1"])
    daemon.end()
    assert [each["method"] for each in daemon.requests] == ["hooks.messages"] * 2
    assert daemon.requests[0]["args"] == {"engine": "shell", "settling": True}
    assert hooks._clock.now == 1


@pytest.mark.req("SEC-3", "MSG-1")
@pytest.mark.parametrize(("is_gone", "looks"), [(True, 1), (False, 10)], ids=["the agent is gone", "the time is over"])
def test_an_agent_with_only_the_socket_is_not_woken_once_it_is_gone_or_its_time_is_over(tmp_path, is_gone, looks):
    daemon = PlayedDaemon(tmp_path / "sock", *[{"result": {"over": False}}] * looks)
    assert connected_hooks(tmp_path / "sock").wait_for_messages(DIALECT, 5, lambda: is_gone) == ("", [])
    daemon.end()
    assert len(daemon.requests) == looks


@pytest.mark.req("MSG-1")
def test_twenty_seconds_after_the_turn_the_stop_is_recorded_if_it_ever_is(tmp_path):
    daemon = PlayedDaemon(tmp_path / "sock", *[{"result": {"over": False}}] * 21, {"result": {"over": True}})
    patient = Dialect({"engine": "shell", "events": {}, "wait": 60})
    assert connected_hooks(tmp_path / "sock").wait_for_messages(patient, 5, never) == ("", [])
    daemon.end()
    assert [each["args"]["settling"] for each in daemon.requests] == [True] * 21 + [False]


@pytest.mark.req("SEC-3", "ASK-1")
@pytest.mark.parametrize("is_gone", [True, False], ids=["the agent is gone", "the time is over"])
def test_a_question_that_nobody_answers_is_closed_at_the_end_of_the_wait(tmp_path, is_gone):
    looks = 0 if is_gone else 10
    late = {"result": {"over": True, "payload": {"behavior": "allow"}}}
    daemon = PlayedDaemon(tmp_path / "sock", *[{"result": {"over": False}}] * looks, late)
    hooks = connected_hooks(tmp_path / "sock")
    answer = hooks.wait_for_answer(DIALECT, "Asks", {"tool_name": "Bash"}, "0a0b0c0d", lambda: is_gone)
    assert answer == {"behavior": "allow"}, "it came at the last moment"
    daemon.end()
    assert [each["args"].get("last") for each in daemon.requests] == [None] * looks + [True]
    assert daemon.requests[-1]["args"]["question"] == "0a0b0c0d"


@pytest.mark.req("IPC-2")
def test_a_hook_takes_the_daemon_if_there_is_one_and_a_token_else_the_home(tmp_path, monkeypatch, at_home):
    monkeypatch.setenv("FLEET_HOME", str(tmp_path))
    monkeypatch.setenv("FLEET_TOKEN", "secret")
    assert hook._hooking(Funnel()) is at_home, "no daemon"
    (tmp_path / "daemon.sock").touch()
    assert isinstance(hook._hooking(Funnel()), DaemonOrLocalHooks)
    monkeypatch.setenv("FLEET_DIRECT", "1")
    assert hook._hooking(Funnel()) is at_home
    monkeypatch.delenv("FLEET_DIRECT")
    monkeypatch.delenv("FLEET_TOKEN")
    assert hook._hooking(Funnel()) is at_home, "its engine keeps the token from its hooks"
    monkeypatch.setenv("FLEET_DOOR", str(tmp_path / "door"))
    assert isinstance(hook._hooking(Funnel()), SocketHooks)

"""The hooks of an agent by the daemon's socket: short requests, and the waiting between them.

The daemon never has to hold a request for an answer that may take a day. Where an agent has only the socket, a daemon that is being
restarted is waited for, and asked again under the same key: what it has done is not done twice.
"""

from __future__ import annotations

import os

from fleet.fast import encode
from fleet.model import VERSION
from fleet.model.agents.actors import TOKEN
from fleet.model.agents.allow import ALLOWED_VARIABLE
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.surfaces.cli.hot.by_daemon import exchange
from fleet.world.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from fleet.api.remote.wire import Json
    from fleet.model.agents.dialect import Dialect, Payload

# Seconds between two looks for an answer or a message.
LOOK_AGAIN = 1.0
# How long the hook that reports the stop, which runs beside this one, may take to record that the agent is idle.
SETTLING = 20.0
# Seconds that a daemon has to answer, and seconds for which one that is not there is waited for.
PATIENCE = 10.0


class Unanswered(Exception):
    """The daemon did not answer, or refused. Whether it has done the request, its key tells."""

    def __init__(self, why: str, key: str) -> None:
        super().__init__(why)
        self.key = key


class Answered:
    """What the daemon says to a hook.

    `payload` is what the engine reads, `messages` are those in it or in `text`, `question` is the one whose answer is waited for,
    and `over` says that nothing more has to be waited for.
    """

    __slots__ = ("messages", "over", "payload", "question", "text")

    def __init__(self, given: Json) -> None:
        self.payload: Payload | None = given.get("payload")
        self.messages: list[str] = list(given.get("messages") or ())
        self.question: str | None = given.get("question")
        self.over = bool(given.get("over"))
        self.text = str(given.get("text") or "")


class HookingByDoor:
    """The hooks of one agent, by the daemon's socket."""

    def __init__(self, path: str, *, waits: bool = True) -> None:
        self._path = path
        # Whether a daemon that is not there is waited for.
        self._waits = waits
        self._clock = Clock()

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: each request has a connection of its own."""

    def prove(self) -> None:
        """Do nothing: the event of the start carries the proof."""

    def handle_event(self, dialect: Dialect, event: str, payload: Payload, at: int) -> Answered:
        """Let the daemon handle one event, and return the reply to the engine."""
        own = {"nonce": os.environ.get(VARIABLE, ""), "rules": os.environ.get(ALLOWED_VARIABLE, "")}
        told = {"event": event, "engine": dialect.engine, "payload": payload, "at": at, **own}
        return self._ask("hooks.event", told)

    def wait_for_answer(
        self, dialect: Dialect, event: str, payload: Payload, question: str, is_agent_gone: Callable[[], bool]
    ) -> Payload | None:
        """Wait for the answer to a question. Returns the answer as the engine reads it; None when there is none."""
        asked = {"event": event, "engine": dialect.engine, "payload": payload, "question": question}
        until = self._clock.ticks() + dialect.wait
        while self._clock.ticks() < until and not self._is_gone_soon(is_agent_gone):
            looked = self._ask("hooks.answer", asked, until=until)
            if looked.over:
                return looked.payload
        return self._ask("hooks.answer", {**asked, "last": True}).payload

    def wait_for_messages(self, dialect: Dialect, _at: int, is_agent_gone: Callable[[], bool]) -> tuple[str, list[str]]:
        """Wait beside an idle agent.

        Returns the text that wakes the agent and the messages' ids; both empty for none.
        """
        begun = self._clock.ticks()
        until = begun + dialect.wait
        while self._clock.ticks() < until:
            settling = self._clock.ticks() <= begun + SETTLING
            woken = self._ask("hooks.messages", {"engine": dialect.engine, "settling": settling}, until=until)
            if woken.over:
                return woken.text, woken.messages
            if self._is_gone_soon(is_agent_gone):
                break
        return "", []

    def acknowledge(self, idents: Sequence[str]) -> None:
        """Record that the agent has these messages."""
        if idents:
            self._ask("hooks.acknowledge", {"messages": list(idents)})

    def _is_gone_soon(self, is_agent_gone: Callable[[], bool]) -> bool:
        """Whether the agent is gone, after a pause between two looks."""
        self._clock.wait(LOOK_AGAIN)
        return is_agent_gone()

    def _ask(self, method: str, args: Json, *, until: float = 0.0) -> Answered:
        """Return the result of a request. A daemon that is not there is waited for, at most until then."""
        limit = max(until, self._clock.ticks() + PATIENCE) if self._waits else 0.0
        key = os.urandom(12).hex()
        while True:
            answer = exchange(self._path, _request(method, args, key), PATIENCE)
            if answer is not None and (answer.get("error") or {}).get("name") != "Draining":
                break
            if self._clock.ticks() >= limit:
                raise Unanswered(f"the daemon does not answer at {self._path}", key)
            self._clock.wait(LOOK_AGAIN)
        if error := answer.get("error"):
            raise Unanswered(str(error.get("message")), key)
        return Answered(answer.get("result") or {})


def _request(method: str, args: Json, key: str) -> bytes:
    caller = {"dispatch": os.environ.get("FLEET_DISPATCH_ID"), "token": os.environ.get(TOKEN)}
    request = {"id": 1, "method": method, "args": args, "key": key, "caller": caller, "fleet": VERSION}
    return encode(request).encode("utf-8", "surrogateescape") + b"\n"

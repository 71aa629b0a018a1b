"""Handle hook events of an agent through the daemon's socket: short requests, with the waiting between them done here.

The daemon never holds a request open for an answer that may take a day. For an agent that has only the socket, the hook
waits while the daemon restarts and asks again under the same key, so that nothing is done twice.
"""

from __future__ import annotations

import os

from fleet.fast import encode
from fleet.model import FLEET_DISPATCH_ID, VERSION
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

# Seconds between two requests for an answer or a message.
LOOK_AGAIN = 1.0
# Seconds within which the stop hook, which runs beside this one, records that the agent is idle.
SETTLING = 20.0
# Seconds to wait for an answer, and for a daemon that is not there.
PATIENCE = 10.0


class HookUnanswered(Exception):
    """The daemon did not answer, or refused. `key` is the request's key, under which the act can be repeated safely."""

    def __init__(self, why: str, key: str) -> None:
        super().__init__(why)
        self.key = key


class HookAnswer:
    """The daemon's answer to a hook.

    `payload` is the reply for the engine, None for none; `text` wakes an idle agent, "" does not. `messages` are the
    ids of the messages in the payload or the text. `question` is the id of the question whose answer the hook has to
    wait for, None for none. `over` means that the hook's wait is over.
    """

    __slots__ = ("messages", "over", "payload", "question", "text")

    def __init__(self, given: Json) -> None:
        self.payload: Payload | None = given.get("payload")
        self.messages: list[str] = list(given.get("messages") or ())
        self.question: str | None = given.get("question")
        self.over = bool(given.get("over"))
        self.text = str(given.get("text") or "")


class SocketHooks:
    """Handles the hook events of one agent through the daemon's socket.

    With `waits`, wait for a daemon that does not answer; without, raise HookUnanswered at once.
    """

    def __init__(self, path: str, *, waits: bool = True) -> None:
        self._path = path
        # Whether to wait for a daemon that is not there.
        self._waits = waits
        self._clock = Clock()

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: each request has a connection of its own."""

    def prove(self) -> None:
        """Do nothing: `handle_event` sends the nonce of a new coordinator with the event."""

    def handle_event(self, dialect: Dialect, event: str, payload: Payload, at: int) -> HookAnswer:
        """Let the daemon handle one hook event, called at the time `at`, and return the daemon's answer."""
        own = {"nonce": os.environ.get(VARIABLE, ""), "rules": os.environ.get(ALLOWED_VARIABLE, "")}
        facts = dialect.entries_with_facts(payload)
        told = {"event": event, "engine": dialect.engine, "payload": facts, "at": at, **own}
        return self._ask("hooks.event", told)

    def wait_for_answer(
        self, dialect: Dialect, event: str, payload: Payload, question: str, is_agent_gone: Callable[[], bool]
    ) -> Payload | None:
        """Wait for a person's answer to the agent's question.

        Returns the answer in the engine's format; None when nobody answered within the engine's time, or before
        `is_agent_gone` returned True. The question is then closed.
        """
        facts = dialect.entries_with_facts(payload)
        asked = {"event": event, "engine": dialect.engine, "payload": facts, "question": question}
        until = self._clock.ticks() + dialect.wait
        while self._clock.ticks() < until and not self._is_gone_soon(is_agent_gone):
            looked = self._ask("hooks.answer", asked, until=until)
            if looked.over:
                return looked.payload
        return self._ask("hooks.answer", {**asked, "last": True}).payload

    def wait_for_messages(self, dialect: Dialect, _at: int, is_agent_gone: Callable[[], bool]) -> tuple[str, list[str]]:
        """Wait beside an idle agent until messages for it arrive.

        Returns the text that wakes the agent and the ids of the messages; both are empty when none came.
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
        """Record that the agent has received the messages with these ids."""
        if idents:
            self._ask("hooks.acknowledge", {"messages": list(idents)})

    def _is_gone_soon(self, is_agent_gone: Callable[[], bool]) -> bool:
        """Wait a second, then return what the function `is_agent_gone` returns."""
        self._clock.wait(LOOK_AGAIN)
        return is_agent_gone()

    def _ask(self, method: str, args: Json, *, until: float = 0.0) -> HookAnswer:
        """Send one request and return the daemon's answer. Raise HookUnanswered when it refuses, or does not answer.

        If this object `waits`, try again until the monotonic time `until`, and for at least ten seconds; else try once.
        """
        limit = max(until, self._clock.ticks() + PATIENCE) if self._waits else 0.0
        key = os.urandom(12).hex()
        while True:
            answer = exchange(self._path, _request(method, args, key), PATIENCE)
            if answer is not None and (answer.get("error") or {}).get("name") != "Draining":
                break
            if self._clock.ticks() >= limit:
                raise HookUnanswered(f"the daemon does not answer at {self._path}", key)
            self._clock.wait(LOOK_AGAIN)
        if error := answer.get("error"):
            raise HookUnanswered(str(error.get("message")), key)
        return HookAnswer(answer.get("result") or {})


def _request(method: str, args: Json, key: str) -> bytes:
    """Return a request to the daemon in the name of this agent, as a line of JSON."""
    caller = {"dispatch": os.environ.get(FLEET_DISPATCH_ID), "token": os.environ.get(TOKEN)}
    request = {"id": 1, "method": method, "args": args, "key": key, "caller": caller, "fleet": VERSION}
    return encode(request).encode("utf-8", "surrogateescape") + b"\n"

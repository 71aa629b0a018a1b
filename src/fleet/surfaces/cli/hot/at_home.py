"""The hooks of an agent that has the home: by the daemon while it runs, else by the home itself.

When the daemon does not answer, the hook goes on by itself under the key of the request: what the daemon has done is not done twice.
A refusal is treated alike, so that a daemon of another version, or one that does not take this agent's word, stops no agent.
"""

from __future__ import annotations

from fleet.surfaces.cli.hot.door import HookingByDoor, Unanswered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self, TypeVar

    from fleet.api.hooking import Hooking
    from fleet.model.agents.dialect import Dialect, Payload
    from fleet.surfaces.cli.hot.door import Answered
    from fleet.verbs.agents.hook import Reply
    from fleet.world.funnel import Funnel

    T = TypeVar("T")


class HookingAtHome:
    """The hooks of one agent, by the daemon of its home as long as that answers."""

    def __init__(self, path: str, funnel: Funnel) -> None:
        self._door = HookingByDoor(path, waits=False)
        self._funnel = funnel
        # The home, opened by this process, once the daemon did not answer.
        self._own: Hooking | None = None

    def __enter__(self) -> Self:
        """Return this object, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the home if it was opened."""
        if self._own is not None:
            self._own.store.close()

    def prove(self) -> None:
        """Do nothing: the event of the start carries the proof."""

    def handle_event(self, dialect: Dialect, event: str, payload: Payload, at: int) -> Answered | Reply:
        """Handle one event, and return the reply to the engine."""

        def own(hooking: Hooking) -> Answered | Reply:
            if dialect.events.get(event) == "started":
                hooking.prove()
            return hooking.handle_event(dialect, event, payload, at)

        def asked() -> Answered | Reply:
            return self._door.handle_event(dialect, event, payload, at)

        return self._ask(asked, own)

    def wait_for_answer(
        self, dialect: Dialect, event: str, payload: Payload, question: str, is_agent_gone: Callable[[], bool]
    ) -> Payload | None:
        """Wait for the answer to a question. Returns the answer as the engine reads it; None when there is none."""
        asked = (dialect, event, payload, question, is_agent_gone)
        return self._ask(lambda: self._door.wait_for_answer(*asked), lambda own: own.wait_for_answer(*asked))

    def wait_for_messages(self, dialect: Dialect, at: int, is_agent_gone: Callable[[], bool]) -> tuple[str, list[str]]:
        """Wait beside an idle agent.

        Returns the text that wakes the agent and the messages' ids; both empty for none.
        """
        asked = (dialect, at, is_agent_gone)
        return self._ask(lambda: self._door.wait_for_messages(*asked), lambda own: own.wait_for_messages(*asked))

    def acknowledge(self, idents: Sequence[str]) -> None:
        """Record that the agent has these messages."""
        self._ask(lambda: self._door.acknowledge(idents), lambda own: own.acknowledge(idents))

    def _ask(self, by_daemon: Callable[[], T], by_home: Callable[[Hooking], T]) -> T:
        """Let the daemon do it; do it here, under the key of the unanswered request, when the daemon does not."""
        key: str | None = None
        if self._own is None:
            try:
                return by_daemon()
            except Unanswered as unanswered:
                key = unanswered.key
            from fleet.api.hooking import Hooking  # noqa: PLC0415 - loads the store

            self._own = Hooking.here(self._funnel)
        with self._own.under(key):
            return by_home(self._own)

"""Handle hook events of an agent that can open the home: through the daemon while it answers, else in this process.

When the daemon does not answer, this process handles the event under the key of the request, so that nothing is done
twice. It does the same when the daemon refuses, so that a daemon of another version stops no agent.
"""

from __future__ import annotations

from fleet.surfaces.cli.hot.socket_hooks import HookUnanswered, SocketHooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self, TypeVar

    from fleet.api.hooking import Hooking
    from fleet.model.agents.dialect import Dialect, Payload
    from fleet.surfaces.cli.hot.socket_hooks import HookAnswer
    from fleet.verbs.agents.hook import Reply
    from fleet.world.funnel import Funnel

    T = TypeVar("T")


class DaemonOrLocalHooks:
    """Handles one agent's hook events: in the home's daemon; once the daemon fails or refuses, in this process."""

    def __init__(self, path: str, funnel: Funnel) -> None:
        self._socket_hooks = SocketHooks(path, waits=False)
        self._funnel = funnel
        # Handles the events in this process; None while the daemon answers them.
        self._own: Hooking | None = None

    def __enter__(self) -> Self:
        """Return this object; the end of the `with` block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store if this process has opened it."""
        if self._own is not None:
            self._own.store.close()

    def prove(self) -> None:
        """Do nothing: `handle_event` proves a new coordinator with the event of its start."""

    def handle_event(self, dialect: Dialect, event: str, payload: Payload, at: int) -> HookAnswer | Reply:
        """Handle one hook event of the agent, called at the time `at`, and return the reply to the engine.

        With the event of the agent's start, first make a new coordinator prove itself.
        """

        def own(hooking: Hooking) -> HookAnswer | Reply:
            """Handle the event in this process; first prove a new coordinator, with the event of its start."""
            if dialect.events.get(event) == "started":
                hooking.prove()
            return hooking.handle_event(dialect, event, payload, at)

        def asked() -> HookAnswer | Reply:
            return self._socket_hooks.handle_event(dialect, event, payload, at)

        return self._ask(asked, own)

    def wait_for_answer(
        self, dialect: Dialect, event: str, payload: Payload, question: str, is_agent_gone: Callable[[], bool]
    ) -> Payload | None:
        """Wait for a person's answer to the agent's question.

        Returns the answer in the engine's format; None when nobody answered.
        """
        asked = (dialect, event, payload, question, is_agent_gone)
        return self._ask(lambda: self._socket_hooks.wait_for_answer(*asked), lambda own: own.wait_for_answer(*asked))

    def wait_for_messages(self, dialect: Dialect, at: int, is_agent_gone: Callable[[], bool]) -> tuple[str, list[str]]:
        """Wait beside an idle agent until messages for it arrive.

        Returns the text that wakes the agent and the ids of the messages; both are empty when none came.
        """
        asked = (dialect, at, is_agent_gone)
        return self._ask(
            lambda: self._socket_hooks.wait_for_messages(*asked), lambda own: own.wait_for_messages(*asked)
        )

    def acknowledge(self, idents: Sequence[str]) -> None:
        """Record that the agent has received the messages with these ids."""
        self._ask(lambda: self._socket_hooks.acknowledge(idents), lambda own: own.acknowledge(idents))

    def _ask(self, by_daemon: Callable[[], T], by_home: Callable[[Hooking], T]) -> T:
        """Return what `by_daemon` returns; when the daemon does not answer or refuses, what `by_home` returns.

        `by_home` runs in this process, under the idempotency key of the failed request. After that the daemon is not
        asked again.
        """
        key: str | None = None
        if self._own is None:
            try:
                return by_daemon()
            except HookUnanswered as unanswered:
                key = unanswered.key
            from fleet.api.hooking import Hooking  # noqa: PLC0415 - loads the store

            self._own = Hooking.here(self._funnel)
        with self._own.under(key):
            return by_home(self._own)

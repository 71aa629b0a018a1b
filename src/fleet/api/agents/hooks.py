"""fleet.hooks: the requests of `fleet hook` to the daemon, for an agent that can reach only the daemon's socket.

Each request is short. The hook itself waits for an answer or a message, and asks again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.api.agents.dialects import dialect_of
from fleet.api.hooking import Hooking
from fleet.model import FLEET_PROJECT, names
from fleet.model.agents.allow import ALLOWED_VARIABLE
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.model.agents.dialect import Dialect, Payload
    from fleet.verbs.agents.hook import Reply
    from fleet.verbs.agents.hook_answer import Looked, Woken


class Hooks(Part):
    """The hook events of the agent that speaks.

    A method raises BadInput when no agent speaks, or when `engine` is not the engine of that agent.
    """

    __slots__ = ()

    def event(self, *, event: str, engine: str, payload: Payload, at: int, nonce: str = "", rules: str = "") -> Reply:
        """Handle one hook event of the agent that speaks, and return the reply to its engine.

        The hook was called at the time `at`. `nonce` proves a new coordinator; `rules` are the permission rules with
        which the agent was started. When the reply has the id of a question, the hook has to wait for the answer to it.
        """
        self._by.may("hooks.event")
        dialect, hooking = self._opened(engine, nonce=nonce, rules=rules)
        if dialect.events.get(event) == "started":
            hooking.prove()
        return hooking.handle_event(dialect, event, payload, min(at, self._by.clock.now()))

    def answer(self, *, event: str, engine: str, payload: Payload, question: str, last: bool = False) -> Looked:
        """Look once, without waiting, for the answer to a question of the agent, and take it.

        The result has the answer and says if the wait is over. With `last`, the hook waits no longer: close the
        question unless it was answered.
        """
        self._by.may("hooks.answer")
        dialect, hooking = self._opened(engine)
        return hooking.look_for_answer(dialect, event, payload, question, last=last)

    def messages(self, *, engine: str, settling: bool = False) -> Woken:
        """Look once, without waiting, for messages to the idle agent, and hand them out.

        The result has the text that wakes the agent, and says if the wait is over. With `settling`, the wait goes on
        although the agent is not recorded as idle: another hook may be about to record that.
        """
        self._by.may("hooks.messages")
        dialect, hooking = self._opened(engine)
        return hooking.look_for_messages(dialect, self._by.clock.now(), settling=settling)

    def acknowledge(self, *, messages: list[str]) -> None:
        """Record that the agent that speaks has received the messages with these ids."""
        self._by.may("hooks.acknowledge")
        _dialect, hooking = self._opened("")
        hooking.acknowledge(messages)

    def _opened(self, engine: str, *, nonce: str = "", rules: str = "") -> tuple[Dialect, Hooking]:
        """Return the dialect of the agent's engine, and a Hooking for the agent.

        Raise BadInput when no agent speaks, or when it runs on another engine than the one given.
        """
        ident = self._by.speaker
        row = self._by.store.read(lambda rows: q.dispatch_by_id(rows, id=ident)) if ident else None
        if ident is None or row is None or row.engine is None or engine not in {"", row.engine}:
            raise errors.BadInput(what=f"only an agent on {engine or 'its engine'} calls its hooks")
        variables = {VARIABLE: nonce, FLEET_PROJECT: row.project, ALLOWED_VARIABLE: rules}
        by = self._by
        hooking = Hooking(by.home, ident, by.store, by.funnel, variables=variables, by=by.committer)
        return dialect_of(by.home, names.engine(row.engine)), hooking

"""Handle the events that engines report with `fleet hook`.

It imports as little as possible: engines call it at every event.
"""

from __future__ import annotations

import os

from fleet.model import FLEET_DISPATCH_ID, FLEET_PROJECT
from fleet.model.agents.allow import ALLOWED_VARIABLE
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.model.names import DispatchId
from fleet.store import queries as q
from fleet.store.registry import open_store
from fleet.verbs.agents import hook, hook_answer, messages
from fleet.verbs.context import Committer
from fleet.verbs.coord.prove import prove
from fleet.world.clock import Clock
from fleet.world.home import home_record
from fleet.world.home.location import home_path, ready_home
from fleet.world.ids import Ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from fleet.model.agents.dialect import Dialect, Payload
    from fleet.store.transaction import Store
    from fleet.verbs.agents.hook import Reply
    from fleet.verbs.context import Invocation
    from fleet.world.funnel import Funnel

# How many seconds a hook waits for its turn to write to the store; the engine's own limits are longer.
PATIENCE = 5.0


class Hooking:
    """Handles the hook events of one agent. It is not an Actor, because an Actor loads more than a hook needs."""

    def __init__(
        self,
        home: str,
        ident: DispatchId,
        store: Store,
        funnel: Funnel,
        *,
        variables: Mapping[str, str] | None = None,
        by: Committer | None = None,
    ) -> None:
        self.home = home
        # Variables of the agent: its one-time proof and its project if it is a new coordinator, and the rules it was started with.
        self._variables = os.environ if variables is None else variables
        self.funnel = funnel
        self.ident = ident
        self.store = store
        self.clock = Clock()
        self.ids = Ids()
        own = Committer(store=store, actor=ident, dispatch=ident, clock=self.clock, ids=self.ids)
        self._committer = own if by is None else by

    @classmethod
    def here(cls, funnel: Funnel) -> Self:
        """Open the home and the store for the agent that FLEET_DISPATCH_ID names."""
        ident = DispatchId(os.environ[FLEET_DISPATCH_ID], source=FLEET_DISPATCH_ID)
        home = ready_home(home_path(), funnel, make=False)
        known = home_record.read(home)
        return cls(home, ident, open_store(home, funnel, wait=PATIENCE, had=known.database if known else ""), funnel)

    def __enter__(self) -> Self:
        """Return this object; the end of the `with` block closes its store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.store.close()

    def under(self, key: str | None) -> Invocation:
        """Return a context manager: changes in its `with` block belong to the request with this idempotency key.

        Changes that the daemon has already committed under the key are not repeated. With None, the changes belong to
        no request, and nothing is looked up.
        """
        return self._committer.under(key)

    def prove(self) -> None:
        """Give the seat to this agent if it is a new coordinator whose environment has the right nonce.

        Do nothing when the environment has no nonce (one-time proof) or no FLEET_PROJECT.
        """
        nonce, project = self._variables.get(VARIABLE), self._variables.get(FLEET_PROJECT)
        if nonce and project:
            prove(self.store, self.home, project=project, ident=self.ident, nonce=nonce, clock=self.clock, ids=self.ids)

    def handle_event(self, dialect: Dialect, event: str, payload: Payload, at: int) -> Reply:
        """Handle one hook event of the agent, and return the reply to the engine.

        `event` is the engine's name for the event, `at` the time at which the engine called the hook. At the end of a
        turn, check the agent's budget too.
        """
        told = self._hook_event(dialect, event, payload, at)
        if dialect.events.get(event) == "stopped":
            told.over_budget = self._why_over_budget()
        return hook.handle_event(told)

    def _why_over_budget(self) -> str:
        """Record what the agent has used so far, and return why its budget stops it.

        Returns "" when it may go on or the usage cannot be read.
        """
        agent = self.store.read(lambda rows: q.heard_agent(rows, dispatch=self.ident))
        if agent is None:
            return ""
        from fleet import errors
        from fleet.verbs.agents.cost.budget_at_stop import why_over_budget

        try:
            return why_over_budget(self._committer, self.home, agent)
        except (errors.FleetError, OSError):
            return ""

    def wait_for_answer(
        self, dialect: Dialect, event: str, payload: Payload, question: str, is_agent_gone: Callable[[], bool]
    ) -> Payload | None:
        """Wait for a person's answer to the agent's question.

        Returns the answer in the engine's format; None when nobody answered. `question` is the question's id;
        `is_agent_gone` says when to stop.
        """
        asked = self._hook_event(dialect, event, payload, self.clock.now())
        return hook_answer.wait_for_answer(asked, question, self.clock, is_agent_gone)

    def wait_for_messages(self, dialect: Dialect, at: int, is_agent_gone: Callable[[], bool]) -> tuple[str, list[str]]:
        """Wait beside an idle agent until messages for it arrive.

        Returns the text that wakes the agent and the ids of the messages, which count as handed out then; both are
        empty when none came.
        """
        received = hook_answer.wait_for_messages(self._hook_event(dialect, "", {}, at), self.clock, is_agent_gone)
        return messages.lines(received) if received else "", [message.id for message in received]

    def look_for_answer(
        self, dialect: Dialect, event: str, payload: Payload, question: str, *, last: bool
    ) -> hook_answer.Looked:
        """Look once, without waiting, for the answer to the agent's question, and take it.

        The result has the answer and says if the wait is over. With `last`, the hook waits no longer: close the
        question unless it was answered.
        """
        asked = self._hook_event(dialect, event, payload, self.clock.now())
        look = hook_answer.give_up if last else hook_answer.look_for_answer
        return look(asked, question, self.clock)

    def look_for_messages(self, dialect: Dialect, at: int, *, settling: bool) -> hook_answer.Woken:
        """Look once, without waiting, for messages to the idle agent, and hand them out.

        The result has the text that wakes the agent, and says whether the wait is over. With `settling`, the wait goes
        on although the agent is not recorded as idle: another hook may be about to record that.
        """
        received = hook_answer.look_for_messages(self._hook_event(dialect, "", {}, at), settling=settling)
        if not received:
            return hook_answer.Woken(over=received is None)
        idents = tuple(message.id for message in received)
        return hook_answer.Woken(over=True, text=messages.lines(received), messages=idents)

    def acknowledge(self, idents: Sequence[str]) -> None:
        """Record that the agent has received the messages with these ids."""
        if idents:
            self._committer.commit(messages.acknowledge(self.ident, idents))

    def _hook_event(self, dialect: Dialect, event: str, payload: Payload, at: int) -> hook.HookEvent:
        """Return the event as the verbs take it, with the agent, its home and the permission rules it was started with."""
        return hook.HookEvent(
            by=self._committer,
            dialect=dialect,
            dispatch=self.ident,
            name=event,
            payload=payload,
            at=at,
            new_question_id=self.ids.dispatch(),
            rules=self._variables.get(ALLOWED_VARIABLE, ""),
            home=self.home,
            funnel=self.funnel,
        )

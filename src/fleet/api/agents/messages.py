"""fleet.messages: what is said to agents, and what they ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.api.agents.agents import Agents
from fleet.api.agents.dispatches import find_dispatch
from fleet.model import names
from fleet.model.agents.questions import choices_of
from fleet.model.results.agents import Question, Sent
from fleet.store import queries as q
from fleet.verbs.agents import messages, questions
from fleet.verbs.agents.deliver import deliver
from fleet.verbs.dispatch.find import SHORTEST_PREFIX

if TYPE_CHECKING:
    from fleet.model.results.agents import AgentView, Answered
    from fleet.model.results.reports import Received
    from fleet.model.states import QuestionKind
    from fleet.store.queries import AskedQuestion, LivingAgent, Message, OpenQuestion

_BETWEEN_LOOKS = 0.1
# How long a command waits to see that what it said has arrived.
ARRIVAL = 5.0
_ASKING_STATES = frozenset({"asks", "dialog"})


class Messages(Part):
    """Messages to agents, and their questions."""

    __slots__ = ()

    # messages ---------------------------------------------------------------------------------------------------------
    def send(self, text: str, *, agent: str | None = None, project: str | None = None) -> list[Sent]:
        """Say something to one agent, or to all of a project or of the fleet; what became of each."""
        one = find_dispatch(self._by, agent) if agent else None
        self._by.may("messages.send", agent=one, project=project or "")
        context = self._by.context
        sent = {}
        for dispatch in [one] if one else [row.dispatch for row in self._living_agents(project)]:
            ident = context.world.ids.dispatch()
            sent[ident] = context.commit(messages.send(dispatch, ident, text))
        listing = context.world.tmux.listing()
        return [
            self._wait_for_delivery(ident, to, deliver(context, to.dispatch, listing)) for ident, to in sent.items()
        ]

    def _living_agents(self, project: str | None) -> list[LivingAgent]:
        if project is not None:
            self._by.request.project(project)
        return self._by.store.read(lambda rows: q.living_agents(rows, project=project))

    def _wait_for_delivery(self, ident: str, to: LivingAgent, why: str) -> Sent:
        """Whether a message has arrived; a hook that is just taking it is waited for, a moment."""
        until = self._by.clock.ticks() + (ARRIVAL if "moment" in why else 0)
        while (delivered := self._delivered_message(ident)) is None and self._by.clock.ticks() < until:
            self._by.clock.wait(_BETWEEN_LOOKS)
        how = why or "it waits" if delivered is None else delivered.how or "acknowledged"
        given = delivered is not None
        return Sent(id=ident, agent=to.dispatch, project=to.project, task=to.slug, delivered=given, how=how)

    def _delivered_message(self, ident: str) -> Message | None:
        row = self._by.store.read(lambda rows: q.message_by_id(rows, id=ident))
        return row if row is not None and row.delivered_at is not None else None

    def inbox(self) -> list[Received]:
        """What waits for the agent that is speaking. It is acknowledged with `acknowledge`."""
        if self._by.speaker is None:
            raise errors.Refused(what="only an agent has an inbox; `fleet message` writes to one")
        self._by.may("messages.inbox")
        return self._by.commit(messages.take(self._by.speaker, "inbox"))

    def acknowledge(self, ids: list[str]) -> list[str]:
        """The agent that is speaking has these messages. Returns the ids that were not acknowledged before."""
        if self._by.speaker is None:
            raise errors.Refused(what="only an agent acknowledges its messages")
        self._by.may("messages.acknowledge")
        return self._by.commit(messages.acknowledge(self._by.speaker, ids))

    # questions --------------------------------------------------------------------------------------------------------
    def questions(self) -> list[Question]:
        """What agents ask: those that can be answered here first, then those that only their terminals take."""
        asked = self._by.store.read(questions.unanswered)
        hooked = {each.agent for each in asked}
        return asked + [_screen_question(agent) for agent in self._agents_asking() if agent.id not in hooked]

    def _agents_asking(self) -> list[AgentView]:
        """Agents that ask something, on their screens at least."""
        return [agent for agent in Agents(self._by).list() if agent.state in _ASKING_STATES]

    def answer(self, given: str, words: list[str], *, reason: str = "", kind: QuestionKind | None = None) -> Answered:
        """Answer a question, by its own id or that of its agent. Says whether the agent has taken it."""
        self._by.may("messages.answer")
        asked = self._find_question(given)
        if kind is not None and asked.kind != kind:
            choices = "; ".join(f"{each.question} {', '.join(each.options)}" for each in choices_of(asked.choices))
            raise errors.BadInput(what=f"{asked.text!r} is no permission: answer it with `fleet answer` ({choices})")
        answered = self._by.commit(questions.answer(asked.id, words, reason))
        return answered.replaced(taken=self._wait_until_taken(asked.id))

    def _find_question(self, given: str) -> AskedQuestion | OpenQuestion:
        store = self._by.store
        row = store.read(lambda rows: q.question_by_id(rows, id=given)) if names.is_dispatch_id(given) else None
        if row is not None:
            return row
        asked = store.read(lambda rows: q.open_questions(rows, dispatch=None))
        meant = [each for each in asked if _matches(each, given)]
        if len(meant) > 1:
            raise errors.Ambiguous(given=given, candidates=", ".join(f"{each.id} ({each.text})" for each in meant))
        return meant[0] if meant else self._find_question_of_agent(given)

    def _find_question_of_agent(self, given: str) -> OpenQuestion:
        """The question of an agent that is told by another of its names; those on its screen are not answered here."""
        try:
            ident = find_dispatch(self._by, given)
        except errors.NoSuchDispatch:
            raise errors.NoSuchQuestion(question=given) from None
        asked = self._by.store.read(lambda rows: q.open_questions(rows, dispatch=ident))
        if asked:
            return asked[0]
        shown = next((agent for agent in self._agents_asking() if agent.id == ident), None)
        if shown is not None:
            raise errors.CannotAnswer(agent=ident, question=" ".join(shown.detail.split()) or "(not read)")
        raise errors.NoSuchQuestion(question=given)

    def _wait_until_taken(self, ident: str) -> bool:
        """Whether the agent has the answer to a question; it is waited for, a moment."""
        until = self._by.clock.ticks() + ARRIVAL
        while True:
            row = self._by.store.read(lambda rows: q.question_by_id(rows, id=ident))
            taken = row is not None and row.closed_at is not None
            if taken or self._by.clock.ticks() >= until:
                return taken
            self._by.clock.wait(_BETWEEN_LOOKS)


def _matches(asked: OpenQuestion, given: str) -> bool:
    """By the beginning of the question's id or its agent's, or by the task."""
    begins = len(given) >= SHORTEST_PREFIX and (asked.id.startswith(given) or asked.dispatch.startswith(given))
    return begins or asked.slug == given


def _screen_question(agent: AgentView) -> Question:
    return Question(
        id=None,
        agent=agent.id,
        project=agent.project,
        task=agent.task,
        kind="screen",
        text=" ".join(agent.detail.split()),
        command=None,
        choices=[],
        asked_at=agent.state_at,
        answerable=False,
    )

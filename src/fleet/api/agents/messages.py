"""fleet.messages: messages to agents, and questions of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.api.agents.agents import Agents
from fleet.api.agents.dispatches import find_dispatch
from fleet.model import names
from fleet.model.agents.allow import new_rule
from fleet.model.agents.changes import change_of
from fleet.model.agents.questions import ALLOW, choices_of
from fleet.model.results.agents import Question, Sent
from fleet.store import queries as q
from fleet.verbs.agents import messages, questions
from fleet.verbs.agents.deliver import NOT_TAKEN, deliver
from fleet.verbs.dispatch.find import SHORTEST_PREFIX
from fleet.verbs.projects import allow
from fleet.world.files.user_file import text_below
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.results.agents import AgentView, Answered
    from fleet.model.results.reports import Received
    from fleet.model.states import QuestionKind
    from fleet.store.queries import AskedQuestion, LivingAgent, Message, OpenQuestion
    from fleet.verbs.context import Context

_BETWEEN_LOOKS = 0.1
# How many seconds a command waits for a message or an answer to arrive.
ARRIVAL = 5.0
_ASKING_STATES = frozenset({"asks", "dialog"})


class Messages(Part):
    """Messages to agents, and questions of agents."""

    __slots__ = ()

    # messages ---------------------------------------------------------------------------------------------------------
    def send(self, text: str, *, agent: str | None = None, project: str | None = None) -> list[Sent]:
        """Send a message to one agent, to all agents of a project, or, with neither, to all agents.

        Returns for each recipient whether the message was delivered, after waiting up to five seconds if that is about
        to happen. Raise Refused when the agent has ended.
        """
        recipient = find_dispatch(self._by, agent) if agent else None
        self._by.may("messages.send", agent=recipient, project=project or "")
        context = self._by.context
        sent = {}
        for dispatch in [recipient] if recipient else [row.dispatch for row in self._living_agents(project)]:
            ident = context.world.ids.dispatch()
            sent[ident] = context.commit(messages.send(dispatch, ident, text))
        listing = context.world.tmux.listing()
        return [
            self._wait_for_delivery(ident, to, deliver(context, to.dispatch, listing)) for ident, to in sent.items()
        ]

    def _living_agents(self, project: str | None) -> list[LivingAgent]:
        """Return the agents whose dispatch has not ended, of one project; with None, of all.

        Raise NoSuchProject for an unknown project.
        """
        if project is not None:
            self._by.request.project(project)
        return self._by.store.read(lambda rows: q.living_agents(rows, project=project))

    def _wait_for_delivery(self, ident: str, to: LivingAgent, why: str) -> Sent:
        """Return whether the message with the id `ident` to the agent `to` was delivered, and how.

        `why` is the reason why it was not delivered at once, '' when it was; when it says that a hook is about to take
        the message, wait up to five seconds for that.
        """
        until = self._by.clock.ticks() + (ARRIVAL if "moment" in why else 0)
        while (delivered := self._delivered_message(ident)) is None and self._by.clock.ticks() < until:
            self._by.clock.wait(_BETWEEN_LOOKS)
        if why == NOT_TAKEN:  # it was handed out, and did not arrive
            delivered = None
        how = why or "the message waits" if delivered is None else delivered.how or "acknowledged"
        is_delivered = delivered is not None
        return Sent(id=ident, agent=to.dispatch, project=to.project, task=to.slug, delivered=is_delivered, how=how)

    def _delivered_message(self, ident: str) -> Message | None:
        """Return the message with this id when it was delivered, else None."""
        row = self._by.store.read(lambda rows: q.message_by_id(rows, id=ident))
        return row if row is not None and row.delivered_at is not None else None

    def inbox(self) -> list[Received]:
        """Hand out the messages that wait for the calling agent, at most 20, and return them.

        A message that is not acknowledged within a minute waits again. Raise Refused for a person.
        """
        if self._by.speaker is None:
            raise errors.Refused(what="only an agent has an inbox; `fleet message` writes to one")
        self._by.may("messages.inbox")
        return self._by.commit(messages.mark_handed_out(self._by.speaker, "inbox"))

    def acknowledge(self, ids: list[str]) -> list[str]:
        """Record that the calling agent has received these messages.

        Returns those of the ids that had not been acknowledged before. Raise Refused for a person.
        """
        if self._by.speaker is None:
            raise errors.Refused(what="only an agent acknowledges its messages")
        self._by.may("messages.acknowledge")
        return self._by.commit(messages.acknowledge(self._by.speaker, ids))

    # questions --------------------------------------------------------------------------------------------------------
    def questions(self) -> list[Question]:
        """Return the open questions of agents.

        Questions that `answer` takes come first, then those that can be answered only at the agent's terminal.
        """
        waiting, context = self._by.store.read(questions.unanswered), self._by.context
        asked = [_with_change(context, each) for each in waiting]
        hooked = {question.agent for question in asked}
        return asked + [_screen_question(agent) for agent in self._agents_asking() if agent.id not in hooked]

    def question(self, ident: str) -> Question | None:
        """Return one open question by its id, with the command or file change it asks about; None when it is not open."""
        waiting = self._by.store.read(questions.unanswered)
        return next((_with_change(self._by.context, each) for each in waiting if each.id == ident), None)

    def _agents_asking(self) -> list[AgentView]:
        """Return the running agents whose screen shows a question or a dialog."""
        return [agent for agent in Agents(self._by).list() if agent.state in _ASKING_STATES]

    def answer(self, given: str, words: list[str], *, reason: str = "", kind: QuestionKind | None = None) -> Answered:
        """Answer the question that `given` names by its id, agent or task, and wait up to five seconds for the agent.

        `taken` of the result says whether the agent has taken the answer. `words` has an answer for each part of the
        question; `reason` goes to an agent that is denied something. Raise BadInput when the question is not of this
        `kind`, or the words do not fit it; AnsweredBefore when it was answered or closed; NoSuchQuestion or Ambiguous
        when `given` names none or several; CannotAnswer when only the agent's terminal takes the answer.
        """
        self._by.may("messages.answer")
        asked = self._find_question(given)
        if kind is not None and asked.kind != kind:
            choices = "; ".join(
                f"{choice.question} {', '.join(choice.options)}" for choice in choices_of(asked.choices)
            )
            raise errors.BadInput(what=f"{asked.text!r} is not a permission: answer it with `fleet answer` ({choices})")
        answered = self._by.commit(questions.answer(asked.id, words, reason))
        return answered.replaced(taken=self._wait_until_taken(asked.id))

    def approve(self, given: str, *, always: bool = False, prefix: str | None = None) -> Answered:
        """Permit the command that an agent asks about.

        With `always`, agents of the project need not ask for this command again; with `prefix`, for no command that
        begins with these words. The permission is given first, then the rule is stored; if that fails, agents ask
        again. Raise BadInput, and permit nothing, when the command cannot become such a rule; BadSetting when the file
        of rules cannot be read.
        """
        self._by.may("messages.approve")
        asked = self._find_question(given)
        rule = new_rule(asked.runs, prefix) if always or prefix is not None else None
        if rule is not None and asked.project is not None:
            allow.refuse_unreadable_rules(self._by.context, asked.project)
        answered = self.answer(asked.id, [ALLOW], kind="permission")
        if rule is not None:
            allow.remember_rule(self._by.context, answered.project, rule)
            answered = answered.replaced(always=(*rule.exact, *rule.prefixes)[0])
        return answered

    def approve_all(self, project: str | None = None) -> list[Answered]:
        """Permit everything that agents ask permission for now, in one project or in all. Returns what was permitted.

        Questions that somebody else answers meanwhile are left out.
        """
        self._by.may("messages.approve_all")
        if project is not None:
            self._by.request.project(project)
        asked = self._by.store.read(lambda rows: q.open_questions(rows, dispatch=None))
        meant = [each for each in asked if each.kind == "permission" and project in {None, each.project}]
        return [answered for each in meant if (answered := self._approve_unless_answered(each.id)) is not None]

    def _approve_unless_answered(self, ident: str) -> Answered | None:
        """Answer a question with permission; return None when somebody else has answered it before."""
        try:
            return self._by.commit(questions.answer(ident, [ALLOW]))
        except errors.AnsweredBefore:
            return None

    def _find_question(self, given: str) -> AskedQuestion | OpenQuestion:
        """Return the question with this id, or the open question of the agent or task that `given` names.

        Raise Ambiguous when several fit, CannotAnswer when the agent asks only in its terminal, NoSuchQuestion when
        none fits.
        """
        store = self._by.store
        row = store.read(lambda rows: q.question_by_id(rows, id=given)) if names.is_dispatch_id(given) else None
        if row is not None:
            return row
        asked = store.read(lambda rows: q.open_questions(rows, dispatch=None))
        meant = [question for question in asked if _matches(question, given)]
        if len(meant) > 1:
            raise errors.Ambiguous(
                given=given, candidates=", ".join(f"{question.id} ({question.text})" for question in meant)
            )
        return meant[0] if meant else self._find_question_of_agent(given)

    def _find_question_of_agent(self, given: str) -> OpenQuestion:
        """Return the open question of the agent that `given` names.

        Raise CannotAnswer when only its terminal takes the answer.
        """
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
        """Whether the agent has taken the answer to a question. Waits up to five seconds for that."""
        until = self._by.clock.ticks() + ARRIVAL
        while True:
            row = self._by.store.read(lambda rows: q.question_by_id(rows, id=ident))
            taken = row is not None and row.closed_at is not None
            if taken or self._by.clock.ticks() >= until:
                return taken
            self._by.clock.wait(_BETWEEN_LOOKS)


def _matches(asked: OpenQuestion, given: str) -> bool:
    """Whether `given` is the beginning of the question's or its agent's id, or the question's task."""
    begins = len(given) >= SHORTEST_PREFIX and (asked.id.startswith(given) or asked.dispatch.startswith(given))
    return begins or asked.slug == given


def _screen_question(agent: AgentView) -> Question:
    """Return the question that an agent's screen shows. It has no id: it can only be answered in the agent's terminal."""
    return Question(
        id=None,
        agent=agent.id,
        project=agent.project,
        task=agent.task,
        kind="screen",
        text=" ".join(agent.detail.split()),
        command=None,
        change=None,
        choices=[],
        asked_at=agent.state_at,
        answerable=False,
    )


def _with_change(context: Context, asked: Question) -> Question:
    """Return a permission question with the file change that it asks about. Return other questions unchanged."""
    if asked.kind != "permission":
        return asked
    tree = f"{context.world.home}/{paths.worktree(asked.project, asked.task)}" if asked.task else ""
    return asked.replaced(change=change_of(asked.command, lambda path: text_below(tree, path) if tree else None))

"""fleet.messages: what is said to agents, and what they ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.api.agents.agents import Agents
from fleet.api.agents.dispatches import find_dispatch
from fleet.errors.absent import NoSuchDispatch, NoSuchQuestion
from fleet.errors.families import BadInput, Refused
from fleet.errors.given import Ambiguous
from fleet.errors.refused import CannotAnswer
from fleet.model import names
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents import messages, questions
from fleet.verbs.agents.deliver import deliver
from fleet.verbs.dispatch.find import SHORTEST_PREFIX

if TYPE_CHECKING:
    from fleet.api.actor import Document
    from fleet.store.queries import LivingAgent
    from fleet.store.transaction import Row, Tx

_BETWEEN_LOOKS = 0.1
# How long a command waits to see that what it said has arrived.
ARRIVAL = 5.0
_AT_TERMINAL = frozenset({"asks", "dialog"})


class Messages(Part):
    """Messages to agents, and their questions."""

    __slots__ = ()

    # messages ---------------------------------------------------------------------------------------------------------
    def send(self, text: str, *, agent: str | None = None, project: str | None = None) -> list[Document]:
        """Say something to one agent, or to all of a project or of the fleet; what became of each."""
        one = find_dispatch(self._by, agent) if agent else None
        self._by.may("messages.send", agent=one, project=project or "")
        found = [one] if one else [row.dispatch for row in self._living(project)]
        context = self._by.context
        sent = [context.commit(messages.send(ident, context.world.ids.dispatch(), text)) for ident in found]
        listing = context.world.tmux.listing()
        return [self._arrived(each, deliver(context, each["agent"], listing)) for each in sent]

    def _living(self, project: str | None) -> list[LivingAgent]:
        if project is not None:
            self._by.request.project(project)
        return self._by.store.read(lambda rows: q.living_agents(rows, project=project))

    def _arrived(self, sent: Document, why: str) -> Document:
        """Whether it has arrived; a hook that is just taking it is waited for, a moment."""
        until = self._by.clock.ticks() + (ARRIVAL if "moment" in why else 0)
        while True:
            row = self._by.store.read(lambda rows: q.message_by_id(rows, id=sent["id"])) or {}
            given = row.get("delivered_at") is not None
            if given or self._by.clock.ticks() >= until:
                break
            self._by.clock.wait(_BETWEEN_LOOKS)
        return sent | {"delivered": given, "how": row.get("how") if given else why or "it waits"}

    def inbox(self) -> list[Document]:
        """What waits for the agent that is speaking. It is acknowledged with `read`."""
        if self._by.speaker is None:
            raise Refused(what="only an agent has an inbox; `fleet message` writes to one")
        self._by.may("messages.inbox")
        found: list[Document] = self._by.commit(messages.taken(self._by.speaker, "inbox"))["messages"]
        return found

    def read(self, idents: list[str]) -> None:
        """The agent that is speaking has read these messages."""
        self._by.may("messages.read")
        if idents and self._by.speaker:
            self._by.commit(messages.acknowledge(self._by.speaker, idents))

    def acknowledge(self, ids: list[str]) -> Document:
        """What the speaker has read and applied; each id once."""
        if self._by.speaker is None:
            raise Refused(what="only an agent acknowledges its messages")
        self._by.may("messages.acknowledge")
        return self._by.commit(_acknowledge(self._by.speaker, ids))

    # questions --------------------------------------------------------------------------------------------------------
    def questions(self) -> list[Document]:
        """What agents ask: those that can be answered here first, then those that only their terminals take."""
        asked = self._by.store.read(questions.listed)
        hooked = {each["agent"] for each in asked}
        shown = [each for each in Agents(self._by).list() if each["state"] in _AT_TERMINAL]
        return asked + [_on_screen(each) for each in shown if each["id"] not in hooked]

    def answer(self, given: str, said: list[str], *, reason: str = "", kind: str | None = None) -> Document:
        """Answer a question, by its own id or that of its agent. Says whether the agent has taken it."""
        self._by.may("messages.answer")
        asked = self._asked(given)
        if kind is not None and asked["kind"] != kind:
            choices = "; ".join(f"{part['question']} {', '.join(part['options'])}" for part in asked["choices"])
            raise BadInput(what=f"{asked['text']!r} is no permission: answer it with `fleet answer` ({choices})")
        done = self._by.commit(questions.answer(asked["id"], said, reason))
        return done | {"taken": self._is_taken(asked["id"])}

    def _asked(self, given: str) -> Document:
        store = self._by.store
        row = store.read(lambda rows: q.question_by_id(rows, id=given)) if names.is_dispatch_id(given) else None
        if row is not None:
            return questions.document(row)
        mine = [each for each in store.read(questions.listed) if _is_meant(each, given)]
        if len(mine) > 1:
            raise Ambiguous(given=given, candidates=", ".join(f"{each['id']} ({each['text']})" for each in mine))
        return mine[0] if mine else self._asked_by(given)

    def _asked_by(self, given: str) -> Document:
        """The question of an agent that is told by another of its names; those on its screen are not answered here."""
        try:
            ident = find_dispatch(self._by, given)
        except NoSuchDispatch:
            raise NoSuchQuestion(question=given) from None
        if mine := self._by.store.read(lambda rows: questions.listed(rows, ident)):
            return mine[0]
        shown = (each for each in Agents(self._by).list() if each["id"] == ident and each["state"] in _AT_TERMINAL)
        seen = next(shown, None)
        if seen is not None:
            raise CannotAnswer(agent=ident, question=" ".join(seen["detail"].split()) or "(not read)")
        raise NoSuchQuestion(question=given)

    def _is_taken(self, ident: str) -> bool:
        until = self._by.clock.ticks() + ARRIVAL
        while True:
            row = self._by.store.read(lambda rows: q.question_by_id(rows, id=ident)) or {}
            if row.get("closed_at") is not None or self._by.clock.ticks() >= until:
                return row.get("closed_at") is not None
            self._by.clock.wait(_BETWEEN_LOOKS)


def _acknowledge(ident: str, ids: list[str]) -> Change[Row]:
    def work(tx: Tx) -> Row:
        tx.dispatch = ident
        applied = [each for each in ids if q.acknowledge_message(tx, id=each, dispatch=ident, at=tx.at)]
        tx.note(acknowledged=applied)
        return {"acknowledged": applied, "changed": bool(applied)}

    return Change(f"{ident} acknowledges {', '.join(ids)}", work, *ids)


def _is_meant(asked: Document, given: str) -> bool:
    """By the beginning of the question's id or its agent's, or by the task."""
    begins = len(given) >= SHORTEST_PREFIX and (asked["id"].startswith(given) or asked["agent"].startswith(given))
    return bool(begins or asked["task"] == given)


def _on_screen(agent: Document) -> Document:
    keep = {"id": None, "agent": agent["id"], "project": agent["project"], "task": agent["task"]}
    shown: Document = {"kind": "screen", "text": " ".join(agent["detail"].split()), "command": None, "choices": []}
    return keep | shown | {"asked_at": agent["state_at"], "answerable": False}

"""What it is to live with agents: messages to them, their questions, engines that are held back, and their hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.api.day import Day
from fleet.errors.absent import NoSuchDispatch, NoSuchQuestion
from fleet.errors.families import BadInput, Refused
from fleet.errors.given import Ambiguous
from fleet.errors.refused import CannotAnswer
from fleet.model import names
from fleet.store import queries as q
from fleet.verbs.agents import failed_turns as limits
from fleet.verbs.agents import install_hooks as install
from fleet.verbs.agents import messages, questions
from fleet.verbs.agents.deliver import deliver
from fleet.verbs.dispatch.find import SHORTEST_PREFIX

if TYPE_CHECKING:
    from fleet.store.transaction import Row

Document = dict[str, Any]
_BETWEEN_LOOKS = 0.1
# How long a command waits to see that what it said has arrived.
ARRIVAL = 5.0
_AT_TERMINAL = frozenset({"asks", "dialog"})


class Living(Day):
    """Lives with agents."""

    # messages ---------------------------------------------------------------------------------------------------------
    def message(self, text: str, *, agent: str | None = None, project: str | None = None) -> list[Document]:
        """Say something to one agent, or to all of a project or of the fleet; what became of each."""
        one = self.find(agent) if agent else None
        self.may("message", agent=one, project=project or "")
        found = [one] if one else [row["dispatch"] for row in self._living(project)]
        sent = [self.commit(messages.send(ident, self.world.ids.dispatch(), text)) for ident in found]
        listing = self.world.tmux.listing()
        return [self._arrived(each, deliver(self.ground, each["agent"], listing)) for each in sent]

    def _living(self, project: str | None) -> list[Row]:
        if project is not None:
            self.view.project(project)
        return self.store.read(lambda rows: rows.all(q.LIVING_AGENTS, project=project))

    def _arrived(self, sent: Document, why: str) -> Document:
        """Whether it has arrived; a hook that is just taking it is waited for, a moment."""
        until = self.clock.ticks() + (ARRIVAL if "moment" in why else 0)
        while True:
            row = self.store.read(lambda rows: rows.one(q.MESSAGE_BY_ID, id=sent["id"])) or {}
            given = row.get("delivered_at") is not None
            if given or self.clock.ticks() >= until:
                break
            self.clock.wait(_BETWEEN_LOOKS)
        return sent | {"delivered": given, "how": row.get("how") if given else why or "it waits"}

    def inbox(self) -> list[Document]:
        """What waits for the agent that is speaking. It is acknowledged with `read`."""
        if self.speaker is None:
            raise Refused(what="only an agent has an inbox; `fleet message` writes to one")
        self.may("inbox")
        found: list[Document] = self.commit(messages.taken(self.speaker, "inbox"))["messages"]
        return found

    def read(self, idents: list[str]) -> None:
        """The agent that is speaking has read these messages."""
        self.may("read")
        if idents and self.speaker:
            self.commit(messages.acknowledge(self.speaker, idents))

    # questions --------------------------------------------------------------------------------------------------------
    def questions(self) -> list[Document]:
        """What agents ask: those that can be answered here first, then those that only their terminals take."""
        asked = self.store.read(questions.listed)
        hooked = {each["agent"] for each in asked}
        return asked + [
            _on_screen(each) for each in self.agents() if each["state"] in _AT_TERMINAL and each["id"] not in hooked
        ]

    def answer(self, given: str, said: list[str], *, reason: str = "", kind: str | None = None) -> Document:
        """Answer a question, by its own id or that of its agent. Says whether the agent has taken it."""
        self.may("answer")
        asked = self._asked(given)
        if kind is not None and asked["kind"] != kind:
            choices = "; ".join(f"{part['question']} {', '.join(part['options'])}" for part in asked["choices"])
            raise BadInput(what=f"{asked['text']!r} is no permission: answer it with `fleet answer` ({choices})")
        done = self.commit(questions.answer(asked["id"], said, reason))
        return done | {"taken": self._is_taken(asked["id"])}

    def _asked(self, given: str) -> Document:
        row = (
            self.store.read(lambda rows: rows.one(q.QUESTION_BY_ID, id=given)) if names.is_dispatch_id(given) else None
        )
        if row is not None:
            return questions.document(row)
        mine = [each for each in self.store.read(questions.listed) if _is_meant(each, given)]
        if len(mine) > 1:
            raise Ambiguous(given=given, candidates=", ".join(f"{each['id']} ({each['text']})" for each in mine))
        return mine[0] if mine else self._asked_by(given)

    def _asked_by(self, given: str) -> Document:
        """The question of an agent that is told by another of its names; those on its screen are not answered here."""
        try:
            ident = self.find(given)
        except NoSuchDispatch:
            raise NoSuchQuestion(question=given) from None
        if mine := self.store.read(lambda rows: questions.listed(rows, ident)):
            return mine[0]
        seen = next((each for each in self.agents() if each["id"] == ident and each["state"] in _AT_TERMINAL), None)
        if seen is not None:
            raise CannotAnswer(agent=ident, question=" ".join(seen["detail"].split()) or "(not read)")
        raise NoSuchQuestion(question=given)

    def _is_taken(self, ident: str) -> bool:
        until = self.clock.ticks() + ARRIVAL
        while True:
            row = self.store.read(lambda rows: rows.one(q.QUESTION_BY_ID, id=ident)) or {}
            if row.get("closed_at") is not None or self.clock.ticks() >= until:
                return row.get("closed_at") is not None
            self.clock.wait(_BETWEEN_LOOKS)

    # limits -----------------------------------------------------------------------------------------------------------
    def limits(self) -> Document:
        """Engines that are held back, and how much of their windows is used."""
        return self.store.read(limits.shown)

    def lift(self, engine: str) -> Document:
        """A person says that an engine works again."""
        self.may("lift")
        return self.commit(limits.lift(names.engine(engine)))

    def tend(self, project: str) -> list[str]:
        """Continue what failed, deliver what waits: what a coordinator's tick does too."""
        self.may("tend", project=project)
        return limits.tend(self.ground, project)

    # hooks ------------------------------------------------------------------------------------------------------------
    def install_hooks(self, engine: str) -> Document:
        """Write hooks into the person's own settings of an engine."""
        self.may("install_hooks")
        return install.install(self.ground, self.engine(engine))

    def uninstall_hooks(self, engine: str) -> Document:
        """Take them out again."""
        self.may("uninstall_hooks")
        return install.uninstall(self.ground, self.engine(engine))

    def hooks(self) -> list[Document]:
        """Each engine that has hooks, and whether they are in the person's own settings."""
        return [install.status(self.view, each) for each in self.engines().values() if each.hooks]


def _is_meant(asked: Document, given: str) -> bool:
    """By the beginning of the question's id or its agent's, or by the task."""
    begins = len(given) >= SHORTEST_PREFIX and (asked["id"].startswith(given) or asked["agent"].startswith(given))
    return bool(begins or asked["task"] == given)


def _on_screen(agent: Document) -> Document:
    keep = {"id": None, "agent": agent["id"], "project": agent["project"], "task": agent["task"]}
    shown: Document = {"kind": "screen", "text": " ".join(agent["detail"].split()), "command": None, "choices": []}
    return keep | shown | {"asked_at": agent["state_at"], "answerable": False}

"""The parts of `Fleet` for an agent at the daemon's socket for agents: its acts, and the reads that the table gives to its role."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.permits import Speaker
from fleet.model.agents import reads
from fleet.model.agents.roles import ACTS
from fleet.store import queries as q
from fleet.verbs.dispatch.journal import dispatch_or_none

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.actor import Actor, Part

# What a parameter that names a project is called, and one that names an agent.
_PROJECTS = ("project", "name")
_AGENT = "ident"


class ConfinedPart:
    """One part of `Fleet` for an agent: a method that reads raises NotAllowed for what the agent may not read."""

    def __init__(self, name: str, part: Part, by: Actor) -> None:
        self._name = name
        self._part = part
        self._by = by

    def __getattr__(self, method: str) -> object:
        """Return a method of the part; one that reads, always or with some arguments only, is returned with a check.

        Any other method is an act, which checks by itself what the agent's role may do.
        """
        own, whole = getattr(self._part, method), f"{self._name}.{method}"
        checks_itself = whole in ACTS and whole not in reads.READS
        return own if checks_itself or not callable(own) else self._checked(whole, own)

    def _checked(self, whole: str, own: Callable[..., object]) -> Callable[..., object]:
        """Return a function that performs the read `own` after checking what the agent's role and project allow.

        `whole` is the full name of the method, such as `tasks.show`. The function raises NotAllowed also when the
        result is about another project.
        """

        @wraps(own)
        def read(*given: object, **named: object) -> object:
            speaker = self._speaker()
            reads.check_role(whole, speaker.role, who=_name_of(speaker))
            project_from = reads.READS[whole].project_from
            bound = signature(own).bind(*given, **named)
            bound.apply_defaults()
            self._check_arguments(whole, project_from, speaker, bound.arguments)
            found = own(*bound.args, **bound.kwargs)
            if project_from == reads.RETURNED_AGENT:
                self._check(whole, speaker, self._project_of_agent(str(found)))
            elif project_from == reads.RETURNED_OBJECT:
                self._check(whole, speaker, getattr(found, "project", None))
            return found

        return read

    def _check_arguments(self, whole: str, project_from: str, speaker: Speaker, given: dict[str, object]) -> None:
        """Raise NotAllowed when the arguments `given` name something outside the agent's own project.

        `project_from` says which argument tells the project. When that argument is None, it is set to the agent's own project, in
        `given`.
        """
        if project_from in {reads.PROJECT, reads.RETURNED_AGENT}:
            name = next(each for each in _PROJECTS if each in given)
            if given[name] is None:
                given[name] = speaker.project
            self._check(whole, speaker, given[name])
        elif project_from == reads.AGENT:
            self._check(whole, speaker, self._project_of_agent(str(given[_AGENT])))
        elif project_from == reads.ARGUMENT_OBJECT:
            self._check(whole, speaker, getattr(given.get("wanted"), "project", None))
        elif project_from == reads.MISSING:
            missing = given.get("missing")
            project = missing.facts.get("project") if isinstance(missing, errors.NoSuchTask) else None
            self._check(whole, speaker, project)

    def _check(self, whole: str, speaker: Speaker, project: object) -> None:
        """Raise NotAllowed unless `project`, whose data a method reads, is the agent's own project.

        `whole` is the method's full name, such as `tasks.show`, for the error. Raise it also when `project` is None
        (unknown) or the agent has no project.
        """
        reads.check_project(whole, speaker.role, who=_name_of(speaker), own=speaker.project, named=project)

    def _speaker(self) -> Speaker:
        ident = str(self._by.speaker)
        return Speaker.of(ident, self._by.store.read(lambda rows: q.dispatch_by_id(rows, id=ident)))

    def _project_of_agent(self, ident: str) -> str | None:
        """Return the project of the dispatch with this id; None when there is none."""
        row = dispatch_or_none(self._by.view, ident)
        return row.project if row is not None else None


def _name_of(speaker: Speaker) -> str:
    return speaker.display_name(speaker.id)

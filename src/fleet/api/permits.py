"""The one place that checks who may do what: the table of roles, applied to whoever speaks.

Whoever speaks is the dispatch that FLEET_DISPATCH_ID names. Where that is missing, but a process of an agent has started this
one, it is that agent all the same: an agent does not become a person by losing a variable.
"""

from __future__ import annotations

import os

from fleet import errors
from fleet.model.agents import roles
from fleet.store import queries as q
from fleet.world.process.ancestry import marks_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Store

# Each has a fence of its own, in the transaction that makes the change: whose the task is, or who is in the seat.
_FENCED = frozenset({"tasks.done", "tasks.fail", "tasks.block", "tasks.claim", "coord.tick"})


class Speaker:
    """The agent that speaks. `project` is None when the store does not know it; then it has the least role."""

    __slots__ = ("autonomy", "id", "project", "role")

    def __init__(self, *, id: str, role: str, project: str | None, autonomy: str | None) -> None:  # noqa: A002 - the column
        self.id = id
        self.role = role
        self.project = project
        self.autonomy = autonomy

    @classmethod
    def of(cls, ident: str, journal: Dispatch | None) -> Speaker:
        """The agent of a dispatch, or the steps of a job."""
        if journal is None:
            role = roles.JOB_STEP if ident.startswith("job ") else roles.WORKER
            return cls(id=ident, role=role, project=None, autonomy=None)
        # An engine without autonomy is held back by nothing itself.
        own = journal.autonomy or ("full" if journal.engine else None)
        return cls(id=ident, role=roles.role_of(journal.kind, journal.engine), project=journal.project, autonomy=own)

    def display_name(self, said: str | None) -> str:
        """Its name for people; `said` is the id that its environment says."""
        name = f"the steps of {self.id}" if self.id.startswith("job ") else f"{self.role} {self.id}"
        return name if said else f"{name} (it started this process, whose environment says nothing of it)"


class Permits:
    """What one speaker may do."""

    __slots__ = ("_dispatch", "_home", "_store")

    def __init__(self, *, store: Store, home: str, dispatch: str | None) -> None:
        self._store = store
        self._home = home
        self._dispatch = dispatch

    def check(self, act: str, *, project: str | None = None, agent: str | None = None) -> Speaker | None:
        """Refuse what the speaker's role may not do, or not in that project or to that agent.

        Returns None when a person speaks.
        """
        above = marks_above(self._home)
        self._refuse_disguise(act, above)
        ident = self._dispatch or next(iter(above), None) or self._job_of_runner()
        if ident is None or act in _FENCED:
            return None
        journal = self._journal(ident)
        if journal is None and ident == self._dispatch and self._is_used_id(ident):
            raise errors.SpeakerEnded(dispatch=ident)
        speaker = Speaker.of(ident, journal)
        roles.check(act, speaker.role, who=speaker.display_name(self._dispatch))
        if agent is not None and agent != ident:
            other = self._journal(agent)
            self._check_project(act, speaker, other.project if other else None)
        elif project is not None:
            self._check_project(act, speaker, project)
        return speaker

    def _refuse_disguise(self, act: str, above: list[str]) -> None:
        """An agent speaks neither as another dispatch nor, about its task, as a person."""
        others = [ident for ident in above if ident != self._dispatch]
        if not others or not (self._dispatch or roles.ACTS[act].own):
            return
        agent = Speaker.of(others[0], self._journal(others[0]))
        disguise = f"as {self._dispatch}" if self._dispatch else "as a person"
        rule = f"it speaks {disguise}, and nobody speaks as another"
        raise _refusal(act, agent, rule)

    def _check_project(self, act: str, speaker: Speaker, project: str | None) -> None:
        is_coordinator = speaker.role == roles.COORDINATOR
        if speaker.project is None or speaker.project != project or (not is_coordinator and act == "coord.hand_off"):
            rule = f"a {speaker.role} does that for itself only"
            if is_coordinator:
                rule = f"a coordinator does that in its own project only, {speaker.project or 'none'}"
            raise roles.refusal(act, speaker.role, who=speaker.display_name(self._dispatch), rule=rule)

    def _journal(self, ident: str) -> Dispatch | None:
        return self._store.read(lambda rows: q.dispatch_by_id(rows, id=ident))

    def _is_used_id(self, ident: str) -> bool:
        """Whether a dispatch had this id: then its journal is in the archive, and it was proven dead."""
        return self._store.read(lambda rows: q.id_given(rows, id=ident)) is not None

    def _job_of_runner(self) -> str | None:
        job = os.environ.get("FLEET_RUNNER_OF")
        return f"job {job}" if job else None


def refuse_freer(speaker: Speaker | None, act: str, *, autonomy: str | None, unguarded: str) -> None:
    """Refuse an agent that would start something freer than itself; `unguarded` says what nothing would hold back."""
    if speaker is None:
        return
    own = speaker.autonomy
    if autonomy is not None and roles.is_freer(autonomy, own):
        raise _refusal(act, speaker, f"autonomy {autonomy} is freer than its own, {own or 'none'}")
    if unguarded and own != "full":
        raise _refusal(act, speaker, f"{unguarded} is held back by nothing, and it is not free itself")


def refuse_forced(speaker: Speaker, act: str, *, force: bool) -> None:
    """Refuse an agent that would end what somebody else is just doing."""
    if force:
        raise _refusal(act, speaker, "--force is for people")


def refuse_running(speaker: Speaker | None, act: str, given: dict[str, object]) -> None:
    """Refuse an agent that writes into a task what would be run."""
    fields = [name for name in roles.RUNS_SOMETHING if given.get(name) is not None]
    if speaker is None or not fields:
        return
    raise _refusal(act, speaker, f"only a person says the {' and the '.join(fields)} of a task")


def _refusal(act: str, speaker: Speaker, rule: str) -> errors.NotAllowed:
    return roles.refusal(act, speaker.role, who=speaker.display_name(speaker.id), rule=rule)

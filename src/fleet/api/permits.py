"""Check who may do what: apply the table of roles to the speaker.

The speaker is the dispatch that FLEET_DISPATCH_ID names. Without that variable, the speaker is the agent whose process
started this one: an agent does not become a person by losing a variable.
"""

from __future__ import annotations

from fleet import errors
from fleet.model.agents import roles
from fleet.model.agents.actors import FENCED
from fleet.store import queries as q
from fleet.world.process import surroundings
from fleet.world.process.surroundings import marks_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Store


class Speaker:
    """The agent that speaks. `project` is None when the store does not know the agent; then it has the least role."""

    __slots__ = ("autonomy", "id", "project", "role")

    def __init__(self, *, id: str, role: str, project: str | None, autonomy: str | None) -> None:  # noqa: A002 - the column
        self.id = id
        self.role = role
        self.project = project
        self.autonomy = autonomy

    @classmethod
    def of(cls, ident: str, journal: Dispatch | None) -> Speaker:
        """Return the speaker for a dispatch, or for the steps of a job (`job ID`)."""
        if journal is None:
            role = roles.JOB_STEP if ident.startswith("job ") else roles.WORKER
            return cls(id=ident, role=role, project=None, autonomy=None)
        # Nothing limits an engine without autonomies.
        own = journal.autonomy or ("full" if journal.engine else None)
        return cls(id=ident, role=roles.role_of(journal.kind, journal.engine), project=journal.project, autonomy=own)

    def display_name(self, said: str | None) -> str:
        """Return the speaker's name for people. `said` is the dispatch that the environment names, or None."""
        name = f"the steps of {self.id}" if self.id.startswith("job ") else f"{self.role} {self.id}"
        return name if said else f"{name} (it started this process, although the environment does not name it)"


class Permits:
    """What one speaker may do."""

    __slots__ = ("_dispatch", "_home", "_store")

    def __init__(self, *, store: Store, home: str, dispatch: str | None) -> None:
        self._store = store
        self._home = home
        self._dispatch = dispatch

    def check(self, act: str, *, project: str | None = None, agent: str | None = None) -> Speaker | None:
        """Raise NotAllowed when the speaker's role may not do the act, or not in this project or to this agent.

        Returns the agent that speaks; None when a person speaks, or when the act is checked in its own transaction.
        """
        above = marks_above(self._home)
        self._refuse_disguise(act, above)
        ident = self._dispatch or next(iter(above), None) or self._job_of_runner()
        if ident is None or act in FENCED:
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
        """Refuse an agent that speaks as another dispatch, or as a person about its own task."""
        others = [ident for ident in above if ident != self._dispatch]
        if not others or not (self._dispatch or roles.ACTS[act].own):
            return
        agent = Speaker.of(others[0], self._journal(others[0]))
        disguise = f"as {self._dispatch}" if self._dispatch else "as a person"
        rule = f"it speaks {disguise}, and an agent speaks only as itself"
        raise _not_allowed(act, agent, rule)

    def _check_project(self, act: str, speaker: Speaker, project: str | None) -> None:
        """Refuse an act outside the speaker's own project, or for another agent when only a coordinator may do that."""
        is_coordinator = speaker.role == roles.COORDINATOR
        if speaker.project is None or speaker.project != project or (not is_coordinator and act == "coord.hand_off"):
            rule = f"a {speaker.role} does that only for itself"
            if is_coordinator:
                rule = f"a coordinator does that in its own project only, {speaker.project or 'none'}"
            raise roles.refusal(act, speaker.role, who=speaker.display_name(self._dispatch), rule=rule)

    def _journal(self, ident: str) -> Dispatch | None:
        return self._store.read(lambda rows: q.dispatch_by_id(rows, id=ident))

    def _is_used_id(self, ident: str) -> bool:
        """Whether this dispatch id was ever given out."""
        return self._store.read(lambda rows: q.id_given(rows, id=ident)) is not None

    def _job_of_runner(self) -> str | None:
        """Return `job ID` when a job's runner started this process; else None."""
        job = surroundings.environ().get("FLEET_RUNNER_OF")
        return f"job {job}" if job else None


def refuse_freer(speaker: Speaker | None, act: str, *, autonomy: str | None, unguarded: str) -> None:
    """Refuse an agent that would start something freer than itself; `unguarded` names what no autonomy limits."""
    if speaker is None:
        return
    own = speaker.autonomy
    if autonomy is not None and roles.is_freer(autonomy, own):
        raise _not_allowed(act, speaker, f"autonomy {autonomy} is freer than its own, {own or 'none'}")
    if unguarded and own != "full":
        raise _not_allowed(act, speaker, f"{unguarded} is held back by nothing, and it is not free itself")


def refuse_forced(speaker: Speaker, act: str, *, force: bool) -> None:
    """Refuse an agent that uses --force, which ends what another process is doing."""
    if force:
        raise _not_allowed(act, speaker, "--force is for people")


def refuse_running(speaker: Speaker | None, act: str, given: dict[str, object]) -> None:
    """Refuse an agent that sets a task's verify command or engine."""
    fields = [name for name in roles.RUNS_SOMETHING if given.get(name) is not None]
    if speaker is None or not fields:
        return
    raise _not_allowed(act, speaker, f"only a person says the {' and the '.join(fields)} of a task")


def _not_allowed(act: str, speaker: Speaker, rule: str) -> errors.NotAllowed:
    return roles.refusal(act, speaker.role, who=speaker.display_name(speaker.id), rule=rule)

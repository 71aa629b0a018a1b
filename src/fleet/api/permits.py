"""Check which acts the speaker may do, by the table of roles.

The speaker is the dispatch that FLEET_DISPATCH_ID names. Without that variable, the speaker is the agent whose process
started this one: an agent does not become a person by dropping a variable.
"""

from __future__ import annotations

from fleet import errors
from fleet.model import FLEET_RUNNER_OF
from fleet.model.agents import roles
from fleet.model.agents.actors import FENCED
from fleet.store import queries as q
from fleet.world.process import surroundings
from fleet.world.process.surroundings import marks_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Store


class Speaker:
    """The agent that makes a request.

    `autonomy` is the level that it was started with; None: it has none. `project` is None when the store has no row of
    the agent.
    """

    __slots__ = ("autonomy", "id", "project", "role")

    def __init__(self, *, id: str, role: str, project: str | None, autonomy: str | None) -> None:  # noqa: A002 - the column
        self.id = id
        self.role = role
        self.project = project
        self.autonomy = autonomy

    @classmethod
    def of(cls, ident: str, journal: Dispatch | None) -> Speaker:
        """Return the speaker with this dispatch id, made from the dispatch's row in the store (`journal`).

        When `journal` is None, its role is that of a job's steps if `ident` is `job ID`, else worker, and it has no
        project.
        """
        if journal is None:
            role = roles.JOB_STEP if ident.startswith("job ") else roles.WORKER
            return cls(id=ident, role=role, project=None, autonomy=None)
        # An engine that has no autonomy levels is limited by nothing, so its agent counts as one with the level "full".
        own = journal.autonomy or ("full" if journal.engine else None)
        return cls(id=ident, role=roles.role_of(journal.kind, journal.engine), project=journal.project, autonomy=own)

    def display_name(self, said: str | None) -> str:
        """Return the speaker's name for an error message.

        `said` is the dispatch that the environment names. When it is None, the text adds that the agent has started
        this process although the environment does not name the agent.
        """
        name = f"the steps of {self.id}" if self.id.startswith("job ") else f"{self.role} {self.id}"
        return name if said else f"{name} (it started this process, although the environment does not name it)"


class Permits:
    """Checks the acts of one speaker: the dispatch that the environment names, or the agent that started this process."""

    __slots__ = ("_dispatch", "_home", "_store")

    def __init__(self, *, store: Store, home: str, dispatch: str | None) -> None:
        self._store = store
        self._home = home
        self._dispatch = dispatch

    def check(self, act: str, *, project: str | None = None, agent: str | None = None) -> Speaker | None:
        """Check that the speaker may do the act: at all, in `project`, and to `agent` (a dispatch id); raise NotAllowed if not.

        Returns the agent that speaks. None when a person speaks, or when the transaction of the act itself checks the
        speaker. Raise SpeakerEnded when the speaker's dispatch has been archived.
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
        """Raise NotAllowed when an agent's process does not speak as its own dispatch.

        It may not speak as another dispatch, nor as a person in an act that agents do for their own task. `above` are the
        dispatches whose processes started this one.
        """
        others = [ident for ident in above if ident != self._dispatch]
        if not others or not (self._dispatch or roles.act_of(act).own):
            return
        agent = Speaker.of(others[0], self._journal(others[0]))
        disguise = f"as {self._dispatch}" if self._dispatch else "as a person"
        rule = f"it speaks {disguise}, and an agent speaks only as itself"
        raise _not_allowed(act, agent, rule)

    def _check_project(self, act: str, speaker: Speaker, project: str | None) -> None:
        """Raise NotAllowed unless `project` is the speaker's own. None, an unknown project, is always refused.

        For "coord.hand_off" the speaker must also be a coordinator: this is called only when the agent to hand off is
        not the speaker, and other agents may hand off only themselves.
        """
        is_coordinator = speaker.role == roles.COORDINATOR
        if speaker.project is None or speaker.project != project or (not is_coordinator and act == "coord.hand_off"):
            rule = f"a {speaker.role} does that only for itself"
            if is_coordinator:
                rule = f"a coordinator does that in its own project only, {speaker.project or 'none'}"
            raise roles.refusal(act, speaker.role, who=speaker.display_name(self._dispatch), rule=rule)

    def _journal(self, ident: str) -> Dispatch | None:
        """Return the row of a dispatch; None when it is archived or there is none."""
        return self._store.read(lambda rows: q.dispatch_by_id(rows, id=ident))

    def _is_used_id(self, ident: str) -> bool:
        """Whether fleet has ever given out this dispatch id."""
        return self._store.read(lambda rows: q.id_given(rows, id=ident)) is not None

    def _job_of_runner(self) -> str | None:
        """Return `job ID` when a job's runner started this process; else None."""
        job = surroundings.environ().get(FLEET_RUNNER_OF)
        return f"job {job}" if job else None


def refuse_freer(speaker: Speaker | None, act: str, *, autonomy: str | None, unguarded: str) -> None:
    """Raise NotAllowed when an agent would start something with more autonomy than it has itself.

    `unguarded` names what is started if no autonomy limits it, such as "a command"; else it is "". `autonomy` is the
    level that was asked for, None for no level. `speaker` None is a person, who may start anything.
    """
    if speaker is None:
        return
    own = speaker.autonomy
    if autonomy is not None and roles.is_freer(autonomy, own):
        raise _not_allowed(act, speaker, f"autonomy {autonomy} is freer than its own, {own or 'none'}")
    if unguarded and own != "full":
        raise _not_allowed(act, speaker, f"{unguarded} is held back by nothing, and it is not free itself")


def refuse_forced(speaker: Speaker, act: str, *, force: bool) -> None:
    """Raise NotAllowed when an agent uses --force, which would stop another process."""
    if force:
        raise _not_allowed(act, speaker, "--force is for people")


def refuse_command_or_engine(speaker: Speaker | None, act: str, given: Mapping[str, object]) -> None:
    """Raise NotAllowed when an agent (`speaker`; None: a person) sets the verify command or the engine of a task.

    `given` are the values of the task's fields by name; a field whose value is None is not set.
    """
    fields = [name for name in roles.RUNS_SOMETHING if given.get(name) is not None]
    if speaker is None or not fields:
        return
    raise _not_allowed(act, speaker, f"only a person says the {' and the '.join(fields)} of a task")


def _not_allowed(act: str, speaker: Speaker, rule: str) -> errors.NotAllowed:
    """Return the error for an act that this rule forbids to the speaker."""
    return roles.refusal(act, speaker.role, who=speaker.display_name(speaker.id), rule=rule)

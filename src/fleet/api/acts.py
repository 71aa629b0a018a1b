"""What agents call all day, with as few imports as can be."""

from __future__ import annotations

import os
import pwd

from fleet.errors.absent import NoSuchProject
from fleet.errors.given import NoProject, NoTask, NotInThisWorktree
from fleet.errors.refused import OverrideIsForPeople
from fleet.model import names
from fleet.model.agents.actors import Caller, acting
from fleet.store import queries as q
from fleet.store.registry import open_store
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel
from fleet.world.home import home_record, paths
from fleet.world.home.location import checkout_of, here, home_path, ready_home, worktree_at
from fleet.world.ids import Ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from fleet.api.permits import Speaker
    from fleet.errors.families import FleetError
    from fleet.model.settings.table import Value
    from fleet.store.transaction import Change, Store
    from fleet.world.home.home_record import HomeRecord

    Result = dict[str, Any]


# Every role may, for its own task, which the fence of the task checks: not even the table is loaded for them.
_ALL_DAY = frozenset(("log", "artifact"))


class Acts:
    """One actor at one fleet home."""

    def __init__(
        self, *, home: str, store: Store, actor: str, dispatch: names.DispatchId | None, funnel: Funnel
    ) -> None:
        self.home = home
        self.store = store
        self.actor = actor
        self.speaker = dispatch
        self.funnel = funnel
        self.clock = Clock()
        self.ids = Ids()
        self.record: HomeRecord | None = None
        # Why this home changes nothing: it was moved or copied.
        self.moved: FleetError | None = None

    @classmethod
    def open(cls, home: str | None = None, *, actor: str | None = None, make: bool = True) -> Self:
        """Open a fleet home, made if it is missing, but by no agent; the actor is told by the environment if not named."""
        name, dispatch = acting(dispatch=os.environ.get("FLEET_DISPATCH_ID"), named=actor, person=_person())
        funnel, path = Funnel(), os.path.abspath(home) if home else home_path()
        where = ready_home(path, funnel, make=make and dispatch is None)
        known = home_record.read(where)
        old = known is None and _is_in_use(where)
        store = open_store(where, funnel, had=known.database if known else "")
        acts = cls(home=where, store=store, actor=name, dispatch=dispatch, funnel=funnel)
        if known is None or known.database != store.kind:
            known = _remembered(where, funnel, store.kind, is_old=old)
        acts.record = known
        if acts.record.path != where:
            acts.moved = _why_elsewhere(acts.record, where)
        if acts.moved is None and (acts.record.is_copy or not os.path.exists(f"{where}/{paths.RECORD_COPY}")):
            _save(acts.record, where, funnel)
        return acts

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def __enter__(self) -> Self:
        """Be closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def log(self, *, project: str, slug: str, message: str, key: str | None = None) -> Result:
        """Say something about a task."""
        from fleet.verbs.tasks import note

        self.may("log")
        return self.commit(note.log(project=project, slug=slug, message=message), key)

    def artifact(self, *, project: str, slug: str, path: str, key: str | None = None) -> Result:
        """Register something that a task made."""
        from fleet.verbs.tasks import note

        self.may("artifact")
        return self.commit(note.artifact(project=project, slug=slug, path=path), key)

    def done(
        self, *, project: str, slug: str, message: str | None = None, override: bool = False, key: str | None = None
    ) -> Result:
        """The task is done."""
        from fleet.verbs.tasks import report

        self.may("done")
        self._people_only(override)
        work = self._work_at(project, slug)
        return self.commit(report.done(project=project, slug=slug, message=message, work=work, override=override), key)

    def fail(self, *, project: str, slug: str, reason: str, override: bool = False, key: str | None = None) -> Result:
        """The task failed."""
        from fleet.verbs.tasks import report

        self.may("fail")
        self._people_only(override)
        work = self._work_at(project, slug)
        return self.commit(report.fail(project=project, slug=slug, reason=reason, work=work, override=override), key)

    def block(self, *, project: str, slug: str, reason: str, override: bool = False, key: str | None = None) -> Result:
        """The task cannot go on."""
        from fleet.verbs.tasks import report

        self.may("block")
        self._people_only(override)
        work = self._work_at(project, slug)
        return self.commit(report.block(project=project, slug=slug, reason=reason, work=work, override=override), key)

    def claim(self, *, project: str, slug: str, override: bool = False, key: str | None = None) -> Result:
        """Take a task."""
        from fleet.verbs.tasks import claim

        self.may("claim")
        self._people_only(override)
        return self.commit(claim.claim(project=project, slug=slug, override=override), key)

    def _work_at(self, project: str, slug: str) -> str | None:
        """Return the commit that a task's worktree is at; None when it has none."""
        from fleet.world.git.refs import head_commit

        return head_commit(f"{self.home}/{paths.worktree(names.project(project), names.slug(slug))}")

    def project_here(self, named: str | None = None) -> str:
        """The project that is meant: named, told by the environment, or that of the current directory."""
        told = os.environ.get("FLEET_PROJECT") or None if named is None else named
        if told is not None:
            return names.project(told)
        path = here()
        if path is None:
            raise NoProject(where="the current directory, which was removed,")
        ours = worktree_at(path)
        return ours[0] if ours else self._project_at(path)

    def _project_at(self, where: str) -> str:
        path = where
        known = {row["path"]: row["name"] for row in self.store.read(lambda rows: rows.all(q.ALL_PROJECTS))}
        while path not in known:
            if path == "/":
                raise NoProject(where=where)
            path = checkout_of(path) or os.path.dirname(path)
        return str(known[path])

    def task_here(self, usage: str) -> str:
        """The task of the agent that is speaking; whoever is none is told how to name one."""
        if self.speaker is None and worktree_at(here() or ""):
            raise NotInThisWorktree
        told = os.environ.get("FLEET_TASK")
        if not told:
            raise NoTask(usage=usage)
        return names.slug(told)

    def settings(self, project: str | None = None) -> dict[str, Value]:
        """Every setting as it counts and where it comes from; a project's own too if one is named."""
        from fleet.world.home.settings import settings_of, trusted_settings

        if project is None:
            return settings_of(self.home, None)
        row = self.store.read(lambda rows: rows.one(q.PROJECT_BY_NAME, name=names.project(project)))
        if row is None:
            raise NoSuchProject(project=project)
        return trusted_settings(self.home, project, row["path"])

    def commit(self, change: Change, key: str | None = None) -> Result:
        """Commit a change as this actor. A home that was moved changes nothing before it is repaired."""
        if self.moved is not None:
            raise self.moved
        return self.commit_anyway(change, key)

    def commit_anyway(self, change: Change, key: str | None = None) -> Result:
        """The same, in a home that was moved too: for what only changes rows and is needed before a repair."""
        return self.store.transact(change.why, change.work, self.caller(key), *change.request)

    def caller(self, key: str | None = None) -> Caller:
        """A request by this actor, now."""
        made = self.ids.key() if key is None else names.key(key)
        return Caller(actor=self.actor, at=self.clock.now(), key=made, dispatch=self.speaker)

    def may(self, act: str, *, project: str | None = None, agent: str | None = None) -> Speaker | None:
        """Refuse what the speaker's role may not do (NotAllowed). Returns the agent that speaks, None for a person."""
        if act in _ALL_DAY:
            return None
        from fleet.api.permits import Permits

        return Permits(store=self.store, home=self.home, dispatch=self.speaker).check(act, project=project, agent=agent)

    def _people_only(self, override: bool) -> None:  # noqa: FBT001
        if override and self.speaker is not None:
            raise OverrideIsForPeople(dispatch=self.speaker)


def _is_in_use(home: str) -> bool:
    from fleet.world.home.home_change import is_in_use

    return is_in_use(home)


def _remembered(home: str, funnel: Funnel, database: str, *, is_old: bool) -> HomeRecord:
    from fleet.world.home.home_change import remember

    return remember(home, funnel, database=database, is_old=is_old)


def _save(record: HomeRecord, home: str, funnel: Funnel) -> None:
    """See to it that the home has both its record and the copy."""
    from fleet.world.home import home_change

    if record.is_copy:
        home_change.restore(home, funnel)
    else:
        home_change.keep_copy(home, funnel, record)


def _why_elsewhere(record: HomeRecord, home: str) -> FleetError | None:
    from fleet.world.home.home_change import why_elsewhere

    return why_elsewhere(record, home)


def _person() -> str:
    """user@host, in characters a name may have."""
    told = f"{_user()}@{os.uname().nodename}"
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_.@+") else "_" for char in told)[:90].strip(
        ".-@"
    )


def _user() -> str:
    told = os.environ.get("USER") or os.environ.get("LOGNAME")
    if told:
        return told
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid{os.getuid()}"

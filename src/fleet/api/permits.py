"""The one place that checks who may do what: the table of roles, applied to whoever speaks.

Whoever speaks is the dispatch that FLEET_DISPATCH_ID names. Where that is missing, but a process of an agent has started this
one, it is that agent all the same: an agent does not become a person by losing a variable.
"""

from __future__ import annotations

import os

from fleet.errors.superseded import SpeakerEnded
from fleet.model.agents import roles
from fleet.store import queries as q
from fleet.world.process.ancestry import marks_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Row, Store

# Each has a fence of its own, in the transaction that makes the change: whose the task is, or who is in the seat.
_FENCED = frozenset({"done", "fail", "block", "claim", "tick"})


class Permits:
    """What one speaker may do."""

    __slots__ = ("_dispatch", "_home", "_store")

    def __init__(self, *, store: Store, home: str, dispatch: str | None) -> None:
        self._store = store
        self._home = home
        self._dispatch = dispatch

    def check(self, act: str, *, project: str | None = None, agent: str | None = None) -> Row | None:
        """Refuse what the speaker's role may not do, or not in that project or to that agent.

        Returns the speaker's journal; None when a person speaks.
        """
        above = marks_above(self._home)
        self._refuse_disguise(act, above)
        ident = self._dispatch or next(iter(above), None) or self._runner()
        if ident is None or act in _FENCED:
            return None
        row = self._journal(ident)
        if row is None and ident == self._dispatch and self._was_given(ident):
            raise SpeakerEnded(dispatch=ident)
        role = roles.JOB_STEP if ident.startswith("job ") else roles.role_of(row)
        who = _called(role, ident, self._dispatch)
        roles.check(act, role, who=who)
        if agent is not None and agent != ident:
            self._check_project(act, role, who, row, (self._journal(agent) or {}).get("project"))
        elif project is not None:
            self._check_project(act, role, who, row, project)
        return row or {"id": ident, "project": None, "slug": None, "autonomy": None, "kind": "worker", "engine": ""}

    def _refuse_disguise(self, act: str, above: list[str]) -> None:
        """An agent speaks neither as another dispatch nor, about its task, as a person."""
        others = [ident for ident in above if ident != self._dispatch]
        if not others or not (self._dispatch or roles.ACTS[act].own):
            return
        role = roles.role_of(self._journal(others[0]))
        said = f"as {self._dispatch}" if self._dispatch else "as a person"
        rule = f"it speaks {said}, and nobody speaks as another"
        raise roles.refusal(act, role, who=_called(role, others[0], others[0]), rule=rule)

    def _check_project(self, act: str, role: str, who: str, row: Row | None, project: str | None) -> None:
        if row is None or row["project"] != project or (role != roles.COORDINATOR and act == "hand_off"):
            rule = f"a {role} does that for itself only"
            if role == roles.COORDINATOR:
                rule = f"a coordinator does that in its own project only, {row['project'] if row else 'none'}"
            raise roles.refusal(act, role, who=who, rule=rule)

    def _journal(self, ident: str) -> Row | None:
        return self._store.read(lambda rows: rows.one(q.DISPATCH_BY_ID, id=ident))

    def _was_given(self, ident: str) -> bool:
        """Whether a dispatch had this id: then its journal is in the archive, and it was proven dead."""
        return self._store.read(lambda rows: rows.one(q.ID_GIVEN, id=ident)) is not None

    def _runner(self) -> str | None:
        job = os.environ.get("FLEET_RUNNER_OF")
        return f"job {job}" if job else None


def refuse_freer(speaker: Row | None, act: str, *, autonomy: str | None, unguarded: str) -> None:
    """Refuse an agent that would start something freer than itself; `unguarded` says what nothing would hold back."""
    if speaker is None:
        return
    # An engine without autonomy is held back by nothing itself.
    role, own = roles.role_of(speaker), speaker["autonomy"] or ("full" if speaker["engine"] else None)
    who = _called(role, speaker["id"], speaker["id"])
    if autonomy is not None and roles.is_freer(autonomy, own):
        raise roles.refusal(act, role, who=who, rule=f"autonomy {autonomy} is freer than its own, {own or 'none'}")
    if unguarded and own != "full":
        raise roles.refusal(act, role, who=who, rule=f"{unguarded} is held back by nothing, and it is not free itself")


def refuse_forced(speaker: Row, act: str, *, force: bool) -> None:
    """Refuse an agent that would end what somebody else is just doing."""
    if force:
        role = roles.role_of(speaker)
        rule = "--force is for people"
        raise roles.refusal(act, role, who=_called(role, speaker["id"], speaker["id"]), rule=rule)


def refuse_running(speaker: Row | None, act: str, given: dict[str, object]) -> None:
    """Refuse an agent that writes into a task what would be run."""
    said = [name for name in roles.RUNS_SOMETHING if given.get(name) is not None]
    if speaker is None or not said:
        return
    role = roles.role_of(speaker)
    rule = f"only a person says the {' and the '.join(said)} of a task"
    raise roles.refusal(act, role, who=_called(role, speaker["id"], speaker["id"]), rule=rule)


def _called(role: str, ident: str, said: str | None) -> str:
    name = f"the steps of {ident}" if ident.startswith("job ") else f"{role} {ident}"
    return name if said else f"{name} (it started this process, whose environment says nothing of it)"

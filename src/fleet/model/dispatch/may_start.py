"""Decide whether an agent may start. Each reason against it is an error, which a dispatch raises and the views show."""

from __future__ import annotations

from fleet import errors
from fleet.model.text.times import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class Count(Protocol):
        """How many agents are at work: in all projects (`everywhere`), and in one project (`here`)."""

        @property
        def everywhere(self) -> int: ...
        @property
        def here(self) -> int: ...

    class Window(Protocol):
        """How much of one quota window of an engine is used; its reset is in milliseconds, None when not known."""

        @property
        def span(self) -> str: ...
        @property
        def percent(self) -> int: ...
        @property
        def resets_at(self) -> int | None: ...

    class Failure(Protocol):
        """The last failed setup of a project's worktree."""

        @property
        def setup_dispatch(self) -> str | None: ...
        @property
        def setup_failure(self) -> str | None: ...
        @property
        def setup_failed_at(self) -> int | None: ...


_DEAD = frozenset({"dead", "dead before it started", "ended"})


def why_no_room(project: str, count: Count, *, agents: int, project_agents: int) -> errors.LimitReached | None:
    """Return the error for the limit of agents that is reached; None when one more agent may start.

    `agents` is the limit for all projects together, `project_agents` the one for this project.
    """
    for now, most, name, what in (
        (count.everywhere, agents, "agents", "agents at work"),
        (count.here, project_agents, "project_agents", f"agents at work in {project}"),
    ):
        if now >= most:
            return errors.LimitReached(limit=f"too many {what}", now=now, most=most, setting=f"limits.{name}")
    return None


def why_used_up(engine: str, windows: Iterable[Window], now: int, quota_percent: int) -> errors.EngineHeld | None:
    """Return an error if a quota window of the engine is used to `quota_percent` or more; None otherwise.

    A window is ignored when its reset is not after `now` (in milliseconds), or not known.
    """
    for row in windows:
        if row.percent >= quota_percent and row.resets_at is not None and row.resets_at > now:
            reason = f"{row.percent} % of its window {row.span} is used"
            reset = f"the window is reset at {clock(row.resets_at)}"
            advice = f"{reset}; limits.quota_percent in config.toml says how much may be used"
            return errors.EngineHeld(engine=engine, reason=reason, advice=advice)
    return None


def why_held(engine: str, kind: str, reason: str, until: int | None, now: int) -> errors.EngineHeld | None:
    """Return the error for an engine that is held; None when it may be tried.

    It is held when its `kind` of hold is "login" and `until` is None, or when `until` is later than `now`. `until` is
    when fleet tries the engine again; times are in milliseconds. `reason` is shown to people.
    """
    if kind == "login" and until is None:
        advice = f"log in with the program itself, then run `fleet limits lift {engine}`"
        return errors.EngineHeld(engine=engine, reason=reason, advice=advice)
    if until is not None and until > now:
        return errors.EngineHeld(engine=engine, reason=reason, advice=f"fleet tries the engine again at {clock(until)}")
    return None


def why_uncoordinated(state: str, holder: str | None, epoch: int, *, ready: bool) -> errors.Uncoordinated | None:
    """Return the error for a project whose coordinator is dead or stopped, so that nobody starts tasks; else None.

    `state` is the state of the project's seat, `holder` the coordinator's dispatch. `epoch` counts the changes of the
    holder, and is 0 if the seat was never taken. A stopped coordinator is an error only while tasks are ready. A seat
    that was never taken is no error: there a person starts the agents.
    """
    if state in _DEAD:
        return errors.Uncoordinated(what=f"its coordinator {holder} is dead")
    if holder is None and epoch and ready:
        return errors.Uncoordinated(what="its coordinator was stopped, and nobody starts its tasks")
    return None


def has_coordinator(state: str) -> bool:
    """Return whether a project has a coordinator, by the state of its seat.

    False when the state is none, dead, `dead before it started` or ended; a coordinator in the state `unknown` counts.
    """
    return state not in _DEAD and state != "none"


def why_asleep(holder: str | None, trouble: str | None) -> errors.NotWoken | None:
    """Return the error that a coordinator could not be woken because of `trouble`; None without a trouble."""
    return errors.NotWoken(holder=holder, why=trouble) if trouble else None


def why_setup_fails(project: str, last: Failure | None) -> errors.SetupFails | None:
    """Return the error for the last setup of a worktree if it failed; None when it succeeded or there was none."""
    if last is None or last.setup_failure is None:
        return None
    at = clock(last.setup_failed_at or 0)
    return errors.SetupFails(project=project, dispatch=last.setup_dispatch, at=at, why=last.setup_failure)


def why_no_commit(repository: str, target: str | None, commit: str | None) -> errors.Refused | None:
    """Return the error for a repository that has no commit to start agents from; None when it has one.

    `target` is the branch to start from, None when HEAD is detached; `commit` is its commit, None when it has none.
    """
    if not target:
        return errors.DetachedHead(path=repository)
    return errors.NoCommit(branch=target, path=repository) if commit is None else None

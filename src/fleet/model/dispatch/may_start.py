"""Decide whether an agent may start. Each reason why not is a class of errors: a dispatch raises it, the views show it."""

from __future__ import annotations

from fleet import errors
from fleet.model.text.times import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class Count(Protocol):
        """How many agents are at work."""

        @property
        def everywhere(self) -> int: ...
        @property
        def here(self) -> int: ...

    class Window(Protocol):
        """How much of a quota window is used."""

        @property
        def span(self) -> str: ...
        @property
        def percent(self) -> int: ...
        @property
        def resets_at(self) -> int | None: ...

    class Failure(Protocol):
        """The last setup of a worktree, when it failed."""

        @property
        def setup_dispatch(self) -> str | None: ...
        @property
        def setup_failure(self) -> str | None: ...
        @property
        def setup_failed_at(self) -> int | None: ...


_DEAD = frozenset({"dead", "dead before it started", "ended"})


def why_no_room(project: str, count: Count, *, agents: int, project_agents: int) -> errors.LimitReached | None:
    """Return which limit of running agents is reached; None when there is room for one more."""
    for now, most, name, what in (
        (count.everywhere, agents, "agents", "agents at work"),
        (count.here, project_agents, "project_agents", f"agents at work in {project}"),
    ):
        if now >= most:
            return errors.LimitReached(limit=f"too many {what}", now=now, most=most, setting=f"limits.{name}")
    return None


def why_used_up(engine: str, windows: Iterable[Window], now: int, quota_percent: int) -> errors.EngineHeld | None:
    """Return which quota window of an engine is used up to `quota_percent` and not reset yet; None for none."""
    for row in windows:
        if row.percent >= quota_percent and row.resets_at is not None and row.resets_at > now:
            reason = f"{row.percent} % of its window {row.span} is used"
            reset = f"the window is reset at {clock(row.resets_at)}"
            advice = f"{reset}; limits.quota_percent in config.toml says how much may be used"
            return errors.EngineHeld(engine=engine, reason=reason, advice=advice)
    return None


def why_held(engine: str, kind: str, reason: str, until: int | None, now: int) -> errors.EngineHeld | None:
    """Return why an engine is held back: a missing login, or a limit that is not over; None when a trial is due."""
    if kind == "login" and until is None:
        advice = f"log in with the program itself, then run `fleet limits lift {engine}`"
        return errors.EngineHeld(engine=engine, reason=reason, advice=advice)
    if until is not None and until > now:
        return errors.EngineHeld(engine=engine, reason=reason, advice=f"fleet tries the engine again at {clock(until)}")
    return None


def why_uncoordinated(state: str, holder: str | None, epoch: int, *, ready: bool) -> errors.Uncoordinated | None:
    """Return why nobody starts ready tasks, by the state of the seat; None for a living or unknown coordinator.

    A seat that was never taken is no reason: there a person starts the agents. That a coordinator was stopped matters
    only while something is ready.
    """
    if state in _DEAD:
        return errors.Uncoordinated(what=f"its coordinator {holder} is dead")
    if holder is None and epoch and ready:
        return errors.Uncoordinated(what="its coordinator was stopped, and nobody starts its tasks")
    return None


def has_coordinator(state: str) -> bool:
    """Whether somebody may coordinate a project, by the state of its seat: alive, starting, or not known to be dead."""
    return state not in _DEAD and state != "none"


def why_asleep(holder: str | None, trouble: str | None) -> errors.NotWoken | None:
    """Return why an agent in the seat is not woken when there is something to do; None when nothing is wrong."""
    return errors.NotWoken(holder=holder, why=trouble) if trouble else None


def why_setup_fails(project: str, last: Failure | None) -> errors.SetupFails | None:
    """Return why the last setup of a worktree failed; None when it succeeded, or when there was none."""
    if last is None or last.setup_failure is None:
        return None
    at = clock(last.setup_failed_at or 0)
    return errors.SetupFails(project=project, dispatch=last.setup_dispatch, at=at, why=last.setup_failure)


def why_no_commit(repository: str, target: str | None, commit: str | None) -> errors.Refused | None:
    """Return why there is no commit to start from: no branch is known, or the branch is empty; None when there is one."""
    if not target:
        return errors.DetachedHead(path=repository)
    return errors.NoCommit(branch=target, path=repository) if commit is None else None

"""The states of a dispatch: how it runs (exec state), how its claims are released (reclamation state), and its handoff."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from fleet.model.states import DispatchKind, ExecState, HandoffState, ReclState

    class HasExecState(Protocol):
        """A row with the exec state of a dispatch."""

        @property
        def exec_state(self) -> str | None: ...

    class HasRequest(Protocol):
        """A row with the reason why a dispatch was asked to exit."""

        @property
        def asked_for(self) -> str | None: ...

    class HasEnding(HasRequest, Protocol):
        """A row with the report of an agent, and the reason why it was asked to exit."""

        @property
        def report(self) -> str | None: ...

    class RunsSomewhere(Protocol):
        """The columns of a dispatch that say where it runs."""

        @property
        def kind(self) -> str: ...
        @property
        def server(self) -> str | None: ...


KINDS: tuple[DispatchKind, ...] = ("worker", "reviewer", "finisher", "fix", "rebase", "coord")
REPORTS = ("done", "failed", "blocked")
# Reasons why a dispatch ended before its work was finished.
INTERRUPTED = "interrupted"
STOPPED = "stopped"
HANDED_OFF = "handed off"
# The columns of a dispatch that hold times.
TIMES = ("created_at", "updated_at", "launched_at", "ended_at", "reported_at", "asked_at")

# exec state ---------------------------------------------------------------------------------------------------------
EXEC_STATES = ("pending", "in_flight", "done", "blocked", "failed")
EXEC_EVENTS = ("launched", "settled_done", "settled_blocked", "settled_failed")
UNFINISHED = frozenset({"pending", "in_flight"})

EXEC_STEPS: dict[tuple[str, str], ExecState] = {
    ("pending", "launched"): "in_flight",
    ("pending", "settled_failed"): "failed",
    ("in_flight", "settled_done"): "done",
    ("in_flight", "settled_blocked"): "blocked",
    ("in_flight", "settled_failed"): "failed",
}

# reclamation state --------------------------------------------------------------------------------------------------
RECL_STATES = ("pending", "complete", "partial", "blocked")
RECL_EVENTS = ("all_released", "bundle_left", "release_failed", "release_blocked")

# bundle_left: the dispatch's own claims are released; it owns the bundle until a successor adopts the bundle or the task
# is archived. release_failed: claims are left, and fleet will try again to release them. release_blocked: the release
# of a claim has failed too often.
RECL_STEPS: dict[tuple[str, str], ReclState] = {
    ("pending", "all_released"): "complete",
    ("pending", "bundle_left"): "pending",
    ("pending", "release_failed"): "partial",
    ("pending", "release_blocked"): "blocked",
    ("partial", "all_released"): "complete",
    ("partial", "bundle_left"): "pending",
    ("partial", "release_failed"): "partial",
    ("partial", "release_blocked"): "blocked",
    ("blocked", "all_released"): "complete",
    ("blocked", "bundle_left"): "pending",
    ("blocked", "release_failed"): "partial",
    ("blocked", "release_blocked"): "blocked",
    ("complete", "all_released"): "complete",
}

# handoff ------------------------------------------------------------------------------------------------------------
HANDOFF_STATES: tuple[HandoffState, ...] = ("queued", "done", "dropped")
# hand_on: its successor runs. drop: no successor is needed any more. park: the handoffs of the task bring no progress.
HANDOFF_EVENTS = ("hand_on", "drop", "park")

HANDOFF_STEPS: dict[tuple[str, str], HandoffState] = {
    ("queued", "hand_on"): "done",
    ("queued", "drop"): "dropped",
    ("queued", "park"): "dropped",
}


def owner(*, project: str, slug: str | None) -> str:
    """Return the owner of a dispatch, its task or its project's coordinator, in the form that journals use."""
    return f"coord/{project}" if slug is None else f"project/{project}/slug/{slug}"


def is_unfinished(row: HasExecState) -> bool:
    """Return whether the dispatch has not been settled yet."""
    return row.exec_state in UNFINISHED


def is_pending(row: HasExecState) -> bool:
    """Return whether the dispatch was not launched yet."""
    return row.exec_state == "pending"


def is_in_flight(row: HasExecState) -> bool:
    """Return whether the dispatch was launched and not settled yet."""
    return row.exec_state == "in_flight"


def is_asked_to_exit(row: HasRequest) -> bool:
    """Return whether anybody has asked the dispatch to exit, for whatever reason."""
    return row.asked_for is not None


def is_ending(row: HasEnding) -> bool:
    """Return whether an agent has reported or was asked to exit: it is expected to exit, and gets no new work."""
    return bool(row.report or row.asked_for)


def is_held_by_daemon(row: RunsSomewhere) -> bool:
    """Return whether the daemon plays a coordinator: it has no tmux session, and its process is the daemon itself.

    Such a coordinator is ended by changing its rows only. A signal would end the daemon, and with it everything that the
    daemon does.
    """
    return row.kind == "coord" and row.server is None

"""Decide what to do about a dispatch (settle, kill, press, leave), from its recorded state and the observed facts.

Pure. `verbs/dispatch/facts.py` gathers the facts, `decide` chooses the remedy, `verbs/dispatch/apply_remedy.py`
applies it. The callers (tick, sweep, resume …) differ only in which remedies they may apply; `MAY_APPLY` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fleet.model.states import assert_never

if TYPE_CHECKING:
    from fleet.model.states import AskedFor

# `worker` stands for every agent that works on a task: worker, reviewer, fix and rebase.
AgentKind = Literal["worker", "finisher", "coord"]
# starting: not launched yet, but may still be launched. unstarted: provably never will be launched.
Condition = Literal["ended", "starting", "unstarted", "alive", "dead", "unknown"]
# What a dead agent left. ours: processes that are provably the agent's. strangers: processes in its worktree whose owner
# is unknown. silent: its tmux server is alive and does not answer.
Remains = Literal["none", "ours", "strangers", "silent"]
# fresh: the agent still has time to exit by itself. over: its report_grace is over, or its hooks say that its turn has ended.
ReportAge = Literal["none", "fresh", "over"]
# A coordinator's place. late: a candidate after its deadline. withdrawn: a former candidate that never proved itself.
# out: a former holder.
SeatPlace = Literal["none", "holder", "candidate", "late", "withdrawn", "out"]
# Why a dispatch is left alone.
Cause = Literal["ended", "foreign", "starting", "alive", "unknown", "strangers", "silent", "not_permitted"]
# What a remedy does, so that MAY_APPLY can allow it. hand_over: press an agent for its handoff. retire: press a
# coordinator that is not in the seat. withdraw: remove a candidate from the seat.
RemedyAct = Literal["settle", "kill_rest", "press", "hand_over", "retire", "withdraw"]
Asker = Literal[
    "tick", "sweep", "resume", "resumable", "replace", "handoff", "job", "merge", "dispatch", "restart", "settle"
]
# The next stage of ending an agent: ask it to exit, wait for its exit_grace, or kill it.
Stage = Literal["ask", "wait", "kill"]

MAY_APPLY: dict[Asker, frozenset[RemedyAct]] = {
    "tick": frozenset({"settle", "kill_rest", "press"}),
    "sweep": frozenset({"settle", "kill_rest", "press", "retire", "withdraw"}),
    "resume": frozenset({"settle", "kill_rest"}),
    "resumable": frozenset({"settle"}),
    "replace": frozenset({"settle", "kill_rest", "retire", "withdraw"}),
    "handoff": frozenset({"settle", "kill_rest", "press", "hand_over"}),
    "job": frozenset({"settle", "kill_rest"}),
    "merge": frozenset({"settle", "kill_rest"}),
    "dispatch": frozenset({"settle"}),
    "restart": frozenset({"settle"}),
    # Settle itself, as tmux's hint, the daemon and `fleet dispatches settle` call it.
    "settle": frozenset({"settle"}),
}
# Causes that only a person can remove.
STANDING: frozenset[Cause] = frozenset({"foreign", "unknown", "strangers", "silent"})
REPLACED = "another coordinator is in the seat"
UNPROVEN = "withdrawn: it did not prove itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The observed facts about one dispatch. The fields from `why` on are texts for people and do not affect the decision."""

    condition: Condition
    kind: AgentKind = "worker"
    is_of_this_home: bool = True  # this home made the dispatch; only this home may end it
    remains: Remains = "none"
    report: ReportAge = "none"
    asked_for: AskedFor | None = None
    exit_grace_over: bool = False  # the agent was asked to exit, and its exit_grace is over
    task_taken: bool = False  # the task is assigned to somebody else or to nobody
    place: SeatPlace = "none"
    handoff_queued: bool = False
    # The coordinator is a duty of the daemon: its process is the daemon's own, and is never signalled.
    is_daemon_duty: bool = False
    # Why the dispatch cannot be settled; empty when it can.
    why: str = ""
    # Processes in the worktree whose owner is unknown, and what a person can do about them.
    strangers: str = ""
    way: str = ""
    # Processes that fleet cannot inspect.
    unreadable: str = ""
    asked_reason: str = ""
    handoff_reason: str = ""
    # What shows that the agent should have ended; the sweep prints it.
    proof: str = ""


@dataclass(frozen=True, slots=True)
class Settle:
    """Remedy: end the dispatch, because its death is proven."""

    act: RemedyAct = "settle"


@dataclass(frozen=True, slots=True)
class KillRest:
    """Remedy: kill the processes that a dead agent provably left behind, then settle the dispatch."""

    act: RemedyAct = "kill_rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """Remedy: make an agent exit, then settle the dispatch. `stage` is the next step: ask it, wait, or kill its processes."""

    asked_for: AskedFor
    reason: str
    stage: Stage
    act: RemedyAct = "press"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismiss:
    """Remedy: end a coordinator that the daemon plays, by changing its rows only.

    No process is signalled; the daemon notices.
    """

    asked_for: AskedFor
    reason: str
    act: RemedyAct = "press"


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdraw:
    """Remedy: remove a candidate from the seat, because it can no longer prove itself."""

    why: str
    act: RemedyAct = "withdraw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Remedy: leave the dispatch alone.

    `instead` is the remedy that another caller may apply and this one may not; None when there is none.
    """

    why: str
    cause: Cause
    strangers: str = ""
    way: str = ""
    instead: Settle | KillRest | Press | Dismiss | Withdraw | None = None

    @property
    def is_standing(self) -> bool:
        """Return whether a person has to look at the dispatch, because fleet alone will not change its situation."""
        return self.cause in STANDING


Remedy = Settle | KillRest | Press | Dismiss | Withdraw | Leave


def report_age(*, report: str | None, age: int, grace: int, at_rest: bool) -> ReportAge:
    """Return "none" without a report, "fresh" while the agent may still exit by itself, "over" after that time.

    `age` is the time since the report, `grace` the time that an agent has to exit after it, both in milliseconds. With
    `at_rest`, the turn in which the agent reported has ended: then the time is over at once.
    """
    if not report:
        return "none"
    return "over" if at_rest or age >= grace else "fresh"


def may_settle(seen: Seen) -> bool:
    """Return whether the dispatch can be settled: it never started, or its death is proven and nothing remains of it.

    False for a dispatch of another home.
    """
    return seen.is_of_this_home and (
        seen.condition == "unstarted" or (seen.condition == "dead" and seen.remains == "none")
    )


def is_gone(seen: Seen) -> bool:
    """Return whether the agent of a dispatch has ended for good: it is settled, or its process is proven dead."""
    return seen.condition in {"ended", "dead"}


def is_owed_a_request(seen: Seen, *, asked: bool) -> bool:
    """Return whether a handoff has to record a request to exit for an agent that died before anybody asked it.

    With the request, the agent ends as handed off. An agent that can be settled at once has ended by itself and needs none.
    `asked`: a request is recorded already.
    """
    return seen.condition == "dead" and not may_settle(seen) and not asked


def remedy_for(asker: Asker, seen: Seen) -> Remedy:
    """Return the remedy for a dispatch, if `asker` may apply it; otherwise Leave, with that remedy as `instead`."""
    remedy = decide(seen)
    if isinstance(remedy, Leave) or remedy.act in MAY_APPLY[asker]:
        return remedy
    why = seen.why or (remedy.why if isinstance(remedy, Withdraw) else "it has ended and is not settled")
    return Leave(why=why, cause="not_permitted", strangers=seen.strangers, way=seen.way, instead=remedy)


def decide(seen: Seen) -> Remedy:
    """Return the remedy for a dispatch. A living agent is never settled; unknown and foreign dispatches are left.

    But a candidate that can no longer prove itself is first withdrawn from the seat, whatever its condition is.
    """
    hopeless = _why_hopeless(seen)
    if hopeless:
        return Withdraw(why=hopeless)
    if not seen.is_of_this_home and seen.condition != "ended":
        return Leave(why=seen.why, cause="foreign")
    remedy = _decide_by_condition(seen)
    return _as_dismissal(remedy) if seen.is_daemon_duty and isinstance(remedy, Press) else remedy


def _decide_by_condition(seen: Seen) -> Remedy:
    """Return the remedy by the condition of the dispatch: ended, starting, unstarted, alive, dead or unknown."""
    match seen.condition:
        case "ended" | "unknown":
            return Leave(why=seen.why, cause=seen.condition)
        case "starting":
            return _press_unseated(seen) or Leave(why=seen.why, cause="starting")
        case "unstarted":
            return Settle()
        case "alive":
            return _decide_for_living(seen)
        case "dead":
            return _decide_for_dead(seen)
        case _:
            return assert_never(seen.condition)


def _why_hopeless(seen: Seen) -> str:
    """Return why a candidate for the seat can no longer prove itself; empty while it still can.

    Empty also for a dispatch that is no candidate, and for a candidate of another home that has not ended: that home
    decides.
    """
    if seen.place not in {"candidate", "late"}:
        return ""
    if seen.condition == "ended":
        return seen.why or "it has ended"
    if not seen.is_of_this_home:
        return ""
    if seen.place == "late":
        return "the time is over"
    return "it has died" if seen.condition in {"dead", "unstarted"} else ""


def _decide_for_dead(seen: Seen) -> Remedy:
    """Return the remedy for a dead agent, by the processes that it left."""
    match seen.remains:
        case "none":
            return Settle()
        case "ours":
            return KillRest()
        case "strangers":
            return Leave(why=seen.why, cause="strangers", strangers=seen.strangers, way=seen.way)
        case "silent":
            return Leave(why=seen.why, cause="silent")
        case _:
            return assert_never(seen.remains)


def _decide_for_living(seen: Seen) -> Remedy:
    """Return the remedy for a living agent: press it if it has to exit, else Leave."""
    match seen.kind:
        case "worker":
            remedy = _press_as_asked(seen) or _press_worker(seen)
        case "coord":
            remedy = _press_unseated(seen) or _press_as_asked(seen) or _press_reported(seen)
        case "finisher":  # a finisher cannot lose its task; only a person ends it
            remedy = _press_as_asked(seen) if seen.asked_for in {"kill", "stop"} else None
        case _:
            return assert_never(seen.kind)
    return remedy or Leave(why=seen.why, cause="alive")


def _as_dismissal(press: Press) -> Dismiss:
    """Return the Dismiss that replaces a Press for a coordinator that is a duty of the daemon.

    Such a coordinator has no process of its own to press: Dismiss only changes its rows. `asked_for` and `reason` stay.
    """
    return Dismiss(asked_for=press.asked_for, reason=press.reason, act=press.act)


def _press_as_asked(seen: Seen) -> Press | None:
    """Return the Press for the next stage of an exit that was requested before.

    None when no exit was requested, or only because of the agent's report.
    """
    if seen.asked_for is None or seen.asked_for == "report":
        return None
    return _press(seen, seen.asked_for, seen.asked_reason)


def _press_worker(seen: Seen) -> Press | None:
    """Return the Press for a worker that has to exit; None for a worker that may go on.

    A worker has to exit when its report grace is over, when it lost its task before it reported, or when its handoff is
    queued.
    """
    if seen.report == "over":
        return _press_reported(seen)
    if seen.report == "none" and seen.task_taken:
        return _press(seen, "superseded", "its task was taken away")
    if seen.handoff_queued:
        return _press(seen, "handoff", seen.handoff_reason, act="hand_over")
    return None


def _press_reported(seen: Seen) -> Press | None:
    """Return the Press for an agent whose report grace is over; None for any other agent."""
    return _press(seen, "report", "it had reported") if seen.report == "over" else None


def _press_unseated(seen: Seen) -> Press | None:
    """Return the Press for a coordinator that is no longer in the seat; None for any other dispatch."""
    match seen.place:
        case "out":
            return _press(seen, "replaced", REPLACED, act="retire")
        case "withdrawn":
            return _press(seen, "kill", UNPROVEN, act="retire")
        case "none" | "holder" | "candidate" | "late":
            return None
        case _:
            return assert_never(seen.place)


def _press(seen: Seen, asked_for: AskedFor, reason: str, *, act: RemedyAct = "press") -> Press:
    """Return the Press with the next stage of an agent's exit: ask it once, wait for its exit grace, then kill it.

    An agent that was asked because of its report is asked once more when it has to exit for another purpose.
    """
    if seen.asked_for is None or seen.asked_for == "report" != asked_for:
        return Press(asked_for=asked_for, reason=reason, stage="ask", act=act)
    return Press(asked_for=asked_for, reason=reason, stage="kill" if seen.exit_grace_over else "wait", act=act)

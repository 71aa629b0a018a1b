"""What is to become of a dispatch: one decision, from what is known and what is seen of it. Pure.

`verbs/dispatch/looking.py` gathers the facts, `decide` chooses the remedy, `verbs/dispatch/apply_remedy.py` applies it. The askers differ
only in which remedies they may apply, and `MAY_APPLY` says which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fleet.model.states import assert_never

# worker stands for every agent that works on a task: worker, reviewer, fix and rebase.
Kind = Literal["worker", "finisher", "coord"]
# starting: not launched yet, and may still be. unstarted: not launched, and proven that it never will be.
Condition = Literal["ended", "starting", "unstarted", "alive", "dead", "unknown"]
# Of a dead agent. ours: processes proven to be its own. strangers: processes in its worktree that fleet cannot attribute. silent: its
# tmux server lives and does not answer.
Remains = Literal["none", "ours", "strangers", "silent"]
# over: its report_grace is over, or its hooks say that its turn is.
Report = Literal["none", "fresh", "over"]
AskedFor = Literal["report", "kill", "stop", "superseded", "replaced", "handoff"]
# late: a candidate whose deadline is over. withdrawn: out of the seat without ever having proven itself. out: it was in the seat.
Place = Literal["none", "holder", "candidate", "late", "withdrawn", "out"]
Cause = Literal["ended", "foreign", "starting", "alive", "unknown", "strangers", "silent", "not_permitted"]
Act = Literal["settle", "kill_rest", "press", "hand_over", "retire", "withdraw"]
Asker = Literal["tick", "sweep", "dry_sweep", "resume", "resumable", "replace", "handoff", "job", "dispatch"]
# What is next for an agent that is to exit: asked, given the rest of its exit_grace, or killed.
Stage = Literal["ask", "wait", "kill"]

MAY_APPLY: dict[Asker, frozenset[Act]] = {
    "tick": frozenset({"settle", "kill_rest", "press"}),
    "sweep": frozenset({"settle", "kill_rest", "press", "retire", "withdraw"}),
    "dry_sweep": frozenset(),
    "resume": frozenset({"settle", "kill_rest"}),
    "resumable": frozenset({"settle"}),
    "replace": frozenset({"settle", "kill_rest", "retire", "withdraw"}),
    "handoff": frozenset({"settle", "kill_rest", "press", "hand_over"}),
    "job": frozenset({"settle", "kill_rest"}),
    "dispatch": frozenset({"settle"}),
}
# Causes that a person has to look at: nothing that fleet does by itself will change them.
STANDING: frozenset[Cause] = frozenset({"foreign", "unknown", "strangers", "silent"})
REPLACED = "another coordinator is in the seat"
UNPROVEN = "withdrawn: it did not prove itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The facts about one dispatch. The fields from `why` on are words for people and decide nothing."""

    condition: Condition
    kind: Kind = "worker"
    own: bool = True
    remains: Remains = "none"
    report: Report = "none"
    asked_for: AskedFor | None = None
    exit_grace_over: bool = False
    task_taken: bool = False
    place: Place = "none"
    handoff_queued: bool = False
    # Why it cannot be settled; empty when it can.
    why: str = ""
    strangers: str = ""
    # What a person can do about the strangers.
    way: str = ""
    unreadable: str = ""
    asked_reason: str = ""
    handoff_reason: str = ""
    # What proves that it should have ended, for a finding.
    proof: str = ""


@dataclass(frozen=True, slots=True)
class Settle:
    """Its death is proven: end it."""

    act: Act = "settle"


@dataclass(frozen=True, slots=True)
class KillRest:
    """Its agent is dead: kill the processes that are proven to be left of it, then settle it."""

    act: Act = "kill_rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """It is to exit: ask it, give it time, kill its processes, settle it."""

    asked_for: AskedFor
    reason: str
    stage: Stage
    act: Act = "press"


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdraw:
    """A candidate for the seat that will not prove itself any more: take it out of the seat."""

    why: str
    act: Act = "withdraw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Do nothing. Instead: the remedy that another asker may apply."""

    why: str
    cause: Cause
    strangers: str = ""
    way: str = ""
    instead: Settle | KillRest | Press | Withdraw | None = None

    @property
    def is_standing(self) -> bool:
        """Whether a person has to look at it."""
        return self.cause in STANDING


Remedy = Settle | KillRest | Press | Withdraw | Leave


def report_age(*, report: str | None, age: int, grace: int, at_rest: bool) -> Report:
    """How far the time that an agent has after its report is over."""
    if not report:
        return "none"
    return "over" if at_rest or age >= grace else "fresh"


def may_settle(seen: Seen) -> bool:
    """Whether its death is proven, and nothing is left of it that has to go first."""
    return seen.own and (seen.condition == "unstarted" or (seen.condition == "dead" and seen.remains == "none"))


def remedy_for(asker: Asker, seen: Seen) -> Remedy:
    """The remedy, as far as this asker may apply it; else Leave, with the remedy that it leaves to others."""
    remedy = decide(seen)
    if isinstance(remedy, Leave) or remedy.act in MAY_APPLY[asker]:
        return remedy
    why = seen.why or (remedy.why if isinstance(remedy, Withdraw) else "it has ended and is not settled")
    return Leave(why=why, cause="not_permitted", strangers=seen.strangers, way=seen.way, instead=remedy)


def decide(seen: Seen) -> Remedy:
    """What is right to do now. Unknown and foreign are left alone; nothing alive is settled."""
    hopeless = _why_hopeless(seen)
    if hopeless:
        return Withdraw(why=hopeless)
    return _decide_by_condition(seen) if seen.own or seen.condition == "ended" else Leave(why=seen.why, cause="foreign")


def _decide_by_condition(seen: Seen) -> Remedy:
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
    """Why a candidate will not prove itself any more; empty while it may. Another home's candidate is withdrawn there."""
    if seen.place not in {"candidate", "late"}:
        return ""
    if seen.condition == "ended":
        return seen.why or "it has ended"
    if not seen.own:
        return ""
    if seen.place == "late":
        return "the time is over"
    return "it has died" if seen.condition in {"dead", "unstarted"} else ""


def _decide_for_dead(seen: Seen) -> Remedy:
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
    match seen.kind:
        case "worker":
            pressed = _press_as_asked(seen) or _press_worker(seen)
        case "coord":
            pressed = _press_unseated(seen) or _press_as_asked(seen) or _press_reported(seen)
        case "finisher":  # a merge of fleet's own has no task to lose; only a person ends it
            pressed = _press_as_asked(seen) if seen.asked_for in {"kill", "stop"} else None
        case _:
            return assert_never(seen.kind)
    return pressed or Leave(why=seen.why, cause="alive")


def _press_as_asked(seen: Seen) -> Press | None:
    if seen.asked_for is None or seen.asked_for == "report":
        return None
    return _press(seen, seen.asked_for, seen.asked_reason)


def _press_worker(seen: Seen) -> Press | None:
    """A worker that reported long enough ago, lost its task, or has to make way for a successor."""
    if seen.report == "over":
        return _press_reported(seen)
    if seen.report == "none" and seen.task_taken:
        return _press(seen, "superseded", "its task was taken away")
    if seen.handoff_queued:
        return _press(seen, "handoff", seen.handoff_reason, act="hand_over")
    return None


def _press_reported(seen: Seen) -> Press | None:
    return _press(seen, "report", "it had reported") if seen.report == "over" else None


def _press_unseated(seen: Seen) -> Press | None:
    """A coordinator that is out of the seat."""
    match seen.place:
        case "out":
            return _press(seen, "replaced", REPLACED, act="retire")
        case "withdrawn":
            return _press(seen, "kill", UNPROVEN, act="retire")
        case "none" | "holder" | "candidate" | "late":
            return None
        case _:
            return assert_never(seen.place)


def _press(seen: Seen, asked_for: AskedFor, reason: str, *, act: Act = "press") -> Press:
    """Ask once; asked before for something else than its report, it is not asked again."""
    if seen.asked_for is None or seen.asked_for == "report" != asked_for:
        return Press(asked_for=asked_for, reason=reason, stage="ask", act=act)
    return Press(asked_for=asked_for, reason=reason, stage="kill" if seen.exit_grace_over else "wait", act=act)

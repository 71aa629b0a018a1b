"""Gather the facts about a dispatch. `model/dispatch/remedies.py` decides from them what to do with the dispatch."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.remedies import MAY_APPLY, Seen, report_age
from fleet.model.dispatch.steps import is_asked_to_exit, is_held_by_daemon, is_pending, is_unfinished
from fleet.model.identity import Identity
from fleet.model.text.times import MINUTE, SECOND, duration
from fleet.resources.tmux_session import TmuxSession
from fleet.store import queries as q
from fleet.store import seats
from fleet.verbs.dispatch import leftover_processes
from fleet.verbs.homes.ownership import disown_hint, host_named, is_own, why_foreign

if TYPE_CHECKING:
    from fleet.model.dispatch.remedies import AgentKind, Asker, Condition, ReportAge, SeatPlace
    from fleet.store.queries import Dispatch, Seat, TaskState
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context
    from fleet.world.process.census import Census
    from fleet.world.tmux import Listing, Pane

# A hook's time comes from a coarser clock than a report's, so a hook may seem this much too early.
_COARSE = SECOND
# The engine of the items of jobs.
_JOB = "job"


def gather_facts(
    context: Context, row: Dispatch, asker: Asker, *, listing: Listing | None = None, census: Census | None = None
) -> Seen:
    """Return the facts about a dispatch from which its remedy is decided.

    `asker` is the caller, such as "tick". Facts that matter only for ending a living agent are read only for an asker
    that may do so (`MAY_APPLY`). `listing` (tmux panes) and `census` (processes) are taken anew when they are None.
    Older ones are good enough, because `settle` takes its own.
    """
    seen = facts_about_end(context, row, listing, census)
    if seen.kind == "coord":
        seen = replace(seen, place=context.store.read(lambda rows: _place_in_seat(context, rows, row)))
    if (
        seen.condition not in {"alive", "starting"}
        or not seen.is_of_this_home
        or not MAY_APPLY[asker] - {"settle", "kill_rest"}
    ):
        return seen
    return context.store.read(lambda rows: _with_pressing_facts(context, rows, row, seen))


def facts_about_candidate(context: Context, seat: Seat) -> Seen:
    """Return the facts about a seat's candidate: whether it lives, and whether its time to prove itself is over.

    A candidate whose dispatch is not in the tables counts as ended.
    """
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=seat.candidate or ""))
    if row is None:
        return Seen(condition="ended", kind="coord", place="candidate", why="it has ended")
    return gather_facts(context, row, "replace")


class Deaths(NamedTuple):
    """The agents of this home that are dead but not settled, and what is known of its other unfinished dispatches.

    `dead`: the ids of the dead agents. `alive`: the processes of living agents. `others`: how many unfinished dispatches
    are not dead. `awaited`: the ids among `dead` that a living runner of a job is about to settle.
    """

    dead: list[str]
    alive: list[Identity]
    others: int
    awaited: frozenset[str] = frozenset()


def find_deaths(context: Context) -> Deaths:
    """Find the unfinished dispatches of this home whose process is dead, and the pending ones whose tmux pane is dead.

    Finishers, and coordinators that the daemon plays, are left out. tmux is asked only when a dispatch is pending; whether
    a process lives is read from the kernel, which costs no program.
    """
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=None, ended=0))
    own = [row for row in rows if row.kind != "finisher" and not is_held_by_daemon(row) and is_own(context, row)]
    waiting = [row for row in own if is_pending(row)]
    listing = context.world.tmux.listing() if waiting else None
    panes = [listing.pane_of(row.id) for row in waiting] if listing is not None else []
    known = {row.id: Identity.parse(row.process or "") for row in own if not is_pending(row)}
    lives = {ident: context.world.processes.life(who) for ident, who in known.items()}
    dead = [ident for ident, life in lives.items() if life == "dead"]
    alive = [who for ident, who in known.items() if who is not None and lives[ident] == "alive"]
    dead += [row.id for row, pane in zip(waiting, panes, strict=True) if pane is not None and pane.dead]
    return Deaths(dead, alive, len(own) - len(dead), _awaited(context, [row for row in own if row.id in dead]))


def _awaited(context: Context, dead: list[Dispatch]) -> frozenset[str]:
    """Return the ids of those dead dispatches that belong to items of jobs and whose runner lives: the runner will settle them."""
    runners = {row.id: Identity.parse(row.spawner) for row in dead if row.engine == _JOB}
    return frozenset(ident for ident, who in runners.items() if context.world.processes.life(who) == "alive")


def why_alive(context: Context, row: Dispatch, listing: Listing) -> str:
    """Return why a dispatch cannot be settled; "" when its death is proven."""
    return facts_about_end(context, row, listing).why


def facts_about_end(
    context: Context, row: Dispatch, listing: Listing | None = None, census: Census | None = None
) -> Seen:
    """Return the facts that decide whether a dispatch can be settled.

    `listing` (tmux panes) and `census` (processes) are taken anew when they are None and needed.
    """
    kind: AgentKind = row.kind if row.kind in {"coord", "finisher"} else "worker"
    if not is_unfinished(row):
        why = f"it has ended{': ' + row.blocked_reason if row.blocked_reason else ''}"
        return Seen(condition="ended", kind=kind, is_of_this_home=is_own(context, row), why=why)
    foreign = why_foreign(context, row)
    if foreign:
        return Seen(condition="unknown", kind=kind, is_of_this_home=False, why=f"{foreign}; {disown_hint(row.id)}")
    if is_pending(row):
        why = _why_starting(context, row, listing or context.world.tmux.listing()) or _why_carried(context, row, census)
        return Seen(condition="starting" if why else "unstarted", kind=kind, why=why)
    process = Identity.parse(row.process or "")
    life: Condition = context.world.processes.life(process)
    if life != "dead":
        why = f"its process is {life}{_why_unknown(context, row, process)}"
        return Seen(condition=life, kind=kind, is_daemon_duty=is_held_by_daemon(row), why=why)
    return _look_at_dead(context, row, kind, listing, census)


def _look_at_dead(
    context: Context, row: Dispatch, kind: AgentKind, listing: Listing | None, census: Census | None
) -> Seen:
    """Return the facts about a dispatch whose agent is dead: the processes it left, and whether tmux tells how it ended.

    `why` of the result is empty when the dispatch can be settled. Panes and processes are read anew when `listing` or
    `census` is None.
    """
    left = leftover_processes.find_remains(context, row, census)
    if left.ours:
        why = f"it left processes behind: {', '.join(str(process.pid) for process in left.ours)}"
        return Seen(condition="dead", kind=kind, remains="ours", why=why)
    unknown = [*left.strangers, *left.bearers]
    if unknown:
        who = leftover_processes.describe_processes(context, unknown)
        way = leftover_processes.way_out(row.id, unknown)
        does = "works in its worktree" if left.strangers else "carries its FLEET_DISPATCH_ID, but not this home"
        why = f"{who} {does}, and fleet cannot tell whose it is; {way}"
        return Seen(condition="dead", kind=kind, remains="strangers", why=why, strangers=who, way=way)
    server = Identity.parse(row.server or "")
    listing = listing or context.world.tmux.listing()
    if listing.server is None and server is not None and context.world.processes.life(server) != "dead":
        return Seen(condition="dead", kind=kind, remains="silent", why="its tmux server does not say how it ended")
    return Seen(condition="dead", kind=kind, unreadable=leftover_processes.describe_processes(context, left.unreadable))


# facts about the seat, the task and the requested exit ---------------------------------------------------------------
def _place_in_seat(context: Context, rows: Rows, row: Dispatch) -> SeatPlace:
    """Return a coordinator's place in its project's seat: "holder", "candidate", or one of the following.

    "late": a candidate whose time to prove itself is over. "withdrawn": was a candidate, and never proved itself. "out":
    has lost the seat. "none": never in the seat, because another program starts it.
    """
    seat = seats.seat(rows, row.project)
    if seat.holder == row.id:
        return "holder"
    if seat.candidate == row.id:
        return "late" if _is_proof_late(context.world.clock.now(), row, seat) else "candidate"
    if row.engine is None:
        return "none"  # another program starts this dispatch; it never was in the seat
    nonce = q.nonce_of(rows, dispatch=row.id)
    return "withdrawn" if nonce is not None and nonce.spent_at is None else "out"


def _is_proof_late(now: int, row: Dispatch, seat: Seat) -> bool:
    """Return whether a candidate's time to prove itself is over, or whether the clock was set back since its start.

    `now` is in milliseconds.
    """
    return now >= (seat.deadline or 0) or now < row.created_at - MINUTE


def _with_pressing_facts(context: Context, rows: Rows, row: Dispatch, seen: Seen) -> Seen:
    """Return the facts with those added that decide whether a living agent is asked to exit or killed.

    These are the request to exit, the report, the state of its task and a queued handoff.
    """
    now = context.world.clock.now()
    task = q.task_state(rows, project=row.project, slug=row.slug) if row.slug is not None else None
    is_task_taken = task is not None and task.assignee != row.id
    queued = q.queued_handoff_of(rows, dispatch=row.id)
    return replace(
        seen,
        asked_for=row.asked_for,
        asked_reason=row.asked_reason or "",
        exit_grace_over=_is_exit_grace_over(context, row, now),
        report=_report_condition(context, rows, row, now),
        task_taken=is_task_taken,
        handoff_queued=queued is not None,
        handoff_reason=queued.reason if queued else "",
        proof=_proof_of_overdue_end(row, task if is_task_taken else None, now),
    )


def _is_exit_grace_over(context: Context, row: Dispatch, now: int) -> bool:
    """Return whether the agent was asked to exit and its exit grace has passed, or the clock was set back since."""
    asked_at = row.asked_at
    return asked_at is not None and not 0 <= now - asked_at < duration(context.settings().exit_grace)


def _report_condition(context: Context, rows: Rows, row: Dispatch, now: int) -> ReportAge:
    """Return "none" if the agent has not reported, "fresh" while it may still exit by itself, else "over"."""
    if row.report is None or row.reported_at is None:
        return "none"
    heard = q.heard_agent(rows, dispatch=row.id)
    # The agent's hooks say that the turn in which it reported is over, so the agent has nothing more to do.
    at_rest = heard is not None and heard.state == "idle" and (heard.state_at or 0) + _COARSE >= row.reported_at
    grace = duration(context.settings().report_grace)
    return report_age(report=row.report, age=now - row.reported_at, grace=grace, at_rest=at_rest)


def _proof_of_overdue_end(row: Dispatch, task: TaskState | None, now: int) -> str:
    """Return the sentence that tells why a living agent should have ended by now; "" when nothing shows that.

    `task` is the state of its task if somebody else, or nobody, has the task now; else None.
    """
    if row.asked_for not in {None, "report"}:
        return "its process is alive"
    if row.report and row.reported_at is not None:
        return f"it reported {row.report} {(now - row.reported_at) // SECOND} s ago"
    return f"the task is {task.status}, with {task.assignee or 'nobody'}" if task else ""


# facts about a dispatch that was not launched yet --------------------------------------------------------------------
def _why_starting(context: Context, row: Dispatch, listing: Listing) -> str:
    """Return why a pending dispatch may still be launched; "" when it never will be.

    The reason is, in this order: a program is creating a resource for it; its session lives, or cannot be judged; it
    has no session yet, and its dispatcher lives and has not given up. A dispatcher that still lives is no reason once
    the session that it made is gone.
    """
    spawner = Identity.parse(row.spawner)
    is_dispatcher_gone = (
        spawner is None or context.world.processes.life(spawner) == "dead" or _has_given_up(context, spawner, row)
    )
    held = [Claim.of(each) for each in context.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=row.id))]
    busy = [claim for claim in held if not context.world.effect_lock(claim.id).is_free()]
    if busy:
        return f"{busy[0]} is still being made"
    session = next((claim for claim in held if claim.kind == "tmux_session" and claim.is_live), None)
    seen = listing.pane_of(row.id) is not None or not (is_dispatcher_gone or session)
    fresh = listing if seen else context.world.tmux.listing()
    pane = fresh.pane_of(row.id)
    if pane is not None and not pane.dead and _is_pane_alive(context, fresh, pane):
        return "its session is starting"
    if session is not None:
        return (
            "its session is unknown"
            if TmuxSession().look_in_listing(session, fresh, context.world) == "unknown"
            else ""
        )
    if is_dispatcher_gone or spawner is None:
        return ""
    return f"process {spawner.pid} is starting it{_why_unknown(context, row, spawner)}"


def _why_carried(context: Context, row: Dispatch, census: Census | None) -> str:
    """Return, for people, which processes have the id of a pending dispatch in their environment; "" when none has.

    A program that called `fleet claims acquire-prompt` starts the agent itself and may exit before it: then no pane and no
    process is recorded, and only the environment shows that the agent runs.
    """
    left = leftover_processes.find_remains(context, row, census)
    bearers = [*left.bearers, *(who.pid for who in left.ours)]
    if not bearers:
        return ""
    way = leftover_processes.way_out(row.id, left.bearers) if left.bearers else "it is left alone until that has exited"
    return f"{leftover_processes.describe_processes(context, bearers)} carries its FLEET_DISPATCH_ID; {way}"


def _why_unknown(context: Context, row: Dispatch, process: Identity | None) -> str:
    """Return ": …", to append to a sentence: that the process is of another machine, and how to disown the dispatch.

    "" for a process of this machine, and when there is no process.
    """
    if process is None or process.host == context.world.host.machine_id:
        return ""
    there, here = host_named(context, process.host), host_named(context, context.world.host.machine_id)
    return f": it is of {there}, and this is {here}; {disown_hint(row.id)}"


def _is_pane_alive(context: Context, listing: Listing, pane: Pane) -> bool:
    """Return False when a pane's process is proven dead, although tmux shows it as living; True in every doubt.

    Signal the tmux server of a dead process to look again.
    """
    who = context.world.processes.identify(pane.pid)
    if listing.server is None or who is None or context.world.processes.life(who) != "dead":
        return True
    context.world.processes.signal(listing.server, signal.SIGCHLD)
    return False


def _has_given_up(context: Context, spawner: Identity, row: Dispatch) -> bool:
    """Return whether this process is the dispatcher and will not start the dispatch any more.

    The daemon knows which dispatches its threads are starting. Any other process has one thread, which is running this
    check and so not starting the dispatch; it has given up when the dispatch was asked to end.
    """
    if spawner != context.world.processes.me():
        return False
    daemon = context.world.daemon
    return is_asked_to_exit(row) if daemon is None else not daemon.is_starting(row.id)

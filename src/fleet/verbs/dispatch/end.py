"""End an agent: send the engine's exit signal, wait for the exit grace, kill its processes.

A kill ends the attempt as failed; a stop leaves it to be resumed.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from fleet import errors
from fleet.engines.reader import engine as read_engine
from fleet.model.dispatch.steps import is_held_by_daemon, is_unfinished
from fleet.model.identity import Identity
from fleet.model.states import assert_never
from fleet.model.text.times import SECOND, duration
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.dispatch import leftover_processes
from fleet.verbs.dispatch.journal import recorded_dispatch
from fleet.verbs.dispatch.settle import settle
from fleet.verbs.homes.ownership import refuse_foreign

if TYPE_CHECKING:
    from fleet.model.dispatch.remedies import Dismiss, Press
    from fleet.model.results.dispatches import Ended
    from fleet.model.states import AskedFor
    from fleet.store.queries import Dispatch
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

# How many seconds killed processes may take to die.
_DEATH_WAIT = 5.0
# How often processes are searched and killed, because some may have been forked meanwhile.
_PASSES = 3
# How often to try to settle an agent whose processes were killed, and the seconds between two tries.
_LOOKS = 5
_BETWEEN_LOOKS = 0.05


def end(context: Context, ident: str, *, asked_for: AskedFor, reason: str) -> Ended:
    """Ask an agent to exit, wait for its exit grace, kill its processes, and settle its dispatch.

    Returns how the dispatch ended, or, with `settled` False, why it has not. The request is recorded first, so that an
    exit after it does not count as the agent's own. `asked_for` says whether the attempt fails (kill) or can be resumed
    (stop). A coordinator that the daemon plays ends in the store alone. Raises Refused when the dispatch has ended
    already, OtherHost when it belongs to another home.
    """
    row = recorded_dispatch(context, ident)
    if not is_unfinished(row):
        raise errors.Refused(what=f"{ident} has ended already: {row.exec_state}")
    refuse_foreign(context, f"dispatch {ident}", row)
    ask(context, row, asked_for=asked_for, reason=reason)
    row = recorded_dispatch(context, ident)  # the dispatch may have been launched meanwhile
    if is_held_by_daemon(row):
        return settle(context, ident, why=reason, dismiss=True)
    _end_processes(context, row)
    for _ in range(_LOOKS):
        ended = settle(context, ident, why=reason)
        if ended.settled or kill_processes(
            context, row
        ):  # not settled: kill the processes that were started meanwhile; give up when some of them do not die
            break
        context.world.clock.wait(_BETWEEN_LOOKS)
    return ended


def press(context: Context, row: Dispatch, remedy: Press) -> str:
    """Do one stage of ending an agent: ask it to exit, look whether it has exited, or kill it.

    The remedy says which stage. Does not wait for the exit grace. Returns what happened: "ended" when the dispatch is
    settled, else a text for people.
    """
    leftover_processes.record_descendants(context, row)
    match remedy.stage:
        case "ask":
            ask(context, row, asked_for=remedy.asked_for, reason=remedy.reason)
            process = _process_to_signal(context, row)
            if process is not None:
                context.world.processes.signal(_asked_process(context, row, process), _exit_signal(context, row))
            return "asked to exit"
        case "wait":
            ended = settle(context, row.id, why=remedy.reason)
            return "ended" if ended.settled else "given time to exit"
        case "kill":
            kill_processes(context, row)
            ended = settle(context, row.id, why=remedy.reason)
            return "ended" if ended.settled else f"still there: {ended.why}"
        case _:
            return assert_never(remedy.stage)


def dismiss(context: Context, row: Dispatch, remedy: Dismiss) -> Ended:
    """End a coordinator that the daemon plays, by changing its rows only. The daemon sees that at its next tick."""
    ask(context, row, asked_for=remedy.asked_for, reason=remedy.reason)
    return settle(context, row.id, why=remedy.reason, dismiss=True)


def ask(context: Context, row: Dispatch, *, asked_for: AskedFor, reason: str) -> None:
    """Record that an agent is asked to exit, and why. Sends nothing to the agent."""

    def work(tx: Tx) -> int:
        tx.about(row.project, row.slug)
        tx.dispatch = row.id
        tx.note(asked_for=asked_for, reason=reason)
        return q.ask_dispatch(tx, id=row.id, asked_for=asked_for, reason=reason, at=tx.at)

    context.commit(Change(f"ask {row.id} to exit ({asked_for}: {reason})", work))


def _end_processes(context: Context, row: Dispatch) -> None:
    """Send the exit signal to a living agent, wait for its exit grace, then kill all its remaining processes."""
    process, processes = _process_to_signal(context, row), context.world.processes
    leftover_processes.record_descendants(context, row)
    if process is not None and processes.life(process) == "alive":
        processes.signal(_asked_process(context, row, process), _exit_signal(context, row))
        grace = duration(context.settings().exit_grace) / SECOND
        processes.gone_within([process], grace)
    kill_processes(context, row)


def _process_to_signal(context: Context, row: Dispatch) -> Identity | None:
    """Return the process of a dispatch that can be signalled to exit; None when there is no process, or when it is the daemon."""
    process = Identity.parse(row.process or "")
    is_daemon = process is not None and (is_held_by_daemon(row) or process.pid == context.world.daemon_pid())
    return None if is_daemon else process


def kill_processes(context: Context, row: Dispatch) -> list[int]:
    """Kill the processes that provably belong to the dispatch, deepest first.

    Returns the pids that are still alive after five seconds.
    """
    row = _with_descendants_recorded(context, row)
    processes, doomed = context.world.processes, list[Identity]()
    for _ in range(_PASSES):  # again, for processes that were forked meanwhile
        alive = leftover_processes.find_remains(context, row).ours
        if not alive:
            break
        processes.kill_all(alive)
        doomed += alive
    left = processes.gone_within(doomed, _DEATH_WAIT)
    return [who.pid for who in left]


def _with_descendants_recorded(context: Context, row: Dispatch) -> Dispatch:
    """Record the descendants of an agent that lives: after its death they could not be traced. Returns the dispatch's new row."""
    leftover_processes.record_descendants(context, row)
    return context.store.read(lambda rows: q.dispatch_by_id(rows, id=row.id)) or row


def _asked_process(context: Context, row: Dispatch, process: Identity) -> Identity:
    """Return the process that gets the exit signal: for an agent in a sandbox, the agent's own process inside it."""
    return process if row.sandbox is None else context.world.processes.inside_sandbox(process)


def _exit_signal(context: Context, row: Dispatch) -> int:
    """Return the signal that asks the engine to exit; SIGTERM when the engine's file cannot be read."""
    try:
        return signal.Signals[read_engine(context.world.home, row.engine or "shell").exit_signal]
    except errors.FleetError:
        return signal.SIGTERM

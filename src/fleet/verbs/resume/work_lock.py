"""The work lock: one gate for each task or other piece of work, held while an agent is started or resumed on it.

All ids of one piece of work (a dispatch, its session, its task's slug) lead to the same gate. It is a kernel lock: a
dead holder's lock is free at once, a living holder's is never taken. The lock file names the holder for people.
`--force` stops the named process, and only if that process has the file open.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.text.times import iso, utc
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.files.gates import Gate, Holder

# Seconds to wait for the work lock, and for a process to end after each of the two signals.
WAIT = 10.0
_GRACE = 3.0
# How the subject of a holder begins that only removes or moves files.
_CLEANUP = "letting go of "
# Seconds between two looks at the lock, and how often its holder is looked at before it is stopped.
_LOOK_AGAIN = 0.05
_LOOKS = 20


def gate_of_task(context: Context, project: str, slug: str, subject: str = "") -> Gate:
    """Return the gate that is the work lock of a task, without taking it.

    `subject` tells other processes what the holder works on; by default it is the task.
    """
    return context.world.work_gate(paths.work_gate_name(project, slug), subject or f"{project}/{slug}")


def cleanup_gate_of_task(context: Context, project: str, slug: str) -> Gate:
    """Return the work lock of a task, without taking it, for a process that only removes or moves files.

    While that process holds the lock, `fleet resume --force` does not stop it.
    """
    return gate_of_task(context, project, slug, f"{_CLEANUP}{project}/{slug}")


def lock_work(context: Context, project: str, slug: str) -> Gate:
    """Take the work lock of a task for a dispatch, and return it.

    While another process holds it, wait up to ten seconds, then raise GateHeld; but raise TaskHeld as soon as the task
    is seen to have an unfinished dispatch.
    """
    gate = gate_of_task(context, project, slug)
    deadline = context.world.clock.ticks() + WAIT
    while True:
        try:
            gate.take()
        except errors.GateHeld:
            _refuse_attempted(context, project, slug)
            if context.world.clock.ticks() >= deadline:
                raise
            context.world.clock.wait(_LOOK_AGAIN)
        else:
            return gate


def _refuse_attempted(context: Context, project: str, slug: str) -> None:
    """Raise TaskHeld when the task whose work lock is held has an unfinished dispatch."""
    row = context.store.read(lambda rows: q.unfinished_of_task(rows, project=project, slug=slug))
    if row is not None:
        raise errors.TaskHeld(project=project, slug=slug, holder=row.id, since=iso(row.created_at))


def lock_work_to_resume(context: Context, gate: Gate, subject: str, *, force: bool) -> Holder | None:
    """Take the work lock `gate` for a resume. Returns the holder that was stopped; None when no process was stopped.

    With `force`, stops the process that holds the lock; raises ForceRefused when that process may not be stopped.
    Without `force`, first waits for a process that only removes files. Raises ResumeInProgress when another process
    still holds the lock. `subject` is what the person wants to resume, for errors and the log.
    """
    try:
        gate.take(wait=WAIT if not force and _is_cleanup(gate.holder()) else 0)
    except errors.GateHeld:
        if not force:
            raise _in_progress_error(gate, subject) from None
    else:
        return None
    deadline = context.world.clock.ticks() + WAIT
    stopped = _stop_holder(context, gate, subject)
    try:
        gate.take(wait=max(deadline - context.world.clock.ticks(), 0))
    except errors.GateHeld:
        raise _in_progress_error(gate, subject) from None
    return stopped


def _is_cleanup(holder: Holder | None) -> bool:
    """Return whether the holder of a work lock only removes or moves files, and starts no agent."""
    return holder is not None and holder.id.startswith(_CLEANUP)


def _in_progress_error(gate: Gate, subject: str) -> errors.ResumeInProgress:
    """Return the error that another process works on `subject` (a task or job), naming the process that holds the gate."""
    holder = gate.holder()
    who = f"PID {holder.pid} on {holder.host} (acquired {utc(holder.since)})" if holder else "an unknown process"
    return errors.ResumeInProgress(id=subject, holder=who)


def _stop_holder(context: Context, gate: Gate, subject: str) -> Holder | None:
    """Stop the process that holds the gate (SIGTERM, then SIGKILL) and return it; None when the gate became free.

    The stop is recorded before the first signal. That the process is gone is not proven: take the gate to know. Raise
    ForceRefused when the process is not proven to be the holder.
    """
    for _ in range(_LOOKS):  # a process that has just taken the gate may not have written its name yet
        holder = gate.holder()
        why = _why_not_stoppable(context, gate, holder)
        if not why:
            break
        context.world.clock.wait(_LOOK_AGAIN)
        if _is_free(gate):
            return None
    if holder is None or why:
        raise errors.ForceRefused(id=subject, holder=str(holder or "an unknown process"), why=why)
    context.commit(_record_forced_stop(holder, subject))
    processes = context.world.processes
    processes.signal(holder.who, signal.SIGTERM)
    if processes.gone_within([holder.who], _GRACE):
        processes.signal(holder.who, signal.SIGKILL)
        processes.gone_within([holder.who], _GRACE)
    return holder


def _is_free(gate: Gate) -> bool:
    """Return whether the gate is free at this moment. The gate is taken for that, and given back at once."""
    try:
        gate.take()
    except errors.GateHeld:
        return False
    gate.give()
    return True


def _why_not_stoppable(context: Context, gate: Gate, holder: Holder | None) -> str:
    """Return why the process that holds the gate of a resume may not be stopped; "" when it may.

    It may when it is proven to be alive, on this host and holding the gate, and is neither this process, nor the daemon,
    nor a process that only removes files and soon ends by itself.
    """
    if holder is None or not holder.start:
        return "its lock file does not say who it is"
    if holder.host_id != context.world.host.machine_id:
        return f"it is on another host, {holder.host}"
    if _has_other_work(context, holder):
        return "it is this very process, or the daemon, which does other work too and ends this start in a moment"
    life = context.world.processes.life(holder.who)
    if life != "alive":
        return f"the process it names is {life}"
    if not gate.is_open_in(holder.pid):
        return f"process {holder.pid} is not seen to hold {gate.path}"
    return "it does not resume: it is letting its worktree go and will end in a moment" if _is_cleanup(holder) else ""


def _has_other_work(context: Context, holder: Holder) -> bool:
    """Return whether the lock's holder does other work too, being this process or the daemon: it must not be stopped."""
    return holder.pid in {context.world.processes.me().pid, context.world.daemon_pid()}


def _record_forced_stop(holder: Holder, subject: str) -> Change[None]:
    """Return the change that logs which process is stopped so that the work can be resumed."""

    def work(tx: Tx) -> None:
        tx.note(stopped=str(holder), process=str(holder.who), work=subject)

    return Change(f"resume {subject} by force: stop process {holder.pid}", work)

"""The lock of a piece of work: one gate. Whoever starts or resumes it holds the gate until that has been done.

All ids of a piece of work (a dispatch, its session, its task's slug) lead to one gate. The lock is the kernel's: a dead
holder's is free at once, a live one's is never taken. What its file says names the holder and decides nothing, but that
force stops exactly the process it names, and only if that process has the file open.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.text.times import iso, utc
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.world.files.gates import Gate, Holder

WAIT = 10.0
_GRACE = 3.0
_CLEANUP = "letting go of "
_LOOK_AGAIN = 0.05
_LOOKS = 20


def gate_of_task(context: Context, project: str, slug: str, subject: str = "") -> Gate:
    """The gate of a task's work."""
    return context.world.work_gate(f"work-{project}/{slug}", subject or f"{project}/{slug}")


def cleanup_gate_of_task(context: Context, project: str, slug: str) -> Gate:
    """The same gate, for whoever removes what nobody works in any more. No force stops that one half-way."""
    return gate_of_task(context, project, slug, f"{_CLEANUP}{project}/{slug}")


def lock_work(context: Context, project: str, slug: str) -> Gate:
    """The gate of a task, held for a dispatch. An attempt that is there is named at once; else the holder is waited for."""
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
    row = context.store.read(lambda rows: q.unfinished_of_task(rows, project=project, slug=slug))
    if row is not None:
        raise errors.TaskHeld(project=project, slug=slug, holder=row.id, since=iso(row.created_at))


def lock_work_to_resume(context: Context, gate: Gate, subject: str, *, force: bool) -> Holder | None:
    """The gate, held for a resume: refused while somebody else holds it, unless that one is to be stopped. Who was stopped.

    Whoever lets the worktree go is no other resume, and through in a moment: that one is waited for.
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
    return holder is not None and holder.id.startswith(_CLEANUP)


def _in_progress_error(gate: Gate, subject: str) -> errors.ResumeInProgress:
    holder = gate.holder()
    who = f"PID {holder.pid} on {holder.host} (acquired {utc(holder.since)})" if holder else "an unknown process"
    return errors.ResumeInProgress(id=subject, holder=who)


def _stop_holder(context: Context, gate: Gate, subject: str) -> Holder | None:
    """Ask the process that holds the gate to end, then kill it: only if it is proven to be the one."""
    for _ in range(_LOOKS):  # whoever has just taken the gate has not written its name yet
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
    """Whether it could be had just now. It is given back: the caller takes it the same way in every case."""
    try:
        gate.take()
    except errors.GateHeld:
        return False
    gate.give()
    return True


def _why_not_stoppable(context: Context, gate: Gate, holder: Holder | None) -> str:
    """Why the holder cannot be stopped; empty when it is proven to be alive, here, and at the gate."""
    if holder is None or not holder.start:
        return "its lock file does not say who it is"
    if holder.host_id != context.world.host.machine:
        return f"it is on another host, {holder.host}"
    if holder.pid == context.world.processes.me().pid:
        return "it is this very process"
    life = context.world.processes.life(holder.who)
    if life != "alive":
        return f"the process it names is {life}"
    if not gate.is_open_in(holder.pid):
        return f"process {holder.pid} is not seen to hold {gate.path}"
    return "it is no resume, but letting its worktree go, which is over in a moment" if _is_cleanup(holder) else ""


def _record_forced_stop(holder: Holder, subject: str) -> Change[None]:
    def work(tx: Tx) -> None:
        tx.note(stopped=str(holder), process=str(holder.who), work=subject)

    return Change(f"resume {subject} by force: stop process {holder.pid}", work)

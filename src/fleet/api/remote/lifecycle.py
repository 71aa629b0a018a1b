"""Start, find and stop the daemon of a home."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.remote import wire
from fleet.api.remote.door import Door, DoorClosed
from fleet.api.remote.unusable import UnusableStore
from fleet.model.results.home import DaemonFigures, DaemonStatus, not_running
from fleet.model.text.times import SECOND, since_epoch
from fleet.store import queries as q
from fleet.verbs.coord.daemon_duty import unheld_seats
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.homes.units.install import is_run_by_unit, start_by_unit
from fleet.world.files import daemon_log
from fleet.world.files.sockets import is_foreign
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.api.actor import Actor

# Seconds within which a daemon has to answer after its start, and to end after `stop`.
_START = 20.0
_END = 30.0
# Seconds after which the system is asked again to start the daemon's unit.
_AGAIN = 1.0
# Seconds for which `start` waits for a process that holds the home and does not answer: it may be starting or ending.
_PASSING = 5.0
_LOOK = 0.05
# Seconds within which the daemon answers a question about its status. A suspended one (by SIGSTOP) does not.
_ANSWER = 10.0
# Seconds within which a new daemon takes the seats that its predecessor held.
_SEATS = 20.0
# The event in the daemon's log when it could not serve its home, and how many log entries are searched for it.
FAILED = "failed"
_NEWEST = 20
# The duty of the daemon that takes seats.
SEATS_DUTY = "coordinators"
# One malloc arena for all threads of the daemon: one for each thread would take twice the memory.
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}


def status(by: Actor) -> DaemonStatus:
    """Return the status of the home's daemon. `running` is False when none answers."""
    return _answered(by) or _absent(by)


def _answered(by: Actor) -> DaemonStatus | None:
    """Return the status that the running daemon sends; None when none answers."""
    door = _connected(by.home)
    if door is None:
        return None
    try:
        answer = door.call("daemon.status", {}, patience=_ANSWER)
    except DoorClosed:
        return None
    finally:
        door.close()
    found: DaemonStatus = wire.result_from_json(answer["result"], "fleet.model.results.home:DaemonStatus")
    return found.replaced(unheld=found.unheld or [])  # a daemon of another version may not say


def _absent(by: Actor) -> DaemonStatus:
    """Return the status of a home that has no daemon, or whose daemon does not answer.

    The status names the process of a daemon that does not answer. For a person, it also lists the projects whose
    coordinator needs a daemon; when the store cannot be read, it says why instead.
    """
    unheld, why, silent = [], None, why_silent(by)
    try:
        unheld = sorted(unheld_seats(by.view)) if by.speaker is None else []
    except errors.StoreError as error:
        why = str(error)
    return not_running(by.home).replaced(
        unheld=unheld, store_error=why, pid=silent.facts.get("pid") if silent else None
    )


def why_silent(by: Actor) -> errors.DaemonSilent | None:
    """Return the error that names the process of a daemon that does not answer; None when no process serves the home.

    It is SocketHidden, which also names the path, when something else is at the path of the daemon's socket.
    """
    gate = by.world.daemon_gate()
    if gate.is_free():
        return None
    holder = gate.holder()
    facts = {"home": by.home, "holder": str(holder or "an unknown process"), "pid": holder.pid if holder else None}
    path = f"{by.home}/{paths.DAEMON_SOCKET}"
    return errors.SocketHidden(path=path, **facts) if is_foreign(path) else errors.DaemonSilent(**facts)


def figures(found: DaemonStatus, now: int) -> DaemonFigures | None:
    """Return the counters of a daemon's work from its status; None when none runs. `now` is in milliseconds."""
    if not found.running:
        return None
    return DaemonFigures(
        uptime=(now - since_epoch(found.since or "")) / SECOND,
        requests=found.requests,
        errors=found.errors,
        batches=found.commits,
        batched=found.batched,
        largest_batch=found.largest,
        clients=found.clients,
        duty_failures={duty.name: duty.failures for duty in found.duties},
        is_store_up=found.store_error is None,
    )


def start(by: Actor) -> DaemonStatus:
    """Start the daemon of a home, and wait until it answers. Returns its status; that of a daemon which runs already.

    Raise NotAllowed for an agent, DaemonSilent when a daemon runs but does not answer, HomeMoved or HomeCopied when the
    home was moved or copied, StoreError when its store cannot be used, FleetError when the new daemon gives up or does
    not answer within 20 seconds.
    """
    found = _answered(by)
    if found is not None:
        return found
    by.may("daemon.start")
    if by.moved_error is not None:
        raise by.moved_error
    refuse_unusable_store(by)
    if (found := _wait_out(by)) is not None:
        return _seated(by, found)
    before = daemon_log.newest(by.home, _NEWEST)
    is_by_unit = start_by_unit(by.world)
    if not is_by_unit:
        by.world.start_fleet("daemon", "run", "--detached", more=ONE_ARENA)
    until, again = by.clock.ticks() + _START, by.clock.ticks() + _AGAIN
    while (found := _answered(by)) is None:
        _refuse_failed_start(by, before)
        if by.clock.ticks() > until:
            raise errors.FleetError(what=f"the daemon did not start within {_START:g} s; `fleet daemon logs` says why")
        if is_by_unit and by.clock.ticks() > again and by.world.daemon_gate().is_free():
            # The system does nothing at the start of a unit whose process has let go of the home but not ended.
            start_by_unit(by.world)
            again = by.clock.ticks() + _AGAIN
        by.clock.wait(_LOOK)
    return _seated(by, found)


def _wait_out(by: Actor) -> DaemonStatus | None:
    """Wait while a process holds the home and does not answer: a daemon that starts or ends does so for a moment.

    Return its status once it answers, None once no process holds the home. Raise DaemonSilent after 5 seconds.
    """
    until = by.clock.ticks() + _PASSING
    while silent := why_silent(by):
        if (found := _answered(by)) is not None:
            return found
        if by.clock.ticks() > until:
            raise silent
        by.clock.wait(_LOOK)
    return None


def refuse_unusable_store(by: Actor) -> None:
    """Raise the error of an unusable store, but not when only the database server is silent: a daemon waits for it."""
    if isinstance(by.store, UnusableStore) and not isinstance(by.store.why, errors.StoreUnreachable):
        raise by.store.why


def _refuse_failed_start(by: Actor, before: list[dict[str, object]]) -> None:
    """Raise an error when the log of the started daemon says that it gave up, or when the home is gone.

    `before` are the log entries from before the start.
    """
    if not os.path.isdir(by.home):
        raise errors.HomeUnusable(path=by.home, why="it was moved or removed while the daemon started")
    for entry in daemon_log.newest(by.home, _NEWEST):
        if entry.get("event") == FAILED and entry not in before:
            raise errors.FleetError(what=f"the daemon did not start: {entry.get('why')}")


def _seated(by: Actor, found: DaemonStatus) -> DaemonStatus:
    """Wait until a started daemon has taken its seats, or has tried and failed, or 20 seconds have passed.

    `found` is the daemon's status at its start; returns the newest one. Raise FleetError when the daemon ends
    meanwhile.
    """
    until = by.clock.ticks() + _SEATS
    while found.unheld and not _why_unheld(found) and by.clock.ticks() < until:
        by.clock.wait(_LOOK)
        again = _answered(by)
        if again is None:
            raise errors.FleetError(what="the daemon ended right after its start; `fleet daemon logs` says why")
        found = again
    return found


def _why_unheld(found: DaemonStatus) -> str:
    """Return why the daemon could not take a seat, from the state of its duty; "" when it has not tried yet."""
    return next((duty.error or duty.remark or "" for duty in found.duties if duty.name == SEATS_DUTY), "")


def start_if_wanted(by: Actor) -> str | None:
    """For a person, start the daemon and use it, unless the setting `daemon` is "never" or the home was moved.

    Returns why it could not start; None when it started or is not wanted.
    """
    if by.request.settings().daemon == "never" or by.speaker is not None or by.moved_error is not None:
        return None
    try:
        start(by)
    except (errors.FleetError, OSError) as error:
        return str(error)
    by.use_daemon()
    return None


def stop(by: Actor) -> DaemonStatus:
    """Stop the daemon of a home: it finishes the requests it has begun. Raise NoDaemon when none runs, NotAllowed for an agent.

    Returns the last status, with the projects that have no coordinator while no daemon runs. Raise DaemonSilent when
    the daemon does not answer, FleetError when it has not ended after 30 seconds.
    """
    by.may("daemon.stop")
    found = _answered(by)
    door = _connected(by.home)
    if door is None or found is None:
        raise why_silent(by) or errors.NoDaemon(home=by.home)
    try:
        door.call("daemon.stop", {}, caller={"as": by.actor}, patience=_ANSWER)
    except DoorClosed:
        pass  # it ended before it could answer
    finally:
        door.close()
    if not wait_for_end(by):
        holder = by.world.daemon_gate().holder()
        raise errors.FleetError(what=f"the daemon ({holder}) is still ending after {_END:g} s")
    after = _absent(by)
    return found.replaced(running=False, unheld=after.unheld, store_error=after.store_error)


def restart(by: Actor) -> DaemonStatus:
    """Stop the daemon, if it runs, and start it again. Returns the new daemon's status. Raise NotAllowed for an agent."""
    by.may("daemon.restart")
    if _answered(by) is not None:
        stop(by)
    return start(by)


def wait_for_end(by: Actor) -> bool:
    """Wait until no daemon holds the home. Return whether that was so within 30 seconds."""
    gate = by.world.daemon_gate()
    until = by.clock.ticks() + _END
    while not gate.is_free():
        if by.clock.ticks() > until:
            return False
        by.clock.wait(_LOOK)
    return True


def pid_outside_unit(by: Actor) -> int | None:
    """Return the process of a running daemon that the system did not start by the home's unit; None when there is none.

    Raise DaemonSilent when a process serves the home and does not answer.
    """
    found = _answered(by)
    if found is None:
        if silent := why_silent(by):
            raise silent
        return None
    return None if is_run_by_unit(by.world) else found.pid


def stop_if_unneeded(by: Actor) -> bool | None:
    """Stop the daemon when no dispatch of this home is unfinished. Other homes may have some in the same store.

    Returns whether it was stopped; None when none runs.
    """
    if _answered(by) is None:
        return None
    unfinished = by.store.read(lambda rows: q.listed_dispatches(rows, project=None, ended=0))
    if any(is_own(by.view, row) for row in unfinished):
        return False
    stop(by)
    return True


def _connected(home: str) -> Door | None:
    """Return a connection to the daemon of a home; None when none answers.

    Ignores FLEET_DIRECT, with which a command makes its changes without the daemon.
    """
    path = f"{home}/{paths.DAEMON_SOCKET}"
    if not os.path.exists(path):
        return None
    door = Door(path)
    try:
        door.open()
    except DoorClosed:
        return None
    return door

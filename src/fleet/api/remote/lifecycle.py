"""Start, find and end the daemon of a home."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.remote import wire
from fleet.api.remote.door import Door, DoorClosed
from fleet.model.results.home import DaemonFigures, DaemonStatus, not_running
from fleet.model.text.times import SECOND, since_epoch
from fleet.store import queries as q
from fleet.verbs.coord.daemon_duty import unheld_seats
from fleet.world.files import daemon_log
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.api.actor import Actor

# Seconds that a daemon has to greet after its start, and to end after it was asked to.
_START = 20.0
_END = 30.0
_LOOK = 0.05
# Seconds that it has to say what it does; one that is stopped does not.
_ANSWER = 10.0
# Seconds within which a daemon that has started takes the seats that the one before it held.
_SEATS = 20.0
# The event in the daemon's log that says that it could not serve its home, and how many entries are searched for it.
FAILED = "failed"
_NEWEST = 20
# The duty of the daemon that takes seats.
SEATS_DUTY = "coordinators"
# Many threads with an arena each would hold twice the memory.
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}


def status(by: Actor) -> DaemonStatus:
    """Return what the daemon of a home is doing; `running` is False when none answers."""
    return _answered(by) or _absent(by)


def _answered(by: Actor) -> DaemonStatus | None:
    """Return what a running daemon says of itself; None when none answers."""
    door = _connected(by.home)
    if door is None:
        return None
    try:
        answer = door.call("daemon.status", {}, patience=_ANSWER)
    except DoorClosed:
        return None
    finally:
        door.close()
    found: DaemonStatus = wire.remade(answer["result"], "fleet.model.results.home:DaemonStatus")
    return found.replaced(unheld=found.unheld or [])  # a daemon of another version may not say


def _absent(by: Actor) -> DaemonStatus:
    """Return the status of a home that no daemon serves, or one that does not answer: then with its process.

    An agent is not told of seats: its person starts the daemon.
    """
    unheld = sorted(unheld_seats(by.view)) if by.speaker is None else []
    silent = why_silent(by)
    return not_running(by.home).replaced(unheld=unheld, pid=silent.facts.get("pid") if silent else None)


def why_silent(by: Actor) -> errors.DaemonSilent | None:
    """Return the error that names a process which serves the home, but does not answer; None when there is no such process."""
    gate = by.world.daemon_gate()
    if gate.is_free():
        return None
    holder = gate.holder()
    return errors.DaemonSilent(
        home=by.home, holder=str(holder or "an unknown process"), pid=holder.pid if holder else None
    )


def figures(found: DaemonStatus, now: int) -> DaemonFigures | None:
    """Return what a daemon counts of its own work; None when none runs."""
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
    )


def start(by: Actor) -> DaemonStatus:
    """Start the daemon of a home, unless one runs, and wait until it answers."""
    found = _answered(by)
    if found is not None:
        return found
    if by.speaker is not None:
        raise errors.Refused(what="only a person starts the daemon, and this is an agent")
    if silent := why_silent(by):
        raise silent
    before = daemon_log.newest(by.home, _NEWEST)
    by.world.start_fleet("daemon", "run", "--detached", more=ONE_ARENA)
    until = by.clock.ticks() + _START
    while (found := _answered(by)) is None:
        _refuse_failed_start(by, before)
        if by.clock.ticks() > until:
            raise errors.FleetError(what=f"the daemon did not start within {_START:g} s; `fleet daemon logs` says why")
        by.clock.wait(_LOOK)
    return _seated(by, found)


def _refuse_failed_start(by: Actor, before: list[dict[str, object]]) -> None:
    """Raise an error when the daemon that was started has given up, as its log says, or its home is not there any more."""
    if not os.path.isdir(by.home):
        raise errors.HomeUnusable(path=by.home, why="it was moved or removed while the daemon started")
    for entry in daemon_log.newest(by.home, _NEWEST):
        if entry.get("event") == FAILED and entry not in before:
            raise errors.FleetError(what=f"the daemon did not start: {entry.get('why')}")


def _seated(by: Actor, found: DaemonStatus) -> DaemonStatus:
    """Return the status of a daemon that has started, once it has taken its seats; at last with those that it could not take."""
    until = by.clock.ticks() + _SEATS
    while found.unheld and not _why_unheld(found) and by.clock.ticks() < until:
        by.clock.wait(_LOOK)
        again = _answered(by)
        if again is None:
            raise errors.FleetError(what="the daemon ended right after its start; `fleet daemon logs` says why")
        found = again
    return found


def _why_unheld(found: DaemonStatus) -> str:
    """Return why a daemon could not take a seat, as its duty says; empty when it has not tried yet."""
    return next((duty.error or duty.remark or "" for duty in found.duties if duty.name == SEATS_DUTY), "")


def start_if_wanted(by: Actor) -> str | None:
    """Start the daemon unless the setting `daemon` says never, and use it. Returns why it could not be started."""
    if by.request.setting("daemon") == "never" or by.speaker is not None or by.moved is not None:
        return None
    try:
        start(by)
    except (errors.FleetError, OSError) as error:
        return str(error)
    by.use_daemon()
    return None


def stop(by: Actor) -> DaemonStatus:
    """End the daemon of a home: it finishes what it has begun. NoDaemon when none runs.

    Returns what it was doing, and which projects have no coordinator without it.
    """
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
    gate = by.world.daemon_gate()
    until = by.clock.ticks() + _END
    while not gate.is_free():
        if by.clock.ticks() > until:
            raise errors.FleetError(what=f"the daemon ({gate.holder()}) is still ending after {_END:g} s")
        by.clock.wait(_LOOK)
    return found.replaced(running=False, unheld=_absent(by).unheld)


def stop_if_unneeded(by: Actor) -> bool | None:
    """End the daemon when no agent and no coordinator is left in the home. Returns whether it ended; None: none runs."""
    if _answered(by) is None:
        return None
    if by.store.read(lambda rows: q.listed_dispatches(rows, project=None, ended=0)):
        return False
    stop(by)
    return True


def _connected(home: str) -> Door | None:
    """Return a connection to the daemon of a home, also for a process that does without it otherwise."""
    path = f"{home}/{paths.DAEMON_SOCKET}"
    if not os.path.exists(path):
        return None
    door = Door(path)
    try:
        door.open()
    except DoorClosed:
        return None
    return door

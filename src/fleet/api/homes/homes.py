"""fleet.homes: repair a moved home, install its daemon, and give up what homes and machines that are gone have held.

For people only.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Actor, Part
from fleet.api.remote import lifecycle
from fleet.model import FLEET_DISPATCH_ID, FLEET_RUNNER_OF, names
from fleet.model.results.home import NewDatabase
from fleet.model.text import texts
from fleet.store.registry import open_store
from fleet.store.transaction import Change
from fleet.verbs.context import RowsOnly
from fleet.verbs.dispatch import reclaim
from fleet.verbs.homes import disown, repair
from fleet.verbs.homes.units import install
from fleet.world.funnel import Funnel
from fleet.world.home import home_change, home_record
from fleet.world.home.location import home_path, ready_home
from fleet.world.process.surroundings import marks_above

if TYPE_CHECKING:
    from fleet.model.results.dispatches import DisownedDispatch
    from fleet.model.results.home import DaemonUnit, HomeView, Repair
    from fleet.store.transaction import Tx


class Homes(Part):
    """The fleet home."""

    __slots__ = ()

    def show(self) -> HomeView:
        """Return the home's record, its path and machine, and the other homes that share its database."""
        return repair.home_view(self._by.view)

    def plan_repair(self) -> Repair:
        """Return what `repair` would do to this moved home. Changes nothing. Raises the same errors as `repair`."""
        return repair.plan_repair(self._rows_only(), self._by.moved_error)

    def repair(self) -> Repair:
        """Record the new place of a home that was moved, so that it can be used again. Returns what was changed.

        Raise Refused when the home was not moved, or when something may still run at its old path; HomeCopied for a
        copy.
        """
        self._by.may("homes.repair")
        repaired = repair.repair(self._rows_only(), self._by.moved_error)
        self._by.moved_error = None
        return repaired

    def disown(self, ident: str, reason: str) -> DisownedDispatch:
        """End a dispatch because a person says that its home or machine no longer exists.

        `ident` is the id of the dispatch; with the id of a job, this home takes the job over. `reason` is recorded.
        Afterwards the dispatch's claims are released as far as possible, and `left` of the result says what remains. In
        a home that was moved, no claims are released: only the database is changed. Raise NotDisowned when it can still
        be ended in the usual way, by this home or by another one on this machine.
        """
        self._by.may("homes.disown")
        disowned = disown.disown(self._rows_only(), names.DispatchId(ident), texts.text("reason", reason))
        return (
            disowned.replaced(left=reclaim.reclaim(self._by.context, ident))
            if self._by.moved_error is None
            else disowned
        )

    def install_daemon(self, *, start: bool = True) -> DaemonUnit:
        """Let the system start this home's daemon at login: with a systemd user unit, or a launchd agent on macOS.

        A daemon that runs already finishes what it has begun and ends, and the system starts another daemon. Without
        `start`, a running daemon runs on, and the system starts none before the next login.
        """
        self._by.may("homes.install_daemon")
        running = lifecycle.pid_outside_unit(self._by) if start else None
        unit = install.install(self._by.context, start=start and running is None)
        if running is None:
            return unit
        lifecycle.stop(self._by)
        followed = lifecycle.start(self._by).pid
        return unit.replaced(
            notes=[
                f"the daemon that ran (process {running}) has ended, and {unit.system} has started process {followed}",
                *unit.notes,
            ]
        )

    def uninstall_daemon(self) -> DaemonUnit:
        """Stop the daemon that the system started for this home, and remove its unit or launchd agent."""
        self._by.may("homes.uninstall_daemon")
        before = lifecycle.status(self._by)
        unit = install.uninstall(self._by.context)
        if not before.running or lifecycle.status(self._by).running or not lifecycle.wait_for_end(self._by):
            return unit
        ended = f"the daemon (process {before.pid}) has ended; `fleet daemon start` starts one without {unit.system}"
        return unit.replaced(notes=[ended, *unit.notes])

    def _rows_only(self) -> RowsOnly:
        """Return a request that may change only the database, also in a home that was moved."""
        return RowsOnly(home=self._by.home, by=self._by.committer, world=self._by.world)


def new_database(reason: str, *, actor: str | None = None) -> NewDatabase:
    """Create an empty database in a home whose database is missing, and record the reason.

    Raise Refused for an agent, and when the home has its database; HomeMoved or HomeCopied when it was moved or copied.
    """
    why = texts.text("reason", reason)
    if os.environ.get(FLEET_DISPATCH_ID) or os.environ.get(FLEET_RUNNER_OF) or marks_above(home_path()):
        raise errors.Refused(what="only a person begins with a new database, and this is an agent")
    funnel = Funnel()
    where = ready_home(home_path(), funnel)
    record = home_record.read(where)
    elsewhere = home_change.why_elsewhere(record, where) if record else None
    if elsewhere is not None:
        raise elsewhere
    try:
        with Actor.open(actor=actor):
            raise errors.Refused(what=f"the fleet home {where} has its database; nothing was changed")
    except errors.StoreGone:
        open_store(where, funnel).close()
    with Actor.open(actor=actor) as by:
        return by.commit(_record_new_database(where, by.store.kind, why))


def _record_new_database(where: str, database: str, reason: str) -> Change[NewDatabase]:
    """Return the change whose operation records that a new database was created, and why."""

    def work(tx: Tx) -> NewDatabase:
        tx.note(reason=reason)
        return NewDatabase(home=where, database=database)

    return Change(f"begin with a new database: {reason}", work, returns=NewDatabase)

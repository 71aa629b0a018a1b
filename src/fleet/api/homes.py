"""The home itself, and what is left of homes and machines that are no more. For persons only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet.api.living import Living
from fleet.errors.families import Refused
from fleet.errors.store import StoreGone
from fleet.model import names
from fleet.model.text import texts
from fleet.store.registry import open_store
from fleet.store.transaction import Change
from fleet.verbs.context import Ground
from fleet.verbs.dispatch import reclaim
from fleet.verbs.homes import disown, repair
from fleet.world.funnel import Funnel
from fleet.world.home import home_change, home_record
from fleet.world.home.location import home_path, ready_home
from fleet.world.process.ancestry import marks_above

if TYPE_CHECKING:
    from fleet.store.transaction import Row, Tx

Document = dict[str, Any]


class Homes(Living):
    """Looks after the home."""

    def home_shown(self) -> Document:
        """What the home remembers of itself."""
        return repair.show(self.view)

    def plan_repair(self) -> Document:
        """What repairing a moved home would do."""
        return repair.plan(self._rows_only, self.moved)

    def repair_home(self) -> Document:
        """Repair a home that was moved."""
        self.may("repair_home")
        done = repair.repair(self._rows_only, self.moved)
        self.moved = None
        return done

    def disown_dispatch(self, ident: str, reason: str) -> Document:
        """A person says that the home or machine of a dispatch is no more; also in a home that was moved: only rows are changed."""
        self.may("disown_dispatch")
        done = disown.disown(self._rows_only, names.DispatchId(ident), texts.text("reason", reason))
        left = reclaim.reclaim(self.ground, ident) if self.moved is None else []
        return done | {"left": left}

    @property
    def _rows_only(self) -> Ground:
        """For the two acts that a moved home needs before anything else."""
        return Ground(store=self.store, world=self.world, commit=self.commit_anyway, settings=self.settings)


def new_database(reason: str, *, actor: str | None = None) -> Document:
    """Begin with an empty database in a home whose own is not there. A person's word, recorded as the first operation."""
    told = texts.text("reason", reason)
    if os.environ.get("FLEET_DISPATCH_ID") or os.environ.get("FLEET_RUNNER_OF") or marks_above(home_path()):
        raise Refused(what="only a person begins with a new database, and this is an agent")
    funnel = Funnel()
    where = ready_home(home_path(), funnel)
    record = home_record.read(where)
    elsewhere = home_change.why_elsewhere(record, where) if record else None
    if elsewhere is not None:
        raise elsewhere
    try:
        with Homes.open(actor=actor):
            raise Refused(what=f"the fleet home {where} has its database; nothing was changed")
    except StoreGone:
        open_store(where, funnel).close()
    with Homes.open(actor=actor) as fleet:
        return fleet.commit(_begun(where, fleet.store.kind, told))


def _begun(where: str, database: str, reason: str) -> Change:
    def work(tx: Tx) -> Row:
        tx.note(reason=reason)
        return {"home": where, "database": database}

    return Change(f"begin with a new database: {reason}", work)

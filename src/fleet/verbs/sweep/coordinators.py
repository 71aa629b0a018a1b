"""For the sweep: a change of coordinators that somebody left, and what is kept of such changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.errors.families import BadInput
from fleet.model.text.times import DAY, iso
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.coord import replace
from fleet.verbs.sweep.finding import Finding, acted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.row import Query
    from fleet.store.transaction import Row, Tx
    from fleet.verbs.context import Context

RETENTION = "FLEET_REPLACE_NONCE_RETENTION_DAYS"
_NONCES_DAYS = 30
_MESSAGES_DAYS = 7


def withdrawals(context: Context, *, kill: bool) -> Iterator[Finding]:
    """Candidates for a seat that will not prove themselves any more."""
    for project in [row.name for row in context.store.read(lambda rows: q.all_projects(rows))]:
        seat, why = replace.hopeless(context, project)
        if why:
            what = f"candidate {seat.candidate} for the seat of {project}"
            yield acted(what, "it will not prove itself any more", why, "withdraw it", kill,
                        lambda: [] if replace.tend(context, project) else ["it was faster"])  # fmt: skip # noqa: B023


def findings(context: Context, *, kill: bool) -> Iterator[Finding]:
    """Proofs that were never presented; then what is old enough to be forgotten."""
    for row in context.store.read(lambda rows: q.stale_nonces(rows)):
        why = f"this new coordinator of {row.project} never proved itself"
        yield Finding(what=f"dispatch {row.dispatch}", why=why, proof=f"its proof of {iso(row.minted_at)} is not spent",
                      action="kept as evidence", standing=True)  # fmt: skip
    yield from _old(context, kill=kill)


def _old(context: Context, *, kill: bool) -> Iterator[Finding]:
    """Proofs that were spent and messages that were acknowledged long ago."""
    now = context.world.clock.now()
    for what, days, count, forget in (
        ("spent proofs", _nonces_days(), q.OLD_NONCES, q.PRUNE_NONCES),
        ("acknowledged messages", _MESSAGES_DAYS, q.OLD_MESSAGES, q.PRUNE_MESSAGES),
    ):
        before = now - days * DAY
        number = (context.store.read(lambda rows: rows.one(count, before=before)) or {"n": 0})["n"]  # noqa: B023
        if number:
            change = Change(f"forget {what} of more than {days} days", lambda tx: _forgotten(tx, forget, before))  # noqa: B023
            yield acted(f"{number} {what}", f"they are older than {days} days", "the store says so", "forget them", kill,
                        lambda: context.commit(change))  # fmt: skip # noqa: B023


def _forgotten(tx: Tx, query: Query, before: int) -> Row:
    gone = tx.run(query, before=before)
    tx.note(forgotten=gone)
    return {"forgotten": gone}


def _nonces_days() -> int:
    told = os.environ.get(RETENTION, "")
    if told and not told.isdigit():
        raise BadInput(what=f"{RETENTION}={told!r} is not a number of days")
    return int(told) if told else _NONCES_DAYS

"""Sweep what replaced coordinators left: candidates that cannot prove themselves, nonces, and old messages.

A nonce is the secret with which a new coordinator proves itself, once; people read of it as its proof.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.results.home import Swept
from fleet.model.text.times import DAY, clock
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.coord import replace
from fleet.verbs.sweep.finding import act_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.verbs.context import Context

# The environment variable with the number of days that presented nonces are kept, and the numbers without it.
RETENTION = "FLEET_REPLACE_NONCE_RETENTION_DAYS"
_PROOF_DAYS = 30
_DIGITS = 6
_MESSAGE_DAYS = 7


def sweep_candidates(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Withdraw each project's candidate that can no longer prove itself as the coordinator.

    Without `acts`, only report it.
    """
    for project in [row.name for row in context.store.read(q.all_projects)]:
        candidate, why = replace.hopeless_candidate(context, project)
        if why:
            what = f"candidate {candidate} for the seat of {project}"
            yield act_on(what, "it will not prove itself any more", why, "withdraw it", acts,
                         lambda: [] if replace.withdraw_hopeless(context, project) else ["it was faster"])  # fmt: skip # noqa: B023


def sweep_proofs_and_messages(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Yield a finding for each nonce that its coordinator never presented, and for old nonces and messages.

    With `acts`, delete presented nonces and acknowledged messages that are older than their retention; nonces that were
    never presented stay. Raises BadInput when the environment names no number of days, or too many.
    """
    for row in context.store.read(q.stale_nonces):
        why = f"this new coordinator of {row.project} never proved itself"
        yield Swept(what=f"dispatch {row.dispatch}", why=why, proof=f"its proof of {clock(row.minted_at)} was never presented",
                    action="kept as evidence", standing=True)  # fmt: skip
    yield from _forget_old_rows(context, acts=acts)


def _forget_old_rows(context: Context, *, acts: bool) -> Iterator[Swept]:
    """Report presented nonces and acknowledged messages that are older than their retention; with `acts`, delete them."""
    now = context.world.clock.now()
    for what, days, count, forget in (
        ("presented proofs", _proof_days(), q.old_nonces, q.prune_nonces),
        ("acknowledged messages", _MESSAGE_DAYS, q.old_messages, q.prune_messages),
    ):
        before = now - days * DAY
        number = context.store.read(lambda rows: count(rows, before=before)).n  # noqa: B023
        if number:
            why = f"forget {what} of more than {days} days"
            change = Change(why, lambda tx: tx.note(forgotten=forget(tx, before=before)))  # noqa: B023
            yield act_on(f"{number} {what}", f"they are older than {days} days", "the store says so", "forget them", acts,
                         lambda: context.commit(change))  # fmt: skip # noqa: B023


def _proof_days() -> int:
    """Return after how many days a sweep deletes a presented nonce: from the environment variable, else 30.

    Raises BadInput when the variable is not a number, or one of more than six digits.
    """
    days = os.environ.get(RETENTION, "")
    if days and not names.is_number(days, len(days)):
        raise errors.BadInput(what=f"{RETENTION}={days!r} is not a number of days")
    if len(days.lstrip("0")) > _DIGITS:
        raise errors.BadInput(what=f"{RETENTION} is more than {'9' * _DIGITS} days")
    return int(days) if days else _PROOF_DAYS

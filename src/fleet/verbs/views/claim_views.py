"""Show claims: those of one dispatch, each compared with the world now, and the rows that count as claims.

An agent's record and a project's seat are such rows. They are shown among the claims of their dispatch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.row_claims import AGENT_RECORD, COORD_SPAWN_MARKER, look_at_record, look_at_seat
from fleet.model.results.dispatches import ClaimView, Inspected, JournalClaim
from fleet.model.text.times import SECOND, since_epoch_or_none
from fleet.resources import KINDS, ROW_KINDS
from fleet.store import queries as q
from fleet.store import seats
from fleet.verbs.dispatch.journal import archived_journal, claim_view, journal_view, record_view
from fleet.verbs.homes.ownership import is_own

if TYPE_CHECKING:
    from fleet.model.results.dispatches import Journal
    from fleet.store.queries import Agent
    from fleet.store.queries import Claim as ClaimRow
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context


def inspect(context: Context, ident: str) -> Inspected:
    """Return the claims of a dispatch, each with how its resource looks at this moment.

    The claims of an archived dispatch are returned as recorded. Raises Absent when there is no such dispatch.
    """
    names.DispatchId(ident)
    live = context.store.read(lambda rows: journal_view(rows, ident))
    journal = live or archived_journal(context, ident)
    if journal is None:
        raise errors.Absent(what=f"dispatch {ident}")
    claims = observed_claims(context, live) if live else archived_claims(context, journal)
    return Inspected(outcome="inspected", dispatch_id=ident, kind=None, path=None, claims=claims)


def archived_claims(context: Context, journal: Journal) -> list[JournalClaim]:
    """Return the claims of an archived journal as recorded, each with its age.

    The agent's record is shown as one of them: archived, or missing when the journal has no record.
    """
    now = context.world.clock.now()
    claims = [_archived_claim(claim, now) for claim in journal.claims]
    if all(claim.kind != AGENT_RECORD for claim in claims):
        claims.append(_record_claim(None, now))
    return claims


def _archived_claim(claim: JournalClaim, now: int) -> JournalClaim:
    """Return a claim of an archived journal with its age; an agent's record that is in the journal is marked as archived."""
    made = since_epoch_or_none(claim.created_at)
    aged = claim.replaced(age=_age_in_seconds(now, made) if made is not None else None)
    return aged.replaced(look="archived") if claim.kind == AGENT_RECORD else aged


def observed_journal(context: Context, journal: Journal) -> Journal:
    """Return the journal of a dispatch with its age in seconds, and with how the resources of its claims look now."""
    return journal.replaced(claims=observed_claims(context, journal), age=age_of(context, journal))


def age_of(context: Context, journal: Journal) -> int:
    """Return how many seconds ago a dispatch was recorded."""
    return _age_in_seconds(context.world.clock.now(), since_epoch_or_none(journal.created_at) or 0)


def observed_claims(context: Context, journal: Journal) -> list[JournalClaim]:
    """Return the claims of a dispatch and of the bundle that it owns, each with its age and how its resource looks now."""
    now, place = context.world.clock.now(), {"project": journal.project, "slug": journal.slug or ""}

    def look(rows: Rows) -> tuple[list[ClaimRow], list[JournalClaim], list[ClaimRow]]:
        """Read the dispatch's own claims, its record and seat as claims, and the claims of the bundle that it owns."""
        bundle = q.bundle_of(rows, **place)
        owned = q.claims_of_bundle(rows, **place) if bundle is not None and bundle.owner == journal.id else []
        seat = [_seat_claim(rows, journal.project, journal.id)] if journal.kind == "coord" else []
        record = _record_claim(q.agent_by_id(rows, id=journal.id), now)
        return q.claims_of_dispatch(rows, dispatch=journal.id), [record, *seat], owned

    own, of_rows, owned = context.store.read(look)
    return [
        *(_observed_claim(context, row, now) for row in own),
        *of_rows,
        *(_observed_claim(context, row, now) for row in owned),
    ]


def _observed_claim(context: Context, row: ClaimRow, now: int) -> JournalClaim:
    """Return a claim with its age in seconds and how its resource looks at this moment.

    `look` is "unknown" for a claim of another home, None for a kind of claim that this fleet does not know.
    """
    claim = Claim.of(row)
    look = None
    if claim.kind in KINDS:
        look = KINDS[claim.kind].look(claim, context.world) if is_own(context, claim) else "unknown"
    return claim_view(row).replaced(look=look, age=_age_in_seconds(now, row.created_at))


def _age_in_seconds(now: int, made: int) -> int:
    """Return how many seconds lie between two times in milliseconds, at least 0."""
    return max(now - made, 0) // SECOND


def _record_claim(agent: Agent | None, now: int) -> JournalClaim:
    """Return an agent's record in the form of a claim: live, archived, or missing when `agent` is None."""
    claim = record_view(agent)
    return claim.replaced(look=claim.state, age=_age_in_seconds(now, agent.started_at) if agent is not None else None)


def _seat_claim(rows: Rows, project: str, ident: str) -> JournalClaim:
    """Return a project's seat in the form of a claim of the dispatch `ident`.

    Its look is "self" when that dispatch holds the seat, "other" when another one does, "missing" when it is empty.
    """
    seat = seats.seat(rows, project)
    look = look_at_seat(seat.holder, ident)
    return JournalClaim(
        class_=ROW_KINDS[COORD_SPAWN_MARKER],
        kind=COORD_SPAWN_MARKER,
        state="live" if look == "self" else look,
        data={"name": project, "holder": seat.holder, "epoch": seat.epoch, "candidate": seat.candidate},
        look=look,
    )


def row_claims(rows: Rows, here: str) -> list[ClaimView]:
    """Return the held seats and the live agent records in the form of claims.

    `here` is the host to show for a seat whose holder has no unfinished dispatch.
    """
    agents = q.listed_dispatches(rows, project=None, ended=0)
    hosts = {row.id: row.host for row in agents}
    held = [(COORD_SPAWN_MARKER, row.project, row.holder) for row in q.all_seats(rows) if row.holder]
    held += [
        (AGENT_RECORD, row.id, row.id) for row in agents if look_at_record(q.agent_by_id(rows, id=row.id)) == "live"
    ]
    return [
        ClaimView(
            class_=ROW_KINDS[kind],
            kind=kind,
            name=name,
            state="live",
            dispatch=dispatch,
            host=hosts.get(dispatch) or here,
        )
        for kind, name, dispatch in held
    ]

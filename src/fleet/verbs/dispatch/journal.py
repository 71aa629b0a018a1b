"""The journal of a dispatch: everything that is recorded about it, in the tables or, after archiving, in a file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.dispatch.row_claims import AGENT_RECORD, look_at_record
from fleet.model.dispatch.steps import TIMES
from fleet.model.results.dispatches import AdoptionView, Journal, JournalClaim
from fleet.model.results.value import Value
from fleet.model.text.times import iso, iso_or_none, since_epoch_or_none
from fleet.resources import class_of
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.agents.cost.count_tokens import search_key
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.queries import Agent, Dispatch
    from fleet.store.queries import Claim as ClaimRow
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context

_FILE_NAME = re.compile(r"[0-9a-f]{8}-\d+\.json")


def recorded_dispatch(context: Context, ident: str) -> Dispatch:
    """Return the row of a dispatch, from the tables or from the archive. Raises NoSuchDispatch when it is in neither."""
    row = dispatch_or_none(context, ident)
    if row is None:
        raise errors.NoSuchDispatch(dispatch=ident)
    return row


def dispatch_or_none(context: Context, ident: str) -> Dispatch | None:
    """Return the row of a dispatch, from the tables or from the archive. None when it is in neither."""
    return context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident)) or archived_dispatch(context, ident)


def archived_dispatch(context: Context, ident: str) -> Dispatch | None:
    """Return the row that an archived dispatch had in the tables; None when it is not in the archive."""
    document = archived_journal(context, ident)
    if document is None:
        return None
    return q.Dispatch.made_of(document, **{name: since_epoch_or_none(getattr(document, name)) for name in TIMES})


def archived_journal(context: Context, ident: str) -> Journal | None:
    """Return the archived journal of a dispatch, with its claims; None when there is none."""
    if not names.is_dispatch_id(ident):
        return None
    name = next((name for name in reversed(archive_files(context)) if name.startswith(f"{ident}-")), None)
    return read_archive_file(context, name) if name else None


def archive_files(context: Context) -> list[str]:
    """Return the sorted names of the journal files in the archive, without temporary files of an unfinished write."""
    return [name for name in context.world.files.names(paths.JOURNALS) if _FILE_NAME.fullmatch(name)]


def read_archive_file(context: Context, name: str) -> Journal:
    """Read a journal from the archive. `name` is the file's name, without its folder."""
    return Journal.from_json(json.loads(context.world.files.read(f"{paths.JOURNALS}/{name}")))


def archive(context: Context, ident: str) -> str:
    """Move a fully reclaimed dispatch out of the tables: write the journal file durably, then delete the rows.

    Returns the file's path, relative to the home; "" when the dispatch is not in the tables. The file's name contains
    the time of the dispatch's last change, so that a repeated call writes the same file.
    """
    row, view = context.store.read(lambda rows: (q.dispatch_by_id(rows, id=ident), journal_view(rows, ident)))
    if row is None:
        return ""
    name = f"{paths.JOURNALS}/{ident}-{row.updated_at}.json"
    document = json.dumps(view, indent=2, ensure_ascii=False, default=Value.as_json)
    context.world.files.publish(name, document.encode())
    context.commit(_delete_rows(ident))
    return name


def shown_times(row: Dispatch) -> dict[str, str | None]:
    """Return the times of a dispatch as ISO texts, by column; None for a time that is not recorded."""
    return {name: iso_or_none(getattr(row, name)) for name in TIMES}


def journal_view(rows: Rows, ident: str) -> Journal | None:
    """Return the journal of a dispatch with its claims and adoptions; None when it is not in the tables."""
    row = q.dispatch_by_id(rows, id=ident)
    if row is None:
        return None
    claims = [claim_view(claim) for claim in q.claims_of_dispatch(rows, dispatch=ident)]
    agent, handoff = q.agent_by_id(rows, id=ident), q.handed_to(rows, dispatch=ident)
    if agent:
        claims.append(record_view(agent))
    return Journal.made_of(
        row,
        **shown_times(row),
        host_id=row.host,
        claims=claims,
        adoptions=_adoptions(rows, row),
        successor=handoff.successor if handoff else None,
    )


def _adoptions(rows: Rows, row: Dispatch) -> list[AdoptionView]:
    """Return the dispatches that have owned the task's bundle, oldest first."""
    return [
        AdoptionView.made_of(
            adoption, adopted_at=iso(adoption.adopted_at), released_at=iso_or_none(adoption.released_at)
        )
        for adoption in q.adoptions_of(rows, project=row.project, slug=row.slug or "")
    ]


def claim_view(row: ClaimRow) -> JournalClaim:
    """Return a claim as journals show it."""
    data = {**json.loads(row.data), "name": row.name, "actor": row.actor, "failures": row.failures}
    return JournalClaim(
        class_=class_of(row.kind), kind=row.kind, state=row.state, data=data, created_at=iso(row.created_at)
    )


def record_view(agent: Agent | None) -> JournalClaim:
    """Return an agent's record as journals show it: as a claim. Without a record (None) its state is "missing"."""
    return JournalClaim(
        class_=class_of(AGENT_RECORD),
        kind=AGENT_RECORD,
        state=look_at_record(agent),
        data={"session": agent.session, "conversation": agent.conversation} if agent is not None else {},
        created_at=iso(agent.started_at) if agent is not None else None,
    )


def _delete_rows(ident: str) -> Change[bool]:
    """Return the change that deletes the rows of an archived dispatch.

    Committing it returns False when they were deleted before.
    """

    def work(tx: Tx) -> bool:
        tx.dispatch = ident
        row, agent = q.dispatch_by_id(tx, id=ident), q.agent_by_id(tx, id=ident)
        if row is not None:
            tx.about(row.project, row.slug)
        q.forget_claims(tx, id=ident)
        q.forget_agent(tx, id=ident)
        q.forget_usage_file(tx, path=search_key(ident))
        gone = q.forget_dispatch(tx, id=ident)
        tx.note(archived=gone == 1)
        if agent is not None and gone:
            tx.note(tokens=agent.tokens, cost=agent.cost)  # `fleet recap` adds these up
        return gone == 1

    return Change(f"archive {ident}", work)

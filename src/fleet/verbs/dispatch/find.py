"""Find the dispatch that is meant: an id, a unique prefix of one, a task's slug, or @last; and read its journal."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.dispatch.steps import TIMES, is_unfinished
from fleet.model.results.dispatches import Journal
from fleet.model.text.times import SECOND, iso_or_none
from fleet.store import queries as q
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, DispatchHead
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context

SHORTEST_PREFIX = 2
_JOURNAL = re.compile(r"[0-9a-f]{8}-\d+\.json")


def find(rows: Rows, given: str, project: str | None = None, *, here: str | None = None) -> str:
    """The id of the dispatch that is meant; a slug is first of all the current project's. Several: they are listed."""
    if given == "@last":
        row = q.newest_dispatch(rows)
        if row is None:
            raise errors.NoSuchDispatch(dispatch=given)
        return row.id
    prefix = f"{given}%" if len(given) >= SHORTEST_PREFIX and set(given) <= set("0123456789abcdef") else "-"
    matches = [row for row in q.dispatches_like(rows, prefix=prefix, slug=given) if project in {None, row.project}]
    exact = [row for row in matches if row.id == given]
    if exact:
        return given
    matches = [row for row in matches if row.slug == given] or matches  # a slug that looks like the beginning of an id
    if matches and matches[0].slug != given and q.task_called(rows, slug=given) is not None:
        raise errors.NoSuchDispatch(dispatch=given)
    matches = [row for row in matches if row.slug == given and row.project == here] or matches
    unfinished = [row for row in matches if is_unfinished(row)]
    chosen = unfinished or _newest_of_one_task(matches)
    if not chosen:
        raise errors.NoSuchDispatch(dispatch=given)
    if len(chosen) > 1:
        candidates = ", ".join(f"{row.id} ({row.kind} of {row.project}/{row.slug})" for row in chosen)
        raise errors.Ambiguous(given=given, candidates=candidates)
    return chosen[0].id


def _newest_of_one_task(matches: list[DispatchHead]) -> list[DispatchHead]:
    """Ended dispatches of one task are told apart by age: the newest is meant."""
    tasks = {(row.project, row.slug) for row in matches}
    return matches[:1] if len(tasks) == 1 else matches


def find_archived(context: Context, given: str) -> str | None:
    """The same among journals that were archived: the newest that fits."""
    kept = sorted(
        _archive_files(context), key=lambda name: int(name.partition("-")[2].removesuffix(".json")), reverse=True
    )
    prefixed = len(given) >= SHORTEST_PREFIX
    meant = next((name for name in kept if given == "@last" or (prefixed and name.startswith(given))), None)
    if meant is None or not names.is_dispatch_id(given):
        meant = next((name for name in kept if _read_archive_file(context, name).slug == given), meant)
    return meant and meant.partition("-")[0]


def journal(context: Context, ident: str) -> Dispatch:
    """The journal of a dispatch, from the tables or from the archive. NoSuchDispatch when it is in neither."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident)) or archived(context, ident)
    if row is None:
        raise errors.NoSuchDispatch(dispatch=ident)
    return row


def archived(context: Context, ident: str) -> Dispatch | None:
    """The journal of a dispatch that was archived, as it was in the tables."""
    kept = archived_journal(context, ident)
    if kept is None:
        return None
    return q.Dispatch.made_of(kept, **{name: _milliseconds(getattr(kept, name)) for name in TIMES})


def archived_journal(context: Context, ident: str) -> Journal | None:
    """The journal of a dispatch that was archived, with its claims, as JSON shows it."""
    if not names.is_dispatch_id(ident):
        return None
    name = next((name for name in reversed(_archive_files(context)) if name.startswith(f"{ident}-")), None)
    return _read_archive_file(context, name) if name else None


def _archive_files(context: Context) -> list[str]:
    """The files of the archive; what is just being written, or was when somebody was killed, is none."""
    return [name for name in context.world.files.names(paths.JOURNALS) if _JOURNAL.fullmatch(name)]


def _read_archive_file(context: Context, name: str) -> Journal:
    return Journal.from_json(json.loads(context.world.files.read(f"{paths.JOURNALS}/{name}")))


def shown_times(row: Dispatch) -> dict[str, str | None]:
    """The times of a dispatch as JSON shows them."""
    return {name: iso_or_none(getattr(row, name)) for name in TIMES}


def _milliseconds(time: str | None) -> int | None:
    return None if time is None else round(datetime.fromisoformat(time).timestamp() * SECOND)

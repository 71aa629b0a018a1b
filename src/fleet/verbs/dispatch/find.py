"""Find a dispatch by id, id prefix, task slug or @last, in the tables or in the archive; and read its journal."""

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
    """Return the id of the dispatch that a text names: an id, a unique prefix, a task's slug or PROJECT/SLUG, or @last.

    A slug means a task of the project `here` first. Ambiguous lists the candidates when several fit.
    """
    project, given = names.project_and_slug(given, project)
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
    matches = [row for row in matches if row.slug == given] or matches  # a slug may look like an id prefix
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
    """Return only the newest of ended dispatches if all belong to one task; otherwise all of them."""
    tasks = {(row.project, row.slug) for row in matches}
    return matches[:1] if len(tasks) == 1 else matches


def find_archived(context: Context, given: str) -> str | None:
    """Return the id of the newest archived dispatch that an id, id prefix, slug or @last names; None when none fits."""
    project, given = names.project_and_slug(given)
    files = sorted(
        _archive_files(context), key=lambda name: int(name.partition("-")[2].removesuffix(".json")), reverse=True
    )
    prefixed = len(given) >= SHORTEST_PREFIX
    file = next((name for name in files if given == "@last" or (prefixed and name.startswith(given))), None)
    if file is None or not names.is_dispatch_id(given):
        old = ((name, _read_archive_file(context, name)) for name in files)
        fitting = (name for name, row in old if row.slug == given and project in {None, row.project})
        file = next(fitting, file)
    return file and file.partition("-")[0]


def journal(context: Context, ident: str) -> Dispatch:
    """Return the row of a dispatch, from the tables or from the archive. NoSuchDispatch when it is in neither."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident)) or archived(context, ident)
    if row is None:
        raise errors.NoSuchDispatch(dispatch=ident)
    return row


def archived(context: Context, ident: str) -> Dispatch | None:
    """Return an archived dispatch as the row it was in the tables; None when it is not in the archive."""
    document = archived_journal(context, ident)
    if document is None:
        return None
    return q.Dispatch.made_of(document, **{name: milliseconds(getattr(document, name)) for name in TIMES})


def archived_journal(context: Context, ident: str) -> Journal | None:
    """Return the archived journal of a dispatch, with its claims, as JSON shows it; None when there is none."""
    if not names.is_dispatch_id(ident):
        return None
    name = next((name for name in reversed(_archive_files(context)) if name.startswith(f"{ident}-")), None)
    return _read_archive_file(context, name) if name else None


def _archive_files(context: Context) -> list[str]:
    """Return the names of the journal files in the archive, without temporary files of an unfinished write."""
    return [name for name in context.world.files.names(paths.JOURNALS) if _JOURNAL.fullmatch(name)]


def _read_archive_file(context: Context, name: str) -> Journal:
    return Journal.from_json(json.loads(context.world.files.read(f"{paths.JOURNALS}/{name}")))


def shown_times(row: Dispatch) -> dict[str, str | None]:
    """Return the times of a dispatch as ISO texts, by column."""
    return {name: iso_or_none(getattr(row, name)) for name in TIMES}


def milliseconds(time: str | None) -> int | None:
    """Return the time that `iso_or_none` made a text of; None for None."""
    return None if time is None else round(datetime.fromisoformat(time).timestamp() * SECOND)

"""Find a dispatch by id, id prefix, task slug or @last, in the tables or in the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.dispatch.steps import is_unfinished
from fleet.store import queries as q
from fleet.verbs.dispatch.journal import archive_files, read_archive_file

if TYPE_CHECKING:
    from fleet.store.queries import DispatchHead
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context

# A prefix of an id has at least this many characters.
SHORTEST_PREFIX = 2


def find(rows: Rows, given: str, project: str | None = None, *, here: str | None = None) -> str:
    """Return the id of the dispatch that a text names: an id, a prefix of one, a task's slug or PROJECT/SLUG, or @last.

    `project` limits the search, except for @last, the newest dispatch of all projects; None searches all projects. A
    slug that several projects have means the task of project `here`. Of several dispatches that fit, the unfinished one
    is meant; if all have ended and are of one task, the newest. Raises NoSuchDispatch when none fits, or when a task
    without a dispatch has this slug; Ambiguous, with the candidates, when several are left.
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
    """Return only the first (newest) of the dispatches if all belong to one task; otherwise all of them."""
    tasks = {(row.project, row.slug) for row in matches}
    return matches[:1] if len(tasks) == 1 else matches


def find_archived(context: Context, given: str) -> str | None:
    """Return the id of the newest archived dispatch that an id, id prefix, slug or @last names; None when none fits.

    A text that is both a slug and a prefix counts as the slug.
    """
    project, given = names.project_and_slug(given)
    files = sorted(
        archive_files(context), key=lambda name: int(name.partition("-")[2].removesuffix(".json")), reverse=True
    )
    prefixed = len(given) >= SHORTEST_PREFIX
    file = next((name for name in files if given == "@last" or (prefixed and name.startswith(given))), None)
    if file is None or not names.is_dispatch_id(given):
        old = ((name, read_archive_file(context, name)) for name in files)
        fitting = (name for name, row in old if row.slug == given and project in {None, row.project})
        file = next(fitting, file)
    return file and file.partition("-")[0]

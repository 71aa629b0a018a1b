"""Return the names that exist, for an error about a name that does not."""

from __future__ import annotations

from fleet import errors
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Rows

# How many slugs are returned at most.
MOST = 5_000


def known_names(rows: Rows, missing: errors.Absent) -> tuple[str, list[str]]:
    """Return the name that does not exist, and all names of its kind that do; ("", []) for another kind of error.

    The names are the slugs of the project, the projects, or the unfinished dispatches with the slugs of their tasks.
    """
    match missing:
        case errors.NoSuchTask():
            slugs = q.slugs_like(rows, project=str(missing.facts.get("project")), prefix="", beyond="~", most=MOST)
            return str(missing.facts.get("slug")), [row.slug for row in slugs]
        case errors.NoSuchProject():
            return str(missing.facts.get("project")), [row.name for row in q.all_projects(rows)]
        case errors.NoSuchDispatch():
            known = q.listed_dispatches(rows, project=None, ended=0)
            return str(missing.facts.get("dispatch")), [name for row in known for name in (row.slug, row.id) if name]
        case _:
            return "", []

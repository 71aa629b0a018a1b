"""Results: what became of the items, in files for whoever reads them next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.model.text.times import iso_or_none
from fleet.store import queries as q
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.queries import Job
    from fleet.store.transaction import Row
    from fleet.verbs.context import Context

_PAGE = 500
FAILED = ("dead", "parked", "skipped")


def pages(context: Context, job: str, state: str | None = None) -> Iterator[Row]:
    """The items of a job, a page at a time: ten thousand are never held at once."""
    after: tuple[int, str] = (-(1 << 60), "")
    while True:
        place = {"job": job, "state": state, "after": after[0], "after_id": after[1], "most": _PAGE}
        found = context.store.read(lambda rows: q.items_page(rows, **place))  # noqa: B023
        yield from found
        if len(found) < _PAGE:
            return
        after = found[-1].number, found[-1].id


def of_map(context: Context, job: Job) -> dict[str, Any]:
    """What {map.…} stands for: two files, and two counts."""
    folder = f"{context.world.home}/{paths.job(job.id)}"
    counts = {row.state: row.n for row in context.store.read(lambda rows: q.count_items(rows, job=job.id))}
    files = {"results": f"{folder}/results.json", "failed": f"{folder}/failed.json"}
    return files | {"total": sum(counts.values()), "done": counts.get("done", 0)}


def write(context: Context, job: Row) -> None:
    """Write both files, for reduce and for people."""
    for name, wanted in (("results", ("done",)), ("failed", FAILED)):
        lines = (
            json.dumps(_told(row), ensure_ascii=False) for row in pages(context, job["id"]) if row["state"] in wanted
        )
        text = ",\n".join(lines)
        context.world.files.publish(
            paths.job(job["id"], f"{name}.json"), f"[\n{text}\n]\n".encode(errors="backslashreplace")
        )


def _told(row: Row) -> dict[str, Any]:
    head = {"id": row["id"], "number": row["number"], "item": json.loads(row["data"]), "state": row["state"]}
    times = {"started_at": iso_or_none(row["started_at"]), "ended_at": iso_or_none(row["ended_at"])}
    return head | times | {"attempts": row["attempts"], "commit": row["merged"], "reason": row["reason"]}

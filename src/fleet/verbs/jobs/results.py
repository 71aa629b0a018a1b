"""Read the items of a job for views, reports and the reduce steps: one by one, as counts, or written to JSON files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet.model.jobs import items
from fleet.model.results.jobs import ItemCounts, ItemView
from fleet.model.text.times import iso_or_none
from fleet.store import queries as q
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.queries import Item, Job
    from fleet.verbs.context import Context

_PAGE = 500
# The states of the items in failed.json.
FAILED = ("dead", "parked", "skipped")
_ENTRY = ("id", "number", "item", "state", "started_at", "ended_at", "attempts", "commit", "reason")


def each_item(context: Context, job: str, state: str | None = None) -> Iterator[Item]:
    """Yield the items of a job in the order of its input; with `state`, only those in that state.

    Setup and reduce are left out. Items that are no longer in the input come first. The items are read page by page, so
    that not all of them are in memory at once.
    """
    number, ident = -(1 << 60), ""
    while True:
        page = context.store.read(
            lambda rows: q.items_page(rows, job=job, state=state, after=number, after_id=ident, most=_PAGE)  # noqa: B023
        )
        yield from page
        if len(page) < _PAGE:
            return
        number, ident = page[-1].number, page[-1].id


def map_values(context: Context, job: Job) -> dict[str, str | int]:
    """Return the values of the placeholders {map.…}, by name.

    `results` and `failed` are the paths of the two result files, `total` and `done` the numbers of items.
    """
    folder = f"{context.world.home}/{paths.job(job.id)}"
    counts = count(context, job.id)
    files = {"results": f"{folder}/results.json", "failed": f"{folder}/failed.json"}
    return files | {"total": counts.total, "done": counts.done}


def count(context: Context, job: str) -> ItemCounts:
    """Return how many items of a job are in each state, and in total. Setup and reduce are not counted."""
    counts: dict[str, int] = dict.fromkeys(items.STATES, 0)
    counts.update((row.state, row.n) for row in context.store.read(lambda rows: q.count_items(rows, job=job)))
    return ItemCounts(**counts, total=sum(counts.values()))


def write_results(context: Context, job: Job) -> None:
    """Write results.json (done items) and failed.json (dead, parked and skipped items), for reduce and for people."""
    for name, states in (("results", ("done",)), ("failed", FAILED)):
        lines = (
            json.dumps(_entry(row), ensure_ascii=False) for row in each_item(context, job.id) if row.state in states
        )
        text = ",\n".join(lines)
        context.world.files.publish(
            paths.job(job.id, f"{name}.json"), f"[\n{text}\n]\n".encode(errors="backslashreplace")
        )


def _entry(row: Item) -> dict[str, object]:
    """Return an item as an entry of a result file."""
    view = item_view(row).as_json()
    return {key: view[key] for key in _ENTRY}


def item_view(row: Item) -> ItemView:
    """Return an item as `--json` shows it."""
    data = json.loads(row.data)
    return ItemView.made_of(
        row,
        not_before=iso_or_none(row.not_before),
        started_at=iso_or_none(row.started_at),
        ended_at=iso_or_none(row.ended_at),
        label=items.label(data),
        item=data,
        commit=row.merged,
    )

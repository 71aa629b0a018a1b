"""Write the report of a job for people: an HTML page with a chart of items over time, and the same as Markdown."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

from fleet.model.jobs import items
from fleet.model.text import escapes
from fleet.model.text.times import SECOND, age, clock
from fleet.store import queries as q
from fleet.verbs.jobs import results
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.results.jobs import ItemCounts
    from fleet.store.queries import Job
    from fleet.verbs.context import Context

# The size of the chart and the width of its margin, in SVG units; from how many points on a line is thinned out.
_WIDTH, _HEIGHT, _EDGE = 720, 200, 30
_POINTS = 300
_COLOURS = {"done": "#2563eb", "dead": "#dc2626", "parked": "#d97706", "skipped": "#6b7280"}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;color:#1f2937}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2em .6em;border-bottom:1px solid #e5e7eb}"
    "pre{white-space:pre-wrap;margin:0;font-size:13px}svg{max-width:100%}.dead{color:#dc2626}.parked{color:#d97706}"
)
_HEADS = ("#", "item", "state", "attempts", "took", "commit", "reason")


def write_report(context: Context, job: Job) -> None:
    """Write the HTML page and the Markdown file of a job's report."""
    counts = results.count(context, job.id)
    reports = {
        "html": escapes.text("".join(_html_page(context, job, counts))).encode(),
        "md": escapes.text("".join(_markdown_page(context, job, counts))).encode(),
    }
    for kind, text in reports.items():
        context.world.files.publish(paths.job(job.id, f"report.{kind}"), text)


def _summary(job: Job, counts: ItemCounts) -> str:
    """Return the job's state, counts and duration in one line."""
    ended = job.ended_at or job.changed_at
    states = ", ".join(counts.in_words(items.STATES))
    return f"{job.state}; {counts.total} items: {states or 'none'}; begun {clock(job.added_at)}, {age(ended - job.added_at)}"


def _table_rows(context: Context, job: Job) -> Iterator[tuple[str, ...]]:
    """Yield the cells of the report's table, one row for each item."""
    for row in results.each_item(context, job.id):
        took = age(row.ended_at - row.started_at) if row.ended_at and row.started_at else ""
        reason = (row.reason or "").strip()
        label = items.label(json.loads(row.data))
        commit = (row.merged or "")[:12]
        yield str(abs(row.number)), label, row.state, str(row.attempts), took, commit, reason


def _html_page(context: Context, job: Job, counts: ItemCounts) -> Iterator[str]:
    """Yield the parts of the HTML page: summary, chart, and the table of items."""
    title = html.escape(f"{job.name} ({job.id})")
    yield f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>\n'
    yield f"<h1>{title}</h1>\n<p>{html.escape(_summary(job, counts))}</p>\n"
    if job.reason:
        yield f"<pre>{html.escape(job.reason)}</pre>\n"
    yield from _chart(context, job)
    yield f"<table><tr>{''.join(f'<th>{head}</th>' for head in _HEADS)}</tr>\n"
    for cells in _table_rows(context, job):
        *plain, reason = (html.escape(cell) for cell in cells)
        filled = "".join(f"<td>{cell}</td>" for cell in plain)
        yield f'<tr class="{plain[2]}">{filled}<td><pre>{reason}</pre></td></tr>\n'
    yield "</table></html>\n"


def _chart(context: Context, job: Job) -> Iterator[str]:
    """Yield an SVG chart of how many items had ended at each time, one line a state; nothing when none has ended."""
    ended = context.store.read(lambda rows: q.ended_over_time(rows, job=job.id))
    if not ended:
        return
    first, last = job.added_at, max(ended[-1].ended_at, job.added_at + 1)
    tall = _HEIGHT - 2 * _EDGE
    yield f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="items over time">\n'
    yield f'<path d="M{_EDGE} {_EDGE}V{_HEIGHT - _EDGE}H{_WIDTH - _EDGE}" fill="none" stroke="#9ca3af"/>\n'
    for state, colour in _COLOURS.items():
        times = [row.ended_at for row in ended if row.state == state]
        if times:
            line = " ".join(_points(times, len(ended), (first, last), tall))
            yield f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{line}"/>\n'
            point = _chart_point(times[-1], len(times), len(ended), (first, last), tall)
            yield f'<text x="{point[0] - 60:.0f}" y="{point[1] - 6:.0f}" font-size="12" fill="{colour}">{len(times)} {state}</text>\n'
    yield f'<text x="{_EDGE}" y="{_HEIGHT - 8}" font-size="12">0</text>'
    yield f'<text x="{_WIDTH - 80}" y="{_HEIGHT - 8}" font-size="12">{(last - first) / SECOND:g} s</text>\n</svg>\n'


def _points(times: list[int], total: int, span: tuple[int, int], tall: int) -> Iterator[str]:
    """Yield the points of one line of the report's chart, each as "X,Y", about 600 at most.

    `times` are the times at which the items of this line ended, in order; see `_chart_point` for the other arguments.
    """
    step = max(len(times) // _POINTS, 1)
    chosen = [*range(0, len(times), step), len(times) - 1]
    for number in dict.fromkeys(chosen):
        x, y = _chart_point(times[number], number + 1, total, span, tall)
        yield f"{x:.1f},{y:.1f}"


def _chart_point(at: int, count: int, total: int, span: tuple[int, int], tall: int) -> tuple[float, float]:
    """Return the x and y of a chart point: `count` of `total` items had ended at the time `at`.

    `span` are the first and last time, `tall` the height of the chart's field.
    """
    wide = _WIDTH - 2 * _EDGE
    return _EDGE + wide * (at - span[0]) / (span[1] - span[0]), _HEIGHT - _EDGE - tall * count / total


def _markdown_page(context: Context, job: Job, counts: ItemCounts) -> Iterator[str]:
    """Yield the lines of the Markdown report: summary, and the table of items."""
    yield f"# {job.name} ({job.id})\n\n{_summary(job, counts)}\n\n"
    if job.reason:
        yield "".join(f"    {line}\n" for line in job.reason.splitlines()) + "\n"
    yield f"| {' | '.join(_HEADS)} |\n|{'---|' * len(_HEADS)}\n"
    for cells in _table_rows(context, job):
        plain = (" ".join(cell.replace("|", "\\|").replace("<", "&lt;").split()) for cell in cells)
        yield f"| {' | '.join(plain)} |\n"

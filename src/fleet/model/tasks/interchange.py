"""Read tasks from JSON Lines of fleet, workgraph (graph.jsonl) or beads (issues.jsonl).

A line's fields tell its format. A task becomes a `TaskToImport`; a line that cannot be read becomes a finding, a text
with its line number; blank lines are ignored, and lines that are no tasks are counted. Nothing is guessed.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8 as BOM
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from fleet import errors
from fleet.model import names
from fleet.model.tasks import graph, steps
from fleet.model.text import texts
from fleet.model.text.times import LAST, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fleet.model.states import TaskStatus

    # A line as another tool wrote it: it may contain anything.
    Given = dict[str, Any]

FINDINGS_SHOWN = 20
_PRIORITIES = range(-1_000, 1_001)

_WORKGRAPH_STATUS = {
    "open": "open",
    "in-progress": "in_progress",
    "done": "done",
    "blocked": "blocked",
    "failed": "failed",
    "abandoned": "abandoned",
    "pending-review": "in_progress",
    **dict.fromkeys(("waiting", "pending-validation", "pending-eval", "incomplete"), "open"),
}
_BEADS_STATUS = {
    "open": "open",
    "in_progress": "in_progress",
    "blocked": "blocked",
    "deferred": "open",
    "closed": "done",
    "pinned": "open",
    "hooked": "in_progress",
}
# The priority in beads that becomes 0 here. In beads a lower number is more urgent.
_BEADS_MIDDLE = 2
# The types of links in beads that are dependencies.
_BEADS_LINKS = {"blocks", "conditional-blocks", "waits-for"}


class Message(NamedTuple):
    """An entry of a task's log; `at` is in milliseconds, None when the file gives no time."""

    at: int | None
    actor: str
    message: str


class Artifact(NamedTuple):
    """A path or address that a task produced; `at` is in milliseconds, None when the file gives no time."""

    path: str
    at: int | None
    actor: str


@dataclass(slots=True, kw_only=True)
class TaskToImport:
    """A task read from a line of a file; times are in milliseconds, and the first line is number 1."""

    line: int
    slug: str
    title: str
    description: str = ""
    status: TaskStatus = "open"
    priority: int = 0
    after: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    not_before: int | None = None
    verify: str | None = None
    engine: str | None = None
    model: str | None = None
    assignee: str | None = None
    attempts: int = 0
    reason: str | None = None
    paused: bool = False
    archived: bool = False
    log: list[Message] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    added_at: int | None = None
    changed_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None


FIELDS = [each.name for each in fields(TaskToImport) if each.name != "line"]


@dataclass(slots=True)
class Reading:
    """What was read from a file: tasks, findings, how many lines were no task, and the slugs deleted in beads."""

    nodes: list[TaskToImport] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    left_out: int = 0
    deleted: set[str] = field(default_factory=set)


class _UnusableLine(Exception):
    """A line cannot be read as a task; the message becomes the finding."""


def read_lines(lines: Iterable[bytes]) -> Reading:
    """Return the tasks and findings of a whole file. Dependencies on tasks that were deleted in beads are dropped."""
    reading = Reading()
    for number, raw in enumerate(lines, 1):
        text = raw.removeprefix(BOM) if number == 1 else raw
        if text.strip():
            _read_line(reading, number, text)
    for node in reading.nodes:
        node.after = [needed for needed in node.after if needed not in reading.deleted]
    return reading


def _read_line(reading: Reading, number: int, raw: bytes) -> None:
    """Read one line into `reading`: add its task or its finding, or count the line as skipped."""
    try:
        given = _parse_object(raw)
        if given.get("status") == "tombstone" and "id" in given:  # an issue that was deleted in beads
            reading.deleted.add(str(given["id"]).lower())
        node = _parse_node(number, given)
    except (_UnusableLine, errors.FleetError) as error:
        reading.findings.append(f"line {number}: {error}")
        return
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reading.findings.append(f"line {number}: a field has an unexpected form ({error})")
        return
    if node is None:
        reading.left_out += 1
    else:
        reading.nodes.append(node)


def _parse_object(raw: bytes) -> Given:
    """Return the JSON object in a line; raise _UnusableLine when the line is not UTF-8, not JSON or not an object."""
    try:
        given = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _UnusableLine(f"not UTF-8 (byte {error.start + 1})") from None
    except (ValueError, RecursionError) as error:
        raise _UnusableLine(f"not JSON ({error})") from None
    if not isinstance(given, dict):
        raise _UnusableLine("not a JSON object")
    return given


def _parse_node(line: int, given: Given) -> TaskToImport | None:
    """Return the task in a line of any of the three formats; None for a line that is not a task, or a deleted issue.

    Raise an error, such as _UnusableLine, when the line has none of these formats or has a faulty field.
    """
    if "slug" in given:
        return _checked_node(line, given)
    if "id" in given and "kind" in given:
        return _checked_node(line, _from_workgraph(given)) if given["kind"] == "task" else None
    if "id" in given and ("issue_type" in given or "dependencies" in given or "priority" in given or "title" in given):
        return None if given.get("status") == "tombstone" else _checked_node(line, _from_beads(given))
    raise _UnusableLine(
        'neither a fleet task ("slug"), nor a node of workgraph ("kind", "id") or beads ("id", "title")'
    )


def _from_workgraph(given: Given) -> Given:
    """Return the fields of a workgraph node under fleet's field names."""
    node = {
        "slug": str(given["id"]).lower(),
        "title": given.get("title") or given["id"],
        "description": given.get("description") or "",
        "status": _WORKGRAPH_STATUS.get(given.get("status", "open"), given.get("status")),
        "after": [str(each).lower() for each in (given.get("after") or given.get("blocked_by") or [])],
        "tags": [str(each).lower() for each in given.get("tags") or []],
        "not_before": given.get("not_before"),
        "verify": given.get("verify"),
        "assignee": given.get("assigned"),
        "attempts": given.get("retry_count") or 0,
        "reason": given.get("failure_reason"),
        "priority": given["priority"] if isinstance(given.get("priority"), int) else 0,
        "paused": bool(given.get("paused", False)),
        "log": [
            _log_entry(each, at="timestamp", actors=("actor", "user"), text="message")
            for each in given.get("log") or []
        ],
        "artifacts": [{"path": path} for path in given.get("artifacts") or []],
        "added_at": given.get("created_at"),
        "started_at": given.get("started_at"),
        "ended_at": given.get("completed_at"),
    }
    return _release_in_progress(node)


def _from_beads(given: Given) -> Given:
    """Return the fields of a beads issue under fleet's field names."""
    links = [each for each in given.get("dependencies") or [] if isinstance(each, dict)]
    sections = [
        ("", "description"),
        ("## Design", "design"),
        ("## Acceptance", "acceptance_criteria"),
        ("## Notes", "notes"),
    ]
    parts = [f"{head}\n\n{given[name]}".strip() for head, name in sections if given.get(name)]
    status = _BEADS_STATUS.get(given.get("status", "open"), given.get("status"))
    node = {
        "slug": str(given["id"]).lower(),
        "title": given.get("title") or given["id"],
        "description": "\n\n".join(parts),
        "status": status,
        "priority": _BEADS_MIDDLE - int(given.get("priority", _BEADS_MIDDLE)),
        "after": [str(each["depends_on_id"]).lower() for each in links if each.get("type", "blocks") in _BEADS_LINKS],
        "tags": [str(each).lower().replace(" ", "-") for each in given.get("labels") or []],
        "assignee": given.get("assignee") or None,
        "reason": given.get("close_reason") if status in {"failed", "blocked"} else None,
        "not_before": given.get("defer_until"),
        "log": [
            _log_entry(each, at="created_at", actors=("author",), text="text") for each in given.get("comments") or []
        ],
        "added_at": given.get("created_at"),
        "changed_at": given.get("updated_at"),
        "ended_at": given.get("closed_at"),
    }
    return _release_in_progress(node)


def _log_entry(each: Given, *, at: str, actors: tuple[str, ...], text: str) -> Given:
    """Return another tool's comment as an entry of a task's log; `at`, `actors` and `text` name the tool's fields.

    The first of the fields `actors` that has a value names the actor.
    """
    actor = next((each[name] for name in actors if each.get(name)), "unknown")
    return {"at": each.get(at), "actor": actor, "message": each.get(text) or ""}


def _release_in_progress(node: Given) -> Given:
    """Return the fields of another tool's task, changed in place: a task that is in progress there becomes open.

    An open task loses its assignee, because that agent does not run in fleet. Any other assignee is cut to 90
    characters, and each of them that is no letter, digit or one of - _ . @ + becomes a dash.
    """
    if node["status"] == "in_progress":
        node["status"] = "open"
    if node["status"] == "open":
        node["assignee"] = None
    if node.get("assignee"):
        node["assignee"] = "".join(c if c.isalnum() or c in "-_.@+" else "-" for c in str(node["assignee"]))[:90]
    return node


def _checked_node(line: int, given: Given) -> TaskToImport:
    """Return the task of a line, given under fleet's field names.

    Raise _UnusableLine for unknown fields, faulty values and fields that contradict each other; BadInput for a faulty
    name or text.
    """
    strange = sorted(set(given) - set(FIELDS))
    if strange:
        raise _UnusableLine(f"unknown field {strange[0]!r}")
    node = _build_node(line, given)
    if node.status == "in_progress" and not node.assignee:
        raise _UnusableLine("a task in progress has an assignee")
    if node.archived and node.status not in steps.TERMINAL:
        raise _UnusableLine(f"an archived task has ended, this one is {node.status}")
    return node


def _build_node(line: int, given: Given) -> TaskToImport:
    """Return the task of a line from its fields, each one checked; raise _UnusableLine or BadInput for a faulty one."""
    return TaskToImport(
        line=line,
        slug=names.slug(_text_field(given, "slug")),
        title=texts.title(_text_field(given, "title")),
        description=texts.maybe("description", _text_field(given, "description", "")),
        status=_status_field(given),
        priority=_number_field(given, "priority", _PRIORITIES),
        after=[names.slug(each) for each in _strings_field(given, "after")],
        tags=[names.tag(each) for each in _strings_field(given, "tags")],
        verify=_line_field(given, "verify"),
        engine=_line_field(given, "engine"),
        model=None if given.get("model") is None else names.model(_text_field(given, "model")),
        assignee=_line_field(given, "assignee"),
        attempts=_number_field(given, "attempts", range(1_000_000)),
        reason=None if given.get("reason") is None else texts.text("reason", _text_field(given, "reason")),
        paused=_flag_field(given, "paused"),
        archived=_flag_field(given, "archived"),
        log=[_read_message(each) for each in _objects_field(given, "log")],
        artifacts=[_read_artifact(each) for each in _objects_field(given, "artifacts")],
        **{
            name: _time_field(given, name)
            for name in ("not_before", "added_at", "changed_at", "started_at", "ended_at")
        },
    )


def _text_field(given: Given, name: str, missing: str | None = None) -> str:
    """Return a text field, or `missing` when the line does not have the field; when `missing` is None, it is required.

    Raise _UnusableLine when a required field is missing, or the value is not a text.
    """
    value = given.get(name, missing)
    if not isinstance(value, str):
        raise _UnusableLine(f"{name} is missing" if value is None else f"{name} is not a text")
    return value


def _line_field(given: Given, name: str) -> str | None:
    """Return an optional text field of one line; None when it is absent or null.

    Raise _UnusableLine when it is no text, BadText when it is blank, too long or has several lines.
    """
    return None if given.get(name) is None else texts.line(name, _text_field(given, name))


def _status_field(given: Given) -> TaskStatus:
    """Return the status of a task, "open" when the line has none; raise _UnusableLine for an unknown status."""
    word = _text_field(given, "status", "open")
    for status in steps.STATUSES:
        if status == word:
            return status
    raise _UnusableLine(f"status {word!r} is none of {', '.join(steps.STATUSES)}")


def _number_field(given: Given, name: str, allowed: range) -> int:
    """Return a whole number in the allowed range; 0 when the field is absent; raise _UnusableLine for anything else."""
    value = given.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
        raise _UnusableLine(f"{name} is not a number from {allowed.start} to {allowed.stop - 1}")
    return value


def _flag_field(given: Given, name: str) -> bool:
    """Return a field that is true or false, False when it is absent; raise _UnusableLine for any other value."""
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise _UnusableLine(f"{name} is neither true nor false")
    return value


def _strings_field(given: Given, name: str) -> list[str]:
    """Return a list of texts without duplicates, empty when it is absent; raise _UnusableLine for anything else."""
    value = given.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _UnusableLine(f"{name} is not a list of texts")
    return list(dict.fromkeys(value))


def _objects_field(given: Given, name: str) -> Iterator[Given]:
    """Yield the objects in a list field, none when it is absent; raise _UnusableLine for anything else."""
    value = given.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _UnusableLine(f"{name} is not a list of objects")
    yield from value


def _read_message(each: Given) -> Message:
    message = texts.text("log message", _text_field(each, "message"))
    return Message(at=_time_field(each, "at"), actor=texts.line("actor", _text_field(each, "actor")), message=message)


def _read_artifact(each: Given) -> Artifact:
    actor = texts.line("actor", _text_field(each, "actor", "unknown"))
    return Artifact(path=texts.line("path", _text_field(each, "path")), at=_time_field(each, "at"), actor=actor)


def _time_field(given: Given, name: str) -> int | None:
    """Return an ISO time as milliseconds since 1970; None when the field is absent or null.

    A time without a zone is UTC. Raise _UnusableLine for any other value, and for a year before 1970.
    """
    value = given.get(name)
    if value is None:
        return None
    try:
        stamp = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _UnusableLine(f"{name} is not a time like 2026-11-15T18:00:00Z") from None
    at = round((stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp() * SECOND)
    if not 0 <= at <= LAST:
        raise _UnusableLine(f"{name} is not a time between 1970 and 9999")
    return at


def check_graph(reading: Reading, existing: set[str]) -> None:
    """Add findings to `reading` about its tasks together: duplicate slugs, unknown dependencies, a cycle.

    `existing` has the slugs of tasks that the project already has.
    """
    lines: dict[str, int] = {}
    for node in reading.nodes:
        if node.slug in lines:
            reading.findings.append(f"line {node.line}: slug {node.slug!r} was given on line {lines[node.slug]}")
        elif node.slug in existing:
            reading.findings.append(f"line {node.line}: the project already has a task {node.slug!r}")
        lines.setdefault(node.slug, node.line)
    for node in reading.nodes:
        reading.findings.extend(
            f"line {node.line}: {node.slug!r} waits for {needed!r}, which does not exist"
            for needed in node.after
            if needed not in lines and needed not in existing
        )
    cycle = graph.find_cycle({node.slug: node.after for node in reading.nodes if node.after})
    if cycle:
        reading.findings.append(f"line {lines[cycle[0]]}: a cycle: {graph.cycle_text(cycle)}")


def findings_text(findings: list[str]) -> str:
    """Return the first 20 findings as one text, then how many more there are."""
    more = len(findings) - FINDINGS_SHOWN
    return "; ".join(findings[:FINDINGS_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def sorted_findings(findings: list[str]) -> list[str]:
    """Return the findings sorted by line number."""
    return sorted(findings, key=_line_number)


def _line_number(finding: str) -> int:
    return int(finding.split()[1].rstrip(":"))

"""Write the handoff document: what fleet recorded about an agent's work, and the agent's own notes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet.model.branches import task_ref
from fleet.model.text.times import iso
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.store.queries import Dispatch, LogEntry
    from fleet.verbs.context import Context

_MOST_LOG_LINES = 30
_MOST_FILES = 60


def compose_document(context: Context, row: Dispatch, *, reason: str, written: str) -> str:
    """Return the text of a handoff document (Markdown).

    `written` are the agent's own notes, '' for none. A section without facts says that nothing is recorded.
    """
    log, questions = _task_log(context, row), _open_questions(context, row)
    commits, files = _commits_and_files(context, row)
    parts = [
        _front_matter(row, reason, iso(context.world.clock.now())),
        f"# Handoff of {row.slug or 'the coordinator of ' + row.project}\n",
        _section("Completed", [*commits, *_log_lines(log)], "Nothing is committed or logged yet."),
        _section("Next steps", [], "Read the task and what is written below; go on from the last commit."),
        _section("Open questions", questions, "None are recorded."),
        _section("Key decisions", _decisions(log), "None are recorded."),
        _section("Files", files, "No file was changed against the integration branch."),
    ]
    if written.strip():
        parts.append(f"## In the agent's own words\n\n{written.strip()}\n")
    return "\n".join(parts)


def _front_matter(row: Dispatch, reason: str, at: str) -> str:
    """Return the YAML head of the document: agent, task, project, time and reason. `at` is an ISO time."""
    facts = {
        "agent": row.id,
        "task": row.slug or "",
        "project": row.project,
        "time": at,
        "reason": reason,
    }
    lines = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in facts.items())
    return f"---\n{lines}---\n"


def _section(title: str, lines: list[str], otherwise: str) -> str:
    """Return a section of the handoff document: a bullet for each line, or the text `otherwise` when there are no lines."""
    body = "".join(f"- {' '.join(line.split())}\n" for line in lines) or f"{otherwise}\n"
    return f"## {title}\n\n{body}"


def _task_log(context: Context, row: Dispatch) -> list[LogEntry]:
    """Return the log of the dispatch's task; an empty list for a coordinator, which has no task."""
    slug = row.slug
    return context.store.read(lambda rows: q.task_log(rows, project=row.project, slug=slug)) if slug else []


def _open_questions(context: Context, row: Dispatch) -> list[str]:
    """Return the texts of the agent's unanswered questions; an empty list for a coordinator."""
    questions = context.store.read(lambda rows: q.questions_of(rows, dispatch=row.id)) if row.slug else []
    return [question.text for question in questions]


def _log_lines(log: list[LogEntry]) -> list[str]:
    """Return the 30 newest log messages of the task as lines; if there are more, a first line counts the others."""
    earlier = [f"{len(log) - _MOST_LOG_LINES} earlier messages are left out here"] if len(log) > _MOST_LOG_LINES else []
    return [*earlier, *(f"{iso(entry.at)} {entry.actor}: {entry.message}" for entry in log[-_MOST_LOG_LINES:])]


def _decisions(log: list[LogEntry]) -> list[str]:
    """Return the log messages that mention a decision, for the handoff document."""
    return [entry.message for entry in log if any(word in entry.message.lower() for word in ("decid", "decision"))]


def _commits_and_files(context: Context, row: Dispatch) -> tuple[list[str], list[str]]:
    """Return the commits of the task's branch, without merges, and the files that the branch changes, as lines of text.

    Of many files, the first 60 are named and the others counted. Both are [] for a coordinator, and for a dispatch
    without a recorded base commit.
    """
    if row.slug is None or not row.base:
        return [], []
    repository = context.project(row.project).path
    branch = task_ref(row.slug)
    commits = [f"commit: {title}" for title in context.world.git.titles(repository, row.base, branch)]
    files = context.world.git.changed_files(repository, row.base, branch)
    more = [f"and {len(files) - _MOST_FILES} more"] if len(files) > _MOST_FILES else []
    return commits, [*files[:_MOST_FILES], *more]

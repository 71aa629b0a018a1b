"""What a new coordinator is told first: the handoff of the one before it, if there is one, and how things stand."""

from __future__ import annotations

from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Rows, Store


def welcome(store: Store, home: str, project: str, old: str | None) -> str:
    """The text of the resume prompt."""
    entry = store.read(lambda rows: rows.one(q.QUEUED_HANDOFF_OF, dispatch=old or ""))
    stands = store.read(lambda rows: _stands(rows, project))
    head = f"You coordinate {project} now{f', after {old}' if old else ''}. {stands}"
    if entry is None:
        return head
    try:
        with open(f"{home}/{entry['document']}", encoding="utf-8", errors="replace") as file:
            left = file.read()
    except OSError:
        return head
    return f"{head}\n\nWhat your predecessor left:\n\n{left}"


def _stands(rows: Rows, project: str) -> str:
    counts = {
        row["status"]: row["n"]
        for row in rows.all(q.PROJECT_COUNTS)
        if row["project"] == project and not row["archived"]
    }
    told = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in sorted(counts.items()))
    return f"Its tasks: {told or 'none'}."

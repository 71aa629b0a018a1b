"""Recorded merges: whether the integration or the target branch still contains every merge that fleet has recorded.

A merge that is in neither is missing: somebody has rewound or deleted the branch. Nothing is merged or landed on top of that
until a person has put the merges back, or has said that they are meant to be gone (after a squash or a reset, say).
"""

from __future__ import annotations

from fleet.errors.families import FleetError
from fleet.errors.refused import MergesMissing
from fleet.errors.tools import GitRefused
from fleet.model.branches import head_ref
from fleet.model.text import texts
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fleet.store.queries import Merge
    from fleet.store.transaction import Row, Tx
    from fleet.verbs.context import Context
    from fleet.verbs.views.doctor import Finding


def missing_merges(context: Context, project: str) -> list[Row]:
    """Return the recorded merges that neither the integration nor the target branch contains, newest first."""
    repository = context.project(project).path
    integration = str(context.setting("integration", project))
    newest = context.store.read(lambda rows: q.newest_merge(rows, project=project, integration=integration))
    if newest is None:
        return []
    if context.world.git.branches(repository, integration).get(integration) == newest.made:
        return []  # the usual case: no process is started for it
    heads = _heads(context, project, repository, integration)
    if any(context.world.git.contains(repository, name, newest.made) is True for name in heads):
        return []
    found = context.store.read(lambda rows: q.recorded_merges(rows, project=project, integration=integration))
    refs = [head_ref(name) for name in heads]
    gone = context.world.proofs.missing_from(repository, [row.made for row in found], refs)
    return [row for row in found if row.made in gone]


def _heads(context: Context, project: str, repository: str, integration: str) -> list[str]:
    """Return those of the branches that exist: integration, and whatever work has landed or would land on."""
    git = context.world.git
    targets = (context.setting("target", project), git.followed(repository), git.head_branch(repository))
    return list(git.branches(repository, *dict.fromkeys(name for name in (integration, *targets) if name)))


def refuse_missing(context: Context, project: str) -> None:
    """Raise MergesMissing when a recorded merge is missing."""
    gone = missing_merges(context, project)
    if gone:
        raise MergesMissing(**facts_of(project, gone))


def facts_of(project: str, gone: list[Row]) -> dict[str, object]:
    """Return what MergesMissing says of them."""
    slugs = ", ".join(dict.fromkeys(row["slug"] for row in reversed(gone)))
    return {"project": project, "integration": gone[0]["integration"], "count": len(gone), "slugs": slugs}


def describe_missing(context: Context, project: str) -> str | None:
    """Return the sentence that status, doctor and the tick say of missing merges; None when none is missing."""
    try:
        gone = missing_merges(context, project)
    except GitRefused as error:
        return f"its recorded merges cannot be looked for: {error}"
    return MergesMissing(**facts_of(project, gone)).spoken if gone else None


def examine(context: Context) -> Iterator[Finding]:
    """Yield what `fleet doctor` finds: one finding for each project that has lost merged work."""
    from fleet.verbs.views.doctor import Finding

    for row in context.store.read(lambda rows: q.all_projects(rows)):
        try:
            refuse_missing(context, row.name)
        except MergesMissing as error:
            yield Finding(about=f"project {row.name}", ok=False, says=str(error), advice=error.next_step)
        except FleetError as error:
            advice = "see that the repository is there and git can read it"
            yield Finding(about=f"project {row.name}", ok=False, says=str(error), advice=error.next_step or advice)


def list_merges(context: Context, project: str) -> list[dict[str, Any]]:
    """Return every recorded merge, newest first, and whether it is missing."""
    integration = str(context.setting("integration", project))
    gone = {row["seq"] for row in missing_merges(context, project)}
    rows = context.store.read(lambda snapshot: q.all_merges(snapshot, project=project, integration=integration))
    return [_document(row, missing=row.seq in gone) for row in rows]


def _document(row: Merge, *, missing: bool) -> dict[str, Any]:
    state = "missing" if missing else "contained" if row.acknowledged_at is None else "acknowledged"
    keep = {name: row[name] for name in ("project", "integration", "made", "work", "base", "reason")}
    return {"task": row.slug, "at": iso(row.at), "state": state, "by": row.acknowledged_by, **keep}


def acknowledge_merges(context: Context, project: str, reason: str) -> dict[str, Any]:
    """Record that a person wants the missing merges to be gone."""
    why = texts.text("reason", reason)
    gone = missing_merges(context, project)

    def work(tx: Tx) -> Row:
        tx.about(project)
        by = tx.caller.actor
        count = sum(q.acknowledge_merge(tx, seq=row["seq"], by=by, reason=why, at=tx.at) for row in gone)
        slugs = list(dict.fromkeys(row["slug"] for row in reversed(gone)))
        tx.note(acknowledged=slugs, reason=why)
        return {"project": project, "acknowledged": slugs, "changed": count > 0}

    return context.commit(Change(f"acknowledge that {len(gone)} merges of {project} are gone", work, why))

"""Recorded merges: check that the integration or the target branch still contains every merge that fleet has recorded.

A merge that neither branch contains is missing: somebody has rewound or deleted the branch. Nothing is merged or landed
until a person restores the missing merges, or acknowledges that they are gone on purpose (after a squash or a reset).
"""

from __future__ import annotations

from fleet import errors
from fleet.model.branches import head_ref
from fleet.model.results.merge import MergesAcknowledged, MergeView
from fleet.model.text import texts
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import MergeState
    from fleet.store.queries import Merge
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context


def missing_merges(context: Context, project: str) -> list[Merge]:
    """Return the recorded merges that neither the integration nor the target branch contains, newest first.

    Merges that a person has acknowledged as gone are left out. Raises GitRefused when git cannot tell.
    """
    repository = context.project(project).path
    integration = context.settings(project).integration
    newest = context.store.read(lambda rows: q.newest_merge(rows, project=project, integration=integration))
    if newest is None:
        return []
    if context.world.git.branches(repository, integration).get(integration) == newest.made:
        return []  # the usual case, answered without starting git
    heads = _existing_branches(context, project, repository, integration)
    if any(context.world.git.contains(repository, name, newest.made) is True for name in heads):
        return []
    recorded = context.store.read(lambda rows: q.recorded_merges(rows, project=project, integration=integration))
    refs = [head_ref(name) for name in heads]
    missing = context.world.proofs.missing_from(repository, [row.made for row in recorded], refs)
    return [row for row in recorded if row.made in missing]


def _existing_branches(context: Context, project: str, repository: str, integration: str) -> list[str]:
    """Return the names of the existing branches that may contain merges.

    They are the integration branch, and the branches that work has landed on or would land on.
    """
    git = context.world.git
    targets = (context.settings(project).target, git.followed(repository), git.head_branch(repository))
    return list(git.branches(repository, *dict.fromkeys(name for name in (integration, *targets) if name)))


def refuse_missing(context: Context, project: str) -> None:
    """Raise MergesMissing when a recorded merge of the project is missing."""
    missing = missing_merges(context, project)
    if missing:
        raise _missing_error(missing)


def describe_missing(context: Context, project: str) -> str | None:
    """Return a sentence about the missing merges of a project; None when no merge is missing.

    When git cannot look for them, the sentence says so.
    """
    try:
        missing = missing_merges(context, project)
    except errors.GitRefused as error:
        return f"git could not look for its recorded merges: {error}"
    return _missing_error(missing).spoken if missing else None


def _missing_error(missing: list[Merge]) -> errors.MergesMissing:
    """Return the error that names the tasks whose merges are missing."""
    newest = missing[0]
    slugs = ", ".join(slugs_of(missing))
    return errors.MergesMissing(project=newest.project, integration=newest.integration, count=len(missing), slugs=slugs)


def slugs_of(merges: list[Merge]) -> list[str]:
    """Return the slugs of the merged tasks, each once, oldest merge first. `merges` are given newest first."""
    return list(dict.fromkeys(row.slug for row in reversed(merges)))


def list_merges(context: Context, project: str) -> list[MergeView]:
    """Return every recorded merge of a project, newest first, with its state: contained, missing or acknowledged."""
    integration = context.settings(project).integration
    missing = {row.seq for row in missing_merges(context, project)}
    rows = context.store.read(lambda snapshot: q.all_merges(snapshot, project=project, integration=integration))
    return [_merge_view(row, missing=row.seq in missing) for row in rows]


def _merge_view(row: Merge, *, missing: bool) -> MergeView:
    """Return a recorded merge with its state, as people and programs read it."""
    state: MergeState = "missing" if missing else "contained" if row.acknowledged_at is None else "acknowledged"
    return MergeView.made_of(row, task=row.slug, at=iso(row.at), state=state, by=row.acknowledged_by)


def acknowledge_merges(context: Context, project: str, reason: str) -> MergesAcknowledged:
    """Record that the missing merges of a project are gone on purpose, with the person's reason.

    Nothing changes when none is missing. Raises BadInput for a bad reason, GitRefused when git cannot look for merges.
    """
    why = texts.text("reason", reason)
    missing = missing_merges(context, project)

    def work(tx: Tx) -> MergesAcknowledged:
        tx.about(project)
        by, slugs = tx.caller.actor, slugs_of(missing)
        count = sum(q.acknowledge_merge(tx, seq=row.seq, by=by, reason=why, at=tx.at) for row in missing)
        tx.note(acknowledged=slugs, reason=why)
        return MergesAcknowledged(project=project, acknowledged=slugs, changed=count > 0)

    title = f"acknowledge that {len(missing)} merges of {project} are gone"
    return context.commit(Change(title, work, why, returns=MergesAcknowledged))

"""Sweep warm merge trees: of removed projects, those whose creation or removal was interrupted, and on request all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.store import queries as q
from fleet.verbs.dispatch.acquire import is_free
from fleet.verbs.homes.ownership import is_own
from fleet.verbs.merge.tree.warm import release_warm_tree
from fleet.verbs.sweep.finding import SweepOutcome, act_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.model.results.home import Swept
    from fleet.verbs.context import Context


def sweep_warm_trees(context: Context, *, every: bool, acts: bool) -> Iterator[Swept]:
    """Release this home's warm trees that no merge can use any more; with `every`, also those kept for the next merge.

    Yields a finding for each. Without `acts`, only report them.
    """
    for row in context.store.read(q.claims_of_projects):
        claim = Claim.of(row)
        why, proof = _why_released(context, claim, every=every)
        if why and is_own(context, claim):
            yield act_on(str(claim), why, proof, "remove it", acts,
                         lambda: release_tree(context, claim.project or ""))  # fmt: skip # noqa: B023


def _why_released(context: Context, claim: Claim, *, every: bool) -> tuple[str, str]:
    """Return why a warm tree is to be released, and what proves it; ("", "") when it stays."""
    if claim.project not in context.projects():
        return "its project was removed", "looked up in the store"
    if not claim.is_live:
        half = is_free(context, claim)
        return ("it was not made or removed to the end", "nobody works on it") if half else ("", "")
    return ("it is kept for the next merge", "the next merge prepares a new one") if every else ("", "")


def release_tree(context: Context, project: str) -> SweepOutcome:
    """Release the warm merge tree of a project. While a merge uses it, return an outcome with that as `failure`."""
    try:
        with context.world.project_gate(project, "merge"):
            return SweepOutcome(left=release_warm_tree(context, project))
    except errors.GateHeld as held:
        return SweepOutcome(failure=f"a merge uses it: {held}")

"""fleet.sweep: find and release what ended dispatches and tasks left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.verbs.merge import keep_uncommitted
from fleet.verbs.sweep import journal_archive, sweep

if TYPE_CHECKING:
    from fleet.model.results.home import Pruned, Swept
    from fleet.verbs.merge.keep_uncommitted import KeptTree, KeptWork

PHASES = ("orphans", "retry-releases", "reconcile-derived")
# The phases of `fleet clean`: it also removes the merge trees that are kept for the next merge.
CLEAN = frozenset({*PHASES, "warm-trees"})


class Sweep(Part):
    """Sweeps, worktrees with uncommitted work, and the archive of journals."""

    __slots__ = ()

    def run(self, *, kill: bool, phases: frozenset[str] = frozenset(PHASES)) -> list[Swept]:
        """Find what ended dispatches and tasks left behind; with `kill`, release it.

        `phases` names the parts of the sweep to do: "orphans", "retry-releases", "reconcile-derived"; "warm-trees",
        only together with "retry-releases", also removes the merge trees that are kept for the next merge. Returns each
        finding and what was done with it, or would be done with `kill`.
        """
        if kill:
            self._by.may("sweep.run")
        return sweep.sweep(self._by.context, acts=kill, phases=phases)

    def kept_trees(self) -> list[KeptTree]:
        """Return the worktrees of archived tasks that are kept because they hold work that is not committed or merged."""
        return keep_uncommitted.kept_worktrees(self._by.context)

    def keep(self, *, project: str, slug: str) -> KeptWork:
        """Commit the uncommitted work in an archived task's worktree to a ref, then release the worktree."""
        self._by.may("sweep.keep")
        return keep_uncommitted.commit_kept_work(self._by.context, project, slug)

    def prune_archive(self, *, older_than: str | None = None) -> Pruned:
        """Remove old journals from the archive. Their dispatch ids are never used again.

        `older_than` is an age like "30d"; by default 90 days.
        """
        self._by.may("sweep.prune_archive")
        return journal_archive.prune_journals(self._by.context, older_than=older_than)

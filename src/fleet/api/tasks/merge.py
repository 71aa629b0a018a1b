"""fleet.merge: merge work into the integration branch, land it on the target branch, open pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.actor import Part
from fleet.api.tasks.advice import advised
from fleet.model.results.merge import MergedTogether, Unmerged
from fleet.store import queries as q
from fleet.verbs.dispatch.apply_remedy import settle_attempt
from fleet.verbs.merge import land, merge, pull_requests, recorded, restore
from fleet.verbs.merge.tree import turn

if TYPE_CHECKING:
    from fleet.model.results.merge import (
        Landing,
        Merged,
        MergesAcknowledged,
        MergesRestored,
        MergeView,
        PullRequestView,
    )


class Merge(Part):
    """Merges and pull requests."""

    __slots__ = ()

    def task(self, *, project: str, slug: str) -> Merged:
        """Settle a task's ended attempt, and merge the work into the integration branch. Wait while another merge of the project runs.

        After a conflict or a failed verify command, park the task and raise NotMergeable.
        """
        self._by.may("merge.task", project=project)
        context = self._by.context
        settle_attempt(context, project, slug, speaker=self._by.speaker)
        with advised(self._by, "merge", project, slug):
            return merge.merge(context, project, slug)

    def together(self, *, project: str, slugs: list[str]) -> MergedTogether:
        """Merge the work of several tasks, one on top of another, and verify the result once.

        When that fails, split the tasks to find those at fault, and park them. Returns the merged tasks and the refused
        ones with their errors. Waits while another merge of the project runs.
        """
        self._by.may("merge.together", project=project)
        context = self._by.context
        for slug in slugs:
            settle_attempt(context, project, slug, speaker=self._by.speaker)
        results = merge.merge_together(context, project, slugs)
        refused = [
            Unmerged(
                project=project,
                task=slug,
                why=str(error),
                hint=error.next_step if isinstance(error, errors.FleetError) else "",
            )
            for slug, error in results.refused.items()
        ]
        return MergedTogether(project=project, merged=list(results.merged.values()), refused=refused)

    def ahead(self, *, project: str) -> str | None:
        """Return as text which merge of the project runs now: another one has to wait for it. None when none runs."""
        return turn.describe_running_merge(self._by.view, project)

    def mergeable(self, *, project: str) -> list[str]:
        """Return the slugs of the project's tasks whose work waits to be merged, most urgent first.

        They are done or have only the merge left, no agent works on them, and they have no pull request.
        """
        return [row.slug for row in self._by.store.read(lambda rows: q.mergeable_tasks(rows, project=project))]

    def land(self, *, project: str, dry: bool = False, here: str | None = None) -> Landing:
        """Fast-forward the target branch to the integration branch. With `dry`, only return what would land.

        `here` is the directory in which the person is, None when it is not known. A target branch that is checked out
        is moved only when `here` is in its checkout, and never for an agent; otherwise the result says why it was not
        moved, and how to land. Raise Refused for a target that is not checked out and has commits of its own.
        """
        if not dry:
            self._by.may("merge.land")
        return land.land(self._by.context, project, dry=dry, here=None if self._by.speaker else here)

    def recorded(self, *, project: str) -> list[MergeView]:
        """Return every recorded merge of a project, newest first, with its state.

        The state is "missing" when neither the integration branch nor the target branch contains the merge,
        "acknowledged" when a person has said that it is missing on purpose, else "contained".
        """
        return recorded.list_merges(self._by.view, project)

    def restore(self, *, project: str) -> MergesRestored:
        """Put the recorded merges that are missing from the integration branch back onto it.

        Raise GateHeld while a merge runs, BranchInUse when the branch is checked out, Refused on a conflict.
        """
        self._by.may("merge.restore")
        return restore.restore_merges(self._by.context, project)

    def acknowledge(self, *, project: str, reason: str) -> MergesAcknowledged:
        """Record that the recorded merges which the branches no longer contain are gone on purpose, and why."""
        self._by.may("merge.acknowledge")
        return recorded.acknowledge_merges(self._by.context, project, reason)

    # pull requests ----------------------------------------------------------------------------------------------------
    def open_pull(self, *, project: str, slug: str) -> PullRequestView:
        """Push a task's branch and open a pull request for it, unless one was opened before.

        Raise NotPulled when pushing or opening fails, IllegalStep for unfinished work, Contested while an agent works
        on the task, WorkMoved when its branch is not at the reported commit.
        """
        self._by.may("merge.open_pull")
        context = self._by.context
        settle_attempt(context, project, slug, speaker=self._by.speaker)
        return pull_requests.open_pull_request(context, project, slug)

    def check_pull(self, *, project: str, slug: str) -> PullRequestView:
        """Return the state of a task's pull request. When it is merged, end the task; when closed, park the task.

        The task stays as it is while an agent works on it. Raise NotPulled when no pull request was opened.
        """
        self._by.may("merge.check_pull", project=project)
        return pull_requests.check_pull_request(self._by.context, project, slug)

    def tend_pulls(self, *, project: str) -> list[PullRequestView]:
        """Open the pull requests of a project that are due and check the open ones, each at most once a minute.

        Returns the state of each; it is "unknown", with the reason in `why`, when opening or checking failed.
        """
        self._by.may("merge.tend_pulls", project=project)
        return pull_requests.update_pull_requests(self._by.context, project)

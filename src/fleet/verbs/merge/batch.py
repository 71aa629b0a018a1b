"""Merge several tasks together: one on top of another in one tree, verified once, and published in one step.

When verify fails on the last commit, the batch is split in halves, down to the single task that is to blame. A task
that conflicts with those before it is tried again after them. Each task has a finisher dispatch and a merge commit of
its own; one compare-and-set moves the integration branch to the last commit. When the process is killed, the next
merge, tick or sweep asks git how far each finisher came, as for a single merge.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import head_ref
from fleet.model.text.times import HOUR
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.merge.finisher import (
    begin_finisher,
    commit_merge,
    end_finisher,
    end_interrupted,
    is_unchanged,
    release_merged,
)
from fleet.verbs.merge.tree.attempt import merge_and_verify
from fleet.verbs.merge.tree.verify import own_verify
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.results.merge import Merged
    from fleet.resources.kind import Order
    from fleet.store.queries import TaskState
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context
    from fleet.verbs.merge.tree.merging import MergedOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEntry:
    """A task to be merged: the order for its finisher, and the task's state when the merge was decided."""

    order: Order
    was: TaskState

    @property
    def slug(self) -> str:
        """The slug of the task; "" when the order names none."""
        return self.order.slug or ""


@dataclass(slots=True)
class Results:
    """The outcome of each task, by slug: its merge in `merged`, or the error that prevented it in `refused`."""

    merged: dict[str, Merged] = field(default_factory=dict)
    refused: dict[str, Exception] = field(default_factory=dict)


def merge_entries(context: Context, entries: list[BatchEntry], results: Results) -> None:
    """Merge tasks and add the outcome of each to `results`.

    As many are merged together as the setting `merge_batch` allows. A task with its own verify command is merged alone.
    """
    for group in _groups(context, entries):
        _merge_group(context, group, results)


def _groups(context: Context, entries: list[BatchEntry]) -> list[list[BatchEntry]]:
    """Return the tasks in groups to merge together. A task with its own verify command is a group alone.

    A group stands where its first task stands in `entries`. It takes later tasks until it is full, also those that come
    after a task with its own verify command.
    """
    groups: list[list[BatchEntry]] = []
    shared: list[BatchEntry] = []
    for entry in entries:
        most = context.settings(entry.order.project).merge_batch
        if own_verify(context, entry.order):
            groups.append([entry])
            continue
        if not shared or len(shared) >= most:
            shared = []
            groups.append(shared)
        shared.append(entry)
    return groups


def _merge_group(context: Context, group: list[BatchEntry], results: Results) -> None:
    """Begin a finisher for each task of a group, then merge the group, and parts of it, until each task is merged or refused."""
    waiting = [[entry for entry in group if _begin_finisher(context, entry, results)]]
    while waiting := [each for each in waiting if each]:
        try:
            waiting = [*_try_group(context, waiting[0], results), *waiting[1:]]
        except KeyboardInterrupt:
            for entry in (entry for each in waiting for entry in each):
                _end_interrupted(context, entry)
            raise


def _end_interrupted(context: Context, entry: BatchEntry) -> None:
    """End the finisher of a task when its merge is interrupted, unless its merge commit is recorded in its dispatch.

    A recorded commit may already be on the branch: the next merge or sweep asks git, as for a finisher that was killed.
    """
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=entry.order.dispatch))
    if row is not None and row.reported_commit is None:
        end_interrupted(context, entry.order)


def _begin_finisher(context: Context, entry: BatchEntry, results: Results) -> bool:
    """Record the finisher's dispatch of a task. When an error prevents that, add it to `results` and return False."""
    try:
        begin_finisher(context, entry.order)
    except errors.FleetError as error:
        results.refused[entry.slug] = error
        return False
    return True


def _try_group(context: Context, group: list[BatchEntry], results: Results) -> list[list[BatchEntry]]:
    """Merge, verify and publish a group of tasks, and add the known outcomes to `results`.

    Returns the groups to try next, of which some may be empty.
    """
    group = _at_the_tip(context, group)
    try:
        made = merge_and_verify(context, [entry.order for entry in group])
        _publish_group(context, group, made)
    except (errors.FleetError, OSError) as error:
        if len(group) > 1:
            return _split_group(context, group, error)
        _refuse_entry(context, group[0], error, results)
        return []
    pairs = _entries_with_merges(group, made)
    for entry, each in pairs:
        _point_to_output(context, group[0], entry)
        _record_merge(context, entry, each)
    for entry, each in pairs:
        place = {"project": entry.order.project, "slug": entry.slug}
        results.merged[entry.slug] = release_merged(context, **place, commit=each.commit, finisher=entry.order)
    return [[entry for entry in group if entry.slug not in results.merged]]


def _point_to_output(context: Context, first: BatchEntry, entry: BatchEntry) -> None:
    """Write into a finisher's log where the output of its verify is: in the log of the group's first finisher.

    Does nothing for the first one itself, or when there is no output.
    """
    log = f"{context.world.home}/{paths.log(first.order.dispatch, 'verify')}"
    if entry.slug != first.slug and os.path.exists(log):
        text = f"verified together with {first.slug}: `fleet logs {first.order.dispatch}` has the output\n"
        context.world.files.publish(paths.log(entry.order.dispatch, "verify"), text.encode())


def _split_group(context: Context, group: list[BatchEntry], error: Exception) -> list[list[BatchEntry]]:
    """Return the two parts of a group that could not be merged together, to be tried one after the other.

    When `error` says that the first task cannot be merged, that task is the first part; otherwise the group is halved.
    The announced merge commits are withdrawn.
    """
    _withdraw_announcement(context, group)
    is_of_first = isinstance(error, errors.NotMergeable) and not isinstance(error, errors.NotVerified)
    middle = 1 if is_of_first else (len(group) + 1) // 2
    return [group[:middle], group[middle:]]


def _entries_with_merges(group: list[BatchEntry], made: list[MergedOrder]) -> list[tuple[BatchEntry, MergedOrder]]:
    """Return each merge that was made, with the entry of its task."""
    by_dispatch = {entry.order.dispatch: entry for entry in group}
    return [(by_dispatch[each.order.dispatch], each) for each in made]


def _at_the_tip(context: Context, group: list[BatchEntry]) -> list[BatchEntry]:
    """Return the group with the integration branch's present commit as the base of each order."""
    order = group[0].order
    tip = context.world.git.resolve(order.repository, head_ref(order.integration)) or order.base
    return [replace(entry, order=replace(entry.order, base=tip)) for entry in group]


def _publish_group(context: Context, group: list[BatchEntry], made: list[MergedOrder]) -> None:
    """Announce the merge commits, then move the integration branch to the last one by compare-and-set.

    After the announcement nobody can change the tasks. Raises Refused, and merges nothing, when a task was changed
    before or the branch has moved.
    """
    order = group[0].order
    context.commit(_announce_merges(_entries_with_merges(group, made)))
    if not context.world.proofs.move_and_protect(
        order.repository, order.integration, new=made[-1].commit, old=order.base or ""
    ):
        raise errors.Refused(what=f"the branch {order.integration} moved meanwhile; nothing was merged, try again")


def _announce_merges(pairs: list[tuple[BatchEntry, MergedOrder]]) -> Change[None]:
    """Return the change that announces merge commits; committing it raises Refused if one of the tasks has changed."""

    def work(tx: Tx) -> None:
        for entry, each in pairs:
            project, slug = each.order.project, entry.slug
            tx.about(project, slug)
            now = tasks.state(tx, project, slug)
            if not is_unchanged(now, entry.was):
                what = f"{project}/{slug} was changed meanwhile, it is {now.status} now; nothing was merged"
                raise errors.Refused(what=what)
            q.announce_merge(tx, id=each.order.dispatch, commit=each.commit, at=tx.at)
        tx.note(announced={entry.slug: each.commit for entry, each in pairs})

    return Change(f"announce the merge of {', '.join(entry.slug for entry, _each in pairs)}", work)


def _withdraw_announcement(context: Context, group: list[BatchEntry]) -> None:
    """Withdraw the announced merge commits, so that the tasks can be changed until their merge is tried again."""

    def work(tx: Tx) -> None:
        tx.about(group[0].order.project)
        for entry in group:
            q.announce_merge(tx, id=entry.order.dispatch, commit=None, at=tx.at)
        tx.note(withdrawn=[entry.slug for entry in group])

    context.commit(Change(f"try {', '.join(entry.slug for entry in group)} apart", work))


def _record_merge(context: Context, entry: BatchEntry, made: MergedOrder) -> None:
    """End the finisher and record the merge of its task, in one transaction."""
    order = made.order
    facts = {"integration": order.integration, "made": made.commit, "work": order.work, "base": made.onto}
    commit_merge(context, order.project, entry.slug, commit=made.commit, facts=facts, finisher=order)


def _refuse_entry(context: Context, entry: BatchEntry, error: Exception, results: Results) -> None:
    """End the finisher of a task that could not be merged, record the error, and park the task if the error says so."""
    most = context.settings().limits_failed_spawns
    end_finisher(context, entry.order, "failed", error, partial(_park_failed_merge, entry, most))
    results.refused[entry.slug] = error


def _park_failed_merge(entry: BatchEntry, most: int, tx: Tx, error: Exception) -> str | None:
    """Park the task after a failed merge. Returns the stage at which it is parked; None when it is not parked.

    `error` is why. A conflict or a failed verify parks the task at the stage that can repair it. Any other error parks it
    for a person, but only after `most` failures in an hour. A task that somebody has changed meanwhile is left as it is.
    """
    order, was = entry.order, entry.was
    project, slug, why = order.project, entry.slug, str(error)
    if not is_unchanged(tasks.state(tx, project, slug), was):
        return None
    if isinstance(error, errors.NotMergeable):
        stage = str(error.facts["stage"])
    else:
        q.add_spawn_failure(tx, project=project, slug=slug, dispatch=order.dispatch, at=tx.at, why=why)
        failures = q.count_spawn_failures(tx, project=project, slug=slug, since=tx.at - HOUR).n
        stage = "finisher" if failures >= most else ""
    if stage:
        tasks.park(tx, project, slug, was.status, stage=stage, reason=why, message=f"not merged: {why}")
    return stage or None

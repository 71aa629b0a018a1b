"""Prepare the tree in which work is merged, in the same way as the worktrees of agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import FLEET_DISPATCH_ID, FLEET_HOME
from fleet.records import replace
from fleet.resources.warm_tree import fingerprint, untracked
from fleet.resources.worktree.prepare import (
    Preparation,
    copy_files,
    files_to_include,
    is_copy,
    is_place_for_file,
    run_setup,
)
from fleet.store import bundles
from fleet.verbs.merge.tree.verify import trusted_command
from fleet.verbs.merge.tree.warm import note_preparation
from fleet.world.git.worktrees.ignored import digest
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.resources.kind import Order
    from fleet.verbs.context import Context
    from fleet.verbs.merge.tree.warm import TakenWarmTree


def wanted_preparation(context: Context, order: Order) -> Preparation | None:
    """Return what a tree needs before work is verified in it; None when a bare tree is enough.

    The caller adds the tree's path. Raises NotMergeable when no person has trusted the setup command.
    """
    setup = trusted_command(context, order, "setup")
    copies = files_to_include(context.world, order.repository)
    if not setup and not copies:
        return None
    home, ident = context.world.home, order.dispatch
    ports = context.store.read(lambda rows: bundles.port_variables(rows, order.project, order.slug))
    return Preparation(
        repository=order.repository,
        path="",
        copies=tuple(copies),
        setup=setup,
        log=f"{home}/{paths.log(ident, 'setup')}",
        # FLEET_DISPATCH_ID marks the command's processes: when the finisher is killed, a sweep finds and ends them.
        env={**os.environ, **ports, FLEET_HOME: home, FLEET_DISPATCH_ID: ident},
    )


def prepare_bare(context: Context, order: Order, wanted: Preparation, commit: str) -> None:
    """Prepare a merge tree that was never used: copy the user's files, and run the setup command.

    Raises NotVerified when the merged work broke the setup command, SetupFailed when setup failed for another reason.
    """
    tracked = context.world.proofs.files_at(order.repository, commit)
    wanted = _without_tracked(wanted, tracked)
    copy_files(context.world, wanted.repository, wanted.path, wanted.copies)
    _run_setup(context, order, wanted, commit)


def _without_tracked(wanted: Preparation, tracked: Mapping[str, str]) -> Preparation:
    """Return the preparation without copies of files that the merged work tracks: verify has to see the merged ones."""
    return replace(wanted, copies=tuple(name for name in wanted.copies if name not in tracked))


def _run_setup(context: Context, order: Order, wanted: Preparation, commit: str) -> None:
    """Run the setup command, and kill the processes that it leaves. Raises NotVerified when the merged work broke it."""
    try:
        run_setup(context.world, wanted)
    except errors.SetupFailed as error:
        _blame_changed_setup(context, order, wanted, commit, error)
        raise
    finally:
        _end_processes(context, order)


def prepare_warm(
    context: Context, order: Order, warm: TakenWarmTree, wanted: Preparation, commit: str
) -> TakenWarmTree:
    """Copy the files that changed in the user's checkout; run the setup command again if anything that it depends on changed.

    Raises NotVerified or SetupFailed when setup fails. Returns the warm tree with the new preparation.
    """
    tracked = context.world.proofs.files_at(order.repository, commit)
    wanted = _without_tracked(wanted, tracked)
    copied = list(wanted.copies)
    _sync_copies(context, warm, wanted, tracked)
    needed = _fingerprint(context, order, wanted, tracked)
    if warm.prepared == needed and warm.copied == copied:
        return warm
    # Record it as not prepared first, so that a setup that is killed is repeated.
    warm = note_preparation(context, warm, prepared="", copied=copied, made=warm.made)
    _run_setup(context, order, wanted, commit)
    made = [name for name in untracked(context.world, wanted.path) if name not in wanted.copies]
    return note_preparation(context, warm, prepared=needed, copied=copied, made=made)


def _sync_copies(context: Context, warm: TakenWarmTree, wanted: Preparation, tracked: Mapping[str, str]) -> None:
    """Copy again into the warm tree the files that differ from the user's checkout; remove copies that it no longer has."""
    differ = [name for name in wanted.copies if not is_copy(f"{wanted.repository}/{name}", f"{wanted.path}/{name}")]
    copy_files(context.world, wanted.repository, wanted.path, differ)
    for name in set(warm.copied) - set(wanted.copies) - set(tracked):
        path = f"{wanted.path}/{name}"
        if os.path.lexists(path) and is_place_for_file(wanted.path, name):
            context.world.funnel.through("remove copy", lambda: os.unlink(path))  # noqa: B023 - called at once


def _fingerprint(context: Context, order: Order, wanted: Preparation, tracked: Mapping[str, str]) -> str:
    """Return the fingerprint of a merge tree's setup at a commit: of its command, and of the files that it depends on."""
    patterns = list(context.settings(order.project).worktree_setup_files)
    copies = {name: digest(f"{order.repository}/{name}") for name in wanted.copies}
    return fingerprint(wanted.setup, {**copies, **tracked}, patterns)


def _blame_changed_setup(
    context: Context, order: Order, wanted: Preparation, commit: str, error: errors.SetupFailed
) -> None:
    """Raise NotVerified when the merged work changed a file that setup depends on, so that the work may have caused `error`.

    Otherwise return.
    """
    trees = [context.world.proofs.files_at(order.repository, each) for each in (order.base or commit, commit)]
    before, after = (_fingerprint(context, order, wanted, tracked) for tracked in trees)
    if before != after:
        advice = f"`fleet task retry {order.slug}` lets an agent fix it"
        raise errors.NotVerified(
            project=order.project, slug=order.slug, why=str(error), advice=advice, stage="fix"
        ) from error


def _end_processes(context: Context, order: Order) -> None:
    """Kill the processes that the setup command left in the merge tree."""
    processes = context.world.processes
    processes.kill_all(processes.marked(order.dispatch))

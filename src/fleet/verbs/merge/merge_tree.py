"""The worktree of a finisher: make the merge commit there, and run the verify command on the merged files."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.text.times import SECOND, duration
from fleet.store import queries as q
from fleet.verbs.dispatch.launch import populate_submodules
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim
    from fleet.resources.kind import Order
    from fleet.verbs.context import Context

_FILES_SHOWN = 10


def merge_in_tree(context: Context, order: Order, claim: Claim, *, verify: bool, advice: str = "") -> str:
    """Merge the order's commit in the finisher's worktree and verify the result.

    Return the merge commit. Raise NotMergeable after a conflict, and when the verify command failed, is not trusted, or
    changed the worktree. The error names the stage at which the task can continue.
    """
    lock = context.world.effect_lock(claim.id)
    handle = lock.take()
    try:
        conflict = context.world.git.merge(claim.name, order.work, f"Merge {order.slug}", lock=handle)
        if conflict is not None:
            retry = f"`fleet task retry {order.slug}` lets an agent bring it up to date"
            raise _refusal(order, f"conflict in {', '.join(conflict)}", advice or retry, "rebase")
        merge_commit = _merge_commit(context, order, claim.name)
        if verify:
            _verify_merge(context, order, claim.name, merge_commit)
    finally:
        lock.give()
    return merge_commit


def _merge_commit(context: Context, order: Order, path: str) -> str:
    """Return the merge commit, and check that its parents are the old tip and the task's commit, in this order.

    Return the old tip when it already contains the task's commit.
    """
    work, merge_commit = order.work, context.world.git.resolve_in(path, "HEAD")
    if merge_commit is None:
        raise errors.FleetError(what="git does not say which commit the merge made")
    nothing_new = merge_commit == order.base and context.world.git.is_in(order.repository, work, merge_commit) is True
    if not nothing_new and context.world.proofs.parents(order.repository, merge_commit) != [order.base, work]:
        raise errors.FleetError(
            what=f"{merge_commit[:12]} is not the merge of {work[:12]} into {(order.base or 'nothing')[:12]}"
        )
    return merge_commit


def _verify_merge(context: Context, order: Order, path: str, merge_commit: str) -> None:
    """Run the verify command of the task or project on the merged files, if any; then kill the processes it left."""
    task = context.store.read(lambda rows: q.task_whole(rows, project=order.project, slug=order.slug or ""))
    command = (task and task.verify) or _project_verify_command(context, order)
    if not command:
        return
    _check_out_submodules(context, order, path)
    before, processes = _tree_state(context, path), context.world.processes
    try:
        _run_verify(context, order, path, command)
        _refuse_changed_tree(context, order, path, merge_commit, before)
    finally:
        processes.kill_all(processes.marked(order.dispatch))


def _check_out_submodules(context: Context, order: Order, path: str) -> None:
    """Check out the submodules of the merged files. Raise NotMergeable when a commit of one is nowhere to be had."""
    try:
        populate_submodules(context, order.project, order.repository, path)
    except errors.SubmoduleMissing as error:
        advice = f"{error.hint}; then `fleet task retry {order.slug}`"
        raise _refusal(order, str(error), advice, "finisher") from None


def _project_verify_command(context: Context, order: Order) -> str | None:
    """Return the project's verify command, None if not set. Raise NotMergeable when no person has trusted it."""
    try:
        command: str | None = context.setting("verify", order.project)
    except errors.NotTrusted as error:
        advice = f"look at it with `fleet trust -p {order.project}`, then `fleet task retry {order.slug}`"
        raise _refusal(order, f"its verify command is not trusted: {error}", advice, "finisher") from None
    return command


def _run_verify(context: Context, order: Order, path: str, command: str) -> None:
    """Run the verify command and write its output to a log file. Raise NotMergeable when the command fails."""
    limit = duration(context.setting("verify_limit", order.project)) / SECOND
    # FLEET_DISPATCH_ID marks the command's processes: when the finisher is killed, a sweep finds and ends them.
    env = {**os.environ, "FLEET_HOME": context.world.home, "FLEET_DISPATCH_ID": order.dispatch}
    log, words = f"{context.world.home}/{paths.log(order.dispatch, 'verify')}", ["/bin/sh", "-c", command]
    run = context.world.programs.record("verify", words, path=log, limit=limit, cwd=path, env=env)
    if not run.ok:
        output = f"{run.out}\n{run.err}".replace("\0", "").strip()
        why = f"verify is red ({command!r} gave {run.status}):\n{output}"
        raise _refusal(order, why, f"`fleet task retry {order.slug}` lets an agent fix it", "fix")


def _tree_state(context: Context, path: str) -> dict[str, str]:
    """Return the tracked files that are changed, or whose changes git ignores, each with a digest of its content.

    Some worktrees are never clean (line endings, filters), so the states before and after verify are compared.
    """
    proofs = context.world.proofs
    return {name: _digest(f"{path}/{name}") for name in {*proofs.changed_files(path), *proofs.hidden_files(path)}}


def _digest(path: str) -> str:
    """Return the SHA-256 of a file; `missing` when the file cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "missing"


def _refuse_changed_tree(context: Context, order: Order, path: str, merge_commit: str, before: dict[str, str]) -> None:
    """Raise NotMergeable when the verify command changed the files: then it tested something other than the merge."""
    why = _describe_tree_change(context, path, merge_commit, before)
    if why:
        advice = (
            "let the verify command leave HEAD and tracked files alone (or ignore what it writes), "
            f"then `fleet task retry {order.slug} -p {order.project}`"
        )
        raise _refusal(order, f"the verify command {why}", advice, "finisher")


def _describe_tree_change(context: Context, path: str, merge_commit: str, before: dict[str, str]) -> str:
    """Say how the verify command changed HEAD or tracked files; empty when it changed neither."""
    if not context.world.proofs.is_detached_at(path, merge_commit):
        head = context.world.git.resolve_in(path, "HEAD") or "nothing"
        return f"moved HEAD of the merged tree from {merge_commit[:12]} to {head[:12]}"
    now = _tree_state(context, path)
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    more = f" and {len(changed) - _FILES_SHOWN} more" if len(changed) > _FILES_SHOWN else ""
    return f"changed files that git tracks: {', '.join(changed[:_FILES_SHOWN])}{more}" if changed else ""


def _refusal(order: Order, why: str, advice: str, stage: str) -> errors.NotMergeable:
    return errors.NotMergeable(project=order.project, slug=order.slug, why=why, advice=advice, stage=stage)

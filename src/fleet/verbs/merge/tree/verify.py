"""Run the verify command on the merged files, and check that the command has not changed these files."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import FLEET_DISPATCH_ID, FLEET_HOME
from fleet.model.text.times import SECOND, duration
from fleet.store import bundles
from fleet.store import queries as q
from fleet.verbs.dispatch.launch import populate_submodules
from fleet.world.home import paths

if TYPE_CHECKING:
    from typing import Literal

    from fleet.resources.kind import Order
    from fleet.verbs.context import Context

# How many changed files an error names.
_FILES_SHOWN = 10


def verify_command(context: Context, order: Order) -> str | None:
    """Return the verify command of the task, else of the project; None when neither has one.

    Raises NotMergeable when no person has trusted the project's command.
    """
    return own_verify(context, order) or trusted_command(context, order, "verify")


def own_verify(context: Context, order: Order) -> str | None:
    """Return the verify command of the task itself; None when it has none."""
    task = context.store.read(lambda rows: q.task_whole(rows, project=order.project, slug=order.slug or ""))
    return task.verify if task else None


def verify_merge(context: Context, order: Order, path: str, merge_commit: str, command: str) -> None:
    """Run the verify command on the merged files, then kill the processes that it left.

    Raise NotVerified when it fails, or when it changed the files.
    """
    before, processes = _tree_state(context, path), context.world.processes
    try:
        _run_verify(context, order, path, command)
        _refuse_changed_tree(context, order, path, merge_commit, before)
    finally:
        processes.kill_all(processes.marked(order.dispatch))


def check_out_submodules(context: Context, order: Order, path: str) -> None:
    """Check out the submodules of the merged files, if there are any.

    Raises NotMergeable when a submodule's commit cannot be found.
    """
    try:
        populate_submodules(context, order.project, order.repository, path)
    except errors.SubmoduleMissing as error:
        advice = f"{error.hint}; then `fleet task retry {order.slug}`"
        raise errors.NotMergeable(
            project=order.project, slug=order.slug, why=str(error), advice=advice, stage="finisher"
        ) from None


def trusted_command(context: Context, order: Order, called: Literal["verify", "setup"]) -> str | None:
    """Return the verify or setup command (`called`) from the project's settings; None when it is not set.

    Raise NotMergeable when no person has trusted it.
    """
    settings = context.settings(order.project)
    try:
        return settings.verify if called == "verify" else settings.worktree_setup
    except errors.NotTrusted as error:
        advice = f"look at it with `fleet trust -p {order.project}`, then `fleet task retry {order.slug}`"
        why = f"its {called} command is not trusted: {error}"
        raise errors.NotMergeable(
            project=order.project, slug=order.slug, why=why, advice=advice, stage="finisher"
        ) from None


def _run_verify(context: Context, order: Order, path: str, command: str) -> None:
    """Run the verify command and write its output to a log file. Raise NotVerified when the command fails."""
    limit = duration(context.settings(order.project).verify_limit) / SECOND
    # FLEET_DISPATCH_ID marks the command's processes: when the finisher is killed, a sweep finds and ends them.
    ports = context.store.read(lambda rows: bundles.port_variables(rows, order.project, order.slug))
    env = {**os.environ, **ports, FLEET_HOME: context.world.home, FLEET_DISPATCH_ID: order.dispatch}
    log, words = f"{context.world.home}/{paths.log(order.dispatch, 'verify')}", ["/bin/sh", "-c", command]
    run = context.world.programs.record("verify", words, path=log, limit=limit, cwd=path, env=env)
    if not run.ok:
        output = f"{run.out}\n{run.err}".replace("\0", "").strip()
        why = f"verify is red ({command!r} gave {run.status}):\n{output}"
        raise _not_verified(order, why, f"`fleet task retry {order.slug}` lets an agent fix it", "fix")


def _tree_state(context: Context, path: str) -> dict[str, str]:
    """Return the tracked files that are changed, or whose changes git ignores, each with a digest of its content.

    Some worktrees are never clean (line endings, filters), so the states before and after verify are compared.
    """
    proofs = context.world.proofs
    return {name: _digest(f"{path}/{name}") for name in {*proofs.changed_files(path), *proofs.hidden_files(path)}}


def _digest(path: str) -> str:
    """Return the SHA-256 of a file in the merge tree; `missing` when the file cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "missing"


def _refuse_changed_tree(context: Context, order: Order, path: str, merge_commit: str, before: dict[str, str]) -> None:
    """Raise NotVerified when the verify command changed the files: then it tested something other than the merge."""
    why = _describe_tree_change(context, path, merge_commit, before)
    if why:
        advice = (
            "let the verify command leave HEAD and tracked files alone (or ignore what it writes), "
            f"then `fleet task retry {order.slug} -p {order.project}`"
        )
        raise _not_verified(order, f"the verify command {why}", advice, "finisher")


def _describe_tree_change(context: Context, path: str, merge_commit: str, before: dict[str, str]) -> str:
    """Return how the verify command changed HEAD or tracked files; "" when it changed neither."""
    if not context.world.proofs.is_detached_at(path, merge_commit):
        head = context.world.git.resolve_in(path, "HEAD") or "nothing"
        return f"moved HEAD of the merged tree from {merge_commit[:12]} to {head[:12]}"
    now = _tree_state(context, path)
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    more = f" and {len(changed) - _FILES_SHOWN} more" if len(changed) > _FILES_SHOWN else ""
    return f"changed files that git tracks: {', '.join(changed[:_FILES_SHOWN])}{more}" if changed else ""


def _not_verified(order: Order, why: str, advice: str, stage: str) -> errors.NotVerified:
    """Return the error for a failed verify, with the stage at which the task is to be parked."""
    return errors.NotVerified(project=order.project, slug=order.slug, why=why, advice=advice, stage=stage)

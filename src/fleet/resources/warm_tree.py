"""warm_tree: the prepared worktree in which a project's work is merged and verified; it is kept between merges.

It belongs to the project. The holder of the project's merge gate uses it; git resets it before each use.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from fleet.model.dispatch.worktree_verdict import is_disposable
from fleet.resources.merge_tree import MergeTree
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fleet.resources.kind import Order
    from fleet.world.world import World

# The longest time, in seconds, that git may take to reset a tree.
_LONG = 3_600.0


class WarmTree(MergeTree):
    """The warm tree of one project, created and removed like the merge tree of a finisher."""

    name = "warm_tree"

    def name_for(self, order: Order, world: World) -> str:
        """Return the path of the project's warm tree."""
        return f"{world.home}/{paths.warm_tree(order.project)}"


def reset(world: World, path: str, commit: str, *, keep: Iterable[str], lock: int) -> bool:
    """Reset a warm tree to a commit, detached from any branch. Ignored files, and those named in `keep`, stay.

    `lock` is the descriptor of an effect lock. Return False when git refuses, when the tree is not at the commit
    afterwards, or when git was told to ignore changes of some files: then the caller creates the tree anew. Raise
    GitRefused when git cannot list the files.
    """
    # HEAD is detached first: a verify command may have checked out a branch, and a reset would move that branch.
    words = ["checkout", "--force", "--detach", "--quiet", commit]
    if not world.git.run_in("checkout", path, *words, limit=_LONG, lock=lock).ok:
        return False
    excluded = [word for name in keep for word in ("--exclude", f"/{_escaped(name)}")]
    if not world.git.run_in("clean", path, "clean", "-ffd", "--quiet", *excluded, limit=_LONG, lock=lock).ok:
        return False
    return world.proofs.is_detached_at(path, commit) and not world.proofs.hidden_files(path)


def untracked(world: World, path: str) -> list[str]:
    """Return the existing files of a worktree that git neither tracks nor ignores; [] when git fails."""
    done = world.git.run_in("ls-files", path, "ls-files", "-z", "--others", "--exclude-standard")
    return [name for name in done.out.split("\0") if name and os.path.lexists(f"{path}/{name}")] if done.ok else []


def fingerprint(command: str | None, files: Mapping[str, str], patterns: Sequence[str]) -> str:
    """Return a hash of the setup command (None: there is none) and of the files that it depends on.

    `files` maps each file to a text that changes with its content; only files that match one of `patterns` are hashed.
    """
    import hashlib  # noqa: PLC0415 - the kinds are loaded together, also where nothing is merged

    counted = sorted((name, what) for name, what in files.items() if is_disposable(name, patterns))
    text = json.dumps([command or "", counted], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _escaped(name: str) -> str:
    """Return a file's name as a pattern for git that matches only this name."""
    return "".join(f"\\{letter}" if letter in "\\*?[!# " else letter for letter in name)

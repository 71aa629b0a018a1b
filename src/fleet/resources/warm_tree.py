"""warm_tree: the prepared worktree in which a project's work is merged and verified. It is kept between merges.

It belongs to the project. Whoever holds the project's merge gate uses it; git resets it before each use.
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

_LONG = 3_600.0


class WarmTree(MergeTree):
    """The warm merge tree of one project. Made and removed like a finisher's own tree."""

    name = "warm_tree"

    def name_for(self, order: Order, world: World) -> str:
        """Return the path of the project's warm tree."""
        return f"{world.home}/{paths.warm_tree(order.project)}"


def reset(world: World, path: str, commit: str, *, keep: Iterable[str], lock: int) -> bool:
    """Put a warm tree at a commit, on no branch. Ignored files and the files in `keep` stay, all else is the commit's.

    False when git refused, or when the tree is not what was asked for: then it has to be made anew.
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
    """Return the files of a tree that git neither tracks nor ignores."""
    done = world.git.run_in("ls-files", path, "ls-files", "-z", "--others", "--exclude-standard")
    return [name for name in done.out.split("\0") if name and os.path.lexists(f"{path}/{name}")] if done.ok else []


def fingerprint(command: str | None, files: Mapping[str, str], patterns: Sequence[str]) -> str:
    """Return a digest of the setup command and of the contents of the files that it depends on.

    `files` has each file with a text that changes with its content; `patterns` choose those that count.
    """
    import hashlib  # noqa: PLC0415 - the kinds are loaded together, also where nothing is merged

    counted = sorted((name, what) for name, what in files.items() if is_disposable(name, patterns))
    text = json.dumps([command or "", counted], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _escaped(name: str) -> str:
    """Return a file's name as a pattern of git's that matches this name alone."""
    return "".join(f"\\{letter}" if letter in "\\*?[!# " else letter for letter in name)

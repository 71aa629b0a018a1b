"""Find the worktrees that use a branch: it is checked out there, or an operation in progress will return to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import HEADS, branch_in, head_ref
from fleet.records import record
from fleet.world.git.pointers import NotRegular, open_regular
from fleet.world.git.refs import git_dir
from fleet.world.git.worktrees.leftovers import is_same_path

if TYPE_CHECKING:
    from fleet.world.git.git import Git

# Files that git keeps in a worktree's git directory while an operation is in progress there.
_OPERATIONS = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_START": "a bisect",
}
# Those of these files that name branches.
_NAMED_IN = ("rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs", "BISECT_START")


@record(frozen=True, slots=True, kw_only=True)
class BranchHolder:
    """A worktree that uses a branch; `path` is that of the worktree.

    `operation` is git's operation in progress there, '' when the branch is simply checked out. `called_bare`: git
    wrongly takes the repository for bare.
    """

    path: str
    operation: str = ""
    # core.bare is true, although the repository has a checkout.
    called_bare: bool = False

    def __str__(self) -> str:
        """Return the worktree, and the operation in progress there, for people."""
        if self.operation:
            return f"{self.operation} is in progress in {self.path}"
        return f"checked out in {self.path}" + (
            " (core.bare is true there, which is wrong)" if self.called_bare else ""
        )


def local_branches(git: Git, repository: str) -> list[str]:
    """Return the names of all branches of a repository; [] when git fails."""
    done = git.run("for-each-ref", repository, "for-each-ref", "--format=%(refname)", HEADS)
    return [branch_in(ref) for ref in done.out.splitlines()]


def holders(git: Git, repository: str, branch: str) -> list[BranchHolder] | None:
    """Return every worktree that uses a branch; None when git or the file system cannot tell."""
    trees = git.worktrees(repository)
    if trees is None:
        return None
    common, found = git_dir(repository), []
    try:
        for place, path in [(common, trees[0].path if trees else repository), *_linked_worktrees(common)]:
            operation = operation_in(place)
            listed = any(is_same_path(tree.path, path) and tree.branch == branch for tree in trees)
            bare = place == common and _is_called_bare(git, repository, branch, bare=bool(trees) and trees[0].bare)
            if listed or bare or _is_branch_named_in(place, branch):
                found.append(BranchHolder(path=path, operation=operation, called_bare=bare))
    except (OSError, errors.GitRefused):
        return None
    known = {os.path.realpath(each.path) for each in found}
    rest = [tree for tree in trees if tree.branch == branch and os.path.realpath(tree.path) not in known]
    return [*found, *(BranchHolder(path=tree.path) for tree in rest)]


def why_branch_in_use(git: Git, repository: str, branch: str) -> str:
    """Return why a branch must not be moved or deleted (in use, or git cannot tell); empty when it may be."""
    found = holders(git, repository, branch)
    if found is None:
        return f"git does not say which branches of {repository} are checked out; `git worktree list` shows why"
    if not found:
        return ""
    return f"{branch} is in use: {found[0]}" if found[0].operation else f"{branch} is {found[0]}"


def operation_in(place: str) -> str:
    """Return the git operation in progress in a worktree, such as "a rebase"; empty when there is none.

    `place` is git's directory of the worktree.
    """
    return next((said for name, said in _OPERATIONS.items() if os.path.lexists(f"{place}/{name}")), "")


def _is_branch_named_in(place: str, branch: str) -> bool:
    """Return whether a rebase or bisect in progress in a worktree will move or check out a branch.

    `place` is git's directory of the worktree.
    """
    named = {line.strip() for name in _NAMED_IN for line in _text(f"{place}/{name}").splitlines()}
    return bool(named & {branch, head_ref(branch)})


def _is_called_bare(git: Git, repository: str, branch: str, *, bare: bool) -> bool:
    """Return whether git wrongly takes a repository for bare (without a checkout), and its main checkout is on this branch.

    `bare`: git takes it for bare, because core.bare is set. A repository that is really bare has no index. Raise
    GitRefused when git does not say which branch that is.
    """
    return bare and os.path.exists(f"{git_dir(repository)}/index") and git.head_branch(repository) == branch


def _linked_worktrees(common: str) -> list[tuple[str, str]]:
    """Return (git's directory, path) of every linked worktree of the repository whose git directory is `common`.

    Raise OSError when git's entries cannot be read.
    """
    try:
        names = sorted(os.listdir(f"{common}/worktrees"))
    except FileNotFoundError:
        return []
    places = [f"{common}/worktrees/{name}" for name in names]
    return [(place, os.path.dirname(_text(f"{place}/gitdir").strip())) for place in places if os.path.isdir(place)]


def _text(path: str) -> str:
    """Return the text of a file, empty when there is none; raise OSError when it cannot be read."""
    try:
        with open(open_regular(path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, NotRegular):
        return ""

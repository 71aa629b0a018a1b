"""Save the uncommitted work of a worktree in a commit on a ref of fleet's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import kept_ref
from fleet.world.git.git import error_line
from fleet.world.git.nested.submodules import is_submodule, other_repositories_among, repositories_among
from fleet.world.git.worktrees import worktree_status

if TYPE_CHECKING:
    from fleet.world.git.git import Git

_LONG = 3_600.0


def keep_dirty(git: Git, repository: str, path: str, slug: str) -> str:
    """Commit everything in a worktree of fleet's to a new ref, clean the worktree, and return the ref.

    The worktree's branch does not move. Of a submodule only its checked-out commit is kept; the caller has proven that this
    commit exists elsewhere. When the newest ref already has the same work, it is returned instead, so that an interrupted
    call can be repeated. Raise GitRefused when the work cannot be saved; the worktree is then not cleaned.
    """
    submodules = _changed_submodules(git, path)
    hidden = worktree_status.hidden_edits(git.exactly, path, git.funnel)
    if hidden is None or (hidden and not worktree_status.clear_flags(git.exactly, path, hidden)):
        why = "git does not say which edits are hidden from it"
        raise errors.GitRefused(what=f"keep the work in {path}", why=why)
    git.write(path, "add", "--all", effect="add", limit=_LONG, lock=None)
    tree = git.run_in("write-tree", path, "write-tree").out.strip()
    ref = _ref_with_same_work(git, repository, path, slug, tree) or _commit_tree(git, repository, path, slug, tree)
    git.write(path, "reset", "--hard", "--quiet", effect="reset", limit=_LONG, lock=None)
    _reset_submodules(git, path, submodules)
    return ref


def _kept_refs(git: Git, repository: str, slug: str) -> list[str]:
    """Return the refs that keep uncommitted work of a task, oldest first."""
    found = [kept_ref(slug, 1)]
    while git.resolve(repository, found[-1]) is not None:
        found.append(kept_ref(slug, len(found) + 1))
    return found[:-1]


def _ref_with_same_work(git: Git, repository: str, path: str, slug: str, tree: str) -> str:
    """Return the newest ref that keeps work of a task, if it holds exactly this work; else empty.

    Its commit must have the tree `tree`, and the worktree's HEAD as its parent.
    """
    newest = _kept_refs(git, repository, slug)[-1:]
    if not newest or not tree:
        return ""
    held = git.run("rev-parse", repository, "rev-parse", f"{newest[0]}^{{tree}}", f"{newest[0]}^").out.split()
    return newest[0] if held == [tree, git.resolve_in(path, "HEAD")] else ""


def _commit_tree(git: Git, repository: str, path: str, slug: str, tree: str) -> str:
    """Commit a tree to the next ref that keeps work of a task, and return the ref.

    Raise GitRefused when no commit or no ref was made.
    """
    ref = kept_ref(slug, len(_kept_refs(git, repository, slug)) + 1)
    words = ["commit-tree", tree, "-p", "HEAD", "-m", f"Kept from the worktree of {slug}"]
    commit = git.run_in("commit-tree", path, *words).out.strip()
    if not commit or not git.set_ref(repository, ref, commit):
        raise errors.GitRefused(what=f"keep the work in {path}", why="no commit was made")
    return ref


def _changed_submodules(git: Git, path: str) -> list[str]:
    """Return the submodules whose commit differs from the recorded one.

    Raise GitRefused when another repository is in the worktree: a commit would not contain its files.
    """
    found = git.status(path)
    if found is None or other_repositories_among(found, path):
        why = "git does not say what is in it" if found is None else "there is another repository in it"
        raise errors.GitRefused(what=f"keep the work in {path}", why=why)
    return [name for name in repositories_among(found, path) if is_submodule(path, name)]


def _reset_submodules(git: Git, path: str, names: list[str]) -> None:
    """Check out the recorded commits of submodules, which `git reset` does not do; raise GitRefused when that fails.

    Nothing is fetched.
    """
    there = [f":(literal){name}" for name in names]
    if not there:
        return
    words = ("update", "--quiet", "--checkout", "--force", "--no-fetch", "--", *there)
    done = git.exactly("submodule", path, *words, settings=("protocol.allow=never",))
    if not done.ok:
        raise errors.GitRefused(what=f"reset the submodules of {path}", why=error_line(done))

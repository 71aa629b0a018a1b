"""What git can prove: who created a branch, what a commit contains, and whether a tree is still the one that was merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.model.branches import head_ref, merged_ref
from fleet.world.git.worktrees.worktree_status import NOT_INTO, PLAIN_DIFF

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.world.git.git import Git
    from fleet.world.process.programs import Done

_MARK, _LEFT = "fleet", "fleetLeft"
_CREATED = "branch: Created from "
_ENTRY_START = 3  # "XY " before the path in git's short status
# `git ls-files -v`: a small letter is assume-unchanged, S is skip-worktree.
_SKIPPED = "S"


class Joined(NamedTuple):
    """The result of merging two commits without a worktree: the new commit, or '' and the files in conflict."""

    commit: str
    conflicts: tuple[str, ...] = ()


class Birth(NamedTuple):
    """How a branch was created: by whom, when (seconds since 1970, as text) and at which commit."""

    maker: str
    at: str
    commit: str


class GitProofs:
    """Ask git for proofs about branches, commits and worktrees."""

    def __init__(self, git: Git) -> None:
        self._git = git

    # whose a branch is ------------------------------------------------------------------------------------------------
    def mark_branch(self, repository: str, branch: str, mark: str) -> None:
        """Write fleet's mark into the git configuration of a branch; raise GitRefused when that fails.

        `git branch -d` deletes the mark with the branch.
        """
        done = self._git.run("config", repository, "config", "--replace-all", f"branch.{branch}.{_MARK}", mark)
        _refuse_failed(done, f"mark the branch {branch}")

    def branch_mark(self, repository: str, branch: str) -> str:
        """Return the mark that `mark_branch` wrote for a branch; empty when there is none, or git fails."""
        done = self._git.run("config --get", repository, "config", "--get", f"branch.{branch}.{_MARK}")
        return done.out.strip() if done.ok else ""

    def note_left(self, repository: str, branch: str, commit: str) -> None:
        """Record at which commit a marked branch was left when its worktree was removed and the branch stayed.

        A failure is ignored.
        """
        self._git.run("config", repository, "config", "--replace-all", f"branch.{branch}.{_LEFT}", commit)

    def branch_left(self, repository: str, branch: str) -> str:
        """Return the commit that `note_left` recorded for a branch; empty when there is none, or git fails."""
        done = self._git.run("config --get", repository, "config", "--get", f"branch.{branch}.{_LEFT}")
        return done.out.strip() if done.ok else ""

    def branch_birth(self, repository: str, branch: str) -> Birth:
        """Return how a branch was created, from its reflog; all fields '' when its creation is not in the reflog.

        git deletes the reflog with the branch.
        """
        words = ["--walk-reflogs", "--date=unix", "--format=%gn%x00%gs%x00%gd%x00%H", head_ref(branch), "--"]
        entries = self._git.run("log", repository, "log", *words).out.splitlines()
        maker, what, at, commit = (entries or ["\0\0\0"])[-1].split("\0")
        if not what.startswith(_CREATED):
            return Birth("", "", "")
        return Birth(maker, at.rpartition("{")[2].rstrip("}"), commit)

    def unmark_branch(self, repository: str, branch: str) -> None:
        """Remove the git configuration of a branch; a failure is ignored.

        `update-ref`, by which fleet deletes branches, leaves it behind.
        """
        self._git.run("config --remove-section", repository, "config", "--remove-section", f"branch.{branch}")

    # what a commit contains -------------------------------------------------------------------------------------------
    def parents(self, repository: str, commit: str) -> list[str]:
        """Return the parents of a commit in order; [] when it has none, or git does not know the commit."""
        done = self._git.run("rev-list", repository, "rev-list", "--no-walk", "--parents", commit)
        return done.out.split()[1:] if done.ok else []

    def missing_from(self, repository: str, commits: Iterable[str], refs: Iterable[str]) -> set[str]:
        """Return those of the commits that none of the refs contains.

        A commit that the repository no longer has counts as missing. Raise GitRefused when git cannot tell.
        """
        wanted = list(dict.fromkeys(commits))
        asked = "".join(f"{each}\n" for each in [*wanted, *(f"^{ref}" for ref in refs)])
        known = self._git.run("cat-file", repository, "cat-file", "--batch-check", given="\n".join(wanted) + "\n")
        gone = {line.split()[0] for line in known.out.splitlines() if line.endswith(" missing")}
        done = self._git.run("rev-list", repository, "rev-list", "--ignore-missing", "--stdin", given=asked)
        _refuse_failed(done, f"say which commits {', '.join(refs)} contains")
        return (set(wanted) & set(done.out.split())) | (gone & set(wanted))

    def files_at(self, repository: str, commit: str) -> dict[str, str]:
        """Return all files of a commit: a dictionary from path to "MODE TYPE HASH", as `git ls-tree` prints them.

        Raise GitRefused when git cannot list them.
        """
        done = self._git.run("ls-tree", repository, "ls-tree", "-r", "-z", "--full-tree", commit)
        _refuse_failed(done, f"list the files of {commit[:12]}")
        entries = (entry.partition("\t") for entry in done.out.split("\0") if entry)
        return {name: what for what, _tab, name in entries}

    # what a worktree of fleet's shows ---------------------------------------------------------------------------------
    def hidden_files(self, path: str) -> set[str]:
        """Return the tracked files whose changes git ignores because of flags in the index.

        Raise GitRefused when git fails.
        """
        done = self._git.run_in("ls-files", path, "ls-files", "-v", "-z")
        _refuse_failed(done, f"list the files of {path}")
        entries = (entry for entry in done.out.split("\0") if entry)
        return {entry[2:] for entry in entries if entry[0].islower() or entry[0] == _SKIPPED}

    def changed_files(self, path: str) -> list[str]:
        """Return the tracked files of a worktree that differ from HEAD; raise GitRefused when git fails."""
        words = ["status", "--porcelain", "--untracked-files=no", "--no-renames", "-z", NOT_INTO]
        done = self._git.run_in("status", path, *words)
        _refuse_failed(done, f"say what changed in {path}")
        return [entry[_ENTRY_START:] for entry in done.out.split("\0") if entry]

    def is_detached_at(self, path: str, commit: str) -> bool:
        """Return whether a worktree is on no branch and at this commit; False when git fails."""
        on_a_branch = self._git.run_in("symbolic-ref", path, "symbolic-ref", "--quiet", "HEAD").ok
        return not on_a_branch and self._git.resolve_in(path, "HEAD") == commit

    # moving and joining -----------------------------------------------------------------------------------------------
    def move_and_protect(self, repository: str, branch: str, *, new: str, old: str) -> bool:
        """Move the integration branch by compare and set, and protect its new tip from git's gc by a ref.

        Return whether the branch moved: it does not when it is no longer at `old`, or git fails.
        """
        words = f"update {head_ref(branch)} {new} {old}\nupdate {merged_ref(branch)} {new}\n"
        return self._git.write_refs(repository, words).ok

    def create_and_protect(self, repository: str, branch: str, new: str) -> bool:
        """Create the integration branch at `new` and protect its tip from git's gc by a ref.

        Return False when the branch exists already, or git fails.
        """
        words = f"create {head_ref(branch)} {new}\nupdate {merged_ref(branch)} {new}\n"
        return self._git.write_refs(repository, words).ok

    def protect_from_gc(self, repository: str, branch: str, tip: str) -> None:
        """Protect the commit `tip` of the integration branch from git's gc by a ref; a failure is ignored."""
        self._git.write_refs(repository, f"update {merged_ref(branch)} {tip}\n")

    def join(self, repository: str, onto: str, other: str, message: str) -> Joined:
        """Merge two commits into a new one without a worktree, or return the files in conflict.

        Raise GitRefused when git cannot do it, for example because it is older than 2.38.
        """
        done = self._git.run("merge-tree", repository, "merge-tree", "--write-tree", "--name-only", "-z", onto, other)
        if done.status not in {0, 1}:
            raise errors.GitRefused(
                what=f"merge {other[:12]} into {onto[:12]}", why=" ".join(done.err.split()) or "no answer"
            )
        tree, *rest = done.out.split("\0")
        if not done.ok:
            return Joined("", tuple(rest[: rest.index("")]) if "" in rest else tuple(rest))
        words = ["commit-tree", tree, "-p", onto, "-p", other, "-m", message]
        made = self._git.run("commit-tree", repository, *words)
        _refuse_failed(made, f"commit the merge of {other[:12]}")
        return Joined(made.out.strip())

    def work_diff(self, repository: str, onto: str, commit: str, *, stat: bool = False) -> str:
        """Return what a commit changed since the merge base with `onto`, as a diff or, with `stat`, a summary.

        Raise GitRefused when git cannot compare the two.
        """
        flags = [*PLAIN_DIFF, *(["--stat"] if stat else [])]
        done = self._git.run("diff", repository, "diff", *flags, f"{onto}...{commit}", "--")
        _refuse_failed(done, f"compare {commit[:12]} with {onto}")
        return done.out

    def difference(self, repository: str, onto: str, old: str, new: str, *, stat: bool = False) -> str:
        """Return the diff between two versions of a task's work, each as it would be merged into `onto`.

        So changes that a rebase brought in are left out. Before git 2.38 the two commits are compared directly. With
        `stat`, return only a summary of the diff. Raise GitRefused when git cannot compare them.
        """
        trees = [self._tree_merged(repository, onto, each) or each for each in (old, new)]
        flags = [*PLAIN_DIFF, *(["--stat"] if stat else [])]
        done = self._git.run("diff", repository, "diff", *flags, *trees, "--")
        _refuse_failed(done, f"compare {old[:12]} with {new[:12]}")
        return done.out

    def _tree_merged(self, repository: str, onto: str, commit: str) -> str:
        """Return the tree of merging a commit into `onto`, with conflict markers; empty when this git cannot make one."""
        done = self._git.run("merge-tree", repository, "merge-tree", "--write-tree", "--name-only", onto, commit)
        return done.out.partition("\n")[0] if done.status in {0, 1} else ""


def _refuse_failed(done: Done, what: str) -> None:
    """Raise GitRefused when a git command failed; the error names `what` git was to do."""
    if not done.ok:
        raise errors.GitRefused(what=what, why=" ".join(done.err.split()) or "no answer")

"""Run git on repositories and in fleet's worktrees. Only `fast_forward` changes the user's own checkout."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import FOLLOWED_REF, branch_in, head_ref
from fleet.model.text.secrets import hidden
from fleet.world.git import locks, pointers, refs
from fleet.world.git.refs import git_dir
from fleet.world.git.worktrees import worktree_status
from fleet.world.process.programs import ENV, Done

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fleet.world.process.programs import Programs

    Meanwhile = Callable[[], None] | None

_LIMIT = 60.0
# The limit for commands whose time grows with the tree: killed half-way, they would leave half of it.
LONG = 3_600.0
# No hook of the user's runs, nothing asks for a passphrase or opens an editor, and a question never locks the index.
_QUIET = (
    *("--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"),
    *("-c", "core.fsmonitor=false", "-c", "submodule.recurse=false"),
    *("-c", "core.quotePath=false"),  # names are shown to people as they are, if they are UTF-8
)


class Git:
    """The program git, for repositories and for fleet's worktrees. Time limits (`limit`) are in seconds."""

    def __init__(self, programs: Programs, sees_everyone: Callable[[], bool] = lambda: False, home: str = "") -> None:
        self._programs = programs
        self.funnel = programs.funnel
        self._home = home
        # The repositories of all projects: a worktree that points to another repository is not trusted. None: any is.
        self.repositories: frozenset[str] | None = None
        self._known: frozenset[str] = frozenset()
        # Returns whether every process that may hold a lock of git is visible here.
        self._sees_everyone = sees_everyone

    def worktrees(self, repository: str) -> list[worktree_status.ListedWorktree] | None:
        """Return every worktree of a repository; None when git fails."""
        done = self.run("worktree list", repository, "worktree", "list", "--porcelain", "-z")
        if not done.ok:
            return None
        return [
            worktree_status.parse_worktree(block.split("\0")) for block in done.out.split("\0\0") if block.strip("\0")
        ]

    def resolve(self, repository: str, name: str) -> str | None:
        """Return the commit that a name stands for in a repository, None for none; raise GitRefused when git fails."""
        done = self.run("rev-parse", repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return _git_answer(done, f"say what {name} of {repository} is")

    def branches(self, repository: str, *names: str) -> dict[str, str]:
        """Return the commit of each named branch that exists, by name; raise GitRefused when git fails."""
        known = refs.branches(git_dir(repository), names)
        if known is not None:
            return known
        asked = [head_ref(name) for name in names]
        done = self.run("for-each-ref", repository, "for-each-ref", "--format=%(refname) %(objectname)", *asked)
        if not done.ok:
            raise errors.GitRefused(what=f"say whether there is a branch {' or '.join(names)}", why=error_line(done))
        pairs = (line.split(" ") for line in done.out.splitlines())
        return {branch_in(ref): commit for ref, commit in pairs if ref in asked}

    def resolve_in(self, path: str, name: str) -> str | None:
        """Return the commit that a name stands for in a worktree of fleet's; None when there is none or git fails."""
        place = self._place(path) if name == "HEAD" else None
        known = refs.commit_of_entry(place.entry) if place else None
        if known is not None:
            return known
        done = self.run_in("rev-parse", path, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return done.out.strip() if done.ok else None

    def titles(self, repository: str, since: str, until: str, *, merges: bool = False) -> list[str]:
        """Return "HASH SUBJECT" of each commit in `until` and not in `since`, newest first; [] when git fails.

        HASH is shortened. Merge commits are among them only with `merges`.
        """
        which = [] if merges else ["--no-merges"]
        done = self.run("log", repository, "log", "--no-color", *which, "--format=%h %s", f"{since}..{until}")
        return [line for line in done.out.split("\n") if line]

    def changed_files(self, repository: str, since: str, until: str) -> list[str]:
        """Return "LETTER PATH" of each file that `until` changed since the merge base with `since`.

        LETTER is A for added, M for modified, D for deleted, T for a change of the file's type. [] when git fails.
        """
        done = self.run("diff", repository, "diff", "--name-status", "--no-renames", f"{since}...{until}")
        return [line.replace("\t", " ", 1) for line in done.out.splitlines()]

    def head_branch(self, repository: str) -> str | None:
        """Return the branch of the main checkout, None when HEAD is detached; raise GitRefused when git fails.

        git is asked for the full ref, because it abbreviates the name differently when a tag has the same name.
        """
        done = self.run("symbolic-ref", repository, "symbolic-ref", "--quiet", "HEAD")
        said = _git_answer(done, f"say which branch of {repository} is checked out")
        return None if said is None else branch_in(said)

    def why_not_made(self, repository: str, branch: str) -> str:
        """Return, in git's words, which other branch keeps a branch from being created; empty when none does.

        git cannot have the branches `a` and `a/b` at once. Raise GitRefused when git does not tell.
        """
        parts = branch.split("/")
        taken = self.branches(repository, *("/".join(parts[:end]) for end in range(1, len(parts))))
        words = ["for-each-ref", "--count=1", "--format=%(refname:lstrip=2)", f"{head_ref(branch)}/"]
        inside = self.run("for-each-ref", repository, *words).out.strip()
        other = next(iter(taken), inside)
        return f"'{head_ref(other)}' exists; cannot create '{head_ref(branch)}'" if other else ""

    def set_branch(self, repository: str, branch: str, *, new: str, old: str) -> bool:
        """Move a branch from the commit `old` to `new`; return whether it moved.

        False when it is not at `old`, or git fails. With an empty or all-zero `old`, the branch must not exist yet.
        """
        # The number of zeros depends on the hash; git takes an empty text for them.
        words = ["update-ref", head_ref(branch), new, old.strip("0") and old]
        return self._run_past_locks(lambda: self.run("update-ref", repository, *words), repository).ok

    def note_followed(self, repository: str, branch: str) -> None:
        """Record, in a ref of fleet's own, the branch that the integration branch is based on; a failure is ignored."""
        self.run("symbolic-ref", repository, "symbolic-ref", FOLLOWED_REF, head_ref(branch))

    def followed(self, repository: str) -> str:
        """Return the branch that the integration branch is based on; empty when none is recorded."""
        return refs.followed(git_dir(repository))

    def set_ref(self, repository: str, ref: str, new: str) -> bool:
        """Create a ref at the commit `new`; return whether it was created. False when the ref exists or git fails."""
        return self.run("update-ref", repository, "update-ref", ref, new, "").ok

    def drop_branch(self, repository: str, branch: str, *, old: str) -> bool:
        """Delete a branch if it is still at the commit `old`; return whether it was deleted."""
        words = ["update-ref", "-d", head_ref(branch), old]
        return self._run_past_locks(lambda: self.run("update-ref -d", repository, *words), repository).ok

    def contains(self, repository: str, branch: str, commit: str) -> bool | None:
        """Return whether a branch contains a commit; None when git cannot tell. Raise GitRefused as `branches` does."""
        return self.branches(repository, branch).get(branch) == commit or self.is_in(
            repository, commit, head_ref(branch)
        )

    def commits(self, repository: str, since: str, until: str) -> list[str] | None:
        """Return the commits in `until` and not in `since`, newest first; None when git fails."""
        if since == until:
            return []
        done = self.run("rev-list", repository, "rev-list", f"{since}..{until}")
        return done.out.split() if done.ok else None

    def diff(self, repository: str, since: str, until: str, *, stat: bool = False) -> str:
        """Return what branch `until` changed since the merge base with branch `since`, as a diff.

        With `stat`, return a summary of the diff. "" when there is no branch `until`; raise GitRefused when git cannot
        compare the two.
        """
        flags = [*worktree_status.PLAIN_DIFF, *(["--stat"] if stat else [])]
        between = f"{head_ref(since)}...{head_ref(until)}"
        done = self.run("diff", repository, "diff", *flags, between, "--")
        if not done.ok and until in self.branches(repository, until):
            raise errors.GitRefused(what=f"compare {until} with {since}", why=error_line(done))
        return done.out

    def file_at(self, repository: str, commit: str, path: str) -> str | None:
        """Return a file's content at a commit; None when the commit does not have the file, or git fails."""
        done = self.run("show", repository, "show", f"{commit}:{path}")
        return done.out if done.ok else None

    def is_in(self, repository: str, commit: str, later: str) -> bool | None:
        """Return whether a commit is an ancestor of a later one; None when git cannot tell."""
        done = self.run("merge-base", repository, "merge-base", "--is-ancestor", commit, later)
        return {0: True, 1: False}.get(done.status if done.status is not None else -1)

    def start_over(self, path: str, commit: str) -> None:
        """Reset a worktree of fleet's to a commit; raise GitRefused when git fails. The caller has saved its work."""
        self.write(path, "reset", "--hard", "--quiet", commit, limit=LONG, lock=None)

    def write(
        self, path: str, *words: str, effect: str = "checkout", limit: float, lock: int | None, committer: str = ""
    ) -> None:
        """Run a git command as `run_in` does, removing stale locks that block it; raise GitRefused when it fails."""
        done = self._run_past_locks(
            lambda: self.run_in(effect, path, *words, limit=limit, lock=lock, committer=committer), path
        )
        if not done.ok:
            raise errors.GitRefused(what=f"git {effect}", why=error_line(done))

    def _run_past_locks(self, run: Callable[[], Done], near: str) -> Done:
        """Run a git command; when stale locks block it, remove them and run it again. `near` is where it runs."""
        return locks.run_past_stale_locks(run, near, self._sees_everyone, self.funnel)

    def remove_stale_locks(self, path: str, branch: str) -> list[str]:
        """Remove the locks that a killed git left for a worktree of fleet's and its branch; return their paths."""
        place = self._place(path)
        return locks.remove_stale_locks(place, branch, path, self._sees_everyone, self.funnel) if place else []

    def status(self, path: str) -> worktree_status.TreeStatus | None:
        """Return the uncommitted work and the ignored files in a worktree; None when git fails."""
        return worktree_status.read(self.exactly, path, self.funnel)

    def is_dirty(self, path: str, *, but_missing: bool = False) -> bool | None:
        """Return whether a worktree has uncommitted work (`but_missing`: apart from deleted files); None when git fails."""
        found = self.status(path)
        return None if found is None else found.is_dirty(but_missing=but_missing)

    def uncommitted(self, path: str) -> list[str]:
        """Return the files with uncommitted work in a worktree, each as a line of git's short status; [] when git fails."""
        found = self.status(path)
        return found.lines() if found else []

    def place_of(self, path: str) -> tuple[str, str] | None:
        """Return the top of the worktree at a path, and its repository's git directory; None when git fails."""
        known = self._place(path)
        if known is not None:  # `_begin` would tell git both, and git would only repeat them
            return os.path.realpath(known.tree), os.path.realpath(known.common)
        done = self.exactly("rev-parse", path, "--path-format=absolute", "--show-toplevel", "--git-common-dir")
        top, _, common = done.out.rstrip("\n").partition("\n")
        return (os.path.realpath(top), os.path.realpath(common)) if done.ok and common else None

    def ask_foreign(
        self,
        effect: str,
        path: str,
        /,
        *words: str,
        given: str | None = None,
        index: str = "",
        settings: Sequence[str] = (),
    ) -> Done:
        """Run `git EFFECT WORDS` in a repository at `path` that is not fleet's, without any program that its configuration names.

        Its hooks, watchers and transports do not run, unless `settings` allow a transport. Its filters would run when
        files are compared: the caller checks first that it has none. `given` is the standard input, `index` another
        index file.
        """
        first = [ENV, "GIT_NO_LAZY_FETCH=1", *([f"GIT_INDEX_FILE={index}"] if index else [])]
        place = ("-C", path, f"--git-dir={path}/.git", f"--work-tree={path}")
        rules = _setting_words(("protocol.allow=never", *settings))
        asked = [*first, "git", *_QUIET, *rules, *place, effect, *words]
        return self._programs.run(f"git {effect}", asked, limit=LONG, given=given, env=_git_env(path), exact=True)

    def exactly(
        self,
        effect: str,
        path: str,
        /,
        *words: str,
        given: str | None = None,
        index: str = "",
        settings: Sequence[str] = (),
    ) -> Done:
        """Run the git command `effect` in a worktree of fleet's, and keep the exact bytes of file names.

        `index` is another index file, `given` the standard input, `settings` are git settings for this call. The result
        has no exit status when git did not run, because the worktree's `.git` file was tampered with.
        """
        first = self._begin(path, *([f"GIT_INDEX_FILE={index}"] if index else []))
        if first is None:
            return Done(status=None, out="", err=pointers.REMADE)
        asked = [*first, *_setting_words(settings), effect, *words]
        return self._programs.run(f"git {effect}", asked, limit=LONG, given=given, env=_git_env(path), exact=True)

    def fast_forward(self, checkout: str, commit: str) -> str:
        """Fast-forward the branch and files of a person's checkout, at that person's request.

        Return why git refused; empty when it worked. No local change, staged or not, and no untracked or ignored file
        is overwritten.
        """
        words = ["merge", "--ff-only", "--no-overwrite-ignore", "--quiet", commit]
        done = self.run_in("merge --ff-only", checkout, *words, limit=LONG)
        return "" if done.ok else error_line(done)

    def merge(self, path: str, commit: str, message: str, *, lock: int) -> list[str] | None:
        """Merge a commit into a worktree of fleet's.

        Return None when it merged; otherwise the files in conflict, after aborting the merge. Raise GitRefused when it
        failed without a conflict.
        """
        words = ["merge", "--no-ff", "--no-edit", "--quiet", "-m", message, commit]
        done = self.run_in("merge", path, *words, limit=LONG, lock=lock)
        if done.ok:
            return None
        files = self.run_in("diff", path, "diff", "--name-only", "--diff-filter=U", worktree_status.NOT_INTO).out.split(
            "\n"
        )
        self.run_in("merge --abort", path, "merge", "--abort")
        if not any(files):
            raise errors.GitRefused(what=f"merge {commit[:12]}", why=error_line(done))
        return [name for name in files if name]

    def run(
        self,
        effect: str,
        repository: str,
        *words: str,
        limit: float = _LIMIT,
        lock: int | None = None,
        meanwhile: Meanwhile = None,
        given: str | None = None,
    ) -> Done:
        """Run a git command (`words`) on a repository's git directory, without its working files.

        `effect` names the call in the funnel, `limit` is its time limit in seconds, `lock` the descriptor of an effect
        lock that git inherits. `meanwhile` is called while git runs. `given` is the standard input.
        """
        asked = ["git", *_QUIET, f"--git-dir={git_dir(repository)}", *words]
        return self._programs.run(
            f"git {effect}", asked, limit=limit, lock=lock, cwd="/", env=_git_env(), meanwhile=meanwhile, given=given
        )

    def write_refs(self, repository: str, commands: str) -> Done:
        """Change refs in one transaction and return the result; remove stale locks that block it.

        `commands` are lines for `git update-ref --stdin`.
        """
        words = ["update-ref", "--stdin"]
        return self._run_past_locks(lambda: self.run("update-ref", repository, *words, given=commands), repository)

    def run_in(
        self,
        effect: str,
        path: str,
        *words: str,
        limit: float = _LIMIT,
        lock: int | None = None,
        committer: str = "",
    ) -> Done:
        """Run a git command (`words`) in a worktree of fleet's; `effect` names the call in the funnel.

        `committer` is the name for the reflogs, if it is not the user's. The result has no exit status when git did not
        run, because the worktree's `.git` file was tampered with.
        """
        first = self._begin(path)
        if first is None:
            return Done(status=None, out="", err=pointers.REMADE)
        asked = [*first, *words]
        named = {"GIT_COMMITTER_NAME": committer, "GIT_COMMITTER_EMAIL": "fleet@localhost"} if committer else {}
        return self._programs.run(f"git {effect}", asked, limit=limit, lock=lock, env=_git_env(path) | named)

    def is_remade(self, path: str) -> bool:
        """Return whether somebody replaced the `.git` file of a worktree of fleet's; False at any other path."""
        tree = pointers.tree_of(self._home, path)
        return bool(tree) and pointers.read(tree, self._knows) is None

    def _begin(self, path: str, *variables: str) -> list[str] | None:
        """Return the first words of a git command in a worktree; None when its `.git` file was tampered with.

        git is told where the repository is, so that it does not read the `.git` file again, which may change meanwhile.
        At a path in no worktree of fleet's, git looks for the repository itself. `variables` are NAME=VALUE for git's
        environment.
        """
        tree = pointers.tree_of(self._home, path)
        if not tree:
            return [*([ENV, *variables] if variables else []), "git", *_QUIET, "-C", path]
        place = pointers.read(tree, self._knows)
        if place is None:
            return None
        told = [ENV, f"GIT_COMMON_DIR={place.common}", *variables]
        return [*told, "git", *_QUIET, "-C", path, f"--git-dir={place.entry}", f"--work-tree={tree}"]

    def _place(self, path: str) -> pointers.WorktreePaths | None:
        """Return the place of the fleet worktree at a path; None when there is none or its `.git` was tampered with."""
        return pointers.read(pointers.tree_of(self._home, path), self._knows)

    def _knows(self, common: str) -> bool:
        """Return whether a git directory is that of a project's repository; True while the projects are not known."""
        if self.repositories is not None and common not in self._known:
            self._known = frozenset(os.path.realpath(git_dir(each)) for each in self.repositories)
        return self.repositories is None or common in self._known


def _setting_words(settings: Sequence[str]) -> list[str]:
    """Return the options that give git these settings for one call."""
    return [word for setting in settings for word in ("-c", setting)]


def _git_env(tree: str = "") -> dict[str, str]:
    """Return the environment for git: with English messages, which some decisions depend on.

    With `tree`, the path of a worktree, git does not search the folders above it for a repository.
    """
    above = {"GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(tree))} if tree else {}
    return {**os.environ, "LANGUAGE": "en", **above}


def _git_answer(done: Done, what: str) -> str | None:
    """Return git's output; None when git answered no (status 1). Raise GitRefused when git failed to do `what`."""
    if done.status not in {0, 1}:
        raise errors.GitRefused(what=what, why=error_line(done))
    return done.out.strip() if done.ok else None


def error_line(done: Done) -> str:
    """Return git's standard error in one line, without secrets; "no answer" when it is empty."""
    return hidden(" ".join(done.err.split())) or "no answer"

"""Push to and fetch from the remotes of a repository. What is fetched goes into refs of fleet's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import head_ref, remote_ref
from fleet.world.git.git import error_line

if TYPE_CHECKING:
    from fleet.world.git.git import Git


class GitRemotes:
    """The remotes of repositories, through git."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def address_of(self, repository: str, remote: str) -> str | None:
        """Return the address of a remote; None when there is no such remote, or git fails."""
        done = self._git.run("remote get-url", repository, "remote", "get-url", remote)
        return done.out.strip() if done.ok else None

    def remote_branch(self, repository: str, remote: str, branch: str, *, limit: float) -> str | None:
        """Return a branch's commit on the remote; empty when the branch does not exist there.

        None when the remote does not answer within `limit` seconds.
        """
        done = self._git.run("ls-remote", repository, "ls-remote", remote, head_ref(branch), limit=limit)
        return (done.out.split() or [""])[0] if done.ok else None

    def push(self, repository: str, remote: str, branch: str, *, commit: str, old: str, limit: float) -> None:
        """Push a commit to a branch on the remote, if that branch is still at `old` (empty: if it does not exist).

        Raise GitRefused when the push fails. `limit` is in seconds.
        """
        ref = head_ref(branch)
        words = ["push", "--quiet", f"--force-with-lease={ref}:{old}", remote, f"{commit}:{ref}"]
        done = self._git.run("push", repository, *words, limit=limit)
        if not done.ok:
            raise errors.GitRefused(what="git push", why=error_line(done))

    def fetch(self, repository: str, remote: str, branch: str, *, limit: float) -> str | None:
        """Fetch a remote's branch into a ref of fleet's own, and return its commit.

        None when that fails or takes longer than `limit` seconds.
        """
        ref = remote_ref(remote, branch)
        quietly = ["--quiet", "--no-tags", "--no-write-fetch-head", "--refmap="]
        words = ["fetch", *quietly, remote, f"+{head_ref(branch)}:{ref}"]
        return (
            self._git.resolve(repository, ref) if self._git.run("fetch", repository, *words, limit=limit).ok else None
        )

    def note_pushed(self, repository: str, remote: str, branch: str, commit: str) -> None:
        """Record the commit that was pushed to a remote's branch, in a ref of fleet's own; a failure is ignored."""
        self._git.run("update-ref", repository, "update-ref", remote_ref(remote, branch), commit)

    def forget_pushed(self, repository: str, remote: str, branch: str) -> None:
        """Remove the record of a pushed branch, which is merged and will not be pushed again; a failure is ignored."""
        self._git.run("update-ref -d", repository, "update-ref", "-d", remote_ref(remote, branch))

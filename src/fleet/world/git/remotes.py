"""Remotes of a repository, asked and pushed to by git. What is fetched goes into refs of fleet's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors.tools import GitRefused
from fleet.model.branches import head_ref, remote_ref
from fleet.world.git.git import said

if TYPE_CHECKING:
    from fleet.world.git.git import Git


class GitRemotes:
    """The remotes, through one git."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def address_of(self, repository: str, remote: str) -> str | None:
        """Where a remote is."""
        done = self._git.run("remote get-url", repository, "remote", "get-url", remote)
        return done.out.strip() if done.ok else None

    def remote_branch(self, repository: str, remote: str, branch: str, *, limit: float) -> str | None:
        """The commit that a branch has over there; empty when it is not there, None when nobody answers."""
        done = self._git.run("ls-remote", repository, "ls-remote", remote, head_ref(branch), limit=limit)
        return (done.out.split() or [""])[0] if done.ok else None

    def push(self, repository: str, remote: str, branch: str, *, commit: str, old: str, limit: float) -> None:
        """Push a commit to a branch of fleet's over there, if that still is where it was (empty: not there)."""
        ref = head_ref(branch)
        words = ["push", "--quiet", f"--force-with-lease={ref}:{old}", remote, f"{commit}:{ref}"]
        done = self._git.run("push", repository, *words, limit=limit)
        if not done.ok:
            raise GitRefused(what="git push", why=said(done))

    def fetch(self, repository: str, remote: str, branch: str, *, limit: float) -> str | None:
        """A branch as it is over there, kept in a ref of fleet's own; None when nobody answers."""
        ref = remote_ref(remote, branch)
        quietly = ["--quiet", "--no-tags", "--no-write-fetch-head", "--refmap="]
        words = ["fetch", *quietly, remote, f"+{head_ref(branch)}:{ref}"]
        return (
            self._git.resolve(repository, ref) if self._git.run("fetch", repository, *words, limit=limit).ok else None
        )

    def note_pushed(self, repository: str, remote: str, branch: str, commit: str) -> None:
        """Remember what was brought over there."""
        self._git.run("update-ref", repository, "update-ref", remote_ref(remote, branch), commit)

    def forget_pushed(self, repository: str, remote: str, branch: str) -> None:
        """It is merged over there, and will not be brought there again."""
        self._git.run("update-ref -d", repository, "update-ref", "-d", remote_ref(remote, branch))

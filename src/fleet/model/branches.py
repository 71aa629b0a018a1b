"""The names of fleet's branches and refs; no other file spells them out."""

from __future__ import annotations

HEADS = "refs/heads"
REFLOGS = "logs/refs/heads"  # in a git directory
INTEGRATION = "fleet/main"  # the integration branch, unless the project's settings name another
# A symbolic ref: the branch that the integration branch was made from and follows.
FOLLOWED_REF = "refs/fleet/target"


def task_branch(slug: str) -> str:
    """Return the name of a task's branch."""
    return f"worker/{slug}"


def job_branch(job: str) -> str:
    """Return the name of a job's branch, which its items start from and are merged into."""
    return f"fleet/job-{job}"


def is_of_fleet(branch: str) -> bool:
    """Return whether a branch has a name that fleet gives: to a task, to a job, or to the usual integration branch.

    False for an integration branch of another name, which the settings may give it.
    """
    return branch == INTEGRATION or branch.startswith((task_branch(""), job_branch("")))


def head_ref(branch: str) -> str:
    """Return the full ref of a branch; with the short name git would prefer a tag of the same name."""
    return f"{HEADS}/{branch}"


def task_ref(slug: str) -> str:
    """Return the full ref of a task's branch."""
    return head_ref(task_branch(slug))


def branch_in(ref: str) -> str:
    """Return the branch's name from a full ref such as refs/heads/main; any other ref unchanged."""
    return ref.removeprefix(f"{HEADS}/")


def kept_ref(slug: str, number: int) -> str:
    """Return the ref that keeps the uncommitted work of a task whose worktree was removed.

    `number` counts such refs of one task, from 1.
    """
    return f"refs/fleet/kept/{slug}/{number}"


def merged_ref(branch: str) -> str:
    """Return the ref that protects the recorded merges of an integration branch from git's gc."""
    return f"refs/fleet/merged/{branch}"


def remote_ref(remote: str, branch: str) -> str:
    """Return the ref in which fleet keeps the commit that a remote's branch had when fleet last fetched it."""
    return f"refs/fleet/remote/{remote}/{branch}"

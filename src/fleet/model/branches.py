"""The names of fleet's branches and refs. No other file spells them."""

from __future__ import annotations

HEADS = "refs/heads"
REFLOGS = "logs/refs/heads"  # in a git directory
INTEGRATION = "fleet/main"  # unless the project's settings say another
# A symbolic ref: the branch that the integration branch was made from and follows.
FOLLOWED_REF = "refs/fleet/target"


def task_branch(slug: str) -> str:
    """Return the branch of a task's own work."""
    return f"worker/{slug}"


def job_branch(job: str) -> str:
    """Return the branch that a job's items start from and are merged into."""
    return f"fleet/job-{job}"


def is_of_fleet(branch: str) -> bool:
    """Whether a branch has a name that fleet makes: of a task, of a job, or the usual integration branch."""
    return branch == INTEGRATION or branch.startswith((task_branch(""), job_branch("")))


def head_ref(branch: str) -> str:
    """Return the full name of a branch: git would prefer a tag of the same short name."""
    return f"{HEADS}/{branch}"


def task_ref(slug: str) -> str:
    """Return the full name of a task's branch."""
    return head_ref(task_branch(slug))


def branch_in(ref: str) -> str:
    """Return the branch of a full ref name; any other ref unchanged."""
    return ref.removeprefix(f"{HEADS}/")


def kept_ref(slug: str, number: int) -> str:
    """Return the ref that keeps the uncommitted work of a task whose worktree was removed."""
    return f"refs/fleet/kept/{slug}/{number}"


def merged_ref(branch: str) -> str:
    """Return the ref that protects the recorded merges of an integration branch from git's gc."""
    return f"refs/fleet/merged/{branch}"


def remote_ref(remote: str, branch: str) -> str:
    """Return the ref of what a remote's branch was when fleet last saw it."""
    return f"refs/fleet/remote/{remote}/{branch}"

"""What is held: one file a kind, and the order in which a dispatch acquires. Release goes backwards.

| class     | when the dispatch ends                                | never                         |
|-----------|-------------------------------------------------------|-------------------------------|
| exclusive | released by its owner                                 | released by another           |
| adoptable | kept; released when the task is terminal and archived | split; deleted dirty          |
| delivery  | released: unlinked or archived                        | half-read                     |
| derived   | nothing; recomputed from the store                    | believed over the store       |
| audit     | nothing                                               | swept                         |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.resources.cgroup import Cgroup
from fleet.resources.coord_prompt_inbox import CoordPromptInbox
from fleet.resources.job_process import JobProcess
from fleet.resources.merge_tree import MergeTree
from fleet.resources.tmux_session import TmuxSession
from fleet.resources.worker_dir import WorkerDir
from fleet.resources.worktree.worktree import Worktree

if TYPE_CHECKING:
    from fleet.resources.kind import Kind

CGROUP = Cgroup()
# The tree goes before the session that works in it, the prompt before the agent that reads it, the group before who joins it.
ORDER: tuple[Kind, ...] = (WorkerDir(), Worktree(), MergeTree(), CoordPromptInbox(), CGROUP, TmuxSession())
# A job's processes belong to the job, not to a dispatch: its runner acquires them.
KINDS: dict[str, Kind] = {kind.name: kind for kind in (*ORDER, JobProcess())}

# Kinds that live in the database itself, and need no claim; shown among the claims of their dispatch.
ROW_KINDS = {"agent_record": "exclusive", "coord_spawn_marker": "exclusive"}
# What a class lets go of when its dispatch ends.
RELEASED_AT_END = frozenset({"exclusive", "delivery"})


def class_of(kind: str) -> str:
    """The class of a kind; an unknown kind is shown and left alone."""
    if kind in ROW_KINDS:
        return ROW_KINDS[kind]
    return KINDS[kind].klass if kind in KINDS else "unknown"

"""The kinds of resources outside the database: one file for each kind, and the order in which a dispatch acquires them.

They are released in the reverse order. The class of a kind says what happens to its resources:

| class     | when the dispatch ends                             | never                                            |
|-----------|----------------------------------------------------|--------------------------------------------------|
| exclusive | released by its owner                              | released by another                              |
| adoptable | kept; released when the task is ended and archived | owned in parts, or deleted with uncommitted work |
| delivery  | released: deleted or archived                      | read before it is complete                       |
| derived   | nothing; computed anew from the store              | believed over the store                          |
| audit     | nothing                                            | swept                                            |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.resources.agent_environment import AgentEnvironment
from fleet.resources.cgroup import Cgroup
from fleet.resources.coord_prompt_inbox import CoordPromptInbox
from fleet.resources.job_process import JobProcess
from fleet.resources.merge_tree import MergeTree
from fleet.resources.tmux_session import TmuxSession
from fleet.resources.warm_tree import WarmTree
from fleet.resources.worker_dir import WorkerDir
from fleet.resources.worktree.worktree import Worktree

if TYPE_CHECKING:
    from fleet.resources.kind import Kind

CGROUP = Cgroup()
# The worktree comes before the session that works in it; prompt, environment and control group before the agent.
ORDER: tuple[Kind, ...] = (
    WorkerDir(),
    Worktree(),
    MergeTree(),
    CoordPromptInbox(),
    AgentEnvironment(),
    CGROUP,
    TmuxSession(),
)
# A job's processes belong to the job and not to a dispatch; the job's runner acquires them. A warm tree belongs to its
# project; a merge acquires it, and it stays.
KINDS: dict[str, Kind] = {kind.name: kind for kind in (*ORDER, JobProcess(), WarmTree())}

# Kinds that are rows of the database and need no claim; journals show them among the claims of the dispatch.
ROW_KINDS = {"agent_record": "exclusive", "coord_spawn_marker": "exclusive"}
# Kinds that are entries of a project's coord-state.json: computed from the store, claimed by nobody.
DERIVED_KINDS = ("supervisor_entry", "worker_agent_ids_entry")
# Classes whose resources are released when their dispatch ends.
RELEASED_AT_END = frozenset({"exclusive", "delivery"})


def class_of(kind: str) -> str:
    """Return the class of a kind of resource: `exclusive`, `adoptable` or `delivery`; `unknown` for an unknown kind."""
    if kind in ROW_KINDS:
        return ROW_KINDS[kind]
    return KINDS[kind].klass if kind in KINDS else "unknown"

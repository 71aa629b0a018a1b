"""What an agent may read at the daemon's socket for agents: one table of methods, each with the roles that may call it.

An agent that has the home can read the home. An agent in a sandbox has only that socket, and may read what this table
lists: the tasks of its own project, and what its role needs besides. All other methods are refused.
"""

from __future__ import annotations

from fleet import errors
from fleet.model.agents.roles import AGENTS, COORDINATOR, REVIEWER, instead_of_role

# What tells which project a call reads. The call is refused unless that is the own project of the agent that calls.
PROJECT = "project"  # an argument names the project; None stands for the agent's own
AGENT = "agent"  # an argument names an agent: the project of that agent
RETURNED_AGENT = "returned agent"  # as PROJECT, and the call returns the id of an agent: the project of that agent, too
RETURNED_OBJECT = "returned object"  # the call returns an object with the field `project`
ARGUMENT_OBJECT = "argument object"  # an argument is an object with the field `project`
MISSING = "missing"  # an argument is the error NoSuchTask, which names the project
ANY = "any"  # nothing, and nothing is checked: the answer tells nothing about a project


class Read:
    """One method that reads: its description (`what`), what tells its project (`project_from`), the roles that may call it."""

    __slots__ = ("project_from", "roles", "what")

    def __init__(self, what: str, project_from: str, *roles: str) -> None:
        self.what = what
        self.project_from = project_from
        self.roles = roles


_JUDGES = (REVIEWER, COORDINATOR)
READS = {
    "tasks.show": Read("look at a task", PROJECT, *AGENTS),
    "tasks.list": Read("list tasks", PROJECT, *AGENTS),
    "tasks.ready": Read("list tasks that are ready", PROJECT, *AGENTS),
    "tasks.why": Read("ask why a task waits", PROJECT, *AGENTS),
    "graph.show": Read("look at the graph", PROJECT, *AGENTS),
    "graph.slugs": Read("list slugs", PROJECT, *AGENTS),
    "graph.export": Read("export the graph", PROJECT, *AGENTS),
    "graph.markdown": Read("export the graph", PROJECT, *AGENTS),
    "dispatches.diff": Read("look at a task's changes", PROJECT, *AGENTS),
    "projects.show": Read("look at the project", PROJECT, *AGENTS),
    "views.nearest": Read("be shown a similar name", MISSING, *AGENTS),
    "reviews.work": Read("look at work to review", PROJECT, *_JUDGES),
    "merge.ahead": Read("ask which merge runs", PROJECT, *_JUDGES),
    "reviews.waiting": Read("list what waits for review", PROJECT, COORDINATOR),
    "merge.mergeable": Read("list what can be merged", PROJECT, COORDINATOR),
    "merge.recorded": Read("list merges", PROJECT, COORDINATOR),
    "views.status": Read("look at the status", PROJECT, COORDINATOR),
    "views.recap": Read("ask what happened", PROJECT, COORDINATOR),
    "agents.list": Read("list agents", PROJECT, COORDINATOR),
    "agents.screen": Read("look at an agent's screen", AGENT, COORDINATOR),
    "agents.output": Read("look at an agent's output", AGENT, COORDINATOR),
    "dispatches.list": Read("list dispatches", PROJECT, COORDINATOR),
    "dispatches.show": Read("look at a dispatch", AGENT, COORDINATOR),
    "dispatches.find": Read("find an agent", RETURNED_AGENT, COORDINATOR),
    "dispatches.resumable": Read("list what can be resumed", PROJECT, COORDINATOR),
    "dispatches.check_start": Read("ask whether an agent can be started", ARGUMENT_OBJECT, COORDINATOR),
    "jobs.named": Read("ask whether an id is a job's", ANY, COORDINATOR),
    # An act of persons when it is given a value; without one it only reads.
    "projects.remote_control": Read("ask whether a coordinator is controlled from afar", PROJECT, COORDINATOR),
    "coord.show": Read("look at the coordinator's seat", PROJECT, COORDINATOR),
    "coord.handoffs": Read("list handoffs", PROJECT, COORDINATOR),
    "coord.handoff": Read("look at a handoff", RETURNED_OBJECT, COORDINATOR),
}
_NEEDS = "at the agents' socket it reads only what its role needs"
_ELSEWHERE = "at the agents' socket it reads only about its own project"


def check_role(method: str, role: str, *, who: str) -> None:
    """Raise NotAllowed when the table of reads does not let an agent of this role call the method, such as "tasks.show".

    `who` names the agent in the message.
    """
    if method not in READS or role not in READS[method].roles:
        raise refusal(method, role, who=who, rule=_NEEDS)


def check_project(method: str, role: str, *, who: str, own: str | None, named: object) -> None:
    """Raise NotAllowed unless `named`, the project that the method would read, is the agent's own project (`own`).

    Always raise it when `own` is None: the agent has no project.
    """
    if own is None or named != own:
        raise refusal(method, role, who=who, rule=_ELSEWHERE)


def refusal(method: str, role: str, *, who: str, rule: str = _NEEDS) -> errors.NotAllowed:
    """Return the error for a method that an agent of this role may not call; `rule` says why."""
    what = READS[method].what if method in READS else f"ask for {method}"
    return errors.NotAllowed(role=role, who=who, act=method, what=what, rule=rule, instead=instead_of_role(role))

"""Allow commands: store the rules that a person has approved permanently, and collect what an agent may run unasked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fleet.model.agents.allow import COMMITS, Allowed
from fleet.model.agents.own_commands import commands_of
from fleet.model.agents.roles import JOB_STEP, WORKER
from fleet.world.home import allowed, paths

if TYPE_CHECKING:
    from fleet.verbs.context import Context

# Seconds to wait for another process that writes a rule.
_GATE_WAIT = 10.0


def approved_commands(context: Context, project: str) -> Allowed:
    """Return the commands that a person has permanently allowed in a project; none when their file cannot be read."""
    return allowed.read(context.home, project, context.project(project).added_at)


def refuse_unreadable_rules(context: Context, project: str) -> None:
    """Raise BadSetting when a project's file of rules cannot be read, because no rule could be added to it."""
    allowed.read_strictly(context.home, project, context.project(project).added_at)


def remember_rule(context: Context, project: str, rule: Allowed) -> None:
    """Add a rule, which a person has approved, to a project's file of rules.

    Raises BadSetting when that file cannot be read, GateHeld when another process writes it for more than ten seconds.
    """
    added_at = context.project(project).added_at
    gate = context.world.project_gate(project, "allow")
    gate.take(wait=_GATE_WAIT)
    try:
        rules = allowed.read_strictly(context.home, project, added_at).joined(rule)
        record = {"added_at": added_at, "exact": list(rules.exact), "prefixes": list(rules.prefixes)}
        context.world.files.publish(paths.allowed(project), json.dumps(record, indent=1).encode())
    finally:
        gate.give()


def allowed_in_project(context: Context, project: str) -> Allowed:
    """Return the commands that agents of a project may run unasked.

    They are those in its trusted setting `allow`, and those that a person has permanently allowed.
    """
    return Allowed(prefixes=context.settings(project).allow).joined(approved_commands(context, project))


def allowed_for_agent(context: Context, project: str, role: str) -> Allowed:
    """Return what an agent may run unasked: fleet's commands for its role, git commits for a worker, and its project's rules."""
    own = (*commands_of(role), *(COMMITS if role in {WORKER, JOB_STEP} else ()))
    return Allowed(prefixes=own).joined(allowed_in_project(context, project))

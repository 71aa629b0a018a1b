"""The fleet commands that an agent of each role may run without asking.

The list is short on purpose: it has what fleet's prompts tell an agent to run. A command that changes something is
allowed only for roles that may do its act according to the table of acts, which is also checked when the command runs.
"""

from __future__ import annotations

from fleet.model.agents.roles import ACTS, AGENTS, COORDINATOR, REVIEWER

_READERS = (REVIEWER, COORDINATOR)
# Each command, its act in the table of acts (empty: the command only reads), and the roles that need it.
NEEDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("log", "tasks.log", AGENTS),
    ("artifact", "tasks.artifact", AGENTS),
    ("done", "tasks.done", AGENTS),
    ("fail", "tasks.fail", AGENTS),
    ("block", "tasks.block", AGENTS),
    ("inbox", "messages.inbox", AGENTS),
    ("handoff", "coord.hand_off", AGENTS),
    ("review", "reviews.judge", (REVIEWER,)),
    ("coord tick", "coord.tick", (COORDINATOR,)),
    ("task add", "tasks.add", (COORDINATOR,)),
    ("task edit", "tasks.edit", (COORDINATOR,)),
    ("task retry", "tasks.retry", (COORDINATOR,)),
    ("task abandon", "tasks.abandon", (COORDINATOR,)),
    ("message", "messages.send", (COORDINATOR,)),
    ("task show", "", AGENTS),
    ("task list", "", _READERS),
    ("task why", "", _READERS),
    ("diff", "", _READERS),
    ("status", "", (COORDINATOR,)),
    ("ps", "", (COORDINATOR,)),
    ("logs", "", (COORDINATOR,)),
    ("peek", "", (COORDINATOR,)),
    ("coord status", "", (COORDINATOR,)),
    ("handoffs", "", (COORDINATOR,)),
)


def commands_of(role: str) -> tuple[str, ...]:
    """Return the fleet commands that an agent of this role may run without asking, such as `fleet coord tick`."""
    return tuple(
        f"fleet {name}" for name, act, roles in NEEDS if role in roles and (not act or role in ACTS[act].roles)
    )

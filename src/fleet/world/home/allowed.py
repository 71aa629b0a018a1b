"""The commands that a person has allowed the agents of a project, one file a project in the home."""

from __future__ import annotations

from fleet.model.agents.allow import Allowed, is_rule
from fleet.model.text import jsontext
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read(home: str, project: str, added_at: int) -> Allowed:
    """Return the allowed commands of a project; none when nothing was allowed since the project was added.

    A rule that is no simple command does not count: somebody has written it by hand.
    """
    try:
        with open(f"{home}/{paths.allowed(project)}", encoding="utf-8") as file:
            kept: Any = jsontext.loads(file.read().strip())
        if kept["added_at"] != added_at:
            return Allowed()
        return Allowed(exact=list(filter(is_rule, kept["exact"])), prefixes=list(filter(is_rule, kept["prefixes"])))
    except (OSError, ValueError, TypeError, KeyError):
        return Allowed()

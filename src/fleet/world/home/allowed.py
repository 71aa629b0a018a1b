"""The commands that a person has allowed the agents of a project, one file a project in the home."""

from __future__ import annotations

from fleet.model.agents.allow import NOTHING, Allowed, is_rule
from fleet.model.text import jsontext
from fleet.world.home import paths


def read(home: str, project: str, added_at: int) -> Allowed:
    """Return the allowed commands of a project; none when nothing was allowed since the project was added.

    A rule that is no simple command does not count: somebody has written it by hand.
    """
    try:
        with open(f"{home}/{paths.allowed(project)}", encoding="utf-8") as file:
            kept: object = jsontext.loads(file.read().strip())
    except (OSError, ValueError, StopIteration):  # a text that ends too early
        return NOTHING
    if not isinstance(kept, dict) or kept.get("added_at") != added_at:
        return NOTHING
    return Allowed(exact=_rules(kept.get("exact")), prefixes=_rules(kept.get("prefixes")))


def _rules(given: object) -> list[str]:
    return [each for each in given if is_rule(each)] if isinstance(given, list) else []

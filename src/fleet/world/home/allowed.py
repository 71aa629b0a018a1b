"""The commands that a person has allowed the agents of a project, one file a project in the home."""

from __future__ import annotations

from fleet import errors
from fleet.model.agents.allow import NOTHING, Allowed, is_rule
from fleet.model.text import jsontext
from fleet.world.home import paths


def read(home: str, project: str, added_at: int) -> Allowed:
    """Return the allowed commands of a project; none when nothing was allowed since the project was added.

    None either when the file cannot be read: then agents ask.
    """
    try:
        return read_strictly(home, project, added_at)
    except errors.BadSetting:
        return NOTHING


def read_strictly(home: str, project: str, added_at: int) -> Allowed:
    """Return the allowed commands of a project. BadSetting when the file cannot be read, so that nobody writes over it.

    A rule that is no simple command does not count: somebody has written it by hand.
    """
    path = f"{home}/{paths.allowed(project)}"
    try:
        with open(path, encoding="utf-8") as file:
            kept: object = jsontext.loads(file.read().strip())
    except FileNotFoundError:
        return NOTHING
    except (OSError, ValueError, StopIteration) as error:  # StopIteration: a text that ends too early
        why = f"the allowed commands cannot be read ({str(error) or 'it is no JSON'})"
        raise errors.BadSetting(file=path, line=1, why=why, advice="mend the file, or delete it") from None
    if not isinstance(kept, dict) or kept.get("added_at") != added_at:
        return NOTHING
    return Allowed(exact=_rule_texts(kept.get("exact")), prefixes=_rule_texts(kept.get("prefixes")))


def rules_in_variable(text: str) -> Allowed:
    """Return the rules that an agent was started with, from its variable; none when it has none, or no such text."""
    try:
        kept: object = jsontext.loads(text.strip())
    except (ValueError, StopIteration):  # StopIteration: a text that ends too early
        return NOTHING
    if not isinstance(kept, dict):
        return NOTHING
    return Allowed(exact=_rule_texts(kept.get("exact")), prefixes=_rule_texts(kept.get("prefixes")))


def _rule_texts(given: object) -> list[str]:
    return [each for each in given if is_rule(each)] if isinstance(given, list) else []

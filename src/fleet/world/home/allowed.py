"""Read the commands that a person has allowed to the agents of a project; the home has one file a project."""

from __future__ import annotations

from fleet import errors
from fleet.model.agents.allow import NOTHING, Allowed, is_rule
from fleet.model.text import jsontext
from fleet.world.home import paths


def read(home: str, project: str, added_at: int) -> Allowed:
    """Return the commands that a person has allowed to the agents of a project.

    `added_at` is when the project was registered. Nothing is allowed when the file is missing, unreadable, or of an earlier
    project of that name.
    """
    try:
        return read_strictly(home, project, added_at)
    except errors.BadSetting:
        return NOTHING


def read_strictly(home: str, project: str, added_at: int) -> Allowed:
    """Return the allowed commands of a project as `read` does, but raise BadSetting when the file cannot be read.

    For a caller that would otherwise overwrite the file. A rule that is not a simple command, which somebody has
    written into the file by hand, is ignored.
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
    """Return the allowed commands in `text`, the value of an agent's environment variable.

    None are allowed when the text cannot be parsed.
    """
    try:
        kept: object = jsontext.loads(text.strip())
    except (ValueError, StopIteration):  # StopIteration: a text that ends too early
        return NOTHING
    if not isinstance(kept, dict):
        return NOTHING
    return Allowed(exact=_rule_texts(kept.get("exact")), prefixes=_rule_texts(kept.get("prefixes")))


def _rule_texts(given: object) -> list[str]:
    """Return the valid rules in a list; empty for any other value."""
    return [each for each in given if is_rule(each)] if isinstance(given, list) else []

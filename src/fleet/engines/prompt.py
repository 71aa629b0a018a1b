"""Build an agent's prompt from a template; a file of the same name in $FLEET_HOME/prompts replaces the built-in one."""

from __future__ import annotations

import os
import re

from fleet.world.home import paths

BUILT_IN = f"{os.path.dirname(__file__)}/prompts"


def prompt(home: str, kind: str, facts: dict[str, str]) -> str:
    """Return the prompt for a kind of dispatch, with each {placeholder} replaced by its value in `facts`.

    Placeholders that are not in `facts` stay unchanged.
    """
    return re.sub(r"\{(\w+)\}", lambda found: facts.get(found[1], found[0]), _template(home, kind))


def _template(home: str, kind: str) -> str:
    """Return the template for a kind: the user's own, else the built-in one, else the built-in one for workers.

    When even that file is missing, the template is the task's title and description.
    """
    for folder in (f"{home}/{paths.PROMPTS}", BUILT_IN):
        for name in (kind, "worker"):
            path = f"{folder}/{name}.md"
            if os.path.exists(path) and (name == kind or folder == BUILT_IN):
                with open(path, encoding="utf-8") as file:
                    return file.read()
    return "{title}\n\n{description}\n"

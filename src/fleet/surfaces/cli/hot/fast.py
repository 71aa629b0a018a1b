"""The fast way through the hot commands.

It understands what is well formed and answers it. Whatever else it meets — a mistake, `--help`, a question — it leaves
to click, which has more words.
"""

from __future__ import annotations

import sys

from fleet.api.fleet import Fleet
from fleet.model.text import jsontext
from fleet.surfaces.cli.hot.table import COMMON, Hot, read_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Values = dict[str, Any]


def parse(hot: Hot, words: list[str], *, short: bool) -> Values | None:
    """The values given, or None when click should have a look."""
    wanted = ([] if short else ["slug"]) + ([hot.argument] if hot.argument else [])
    return read_words(hot.options + COMMON, wanted, words)


def perform(hot: Hot, values: Values, *, short: bool) -> int:
    """Do it and say so."""
    as_json = values.pop("json", False)
    with Fleet.open(actor=values.pop("as", None)) as fleet:
        if short:
            values["slug"] = fleet.task_here(hot.usage)
        values["project"] = fleet.project_here(values.get("project"))
        result = getattr(fleet.tasks, hot.name)(**values)
    sys.stdout.write(f"{jsontext.dumps(result) if as_json else told(hot, result)}\n")
    return 0


def told(hot: Hot, result: Values) -> str:
    """What happened, for people."""
    line = hot.told.format(**result)
    if not result.get("changed", True):
        return f"{line} (it was already){'; the message is in its log' if result.get('logged') else ''}"
    freed = result.get("ready") or []
    return f"{line}; now ready: {', '.join(freed)}" if freed else line

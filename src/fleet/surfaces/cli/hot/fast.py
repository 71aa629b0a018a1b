"""Parse and run the hot commands without click.

Only well-formed commands are handled here. click handles the rest (a mistake, `--help`), because it explains more.
"""

from __future__ import annotations

import sys

from fleet.api.fleet import Fleet
from fleet.model.results.reports import Claimed, Report
from fleet.model.text import jsontext
from fleet.surfaces.cli.hot.table import COMMON, Hot, read_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.results.reports import Logged, Registered
    from fleet.surfaces.cli.hot.table import Values


def parse(hot: Hot, words: list[str], *, short: bool) -> Values | None:
    """Return the options and arguments of a hot command by name; None when click has to parse the words.

    With `short`, the words name no task: it is read from the environment later.
    """
    wanted = ([] if short else ["slug"]) + ([hot.argument] if hot.argument else [])
    return read_words(hot.options + COMMON, wanted, words)


def perform(hot: Hot, values: Values, *, short: bool, key: str | None = None) -> int:
    """Run a hot command with these values, print its result, and return exit code 0.

    `key` is used when the values have none.
    """
    values.setdefault("key", key)
    with Fleet.open(actor=values.pop("as", None)) as fleet:
        text = outcome(fleet, hot, values, short=short)
    sys.stdout.write(text)
    return 0


def outcome(fleet: Fleet, hot: Hot, values: Values, *, short: bool) -> str:
    """Call the method of `fleet.tasks` that a hot command stands for, and return what the command prints.

    With `short`, the task is the one in the environment. `values` is changed in place.
    """
    as_json = values.pop("json", False)
    if short:
        values["slug"] = fleet.task_here(hot.usage)
    values["project"] = fleet.project_here(values.get("project"))
    result = getattr(fleet.tasks, hot.name)(**values)
    return f"{jsontext.dumps(result) if as_json else sentence(hot, result)}\n"


def sentence(hot: Hot, result: Logged | Registered | Claimed | Report) -> str:
    """Return the result of a hot command as a sentence for people."""
    line = hot.sentence.format(**result.as_json())
    if isinstance(result, Claimed):
        return line if result.changed else f"{line} (it was already)"
    if isinstance(result, Report) and not result.changed:
        return f"{line} (it was already){'; the message is in its log' if result.logged else ''}"
    return f"{line}; now ready: {', '.join(result.ready)}" if isinstance(result, Report) and result.ready else line

"""The fast way through the hot commands.

It understands what is well formed and answers it. Whatever else it meets — a mistake, `--help`, a question — it leaves
to click, which has more words.
"""

from __future__ import annotations

import sys

from fleet.api.acts import Acts
from fleet.model.text import jsontext
from fleet.surfaces.cli.hot.table import COMMON, Hot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Values = dict[str, Any]


def parse(hot: Hot, words: list[str], *, short: bool) -> Values | None:
    """The values given, or None when click should have a look."""
    values: Values = {}
    plain = _options(hot, words, values)
    if plain is None:
        return None
    wanted = ([] if short else ["slug"]) + ([hot.argument] if hot.argument else [])
    if len(plain) != len(wanted) or "-" in plain:
        return None
    values.update(zip(wanted, plain))  # noqa: B905 - strict costs nothing, but the lengths are compared above
    missing = [option for option in hot.options if option.required and option.name not in values]
    return None if missing else values


def _options(hot: Hot, words: list[str], values: Values) -> list[str] | None:
    known = {name: option for option in hot.options + COMMON for name in option.names}
    plain: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            plain.extend(rest)
            return plain
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        name, equals, value = word.partition("=")
        option = known.get(name)
        if (
            option is None
            or option.name in values
            or (option.flag and equals)
            or (equals and not name.startswith("--"))
        ):
            return None
        values[option.name] = True if option.flag else (value if equals else next(rest, None))
        if values[option.name] is None:
            return None
    return plain


def perform(hot: Hot, values: Values, *, short: bool) -> int:
    """Do it and say so."""
    as_json = values.pop("json", False)
    with Acts.open(actor=values.pop("as", None)) as acts:
        if short:
            values["slug"] = acts.task_here(hot.usage)
        values["project"] = acts.project_here(values.get("project"))
        result = getattr(acts, hot.name)(**values)
    sys.stdout.write(f"{jsontext.dumps(result) if as_json else told(hot, result)}\n")
    return 0


def told(hot: Hot, result: Values) -> str:
    """What happened, for people."""
    line = hot.told.format(**result)
    if not result.get("changed", True):
        return f"{line} (it was already){'; the message is in its log' if result.get('logged') else ''}"
    freed = result.get("ready") or []
    return f"{line}; now ready: {', '.join(freed)}" if freed else line

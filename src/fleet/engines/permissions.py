"""Translate allowed commands into the permission settings of an engine: words of its command line, or a variable.

An engine's file says how: `allow` are the words for the beginning of a command, `allow_exactly` those for one command.
An engine with a hook event that means `permits` asks `fleet hook`, which knows the commands from the variable FLEET_ALLOWED.
An engine that takes a JSON document in a variable has the table [permissions]:

    variable    the variable; its document is the one in [env]
    path        the keys that lead to the place of commands in the document
    prefix      the patterns for the beginning of a command
    exactly     the patterns for one command
    value       the value of each pattern

An engine that reads its rules from a file has the table [rules]:

    variable    the variable that names the file
    prefix      the text of the rule for the beginning of a command, with {command}
    exactly     the text of the rule for one command, with {pattern}: a regular expression for it
"""

from __future__ import annotations

from fleet.fast import json, re
from fleet.model.agents.allow import ALLOWED_VARIABLE
from fleet.model.text.documents.kinds import SOME_WORDS, TEXT, Key
from fleet.model.text.documents.tables import Table
from fleet.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.engines.reader import Engine
    from fleet.model.agents.allow import Allowed

_REST = "*"


@record(frozen=True, slots=True, kw_only=True)
class Permissions:
    """The table [permissions] of an engine's file."""

    variable: str
    path: tuple[str, ...]
    prefix: tuple[str, ...]
    exactly: tuple[str, ...]
    value: str


@record(frozen=True, slots=True, kw_only=True)
class Rules:
    """The table [rules] of an engine's file."""

    variable: str
    prefix: str
    exactly: str


RULES = Table("[rules]", dict.fromkeys(("variable", "prefix", "exactly"), Key(TEXT, required=True)))
TABLE = Table(
    "[permissions]",
    {
        **dict.fromkeys(("variable", "value"), Key(TEXT, required=True)),
        **dict.fromkeys(("path", "prefix", "exactly"), Key(SOME_WORDS, required=True)),
    },
)


def words(engine: Engine, allowed: Allowed) -> list[str]:
    """Return the words of the command line that let the engine run these commands without asking; [] for none."""
    return [*_words_for_each(engine.allow, allowed.prefixes), *_words_for_each(engine.allow_exactly, allowed.exact)]


def variables(engine: Engine, allowed: Allowed) -> dict[str, str]:
    """Return the variable that lets the engine, or its hook, run these commands without asking, as {name: value}.

    {} when the engine is told of the commands in another way, or cannot be told. The variable replaces the one of the
    same name in [env]: its document contains that one's.
    """
    table = engine.permissions
    if engine.hooks is not None and "permits" in engine.hooks.events.values():
        return {ALLOWED_VARIABLE: json.dumps({"exact": allowed.exact, "prefixes": allowed.prefixes})}
    if table is None:
        return {}
    document = json.loads(engine.env.get(table.variable, "{}"))
    place = document
    *way, last = table.path
    for key in way:
        place = place.setdefault(key, {})
    patterns = [*_words_for_each(table.prefix, allowed.prefixes), *_words_for_each(table.exactly, allowed.exact)]
    # The last pattern that fits a command counts, so the rule for all others stands first.
    place[last] = {_REST: place.get(last, "ask"), **dict.fromkeys(patterns, table.value)}
    return {table.variable: json.dumps(document)}


def rules_text(rules: Rules, allowed: Allowed) -> str:
    """Return the text of the rules file that lets an engine run these commands without asking."""
    prefixes = [rules.prefix.replace("{command}", command) for command in allowed.prefixes]
    return "".join([*prefixes, *(rules.exactly.replace("{pattern}", re.escape(command)) for command in allowed.exact)])


def _words_for_each(words: Iterable[str], commands: Iterable[str]) -> list[str]:
    """Return all `words` once for each command, with {command} replaced by that command."""
    kept = list(words)
    return [word.replace("{command}", command) for command in commands for word in kept]

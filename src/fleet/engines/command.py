"""The words that start an engine. Nothing here passes through a shell."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.engines.reader import Engine

# The kernel takes 128 KiB in one argument; what is longer is read from its file.
LONGEST_ARGUMENT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What the placeholders of an engine's file stand for."""

    program: str
    prompt: str
    prompt_file: str
    autonomy: str | None = None
    model: str | None = None
    command: tuple[str, ...] = ()
    conversation: str = ""
    remote: bool = False
    fleet_home: str = ""
    git_dirs: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()


def words(engine: Engine, filling: Filling, *, resume: bool = False) -> list[str]:
    """The command line of the agent."""
    made: list[str] = []
    for word in engine.resume if resume else engine.start:
        made.extend(_expand_word(engine, word, filling))
    return made


def headless(engine: Engine, filling: Filling) -> list[str]:
    """The command line that does one thing without a terminal and exits; none when the engine cannot."""
    given = engine.headless or (() if engine.interactive or "{command}" in engine.start else engine.start)
    return [made for word in given for made in _expand_word(engine, word, filling)]


def _expand_word(engine: Engine, word: str, filling: Filling) -> list[str]:
    """Some words stand for several, or for none; the others are filled in."""
    freedom = engine.autonomy.get(filling.autonomy or "", ())
    model, name = filling.model or "", filling.conversation
    several: dict[str, Iterable[str]] = {
        "{command}": filling.command,
        "{hooks}": filling.hooks,
        "{autonomy}": [made for part in freedom for made in _fill_autonomy_word(part, filling)],
        "{remote}": engine.remote if filling.remote else (),
        "{session}": [part.replace("{conversation}", name) for part in engine.session if name],
        "{model}": [part.replace("{model}", model) for part in engine.model if model],
    }
    return list(several[word]) if word in several else [_fill_word(engine, word, filling)]


def needs_git_dirs(engine: Engine, autonomy: str | None) -> bool:
    """Whether the engine has a sandbox at this freedom that must be told where git writes."""
    return any("{git_dir}" in word for word in engine.autonomy.get(autonomy or "", ()))


def _fill_autonomy_word(word: str, filling: Filling) -> list[str]:
    """A word of an autonomy; one about git's directories is said once for each."""
    each = filling.git_dirs if "{git_dir}" in word else ("",)
    return [
        _fill_once(word, {"{{": "{", "}}": "}", "{fleet_home}": filling.fleet_home, "{git_dir}": one}) for one in each
    ]


def _fill_once(word: str, facts: dict[str, str]) -> str:
    """All at one go: what was filled in is not looked at again."""
    return re.sub("|".join(re.escape(name) for name in facts), lambda found: facts[found[0]], word)


def _fill_word(engine: Engine, word: str, filling: Filling) -> str:
    prompt = filling.prompt
    if len(prompt.encode()) > LONGEST_ARGUMENT and engine.long_prompt:
        prompt = engine.long_prompt.replace("{prompt_file}", filling.prompt_file)
    for name, value in (
        ("{program}", filling.program),
        ("{python}", filling.program),
        ("{prompt_file}", filling.prompt_file),
        ("{conversation}", filling.conversation),
    ):
        word = word.replace(name, value)
    return word.replace("{prompt}", prompt)


def environment(engine: Engine, given: Mapping[str, str], mine: Mapping[str, str]) -> dict[str, str]:
    """The agent's environment: without what a parent agent left there, with what fleet tells it."""
    kept = {name: value for name, value in given.items() if not any(fnmatch.fnmatchcase(name, p) for p in engine.unset)}
    return kept | engine.env | dict(mine)

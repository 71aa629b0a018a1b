"""The words that start an engine. Nothing here passes through a shell."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def words(engine: Engine, filling: Filling, *, resume: bool = False) -> list[str]:
    """The command line of the agent."""
    made: list[str] = []
    for word in engine.resume if resume else engine.start:
        made.extend(_expanded(engine, word, filling))
    return made


def _expanded(engine: Engine, word: str, filling: Filling) -> list[str]:
    if word == "{command}":
        return list(filling.command)
    if word == "{autonomy}":
        return [part.replace("{{", "{").replace("}}", "}") for part in engine.autonomy.get(filling.autonomy or "", ())]
    if word == "{model}":
        return [part.replace("{model}", filling.model) for part in engine.model] if filling.model else []
    return [_filled(engine, word, filling)]


def _filled(engine: Engine, word: str, filling: Filling) -> str:
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

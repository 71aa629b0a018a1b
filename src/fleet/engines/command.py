"""Build the command line and the environment of an engine. Nothing here passes through a shell."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from fleet.engines import permissions
from fleet.model.agents.allow import NOTHING
from fleet.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.engines.reader import Engine
    from fleet.model.agents.allow import Allowed

# The kernel allows 128 KiB for one argument; an agent reads a longer prompt from its file.
LONGEST_ARGUMENT = 100_000


@record(frozen=True, slots=True, kw_only=True)
class Filling:
    """The values for the placeholders in an engine's file; '', () or None where a placeholder has no value."""

    # The absolute path of the engine's program; the prompt, and the path of the file that has it.
    program: str
    prompt: str
    prompt_file: str
    autonomy: str | None = None
    model: str | None = None
    # The words of the person's own command, for an engine that runs any command.
    command: tuple[str, ...] = ()
    # The id of the conversation.
    conversation: str = ""
    # Whether the agent may be controlled from another device.
    remote: bool = False
    # The fleet home, "" for an agent that reaches fleet only by a socket; and the directories that git writes to.
    fleet_home: str = ""
    git_dirs: tuple[str, ...] = ()
    # The command-line words that give the engine fleet's hooks.
    hooks: tuple[str, ...] = ()
    # The commands that the agent may run without a question: whole commands, and beginnings of commands.
    allow: Allowed = NOTHING


def words(engine: Engine, filling: Filling, *, resume: bool = False) -> list[str]:
    """Return the command line that starts the agent; with `resume`, the one that resumes its conversation.

    With `resume`, [] when the engine has no such command line.
    """
    command: list[str] = []
    for word in engine.resume if resume else engine.start:
        command.extend(_expand_word(engine, word, filling))
    return command


def headless(engine: Engine, filling: Filling) -> list[str]:
    """Return the command line that does one task without a terminal and exits; [] when the engine cannot do that.

    For an engine that is not interactive and has no `headless`, it is the one of `start`, unless that runs a person's
    own {command}.
    """
    template = engine.headless or (() if engine.interactive or "{command}" in engine.start else engine.start)
    return [filled for word in template for filled in _expand_word(engine, word, filling)]


def _expand_word(engine: Engine, word: str, filling: Filling) -> list[str]:
    """Return the words that one word of an engine's file stands for; a placeholder such as {hooks} stands for several or none."""
    freedom = engine.autonomy.get(filling.autonomy or "", ())
    model, name = filling.model or "", filling.conversation
    several: dict[str, Iterable[str]] = {
        "{command}": filling.command,
        "{hooks}": filling.hooks,
        "{autonomy}": [filled for part in freedom for filled in _fill_autonomy_word(engine, part, filling)],
        "{remote}": engine.remote if filling.remote else (),
        "{session}": [part.replace("{conversation}", name) for part in engine.session if name],
        "{model}": [part.replace("{model}", model) for part in engine.model if model],
    }
    return list(several[word]) if word in several else [_fill_word(engine, word, filling)]


def needs_git_dirs(engine: Engine, autonomy: str | None) -> bool:
    """Return whether the engine's command line at this autonomy names the directories that git writes to.

    An engine with a sandbox of its own lets the agent write there only when told. `autonomy` is None when none is set.
    """
    return any("{git_dir}" in word for word in engine.autonomy.get(autonomy or "", ()))


def _fill_autonomy_word(engine: Engine, word: str, filling: Filling) -> list[str]:
    """Return the words that one word of an autonomy in the engine's file stands for.

    {allow} becomes the words that allow commands. A word with {git_dir} is repeated for each directory that git writes
    to. A word with {fleet_home} becomes [] for an agent that reaches fleet only by a socket. {{ and }} become { and }.
    """
    if word == "{allow}":
        return permissions.words(engine, filling.allow)
    if "{fleet_home}" in word and not filling.fleet_home:
        return []  # the agent reaches fleet by a socket, and needs nothing of the home
    directories = filling.git_dirs if "{git_dir}" in word else ("",)
    return [
        _fill_once(word, {"{{": "{", "}}": "}", "{fleet_home}": filling.fleet_home, "{git_dir}": directory})
        for directory in directories
    ]


def _fill_once(word: str, facts: dict[str, str]) -> str:
    """Return a word with each placeholder in `facts` replaced by its value.

    All are replaced in one pass, so that placeholders inside the values stay as they are.
    """
    return re.sub("|".join(re.escape(name) for name in facts), lambda found: facts[found[0]], word)


def _fill_word(engine: Engine, word: str, filling: Filling) -> str:
    """Return a word with its placeholders filled in.

    A prompt of more than LONGEST_ARGUMENT bytes is replaced by the engine's `long_prompt`, a request to read its file.
    """
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
    """Return the agent's environment: the variables `given`, overridden by the engine's own and then by fleet's (`mine`).

    Variables that the engine's file unsets, which belong to a parent agent, are left out. A variable that the engine's file
    passes on by its full name is kept, even if a pattern of `unset` matches it.
    """
    named = engine.passes or ()
    kept = {name: value for name, value in given.items() if name in named or not _is_unset(engine, name)}
    return kept | engine.env | dict(mine)


def _is_unset(engine: Engine, name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in engine.unset)

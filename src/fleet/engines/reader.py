"""Read engine files, built-in and the user's own, and recognise an agent's state on its screen."""

from __future__ import annotations

import os

from fleet import errors
from fleet.bundle import BUNDLE
from fleet.engines import hooks, permissions, sandbox
from fleet.engines.hooks import Hooks
from fleet.engines.kept import conversations, status_file, usage
from fleet.engines.kept.conversations import Kept
from fleet.engines.kept.status_file import StatusFile
from fleet.engines.kept.usage import Usage
from fleet.engines.permissions import Permissions, Rules
from fleet.engines.sandbox import Sandboxed
from fleet.fast import contextlib, re
from fleet.model import names
from fleet.model.names import AUTONOMIES
from fleet.model.text.documents.kinds import (
    ANYTHING,
    FLAG,
    SOME_WORDS,
    TEXT,
    WORDS,
    Key,
    ValueKind,
    choice,
    is_number,
)
from fleet.model.text.documents.nodes import UnreadableDocument
from fleet.model.text.documents.tables import ListOf, Table, TableOf
from fleet.records import field, record
from fleet.world.home import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from re import Match
    from typing import Any

    from fleet.model.text.documents.nodes import DocumentFault, DocumentNode

_BUILT_IN = f"{os.path.dirname(__file__)}/data"
_ENDING = ".toml"
# The prompt of an agent whose own prompt is too long for a command line, unless the engine's file has another text.
LONG_PROMPT = "Your instructions are in the file {prompt_file}. Read that file in full, then do what it says."
STATES = ("working", "asks", "idle", "retrying", "limit", "dialog", "failed_turn", "finished")
_EMPTY_BOX = frozenset({"idle", "finished", "failed_turn"})
# What replaces the model when an engine is checked: a stub of one vendor's API, or the task itself as a script or command.
DIALECTS = ("messages", "responses", "contents", "script", "command")


@record(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A regular expression of an engine's file, compiled only when it is used.

    Compiling all those of one engine takes half an interpreter start.
    """

    text: str

    def search(self, text: str) -> Match[str] | None:
        """Return the first match in a text; None when there is none."""
        return re.search(self.text, text, re.MULTILINE)

    def last(self, text: str) -> Match[str] | None:
        """Return the last match in a text; None when there is none."""
        return next(reversed([*re.finditer(self.text, text, re.MULTILINE)]), None)


@record(frozen=True, slots=True, kw_only=True)
class Rule:
    """A pattern that recognises one state of an agent on its screen."""

    state: str
    match: Pattern
    # Whether a matching screen also has an empty input box, into which text can be typed. Some states always have one.
    box: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Before:
    """A value that a file must have before the engine is started; without it the engine would stop at a dialog.

    `path` has the keys that lead to the value, which has to be `equals`. `why` and `advice` become the message when it
    is not. The value is not checked at the autonomy `unless`.
    """

    file: str
    path: tuple[str, ...]
    equals: object
    why: str
    advice: str
    unless: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Check:
    """How to check an engine without an account.

    `dialect` says what replaces the model; `env` has environment variables, `files` the files of a HOME for the check.
    """

    dialect: str
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class Engine:
    """How one agent program is started, resumed, watched and stopped."""

    name: str
    # The path of the engine's file; a line for people; and the engine's program, "" when each dispatch names one.
    source: str
    summary: str
    program: str
    # The command lines that start an agent and resume its conversation, with placeholders; () when it cannot resume.
    start: tuple[str, ...]
    resume: tuple[str, ...] = ()
    # The command line that does one task without a terminal and exits; an engine that is not interactive needs none.
    headless: tuple[str, ...] = ()
    # The words that give a new conversation its name, the files (patterns) in which the engine keeps conversations, and where
    # to find the name of a conversation that could not be given one.
    session: tuple[str, ...] = ()
    transcript: tuple[str, ...] = ()
    kept: Kept | None = None
    # The words that choose a model; the command that installs the engine; and the prompt in place of a too long one.
    model: tuple[str, ...] = ()
    install: str = ""
    long_prompt: str = LONG_PROMPT
    # Matches printed text that says that a usage limit is reached.
    limit: Pattern | None = None
    # Matches printed text that says that the engine refused a tool because there was no person to ask.
    refused: Pattern | None = None
    # Whether the program waits for a person's next words when it has done its task, and does not exit by itself.
    interactive: bool = False
    # Whether the engine hides the person's git configuration from its tools, so that variables must name the committer.
    committer: bool = False
    # Patterns of the variables that an agent must not inherit, because they belong to an agent that asked for it.
    unset: tuple[str, ...] = ()
    # The names or patterns of the variables that an agent inherits besides the usual ones, None for all; and the names
    # of those that it cannot work without.
    passes: tuple[str, ...] | None = None
    require: tuple[str, ...] = ()
    # The engine's own variables; and the signal that asks an agent to exit.
    env: dict[str, str] = field(default_factory=dict)
    exit_signal: str = "SIGTERM"
    # What the engine's own sandbox has to allow, as text for people.
    sandbox: str = ""
    # The words for each autonomy; and the variable whose value 1 declares that there is a sandbox around fleet.
    autonomy: dict[str, tuple[str, ...]] = field(default_factory=dict)
    root_sandbox: str = ""
    # The words that allow all commands with one beginning without a question; they replace {allow} in [autonomy].
    allow: tuple[str, ...] = ()
    # The same for one whole command; and the variable, or the file with rules, that takes allowed commands instead.
    allow_exactly: tuple[str, ...] = ()
    permissions: Permissions | None = None
    rules: Rules | None = None
    before: tuple[Before, ...] = ()
    screen: tuple[Rule, ...] = ()
    hooks: Hooks | None = None
    status_file: StatusFile | None = None
    # Where the engine writes how many tokens its agents use; None: that is not known.
    usage: Usage | None = None
    check: Check | None = None
    # The files of the person's home directory that an agent has in fleet's sandbox.
    sandboxed: Sandboxed = field(default_factory=Sandboxed)
    # How many seconds a coordinator may take to prove itself; and the words that turn remote control on.
    proof_timeout: float = 30.0
    remote: tuple[str, ...] = ()


class _Pattern(ValueKind):
    """The kind of a value that has to be a regular expression."""

    def faults(self, node: DocumentNode, name: str, advice: str = "") -> Iterator[DocumentFault]:
        """Yield a fault when the value is not a regular expression."""
        try:
            re.compile(node.value)
        except (re.error, TypeError) as error:
            yield node.fault(f"{name} is no regular expression: {error}", advice or f"write {self.expects}")


_PATTERN = _Pattern("a regular expression")
_BEFORE = Table(
    "[[before]]",
    {
        **dict.fromkeys(("file", "equals", "why", "advice"), Key(ANYTHING, required=True)),
        "path": Key(ListOf(ANYTHING, expects="a list of words"), required=True),
    },
    is_open=True,
)
_SCREEN = Table(
    "[[screen]]", {"state": Key(choice(*STATES), required=True), "match": Key(_PATTERN, required=True)}, is_open=True
)
_CHECK = Table(
    "[check]",
    {"dialect": Key(choice(*DIALECTS), required=True), **dict.fromkeys(("env", "files"), Key(TableOf(TEXT)))},
)
TABLE = Table(
    "this file",
    {
        **dict.fromkeys(("summary", "program"), Key(TEXT, required=True)),
        **dict.fromkeys(("install", "long_prompt", "sandbox"), Key(TEXT)),
        "start": Key(SOME_WORDS, required=True),
        **dict.fromkeys(
            (
                "resume",
                "headless",
                "session",
                "transcript",
                "model",
                "unset",
                "pass",
                "require",
                "remote",
                "allow",
                "allow_exactly",
            ),
            Key(WORDS),
        ),
        **dict.fromkeys(("interactive", "committer"), Key(FLAG)),
        **dict.fromkeys(("limit", "refused"), Key(_PATTERN)),
        "proof_timeout": Key(ValueKind("a number of seconds", lambda value: is_number(value) and value > 0)),
        "exit_signal": Key(choice("SIGTERM", "SIGINT", "SIGHUP")),
        "env": Key(TableOf(ANYTHING)),
        "autonomy": Key(Table("[autonomy]", {**dict.fromkeys(AUTONOMIES, Key(WORDS)), "root_sandbox": Key(ANYTHING)})),
        "before": Key(ListOf(_BEFORE, expects="written as [[before]]")),
        "screen": Key(ListOf(_SCREEN, expects="written as [[screen]]")),
        "kept": Key(conversations.TABLE),
        "hooks": Key(hooks.TABLE),
        "permissions": Key(permissions.TABLE),
        "rules": Key(permissions.RULES),
        "status_file": Key(status_file.TABLE),
        "usage": Key(usage.TABLE),
        "check": Key(_CHECK),
        "sandboxed": Key(sandbox.TABLE),
    },
)


# The engines that were read before, by the path and the bytes of their files. A cache of functools would cost its
# import, which takes longer than reading an engine.
_PARSED: dict[tuple[str, bytes], Engine] = {}
_MOST_PARSED = 16


def __getattr__(name: str) -> Path:
    """Return the module's attribute BUILT_IN, the folder of the built-in engines as a Path, when somebody asks for it.

    It is not a plain attribute, because importing pathlib takes longer than reading an engine.
    """
    if name != "BUILT_IN":
        raise AttributeError(name)
    from pathlib import Path  # noqa: PLC0415 - it takes longer than reading an engine

    return Path(_BUILT_IN)


def all_engines(home: str) -> dict[str, Engine]:
    """Return every engine by its name; the user's own file replaces a built-in one.

    Raise BadSetting when a file is broken, BadName when a file's name is not that of an engine.
    """
    engines: dict[str, Engine] = {}
    for folder in (_BUILT_IN, f"{home}/{paths.ENGINES}"):
        for name in _names_in(folder):
            engines[name] = read(f"{folder}/{name}{_ENDING}")
    return engines


def readable_engines(home: str) -> list[Engine]:
    """Return every engine whose file is not broken, by name; the user's own file replaces a built-in one."""
    found = []
    for name in _known_names(home):
        with contextlib.suppress(errors.FleetError):  # starting an agent on this engine shows what is wrong
            found.append(engine(home, name))
    return found


def is_built_in(engine: Engine) -> bool:
    """Return whether an engine's file is fleet's own and not the user's."""
    return os.path.dirname(engine.source) == _BUILT_IN


def engine(home: str, name: str) -> Engine:
    """Return the engine of this name; raise Absent or BadName when there is none, BadSetting when its file is broken.

    Only its own file is read, so that broken files of other engines do not matter.
    """
    return read(file_of(home, name))


def file_of(home: str, name: str) -> str:
    """Return the path of the file that describes an engine: the user's own, else the built-in one.

    Raise Absent when there is none, BadName for an invalid name.
    """
    names.engine(name)
    for folder in (f"{home}/{paths.ENGINES}", _BUILT_IN):
        path = f"{folder}/{name}{_ENDING}"
        if os.path.exists(path):
            return path
    known = _known_names(home)
    import difflib  # noqa: PLC0415 - only for the message

    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" (did you mean {near[0]!r}?)" if near else f" (there are {', '.join(known)})"
    raise errors.Absent(what=f"engine {name!r}{hint}")


def _known_names(home: str) -> list[str]:
    """Return the names of all engines, built-in ones and the user's own."""
    return sorted({*_names_in(_BUILT_IN), *_names_in(f"{home}/{paths.ENGINES}")})


def _names_in(folder: str) -> list[str]:
    """Return the names of the engines whose files are in a folder."""
    there = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(name.removesuffix(_ENDING) for name in there if name.endswith(_ENDING))


def read(path: str | os.PathLike[str]) -> Engine:
    """Return the engine in a file, parsed anew only after a change; raise BadSetting when the file is broken.

    Raise BadName when the file's name is not that of an engine.
    """
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as error:
        raise _broken_file(os.fspath(path), 1, f"it cannot be read: {error.strerror}") from None
    place = os.fspath(path)
    if (place, raw) not in _PARSED:
        if len(_PARSED) >= _MOST_PARSED:
            _PARSED.clear()
        _PARSED[place, raw] = _parse(place, raw)
    return _PARSED[place, raw]


def _parse(path: str, raw: bytes) -> Engine:
    """Return the engine in the bytes of a file; raise BadSetting with the line when they are broken."""
    known = BUNDLE.engine_file(raw)
    if known is not None:
        return _engine(path, known)
    from fleet.model.text.documents.toml_tree import parse  # noqa: PLC0415 - a large import, needed only for a user's own engine

    try:
        root = parse(raw.decode())
    except UnicodeDecodeError as error:
        raise _broken_file(path, raw.count(b"\n", 0, error.start) + 1, "it is not UTF-8") from None
    except UnreadableDocument as error:
        raise _broken_file(path, error.fault.line, error.fault.why, error.fault.advice) from None
    fault = next(TABLE.faults(root, "the file"), None)
    if fault is not None:
        raise _broken_file(path, fault.line, fault.why, fault.advice)
    return _engine(path, root.plain)


def _broken_file(path: str, line: int, why: str, advice: str = "") -> errors.BadSetting:
    example = "`fleet engine show claude` is an example that works"
    return errors.BadSetting(file=path, line=line, why=why, advice=f"{advice} ({example})" if advice else example)


def _engine(path: str, given: dict[str, Any]) -> Engine:
    """Return the engine that a checked file describes."""
    fields: dict[str, Any] = {
        _FIELDS.get(key, key): _CONVERTERS[key](value) if key in _CONVERTERS else _list_to_tuple(value)
        for key, value in given.items()
    }
    autonomy = {name: tuple(words) for name, words in given.get("autonomy", {}).items() if name in AUTONOMIES}
    root = str(given.get("autonomy", {}).get("root_sandbox", ""))
    named = {
        "name": names.slug(os.path.basename(path).removesuffix(_ENDING)),
        "source": path,
        "autonomy": autonomy,
        "root_sandbox": root,
    }
    return Engine(**fields | named)


def _list_to_tuple(value: Any) -> Any:  # noqa: ANN401 - any TOML value
    return tuple(value) if isinstance(value, list) else value


def _table_of(kind: Callable[..., object]) -> Callable[[dict[str, Any]], object]:
    """Return a function that makes a value of this kind from a table of the engine's file."""
    return lambda given: kind(**{key: _list_to_tuple(value) for key, value in given.items()})


def _parse_before(given: dict[str, Any]) -> Before:
    """Return what a table [[before]] of the engine's file demands before the engine is started."""
    texts = {key: str(given.get(key, "")) for key in ("file", "why", "advice", "unless")}
    return Before(path=tuple(str(part) for part in given["path"]), equals=given["equals"], **texts)


def _screen_rule(given: dict[str, Any]) -> Rule:
    """Return the rule that recognises an agent's state on its screen, from a table [[screen]] of the engine's file."""
    return Rule(state=given["state"], match=_pattern(given["match"]), box=given.get("box") is True)


def _pattern(text: str) -> Pattern:
    return Pattern(text=text)


# Keys of the file that are words of Python, and their fields of Engine.
_FIELDS = {"pass": "passes"}
# Convert values of the file to fields of Engine; values of other keys are used as written.
_CONVERTERS: dict[str, Callable[[Any], object]] = {
    "limit": _pattern,
    "refused": _pattern,
    "proof_timeout": float,
    "env": lambda given: {name: str(value) for name, value in given.items()},
    "before": lambda given: tuple(map(_parse_before, given)),
    "screen": lambda given: tuple(map(_screen_rule, given)),
    "kept": _table_of(Kept),
    "hooks": _table_of(Hooks),
    "permissions": _table_of(Permissions),
    "rules": _table_of(Rules),
    "status_file": _table_of(StatusFile),
    "usage": _table_of(Usage),
    "check": _table_of(Check),
    "sandboxed": _table_of(Sandboxed),
}


def state_of(engine: Engine, screen: str) -> tuple[str, str]:
    """Return the state of an agent that its screen shows, and the question on the screen ("" for none).

    The last 40 lines count. ("unknown", "") when no rule of the engine matches them.
    """
    rule, question = _matching_rule(engine, screen)
    return (rule.state, question) if rule else ("unknown", "")


def has_box(engine: Engine, screen: str) -> bool:
    """Return whether the screen shows an empty input box, so that typed text cannot approve a dialog or mix with other text."""
    rule, _question = _matching_rule(engine, screen)
    return rule is not None and (rule.box or rule.state in _EMPTY_BOX)


def _matching_rule(engine: Engine, screen: str) -> tuple[Rule | None, str]:
    """Return the first rule that matches the last 40 lines of a screen, and the question that it found ("" for none).

    (None, "") when no rule matches.
    """
    tail = _last_lines(screen)
    for rule in engine.screen:
        match = rule.match.last(tail)
        if match is not None:
            return rule, (match.groupdict().get("question") or "").strip()
    return None, ""


def _last_lines(screen: str) -> str:
    """Return the last 40 lines of a screen, after each run of blank lines was reduced to one.

    Otherwise the 40 lines could be mostly blank: some engines leave half the pane empty.
    """
    lines = [line.rstrip() for line in screen.rstrip().splitlines()]
    kept = [line for line, above in zip(lines, ["", *lines], strict=False) if line or above]
    return "\n".join(kept[-40:])

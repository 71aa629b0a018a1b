"""Reads engines: the built-in files and the user's own beside them. A broken file is named with its line."""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet.engines.conversations import Kept
from fleet.engines.conversations import read as read_kept
from fleet.engines.hooks import Hooks
from fleet.engines.hooks import read as read_hooks
from fleet.engines.status_file import StatusFile
from fleet.engines.status_file import read as read_status_file
from fleet.errors.families import Absent
from fleet.errors.given import BadSetting
from fleet.model import names
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Callable

BUILT_IN = Path(__file__).parent / "data"
AUTONOMIES = ("ask", "edits", "allowlist", "full")
# What an agent is told when its prompt is too long for a command line, unless its file says it otherwise.
LONG_PROMPT = "Your instructions are in the file {prompt_file}. Read that file in full, then do what it says."
SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
STATES = ("working", "asks", "idle", "retrying", "limit", "dialog", "failed_turn", "finished")
_KEYS = [
    "summary",
    "program",
    "install",
    "start",
    "resume",
    "headless",
    "session",
    "transcript",
    "kept",
    "model",
    "long_prompt",
    "limit",
    "interactive",
    "committer",
    "unset",
    "exit_signal",
    "sandbox",
    "autonomy",
    "before",
    "screen",
    "env",
    "hooks",
    "status_file",
    "check",
    "proof_timeout",
    "remote",
]
# What stands in for the model when an engine is checked: a stub of one maker's interface, or the task itself is what it does.
_EMPTY_BOX = frozenset({"idle", "finished", "failed_turn"})
DIALECTS = ("messages", "responses", "contents", "script", "command")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a screen looks like in a state."""

    state: str
    match: re.Pattern[str]
    # Whether it has an empty box, into which something can be typed.
    box: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """Something that has to hold before the engine is started, or a dialog would stop it."""

    file: str
    path: tuple[str, ...]
    equals: object
    why: str
    advice: str
    unless: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How the engine is proven without an account: what stands in for its model, its variables, and files of a throw-away HOME."""

    dialect: str
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """How one agent program is started, resumed, read and stopped."""

    name: str
    source: str
    summary: str
    program: str
    start: tuple[str, ...]
    resume: tuple[str, ...] = ()
    # To do one thing without a terminal and exit; an engine that is not interactive does that anyway.
    headless: tuple[str, ...] = ()
    # The words that give a new conversation its name, the files (patterns) in which an engine keeps it, and where to find its name
    # when none could be given.
    session: tuple[str, ...] = ()
    transcript: tuple[str, ...] = ()
    kept: Kept | None = None
    model: tuple[str, ...] = ()
    install: str = ""
    long_prompt: str = ""
    # How it says, in what it prints, that a usage limit is reached.
    limit: re.Pattern[str] | None = None
    interactive: bool = False
    # Whether it hides the person's git configuration from its tools, so that who commits has to be told by variables.
    committer: bool = False
    unset: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    exit_signal: str = "SIGTERM"
    sandbox: str = ""
    autonomy: dict[str, tuple[str, ...]] = field(default_factory=dict)
    root_sandbox: str = ""
    before: tuple[Before, ...] = ()
    screen: tuple[Rule, ...] = ()
    hooks: Hooks | None = None
    status_file: StatusFile | None = None
    check: Check | None = None
    # How long a coordinator on it may take to prove itself, in seconds; and what turns its remote control on.
    proof_timeout: float = 30.0
    remote: tuple[str, ...] = ()


def all_engines(home: str) -> dict[str, Engine]:
    """Every engine by name; the user's own file wins over a built-in one of the same name."""
    found: dict[str, Engine] = {}
    for folder in (BUILT_IN, Path(home, paths.ENGINES)):
        for path in sorted(folder.glob("*.toml")):
            found[path.stem] = read(path)
    return found


def engine(home: str, name: str) -> Engine:
    """One engine. Only its own file is read, so another broken one does not matter."""
    names.engine(name)
    for folder in (Path(home, paths.ENGINES), BUILT_IN):
        path = folder / f"{name}.toml"
        if path.exists():
            return read(path)
    known = sorted({path.stem for folder in (Path(home, paths.ENGINES), BUILT_IN) for path in folder.glob("*.toml")})
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" (did you mean {near[0]!r}?)" if near else f" (there are {', '.join(known)})"
    raise Absent(what=f"engine {name!r}{hint}")


def read(path: Path) -> Engine:
    """An engine from its file. A text that was read before is not parsed again."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise _broken(path, 1, f"it cannot be read: {error.strerror}") from None
    return _parsed(path, raw)


@lru_cache(maxsize=16)
def _parsed(path: Path, raw: bytes) -> Engine:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _broken(path, raw.count(b"\n", 0, error.start) + 1, "it is not UTF-8") from None
    try:
        given = tomllib.loads(text)
    except RecursionError:
        raise _broken(path, 1, "it is nested too deep") from None
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+)", str(error))
        raise _broken(path, int(where[1]) if where else max(1, len(text.splitlines())), str(error)) from None
    return _Reader(path, text, given).engine()


class _Reader:
    """Checks a file's values one by one."""

    def __init__(self, path: Path, text: str, given: dict[str, Any]) -> None:
        self._path = path
        self._text = text
        self._given = given

    def engine(self) -> Engine:
        for key in self._given:
            if key not in _KEYS:
                near = difflib.get_close_matches(key, _KEYS, n=1)
                raise self._fault(key, f"unknown key {key!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        autonomy = self._table("autonomy")
        root = autonomy.pop("root_sandbox", "")
        return Engine(
            name=names.slug(self._path.stem),
            source=str(self._path),
            summary=self._text_of("summary"),
            program=self._text_of("program"),
            start=self._words("start", required=True),
            resume=self._words("resume"),
            headless=self._words("headless"),
            session=self._words("session"),
            transcript=self._words("transcript"),
            kept=read_kept(self._table("kept"), self._in("kept")) if "kept" in self._given else None,
            model=self._words("model"),
            install=self._text_of("install", ""),
            long_prompt=self._text_of("long_prompt", LONG_PROMPT),
            limit=self._pattern("limit"),
            interactive=self._flag("interactive"),
            committer=self._flag("committer"),
            unset=self._words("unset"),
            env={name: str(value) for name, value in self._table("env").items()},
            exit_signal=self._choice("exit_signal", SIGNALS, "SIGTERM"),
            sandbox=self._text_of("sandbox", ""),
            autonomy={name: self._autonomy(name, words) for name, words in autonomy.items()},
            root_sandbox=str(root),
            before=tuple(self._before(*each) for each in enumerate(self._tables("before"))),
            screen=tuple(self._rule(*each) for each in enumerate(self._tables("screen"))),
            hooks=read_hooks(self._table("hooks"), self._in("hooks")) if "hooks" in self._given else None,
            status_file=self._status_file() if "status_file" in self._given else None,
            check=self._check() if "check" in self._given else None,
            proof_timeout=self._seconds("proof_timeout", 30.0),
            remote=self._words("remote"),
        )

    def _text_of(self, key: str, missing: str | None = None) -> str:
        value = self._given.get(key, missing)
        if not isinstance(value, str):
            raise self._fault(key, f"{key} is missing" if value is None else f"{key} is not a text")
        return value

    def _pattern(self, key: str) -> re.Pattern[str] | None:
        try:
            return re.compile(self._text_of(key), re.MULTILINE) if key in self._given else None
        except re.error as error:
            raise self._fault(key, f"{key} is no regular expression: {error}") from None

    def _flag(self, key: str) -> bool:
        value = self._given.get(key, False)
        if not isinstance(value, bool):
            raise self._fault(key, f"{key} is neither true nor false")
        return value

    def _seconds(self, key: str, missing: float) -> float:
        value = self._given.get(key, missing)
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise self._fault(key, f"{key} should be a number of seconds")
        return float(value)

    def _words(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        value = self._given.get(key, [])
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value) or (required and not value):
            raise self._fault(key, f"{key} should be a list of words")
        return tuple(value)

    def _choice(self, key: str, allowed: tuple[str, ...], missing: str) -> str:
        value = self._given.get(key, missing)
        if value not in allowed:
            raise self._fault(key, f"{key} is {value!r}, but should be one of {', '.join(allowed)}")
        return str(value)

    def _table(self, key: str) -> dict[str, Any]:
        value = self._given.get(key, {})
        if not isinstance(value, dict):
            raise self._fault(key, f"{key} should be a table")
        return dict(value)

    def _tables(self, key: str) -> list[dict[str, Any]]:
        value = self._given.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self._fault(key, f"{key} should be written as [[{key}]]")
        return value

    def _autonomy(self, name: str, words: object) -> tuple[str, ...]:
        if name not in AUTONOMIES:
            raise self._fault(name, f"autonomy {name!r} is none of {', '.join(AUTONOMIES)}")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise self._fault(name, f"autonomy {name} should be a list of words")
        return tuple(words)

    def _check(self) -> Check:
        given = self._table("check")
        for key in given:
            if key not in {"dialect", "env", "files"}:
                raise self._fault(key, f"[check] has no {key!r}", table="check")
        if given.get("dialect") not in DIALECTS:
            raise self._fault("dialect", f"dialect should be one of {', '.join(DIALECTS)}", table="check")
        texts = {key: given.get(key, {}) for key in ("env", "files")}
        for key, value in texts.items():
            if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
                raise self._fault(key, f"{key} should be a table of texts", table="check")
        return Check(dialect=given["dialect"], **texts)

    def _before(self, number: int, given: dict[str, Any]) -> Before:
        for key in ("file", "path", "equals", "why", "advice"):
            if key not in given:
                raise self._fault(key, f"[[before]] lacks {key!r}", table="before", number=number)
        if not isinstance(given["path"], list):
            raise self._fault("path", "path should be a list of words", table="before", number=number)
        return Before(
            file=str(given["file"]),
            path=tuple(str(part) for part in given["path"]),
            equals=given["equals"],
            why=str(given["why"]),
            advice=str(given["advice"]),
            unless=str(given.get("unless", "")),
        )

    def _rule(self, number: int, given: dict[str, Any]) -> Rule:
        state, pattern = given.get("state"), given.get("match")
        if state not in STATES:
            why = f"state {state!r} is none of {', '.join(STATES)}"
            raise self._fault("state", why, table="screen", number=number)
        if not isinstance(pattern, str):
            raise self._fault("match", "[[screen]] lacks a match", table="screen", number=number)
        try:
            return Rule(state=str(state), match=re.compile(pattern, re.MULTILINE), box=given.get("box") is True)
        except re.error as error:
            why = f"match is no regular expression: {error}"
            raise self._fault("match", why, table="screen", number=number) from None

    def _status_file(self) -> StatusFile:
        return read_status_file(self._table("status_file"), self._in("status_file"))

    def _in(self, table: str) -> Callable[[str, str], BadSetting]:
        """A fault in one table, or with a dotted key in one below it."""

        def fault(key: str, why: str) -> BadSetting:
            below, _, last = key.rpartition(".")
            return self._fault(last, why, table=f"{table}.{below}".rstrip("."))

        return fault

    def _fault(self, key: str, why: str, *, table: str = "", number: int = 0) -> BadSetting:
        return _broken(self._path, _line_of(self._text.splitlines(), key, table, number), why)


def _line_of(lines: list[str], key: str, table: str, number: int) -> int:
    """Where a key is written: in the file, or in one of its tables of a name; the table's own line when it is missing there."""
    heads = [at for at, line in enumerate(lines) if re.match(rf"\s*\[\[?\s*{table}\s*\]", line)] if table else []
    begin = heads[number] if number < len(heads) else 0
    for at, line in enumerate(lines[begin:], begin):
        if table and at > begin and line.lstrip().startswith("["):
            break
        if re.match(rf"\s*\[*\s*[\"']?{re.escape(key)}\b", line):
            return at + 1
    return begin + 1


def _broken(path: Path, line: int, why: str) -> BadSetting:
    clean = re.sub(r" \(at .*\)$", "", why)
    return BadSetting(
        file=str(path), line=line, why=clean, advice="`fleet engine show claude` is an example that works"
    )


def state_of(engine: Engine, screen: str) -> tuple[str, str]:
    """What the last lines of a screen mean, and the question on it; unknown when nothing is recognised."""
    rule, question = _recognised(engine, screen)
    return (rule.state, question) if rule else ("unknown", "")


def has_box(engine: Engine, screen: str) -> bool:
    """Whether something can be typed: nothing that Enter would approve or lose is on the screen."""
    rule, _question = _recognised(engine, screen)
    return rule is not None and (rule.box or rule.state in _EMPTY_BOX)


def _recognised(engine: Engine, screen: str) -> tuple[Rule | None, str]:
    tail = _tail(screen)
    for rule in engine.screen:
        found = list(rule.match.finditer(tail))
        if found:
            return rule, (found[-1].groupdict().get("question") or "").strip()
    return None, ""


def _tail(screen: str) -> str:
    """The last lines, bare of trailing blanks; a gap counts as one line, since some engines leave half the pane empty."""
    lines = [line.rstrip() for line in screen.rstrip().splitlines()]
    kept = [line for line, above in zip(lines, ["", *lines], strict=False) if line or above]
    return "\n".join(kept[-40:])


def python() -> str:
    """The interpreter that runs fleet."""
    return sys.executable

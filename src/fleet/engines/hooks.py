"""Make an engine report its agent's events to fleet: the settings file with hooks, and the dialect for `fleet hook`.

An engine's file has a table [hooks]:

    words       command-line words that name the settings file; they replace {hooks}, and {settings} is the file's path
    each        command-line words for each event instead of a file, with {event}, {command} (quoted) and {limit}
    env         variables that name the settings file instead
    trust       command-line words that let the engine run the hooks of `each`, and no other, without asking a person;
                {hashes} is a TOML table with the hash that the engine makes of each, under `trust_key` with its {event}
    at          the autonomies at which hooks are given; all when it is missing
    events      each event of the engine and what it means
    later       events that need no answer: the engine does not wait for their hooks
    wakes       events after which a hook waits beside the idle agent and can wake it
    status      whether the engine has a status line: fleet's reads how full the context is, and shows the person's own
    own_status  absolute paths of the person's files that may have a status line; the last that has one counts
    wait        how many seconds a question may wait for its answer
    unit        how many of the engine's time units make a second
    matcher     the value of the key "matcher" beside each event
    asking      the engine's tool for questions to the person
    shell       the engine's tool that runs a shell command
    install     the person's own settings file, for sessions that fleet does not start
    also        other content of the settings file, for every autonomy (always) or for one
    fields, errors, notices   where the engine's JSON has each fact; what its errors and notices mean
"""

from __future__ import annotations

from fleet.fast import json, re, shlex
from fleet.model.agents.activity.hook_events import STATES
from fleet.model.agents.dialect import FIELDS, MEANINGS, REMEDIES
from fleet.model.text.documents.kinds import ANYTHING, FLAG, TEXT, Key, ValueKind, choice
from fleet.model.text.documents.tables import ListOf, Table, TableOf
from fleet.records import field, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.engines.reader import Engine

# Marks the hooks that `fleet hooks install` wrote: a comment for the shell.
MARK = "# by fleet hooks install"
# Names of events that no engine has: the wait beside an idle agent, and a call of fleet's status line.
IDLES = "fleet-idles"
_STATUS = "fleet-status"
# For how many seconds the engine lets a hook run, and a hook of the events `later`, for which it does not wait.
_SYNC_TIMEOUT, _ASYNC_TIMEOUT = 30, 120
# Screen states by the meaning of the hook event that reports them; no engine has an event for a retry.
_SEEN_ONLY = {"failed": ("failed_turn", "limit"), "asks": ("asks", "dialog"), "": ("retrying",)}


@record(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The table [hooks] of an engine's file."""

    words: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()
    trust_key: str = ""
    at: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    events: dict[str, str] = field(default_factory=dict)
    later: tuple[str, ...] = ()
    wakes: tuple[str, ...] = ()
    status: bool = False
    own_status: tuple[str, ...] = ()
    wait: int = 3_600
    unit: int = 1
    matcher: str = ""
    asking: str = ""
    shell: str = ""
    install: str = ""
    also: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)


TABLE = Table(
    "[hooks]",
    {
        **dict.fromkeys(
            ("words", "each", "trust", "at", "later", "wakes", "own_status"),
            Key(ListOf(ANYTHING, expects="a list of words")),
        ),
        **dict.fromkeys(("matcher", "asking", "shell", "install", "trust_key"), Key(TEXT)),
        **dict.fromkeys(("wait", "unit"), Key(ValueKind("a whole number", lambda value: type(value) is int))),
        **dict.fromkeys(("env", "also"), Key(TableOf(ANYTHING))),
        "status": Key(FLAG),
        "events": Key(TableOf(choice(*MEANINGS))),
        "errors": Key(TableOf(choice(*REMEDIES))),
        "notices": Key(TableOf(choice(*STATES))),
        "fields": Key(Table("fields", dict.fromkeys(FIELDS, Key(ANYTHING)))),
    },
)


def hooks_of(engine: Engine) -> Hooks:
    """Return the table [hooks] of an engine, which must have one."""
    assert engine.hooks is not None, engine.name  # noqa: S101
    return engine.hooks


def words_of_events(engine: Engine, fleet: str) -> list[str]:
    """Return the command-line words that give the engine a hook for each of its events, to be run without asking.

    The words are those of `each` and `trust` in the engine's file. `fleet` is the path of the program fleet.
    """
    hooks = hooks_of(engine)
    hashes = "{" + ",".join(_trusted_hash(engine, event, fleet) for event in hooks.events) + "}"
    facts = [
        (event, json.dumps(command(engine, event, fleet), ensure_ascii=False), str(limit(hooks, event)))
        for event in hooks.events
    ]
    each = [
        word.replace("{event}", event).replace("{limit}", seconds).replace("{command}", quoted)
        for event, quoted, seconds in facts
        for word in hooks.each
    ]
    return [*each, *(word.replace("{hashes}", hashes) for word in hooks.trust)]


def _trusted_hash(engine: Engine, event: str, fleet: str) -> str:
    """Return a TOML entry `KEY = {HASH}` for a hook, with the hash that Codex would compute of it."""
    import hashlib  # noqa: PLC0415 - not for whoever only reads an engine

    hooks = hooks_of(engine)
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
    hook = {"type": "command", "command": command(engine, event, fleet), "timeout": limit(hooks, event), "async": False}
    text = json.dumps({"event_name": name, "hooks": [hook]}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    key = hooks.trust_key.replace("{event}", name)
    return (
        f'{json.dumps(key, ensure_ascii=False)}={{trusted_hash="sha256:{hashlib.sha256(text.encode()).hexdigest()}"}}'
    )


def states_without_hook(engine: Engine) -> frozenset[str]:
    """Return the states of an agent that no hook event of the engine reports, so that they can be seen only on the screen."""
    meanings = set(engine.hooks.events.values()) if engine.hooks else set()
    return frozenset(state for meaning, states in _SEEN_ONLY.items() if meaning not in meanings for state in states)


def settings(engine: Engine, autonomy: str | None, fleet: str) -> str:
    """Return the text of the settings file with hooks that the engine is started with at this autonomy.

    `autonomy` is None when none is set; `fleet` is the path of the program fleet.
    """
    hooks = hooks_of(engine)
    also = {**hooks.also.get("always", {}), **hooks.also.get(autonomy or "", {})}
    content: dict[str, Any] = {
        **also,
        "hooks": {event: _settings_entries(engine, event, fleet) for event in hooks.events},
    }
    if hooks.status:
        content["statusLine"] = {"type": "command", "command": command(engine, _STATUS, fleet)}
    return json.dumps(content, indent=2) + "\n"


def _settings_entries(engine: Engine, event: str, fleet: str) -> list[dict[str, Any]]:
    """Return the settings entries of one event.

    An event of `wakes` also has the hook that waits beside the idle agent and can wake it.
    """
    hooks = hooks_of(engine)
    entries = [_command_entry(engine, event, fleet)]
    if event in hooks.wakes:
        waits = {"type": "command", "command": command(engine, IDLES, fleet), "timeout": hooks.wait * hooks.unit}
        entries.append({**waits, "asyncRewake": True})
    return [{**({"matcher": hooks.matcher} if hooks.matcher else {}), "hooks": entries}]


def _command_entry(engine: Engine, event: str, fleet: str) -> dict[str, Any]:
    """Return the settings entry that runs `fleet hook` at an event."""
    hooks = hooks_of(engine)
    entry = {"type": "command", "command": command(engine, event, fleet), "timeout": limit(hooks, event)}
    return {**entry, "async": True} if event in hooks.later else entry


def limit(hooks: Hooks, event: str) -> int:
    """Return how long the engine waits for the hook of an event, in the engine's own time unit.

    The hook itself gives up earlier, so that it can still reply.
    """
    if hooks.events[event] == "asks":
        return (hooks.wait + _SYNC_TIMEOUT) * hooks.unit
    return (_ASYNC_TIMEOUT if event in hooks.later else _SYNC_TIMEOUT) * hooks.unit


def command(engine: Engine, event: str, fleet: str) -> str:
    """Return the shell command that an engine runs at an event; `fleet` is the path of the program fleet.

    It uses exec, so that the hook is a direct child of the engine.
    """
    return f"exec {shlex.quote(fleet)} hook {event} --engine {engine.name}"


def installed_command(engine: Engine, event: str, fleet: str) -> str:
    """Return the shell command of a hook for the person's own settings of an engine.

    It calls fleet only in an agent of fleet that was started without fleet's own hooks (FLEET_DISPATCH_ID is set,
    FLEET_HOOKS is not). In the person's own sessions it does nothing.
    """
    inside = '[ -z "$FLEET_DISPATCH_ID" ] || [ -n "$FLEET_HOOKS" ]'
    return f"{inside} || {command(engine, event, fleet)} {MARK}"


def dialect(engine: Engine) -> str:
    """Return the dialect of the engine's hooks as JSON, which `fleet hook` reads."""
    hooks = hooks_of(engine)
    facts = {
        "engine": engine.name,
        "events": {**hooks.events, IDLES: "idles", _STATUS: "status"},
        "fields": hooks.fields,
        "errors": hooks.errors,
        "notices": hooks.notices,
        "asking": hooks.asking,
        "shell": hooks.shell,
        "own_status": hooks.own_status,
        "wait": hooks.wait,
    }
    return json.dumps(facts) + "\n"

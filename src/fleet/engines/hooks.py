"""How an engine is made to tell fleet what its agent does: the settings file it is given, and its dialect for `fleet hook`.

An engine's file has a table [hooks]:

    words       how the program is given the file, where its start says {hooks}; {settings} is the file
    each        words that are said once for each event instead, with {event}, {command} (quoted) and {limit}
    env         variables that do the same
    at          the freedoms at which they are given; all when it is missing
    events      each event of the program and what it means
    later       those that need no answer: the program does not wait for them
    wakes       the events after which a hook may wait beside the idle agent and wake it
    status      the program takes a status line: ours tells fleet how full the context is, and shows the person's own
    own_status  the person's own files that may have a status line, by whole paths; the last that has one counts
    wait        how many seconds a question may wait for its answer
    unit        how many of the program's units of time are a second
    matcher     what it wants beside each event
    asking      its tool for questions to the person
    install     the person's own settings file, for sessions that fleet does not start
    also        what else stands in the file, at any freedom (always) or at one
    fields, errors, notices   where its JSON has each fact; what its errors and notices mean
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fleet.model.agents.dialect import FIELDS, MEANINGS, REMEDIES
from fleet.model.agents.hook_events import STATES
from fleet.model.text.documents.kinds import ANYTHING, FLAG, TEXT, Key, Kind, choice
from fleet.model.text.documents.tables import ListOf, Table, TableOf

if TYPE_CHECKING:
    from fleet.engines.reader import Engine

# The mark of what `fleet hooks install` wrote: a comment that the shell leaves out.
MARK = "# by fleet hooks install"
IDLES = "fleet-idles"
_STATUS = "fleet-status"
_SYNC_TIMEOUT, _ASYNC_TIMEOUT = 30, 120
# What a screen may show, by the meaning of the event that would tell it; no engine has one for a retry.
_SEEN_ONLY = {"failed": ("failed_turn", "limit"), "asks": ("asks", "dialog"), "": ("retrying",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The table [hooks] of an engine."""

    words: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
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
    install: str = ""
    also: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)


TABLE = Table(
    "[hooks]",
    {
        **dict.fromkeys(
            ("words", "each", "at", "later", "wakes", "own_status"), Key(ListOf(ANYTHING, expects="a list of words"))
        ),
        **dict.fromkeys(("matcher", "asking", "install"), Key(TEXT)),
        **dict.fromkeys(("wait", "unit"), Key(Kind("a whole number", lambda value: type(value) is int))),
        **dict.fromkeys(("env", "also"), Key(TableOf(ANYTHING))),
        "status": Key(FLAG),
        "events": Key(TableOf(choice(*MEANINGS))),
        "errors": Key(TableOf(choice(*REMEDIES))),
        "notices": Key(TableOf(choice(*STATES))),
        "fields": Key(Table("fields", dict.fromkeys(FIELDS, Key(ANYTHING)))),
    },
)


def hooks_of(engine: Engine) -> Hooks:
    """The hooks of an engine that has some."""
    assert engine.hooks is not None, engine.name  # noqa: S101
    return engine.hooks


def words_of_events(engine: Engine, fleet: str) -> list[str]:
    """The words that an engine wants for each of its events."""
    hooks = hooks_of(engine)
    facts = [(event, json.dumps(command(engine, event, fleet)), str(limit(hooks, event))) for event in hooks.events]
    return [
        word.replace("{event}", event).replace("{limit}", seconds).replace("{command}", quoted)
        for event, quoted, seconds in facts
        for word in hooks.each
    ]


def states_without_hook(engine: Engine) -> frozenset[str]:
    """The states of a screen that the engine's hooks could not tell of: they have no such event."""
    meanings = set(engine.hooks.events.values()) if engine.hooks else set()
    return frozenset(state for meaning, states in _SEEN_ONLY.items() if meaning not in meanings for state in states)


def settings(engine: Engine, autonomy: str | None, fleet: str) -> str:
    """The file that the program is given at a freedom."""
    hooks = hooks_of(engine)
    also = {**hooks.also.get("always", {}), **hooks.also.get(autonomy or "", {})}
    made: dict[str, Any] = {**also, "hooks": {event: _settings_entries(engine, event, fleet) for event in hooks.events}}
    if hooks.status:
        made["statusLine"] = {"type": "command", "command": command(engine, _STATUS, fleet)}
    return json.dumps(made, indent=2) + "\n"


def _settings_entries(engine: Engine, event: str, fleet: str) -> list[dict[str, Any]]:
    hooks = hooks_of(engine)
    entries = [_command_entry(engine, event, fleet)]
    if event in hooks.wakes:
        waits = {"type": "command", "command": command(engine, IDLES, fleet), "timeout": hooks.wait * hooks.unit}
        entries.append({**waits, "asyncRewake": True})
    return [{**({"matcher": hooks.matcher} if hooks.matcher else {}), "hooks": entries}]


def _command_entry(engine: Engine, event: str, fleet: str) -> dict[str, Any]:
    hooks = hooks_of(engine)
    made = {"type": "command", "command": command(engine, event, fleet), "timeout": limit(hooks, event)}
    return {**made, "async": True} if event in hooks.later else made


def limit(hooks: Hooks, event: str) -> int:
    """How long the program may wait for a hook; a little longer than ours, so that one which gives up can still say so."""
    if hooks.events[event] == "asks":
        return (hooks.wait + _SYNC_TIMEOUT) * hooks.unit
    return (_ASYNC_TIMEOUT if event in hooks.later else _SYNC_TIMEOUT) * hooks.unit


def command(engine: Engine, event: str, fleet: str) -> str:
    """What the program's shell runs at an event; exec, so that the hook is the program's own child."""
    return f"exec {shlex.quote(fleet)} hook {event} --engine {engine.name}"


def installed_command(engine: Engine, event: str, fleet: str) -> str:
    """The same for the person's own settings: nothing is started outside fleet, nor where the hooks are given already."""
    inside = '[ -z "$FLEET_DISPATCH_ID" ] || [ -n "$FLEET_HOOKS" ]'
    return f"{inside} || {command(engine, event, fleet)} {MARK}"


def dialect(engine: Engine) -> str:
    """What `fleet hook` has to know of the engine."""
    hooks = hooks_of(engine)
    facts = {
        "engine": engine.name,
        "events": {**hooks.events, IDLES: "idles", _STATUS: "status"},
        "fields": hooks.fields,
        "errors": hooks.errors,
        "notices": hooks.notices,
        "asking": hooks.asking,
        "own_status": hooks.own_status,
        "wait": hooks.wait,
    }
    return json.dumps(facts) + "\n"

"""The keys of a job's document: their kinds, meanings and defaults."""

from __future__ import annotations

import re
from typing import Any

from fleet.model.text.documents.kinds import (
    AUTONOMY,
    ENGINE,
    FLAG,
    NONBLANK,
    TEXT,
    Key,
    ValueKind,
    choice,
    count,
    duration_like,
)
from fleet.model.text.documents.tables import ListOf, ListOrTable, Table, TableOf

_MOST = 1_000
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_DURATION = duration_like("30s, 45m, 2h or 3d", least=0)
NAME = ValueKind(
    "a name of lower-case letters, digits, - and _, beginning with a letter or digit",
    lambda value: isinstance(value, str) and _NAME.fullmatch(value) is not None,
    {"type": "string", "pattern": f"^{_NAME.pattern}$"},
)
VARIABLE = ValueKind(
    "the name of a variable: letters, digits and _",
    lambda value: _VARIABLE.fullmatch(value) is not None,
    {"pattern": f"^{_VARIABLE.pattern}$"},
)

AGENT_KEYS = {
    "engine": Key(ENGINE, "the engine of agent steps (default: that of fleet.toml)"),
    "autonomy": Key(AUTONOMY, "what agents may do unasked (default: that of fleet.toml)"),
    "model": Key(NONBLANK, "the model, as the engine calls it"),
}
STEP = Table(
    "a step",
    one_of=("agent", "shell"),
    keys={
        "agent": Key(NONBLANK, "the prompt of an agent"),
        "shell": Key(NONBLANK, "a command for /bin/sh; its exit status alone decides"),
        "name": Key(NAME, "a name, under which {setup.NAME} gives the step's output"),
        "commit_required": Key(FLAG, "the step fails unless it made a commit", default=False),
        "timeout": Key(_DURATION, "how long the step may take", default="1h"),
        **AGENT_KEYS,
    },
)
STEPS = ListOf(STEP)
INPUT = Table(
    "input",
    one_of=("file", "command", "glob"),
    keys={
        "file": Key(NONBLANK, "a file of JSON, JSON Lines or lines; looked for where setup ran, then beside the job"),
        "command": Key(NONBLANK, "a command that prints JSON, JSON Lines or lines"),
        "glob": Key(NONBLANK, 'files of the repository, like src/**/*.py; each item has a "path"'),
        "select": Key(NONBLANK, "a JMESPath expression that picks the items"),
    },
)
RETRY = Table(
    "retry",
    keys={
        "attempts": Key(count(1, 100), "how often an item is tried", default=3),
        "backoff": Key(_DURATION, "how long to wait after the first failure; twice as long each time", default="10s"),
        "max": Key(_DURATION, "how long to wait at most", default="5m"),
    },
)
MAP = Table(
    "map",
    keys={
        "input": Key(ListOrTable(INPUT), "the items, or where they are", required=True),
        "steps": Key(ListOf(STEP, 1), "what is done with each item, one step after another", required=True),
        "max_parallel": Key(count(1, _MOST), "how many items are worked on at once", default=5),
        "isolation": Key(choice("worktree", "none"), "a worktree for each item, or none: all in one checkout of fleet's own", default="worktree"),
        "retry": Key(RETRY, "how often and when to try again"),
        "on_failure": Key(choice("dlq", "skip", "stop"), "what to do with an item that failed for good: put it into the dead-letter queue, skip it, or stop the job", default="dlq"),
        "breaker": Key(count(0, _MOST), "pause the job when this many items failed alike, if most items did; 0: never", default=5),
        **AGENT_KEYS,
    },
)  # fmt: skip
JOB = Table(
    "a job",
    keys={
        "name": Key(NAME, "what the job is called", required=True),
        "env": Key(
            TableOf(TEXT, VARIABLE, expects="variables with their values, like {LEVEL: high}"),
            "variables for {env.NAME}; --set NAME=VALUE overrides one",
        ),
        "setup": Key(STEPS, "steps before the items are read, in a worktree of the job's own"),
        "map": Key(MAP, "what is done with the items", required=True),
        "reduce": Key(STEPS, "steps after all items have ended, on the job's branch"),
    },
)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a job's document, for editors."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A job of fleet"}
    return head | JOB.schema

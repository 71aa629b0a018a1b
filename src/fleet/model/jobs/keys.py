"""The keys of a job's document: what there is, what it may be, and what it is when nobody says."""

from __future__ import annotations

from typing import Any

from fleet.model.jobs.kinds import (
    Choice,
    Count,
    Duration,
    EngineName,
    Flag,
    Key,
    ListOf,
    ListOrTable,
    Name,
    Table,
    Text,
    Variables,
)

AUTONOMIES = ("ask", "edits", "allowlist", "full")
ISOLATIONS = ("worktree", "none")
ON_FAILURE = ("dlq", "skip", "stop")
_MOST = 1_000

AGENT_KEYS = {
    "engine": Key(kind=EngineName(), help="the engine of agent steps (default: that of fleet.toml)"),
    "autonomy": Key(kind=Choice(AUTONOMIES), help="what agents may do unasked (default: that of fleet.toml)"),
    "model": Key(kind=Text(), help="the model, as the engine calls it"),
}
STEP = Table(
    what="a step",
    one_of=("agent", "shell"),
    keys={
        "agent": Key(kind=Text(), help="what an agent is told to do"),
        "shell": Key(kind=Text(), help="a command for /bin/sh; its exit status alone decides"),
        "name": Key(kind=Name(), help="a name, under which {setup.NAME} gives the step's output"),
        "commit_required": Key(kind=Flag(), help="the step fails unless it made a commit", default=False),
        "timeout": Key(kind=Duration(), help="how long the step may take", default="1h"),
        **AGENT_KEYS,
    },
)
STEPS = ListOf(STEP)
INPUT = Table(
    what="input",
    one_of=("file", "command", "glob"),
    keys={
        "file": Key(
            kind=Text(), help="a file of JSON, JSON Lines or lines; looked for where setup ran, then beside the job"
        ),
        "command": Key(kind=Text(), help="a command that prints JSON, JSON Lines or lines"),
        "glob": Key(kind=Text(), help='files of the repository, like src/**/*.py; each item has a "path"'),
        "select": Key(kind=Text(), help="a JMESPath expression that picks the items"),
    },
)
RETRY = Table(
    what="retry",
    keys={
        "attempts": Key(kind=Count(1, 100), help="how often an item is tried", default=3),
        "backoff": Key(
            kind=Duration(), help="how long to wait after the first failure; twice as long each time", default="10s"
        ),
        "max": Key(kind=Duration(), help="how long to wait at most", default="5m"),
    },
)
MAP = Table(
    what="map",
    keys={
        "input": Key(kind=ListOrTable(INPUT), help="the items, or where they are", required=True),
        "steps": Key(kind=ListOf(STEP, 1), help="what is done with each item, one step after another", required=True),
        "max_parallel": Key(kind=Count(1, _MOST), help="how many items are worked on at once", default=5),
        "isolation": Key(kind=Choice(ISOLATIONS), help="a worktree for each item, or none: all in one checkout of fleet's own", default="worktree"),
        "retry": Key(kind=RETRY, help="how often and when to try again"),
        "on_failure": Key(kind=Choice(ON_FAILURE), help="what becomes of an item that cannot be done: the dead-letter queue, nothing, or the job stops", default="dlq"),
        "breaker": Key(kind=Count(0, _MOST), help="pause when so many items failed alike, and most did; 0 never does", default=5),
        **AGENT_KEYS,
    },
)  # fmt: skip
JOB = Table(
    what="a job",
    keys={
        "name": Key(kind=Name(), help="what the job is called", required=True),
        "env": Key(kind=Variables(), help="variables for {env.NAME}; --set NAME=VALUE says otherwise"),
        "setup": Key(kind=STEPS, help="steps before the items are read, in a worktree of the job's own"),
        "map": Key(kind=MAP, help="what is done with the items", required=True),
        "reduce": Key(kind=STEPS, help="steps when the items are over, on the job's branch"),
    },
)


def schema() -> dict[str, Any]:
    """The document as JSON Schema, for editors."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A job of fleet"}
    return head | JOB.schema()

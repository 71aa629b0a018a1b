"""A temporary fleet home with a graph of tasks."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import fleet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PROJECT = "bench"
AGENT = "be4c4000"  # a dispatch id
AREAS = ("parser", "login", "search", "billing", "export", "mail", "cache", "search-index", "docs", "api")
WAITS_FOR = (0, 1, 1, 2, 3)  # how many tasks a task waits for
REACH = 40  # the tasks that it waits for are among this many before it
DONE = 0.3  # the part of a graph, its oldest tasks, that has ended
ENDED = ("done",) * 8 + ("failed", "blocked")  # how these tasks have ended: most of them well
TEXT = "What is wanted, why, and how to see that it is there. " * 4


def make_home(directory: Path, nodes: Iterable[bytes]) -> Path:
    """Create a home with one project that has these tasks; return the home."""
    repository, home = directory / "repository", directory / "home"
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    with fleet.open(str(home)) as opened:
        opened.projects.register(str(repository), PROJECT)
        opened.graph.ingest(project=PROJECT, lines=nodes, name="graph.jsonl")
    return home


def add_project(home: Path, name: str, nodes: Iterable[bytes]) -> None:
    """Add another project with these tasks to a home."""
    repository = home.parent / name
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    with fleet.open(str(home)) as opened:
        opened.projects.register(str(repository), name)
        opened.graph.ingest(project=name, lines=nodes, name="graph.jsonl")


def graph(count: int) -> Iterator[bytes]:
    """Return the tasks of a realistic graph as JSON lines: areas, tags, priorities; each task waits for a few recent ones."""
    return (json.dumps(node(number, count)).encode() for number in range(count))


def node(number: int, count: int) -> dict[str, object]:
    """Return the task with this number, from 0, of a graph of `count` tasks."""
    wanted = min(number, WAITS_FOR[number % len(WAITS_FOR)])
    back = {1 + (number * 7919 + each * 104729) % min(number, REACH) for each in range(wanted)}
    return {
        "slug": slug(number),
        "title": f"Make {AREAS[number % len(AREAS)]} do what it should, part {number}",
        "description": TEXT,
        "status": ENDED[number % len(ENDED)] if number < count * DONE else "open",
        "priority": number * 31 % 5 - 2,
        "after": [slug(number - each) for each in sorted(back)],
        "tags": [AREAS[number % len(AREAS)], f"week-{number // 500}"],
    }


def slug(number: int) -> str:
    """Return the slug of the graph's task with this number."""
    return f"{AREAS[number % len(AREAS)]}-{number:06d}"


def loose(prefix: str, count: int, **fields: object) -> Iterator[bytes]:
    """Yield `count` tasks that wait for nothing, as JSON lines, each with these further fields."""
    for number in range(count):
        yield json.dumps({"slug": f"{prefix}-{number}", "title": f"{prefix} {number}"} | fields).encode()

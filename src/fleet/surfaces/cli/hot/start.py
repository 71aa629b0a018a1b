"""The start of every command: ask the daemon first; else load the modules that the command needs, and run it here."""

from __future__ import annotations

import os
import sys

from fleet.bundle import BUNDLE
from fleet.surfaces.cli.hot import by_daemon

# The groups of modules that each command loads at once. Modules of other commands are imported one by one.
# `make hot` finds out which modules they are, and writes them to fleet/bundle_groups.py.
GROUPS_OF_COMMAND = {
    "log": "base fleet task note",
    "artifact": "base fleet task note",
    "claim": "base fleet task claim",
    "done": "base fleet task report done",
    "fail": "base fleet task report",
    "block": "base fleet task report",
    "list": "base fleet read tasks",
    "ready": "base fleet read tasks",
    "graph": "base fleet read tasks",
    "why": "base fleet read tasks",
    "show": "base fleet read tasks show",
    "ps": "base fleet read ps",
    "status": "base fleet read status",
    "add": "base fleet add",
    "hook": "base hook",
    "launch": "base fleet session launch",
    "settle": "base fleet session settle",
}


def main() -> int:
    """Run the command of this process, in the daemon if possible, and end the process with the command's exit code.

    Returns the exit code only when Python runs interactively (-i) and the daemon has not run the command.
    """
    words = sys.argv[1:]
    code, key = by_daemon.run(words)
    if code is None:
        for group in groups_of(words):
            BUNDLE.load(group)
        from fleet.surfaces.cli.entry import main as run

        return run(key)
    os._exit(code)  # all is written, and nothing is open


def groups_of(words: list[str]) -> list[str]:
    """Return the groups of modules that a command loads from the bundle, in order; [] for slow commands and --help."""
    word = words[1] if words[:1] == ["task"] and len(words) > 1 else "".join(words[:1])
    return [] if "--help" in words else GROUPS_OF_COMMAND.get(word, "").split()

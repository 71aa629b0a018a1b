"""The command `fleet tui`, which opens the TUI."""

from __future__ import annotations

import importlib
import os
import sys

import click

from fleet import errors
from fleet.model import FLEET_DISPATCH_ID
from fleet.surfaces.cli.options import as_option


def is_screen_possible() -> bool:
    """Whether the TUI can be opened: all streams are a terminal that is not "dumb", and no agent runs this process."""
    is_terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))  # Textual draws on stderr
    return is_terminal and os.environ.get("TERM") != "dumb" and not os.environ.get(FLEET_DISPATCH_ID)


def open_screen(*, actor: str | None = None) -> int:
    """Open the TUI and return its exit code when the person leaves it.

    Its module is imported by name, because surfaces do not import each other.
    """
    code: int = importlib.import_module("fleet.surfaces.tui.start").run(actor=actor)
    return code


@click.command("tui")
@as_option
def tui(**given: str | None) -> int:
    """Open the screen: projects, agents and tasks, problems first, with one key for each act. `fleet` alone opens it, too.

    The keys that apply are shown at the bottom; ? lists all of them, : searches them. q leaves; agents work on.

    \b
    Examples:
      fleet tui
      fleet
    """
    if not is_screen_possible():
        raise errors.Refused(
            what="the screen needs a terminal, and a person at it; `fleet status` prints the same page"
        )
    return open_screen(actor=given.get("as"))


COMMANDS = {"tui": tui}

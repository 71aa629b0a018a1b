"""The group `fleet task`. Its commands are in this folder."""

from __future__ import annotations

import click

from fleet.surfaces.cli.app import LazyGroup
from fleet.surfaces.cli.table import GROUPS


@click.group("task", cls=LazyGroup, entries=GROUPS["task"])
def task() -> None:
    """Add, change, show and list tasks.

    \b
    fleet task add "Write the parser" --slug parser
    fleet task add "Write the tests" --after parser
    fleet task ready
    fleet task why write-the-tests
    """


COMMANDS = {"task": task}

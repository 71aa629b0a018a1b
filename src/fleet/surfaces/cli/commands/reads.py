"""The click commands of the read table, for help, completion and usage errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet.surfaces.cli.hot.read_table import READS
from fleet.surfaces.cli.options import click_option, slug_argument

if TYPE_CHECKING:
    from fleet.surfaces.cli.hot.read_table import Read


def _command(read: Read) -> click.Command:
    """Return the click command for an entry of the read table."""

    def perform(**values: Any) -> None:
        """Run the command with the values that click has parsed."""
        read.perform(values)

    command: Any = perform
    for option in reversed(read.options):
        command = click_option(option)(command)
    if read.argument:
        command = slug_argument(command)
    return click.command(read.name.rpartition(" ")[2], help=read.help)(command)


COMMANDS = {read.name: _command(read) for read in READS}

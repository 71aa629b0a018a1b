"""The click commands of the hot table, for help, completion, usage errors and text from standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet.surfaces.cli.hot import fast
from fleet.surfaces.cli.hot.table import COMMON, HOT, Hot
from fleet.surfaces.cli.options import Slug, click_option, from_stdin

if TYPE_CHECKING:
    from collections.abc import Callable


def _command(hot: Hot, *, short: bool) -> click.Command:
    """Return the click command for an entry of the table of hot commands, such as `fleet task log SLUG TEXT`.

    With `short`, it takes no SLUG, because it is about the agent's own task: `fleet log TEXT`.
    """

    def perform(**values: Any) -> int:
        """Run the command with the values that click has parsed, and return the exit code.

        The argument `-` stands for the text on standard input.
        """
        given = {name: value for name, value in values.items() if value not in (None, False)}
        if hot.argument:
            given[hot.argument] = from_stdin(given.get(hot.argument, ""))
        return fast.perform(hot, given, short=short)

    command: Callable[..., object] = perform
    for option in reversed(hot.options + COMMON):
        command = click_option(option)(command)
    if hot.argument:
        command = click.argument(hot.argument)(command)
    if not short:
        command = click.argument("slug", type=Slug())(command)
    return click.command(hot.name, help=_help(hot, short=short))(command)


def _help(hot: Hot, *, short: bool) -> str:
    """Return the help text of a hot command, with the examples of one form; all examples when that form has none."""
    stdin = f"\n\nWith - as {hot.argument.upper()} it is read from standard input." if hot.argument == "message" else ""
    mine = [example for example in hot.examples if example.startswith("fleet task ") != short] or list(hot.examples)
    return f"{hot.summary}{stdin}\n\n\b\nExamples:\n" + "\n".join(f"  {example}" for example in mine)


COMMANDS = {f"task {hot.name}": _command(hot, short=False) for hot in HOT} | {
    hot.name: _command(hot, short=True) for hot in HOT if hot.short
}

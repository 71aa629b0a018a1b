"""The click side of the command line: groups that load a command when it is called."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

import click

from fleet.model import VERSION
from fleet.surfaces.cli.entry import collect_garbage
from fleet.surfaces.cli.moved_home import warn_of_move
from fleet.surfaces.cli.table import GROUPS, HIDDEN, SECTIONS
from fleet.surfaces.cli.ui import streams

if TYPE_CHECKING:
    from fleet.surfaces.cli.table import Entry

USAGE = 2
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """A group whose commands are listed from the table and loaded on demand."""

    def __init__(self, *args: Any, entries: tuple[Entry, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._entries = {entry.name: entry for entry in entries}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        hidden = {entry.name for entry in HIDDEN} if self.name == "fleet" else set()
        return [*(name for name in self._entries if name not in hidden), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        entry = self._entries.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"fleet.surfaces.cli.commands.{entry.module}")
        collect_garbage()
        command: click.Command = module.COMMANDS[self._key(cmd_name)]
        return command

    def _key(self, name: str) -> str:
        return name if self.name == "fleet" else f"{self.name} {name}"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command that is not there: say which one is near."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = _nearest(name, self.list_commands(ctx))
            hint = f" Did you mean {near!r}?" if near else ""
            raise click.UsageError(f"there is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, in its sections."""
        sections = SECTIONS if self.name == "fleet" else (("Commands", tuple(self._entries.values())),)
        for title, entries in sections:
            with formatter.section(title):
                formatter.write_dl([(entry.name, entry.summary) for entry in entries])


def _nearest(name: str, known: list[str]) -> str:
    import difflib

    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.5)), "")


@click.group("fleet", cls=LazyGroup, entries=GROUPS[""], context_settings=_CONTEXT, invoke_without_command=True)
@click.version_option(VERSION, "-V", "--version", prog_name="fleet", message="%(prog)s %(version)s")
@click.pass_context
def root(ctx: click.Context) -> None:
    """Run many coding agents on one machine, and lose nothing.

    \b
    fleet up                                     begin in this repository
    fleet add "Fix the login page"               add work
    fleet status                                 what is going on
    fleet review                                 look at what was done

    Every command has --help with examples; listings and changes have --json.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run_click(words: list[str]) -> int:
    """Run a command; usage errors are printed in one line."""
    if "_FLEET_COMPLETE" in os.environ:
        root.main(prog_name="fleet")
    try:
        # Not root.main: it has its own mind about closed pipes and Ctrl-C.
        with root.make_context("fleet", list(words)) as context:
            outcome = root.invoke(context)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        return 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        return _misused(error, as_json="--json" in words)
    warn_of_move(words)
    return outcome if isinstance(outcome, int) else 0


def _misused(error: click.ClickException, *, as_json: bool) -> int:
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "fleet"
    message = error.format_message().rstrip(".").replace("\n", " ")
    hint = f"`{path} --help` shows how"
    if as_json:
        document = {"code": USAGE, "kind": "usage", "name": "Usage", "message": message, "hint": hint}
        streams.answer({"error": document})
    streams.tell(f"{message} — {hint}")
    return USAGE

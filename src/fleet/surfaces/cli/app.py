"""The click side of the command line: groups that import a command only when it is called."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

import click

from fleet.model import VERSION
from fleet.surfaces.cli.entry import FAILED, collect_garbage
from fleet.surfaces.cli.moved_home import warn_of_move
from fleet.surfaces.cli.table import GROUPS, HIDDEN, PLUMBING, SECTIONS
from fleet.surfaces.cli.ui import streams

if TYPE_CHECKING:
    from fleet.surfaces.cli.table import Entry

# The exit code of a usage error. Engines take it from a hook as an order to stop or wake the agent: `fleet hook` ends with
# FAILED instead.
USAGE = 2
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """A click group that lists its commands from the table and imports each only when it is called."""

    def __init__(self, *args: Any, entries: tuple[Entry, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._entries = {entry.name: entry for entry in entries}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the table, without the hidden ones."""
        hidden = {entry.name for entry in HIDDEN} if self.name == "fleet" else set()
        return [*(name for name in self._entries if name not in hidden), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the click command of this name; None when there is none."""
        entry = self._entries.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"fleet.surfaces.cli.commands.{entry.module}")
        collect_garbage()
        command: click.Command = module.COMMANDS[self._key(cmd_name)]
        return command

    def _key(self, name: str) -> str:
        """Return the key under which a command is in the table COMMANDS of its module.

        That is `NAME` in the group `fleet`, else `GROUP NAME`.
        """
        return name if self.name == "fleet" else f"{self.name} {name}"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name and the command that the words `args` begin with, and the remaining words.

        When there is no such command, raise a usage error that suggests a similar one.
        """
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from fleet.model.text.nearest import nearest

            near = nearest(name, self.list_commands(ctx))
            hint = f" Did you mean {near!r}?" if near else ""
            raise click.UsageError(f"there is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands into the help page, in the sections of the table."""
        sections = SECTIONS if self.name == "fleet" else (("Commands", tuple(self._entries.values())),)
        for title, entries in sections:
            with formatter.section(title):
                formatter.write_dl([(entry.name, entry.summary) for entry in entries])
        if self.name == "fleet":
            with formatter.section("Plumbing (`fleet --plumbing` describes them)"):
                formatter.write_text(", ".join(entry.name for entry in PLUMBING))


def _print_plumbing(ctx: click.Context, _option: click.Parameter, given: bool) -> None:  # noqa: FBT001 - click's own
    """Print the table of plumbing commands (seldom needed by people) and end the program, when --plumbing was given."""
    if not given or ctx.resilient_parsing:
        return
    formatter = ctx.make_formatter()
    with formatter.section("Plumbing"):
        formatter.write_dl([(entry.name, entry.summary) for entry in PLUMBING])
    click.echo(formatter.getvalue().rstrip())
    ctx.exit()


@click.group("fleet", cls=LazyGroup, entries=GROUPS[""], context_settings=_CONTEXT, invoke_without_command=True)
@click.option("--plumbing", is_flag=True, is_eager=True, expose_value=False, callback=_print_plumbing,
              help="Describe the commands that are seldom needed, and exit.")  # fmt: skip
@click.version_option(VERSION, "-V", "--version", prog_name="fleet", message="%(prog)s %(version)s")
@click.pass_context
def root(ctx: click.Context) -> int:
    """Run many coding agents on one machine, and lose nothing.

    \b
    fleet                                        open the screen
    fleet up                                     set up fleet for this repository
    fleet add "Fix the login page"               add a task
    fleet status                                 show what is going on
    fleet review                                 review finished work

    Every command has --help with examples; listings and changes have --json.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    from fleet.surfaces.cli.commands.views.screen import is_screen_possible, open_screen

    if is_screen_possible():
        return open_screen()
    click.echo(ctx.get_help())
    return 0


def run_click(words: list[str]) -> int:
    """Run a command through click and return its exit code; print a usage error as one line.

    Raise KeyboardInterrupt when the person breaks off a prompt, and the command's own FleetError. When a shell asks for
    completions, print them and end the process.
    """
    if "_FLEET_COMPLETE" in os.environ:
        root.main(prog_name="fleet")
    try:
        # Not root.main, which handles closed pipes and Ctrl-C differently.
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
        code = FAILED if words[:1] == ["hook"] else USAGE
        return _print_usage_error(error, code=code, as_json="--json" in words)
    warn_of_move(words)
    return outcome if isinstance(outcome, int) else 0


def _print_usage_error(error: click.ClickException, *, code: int, as_json: bool) -> int:
    """Print a usage error on stderr, and with `as_json` as JSON on stdout too. Returns its exit code, which is `code`."""
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "fleet"
    message = error.format_message().rstrip(".").replace("\n", " ")
    hint = f"`{path} --help` shows the usage"
    if as_json:
        document = {"code": code, "kind": "usage", "name": "Usage", "message": message, "hint": hint}
        streams.print_json_error({"error": document})
    streams.print_error(f"{message} — {hint}")
    return code

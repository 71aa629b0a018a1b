"""The commands `fleet daemon run`, `start`, `stop`, `restart` and `status`."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.api.remote import lifecycle
from fleet.model import VERSION
from fleet.model.text.sizes import counted
from fleet.model.text.times import iso, utc
from fleet.surfaces.cli.commands.home import daemon_logs, daemon_service
from fleet.surfaces.cli.hot.client_commands import ClientCommands
from fleet.surfaces.cli.options import json_option
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.waiting import waiting
from fleet.world.clock import Clock
from fleet.world.files.daemon_log import DaemonLog
from fleet.world.funnel import Funnel
from fleet.world.home.location import home_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.home import DaemonStatus


@click.group("daemon")
def daemon() -> None:
    """Run the daemon of the fleet home: one process that makes everybody's changes and looks after agents.

    Everything works without it. With it, commands are faster, screens are told of changes, and fleet's own coordinators need no
    session.

    \b
    Examples:
      fleet daemon start
      fleet daemon status
    """


@daemon.command("run")
@click.option("--detached", is_flag=True, hidden=True, help="write no lines to the terminal")
def run(*, detached: bool) -> None:
    """Run the daemon in this terminal until Ctrl-C. `fleet daemon start` runs it in the background.

    \b
    Examples:
      fleet daemon run
    """
    # Loaded by its name, because surfaces do not import each other.
    import_module("fleet.surfaces.daemon.run").run(ClientCommands, _log(prints=not detached))


def _log(*, prints: bool) -> Callable[..., None]:
    """Return a function that writes one event into the daemon's log, and with `prints` to standard output too."""
    clock, out, kept = Clock(), sys.stdout, DaemonLog(home_path(), Funnel())

    def log(event: str, /, **facts: object) -> None:
        kept.write(event, **facts)
        if prints:
            told = "  ".join(f"{name}={value}" for name, value in facts.items())
            out.write(f"{utc(iso(clock.now()))}  {event}  {told}".rstrip() + "\n")
            out.flush()

    return log


@daemon.command("start")
@json_option
def start(*, json: bool) -> None:
    """Start the daemon in the background, unless it runs.

    \b
    Examples:
      fleet daemon start
    """
    with Fleet.open(needs_store=False) as fleet, waiting("the daemon starts"):
        before = lifecycle.status(fleet).running
        found = lifecycle.start(fleet)
    if json:
        terminal.say_json(found)
        return
    terminal.say(f"the daemon {'runs already' if before else 'runs'} (process {found.pid})")
    _print_trouble(found)


@daemon.command("stop")
@json_option
def stop(*, json: bool) -> None:
    """End the daemon, after it has finished what it has begun. Agents go on.

    \b
    Examples:
      fleet daemon stop
    """
    with Fleet.open(needs_store=False) as fleet, waiting("the daemon finishes what it has begun"):
        found = lifecycle.stop(fleet)
    if json:
        terminal.say_json(found)
        return
    terminal.say(f"the daemon (process {found.pid}) has ended")
    _print_trouble(found)


@daemon.command("restart")
@json_option
def restart(*, json: bool) -> None:
    """End the daemon, if it runs, and start it again. Agents go on.

    \b
    Examples:
      fleet daemon restart
    """
    with (
        Fleet.open(needs_store=False) as fleet,
        waiting("the daemon finishes what it has begun, and another one starts"),
    ):
        found = lifecycle.restart(fleet)
    if json:
        terminal.say_json(found)
        return
    terminal.say(f"the daemon runs (process {found.pid})")
    _print_trouble(found)


@daemon.command("status")
@json_option
def status(*, json: bool) -> None:
    """Show whether the daemon runs, what it has done, and how its duties fare.

    \b
    Examples:
      fleet daemon status
      fleet daemon status --json | jq .duties
    """
    with Fleet.open(needs_store=False) as fleet:
        found = lifecycle.status(fleet)
        silent = None if found.running else lifecycle.why_silent(fleet)
    if json:
        terminal.say_json(found)
    elif silent is not None:
        terminal.say(f"{silent}; {silent.next_step}")
        _print_store_error(found)
    elif not found.running:
        terminal.say(f"no daemon serves {found.home}; `fleet daemon start` starts one")
        _print_trouble(found)
    else:
        _print_status(found)
        _print_trouble(found)


def _print_trouble(found: DaemonStatus) -> None:
    """Print why the store cannot be used, and which projects have no coordinator because no daemon plays it now."""
    _print_store_error(found)
    if found.unheld:
        helps = (
            "the table of `fleet daemon status` says why"
            if found.running
            else "`fleet daemon start` takes the seats again"
        )
        terminal.say(f"  without a coordinator now: {', '.join(found.unheld)}; {helps}")


def _print_store_error(found: DaemonStatus) -> None:
    """Print why the store cannot be used, if it cannot."""
    if found.store_error is not None:
        waits = "; the daemon tries again and again, and until then refuses what needs it" if found.running else ""
        terminal.say(f"  {found.store_error}{waits}")


def _print_status(found: DaemonStatus) -> None:
    """Print the status of a running daemon."""
    terminal.say(
        f"the daemon of {found.home} runs: process {found.pid}, fleet {found.fleet}, since {utc(found.since or '')}"
    )
    if found.fleet != VERSION:
        terminal.say(
            f"  commands of fleet {VERSION} work without it; `fleet daemon restart` starts it with this version"
        )
    shared = f"{counted(found.requests, 'request')} in {counted(found.commits, 'transaction')}"
    terminal.say(
        f"  {shared} (at most {found.largest} together); now {found.at_work} at work, {found.children} in processes"
    )
    terminal.say(f"  {counted(found.clients, 'client')}, {counted(found.subscribers, 'subscriber')}")
    heads = ("DUTY", "STATE", "ROUNDS", "LAST", "NEXT", "TROUBLE")
    rows = [
        (
            duty.name,
            duty.state,
            str(duty.rounds),
            utc(duty.last_run) if duty.last_run else "",
            utc(duty.next_run) if duty.next_run else "at a change",
            duty.error or duty.remark or "",
        )
        for duty in found.duties
    ]
    if rows:
        terminal.say_lines(terminal.table(heads, rows))


@daemon.command("act", hidden=True)
def act() -> None:
    """Do one request of the daemon, read from standard input. The daemon calls it.

    \b
    Examples:
      fleet daemon act
    """
    os._exit(import_module("fleet.surfaces.daemon.act").main())


for command in (*daemon_service.COMMANDS.values(), *daemon_logs.COMMANDS.values()):
    daemon.add_command(command)

COMMANDS = {"daemon": daemon}

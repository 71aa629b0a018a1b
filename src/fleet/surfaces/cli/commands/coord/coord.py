"""The commands `fleet coord start`, `replace`, `status`, `attach` and `stop`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.agents.coord import ENGINE
from fleet.api.fleet import Fleet
from fleet.model.names import AUTONOMIES
from fleet.model.text.times import utc
from fleet.surfaces.cli.commands.coord.tick import run, tick, watch
from fleet.surfaces.cli.options import F, reading, writing_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.waiting import waiting
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.process.programs import become

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.coord import Seated
    from fleet.surfaces.cli.options import WritingUnkeyed

_START_OPTIONS = (
    click.option("--engine", metavar="NAME", default=ENGINE, show_default=True,
                 help="who coordinates: fleet's own loop, or an agent like claude"),
    click.option("--autonomy", type=click.Choice(AUTONOMIES), help="what the agent may do without asking"),
    click.option("--model", metavar="NAME", help="the model, as the engine calls it"),
)  # fmt: skip


def _start_options(command: F) -> F:
    """Add the click options that say how a coordinator is started: engine, autonomy, model."""
    for option in reversed(_START_OPTIONS):
        command = option(command)
    return command


@click.group("coord")
def coord() -> None:
    """Manage the coordinator of a project, which starts agents on ready tasks, has their work reviewed, and merges it.

    \b
    Examples:
      fleet coord start -p web
      fleet coord status -p web
    """


@coord.command("start")
# fleet itself gives --after when it restarts a coordinator that has died (verbs/coord/restart.py). If the dead
# coordinator has lost the seat by now, because a person stopped or replaced it, the command does nothing and exits 0.
@click.option("--after", metavar="ID", hidden=True, help="only if this dead coordinator is still in the seat")
@_start_options
@writing_unkeyed
def start(
    after: str | None, engine: str, autonomy: str | None, model: str | None, **given: Unpack[WritingUnkeyed]
) -> None:
    """Start the project's coordinator. Refused while another coordinator is alive or may be; a dead one is replaced.

    \b
    Examples:
      fleet coord start -p web
      fleet coord start -p web --engine claude --autonomy edits
    """
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        wanted = Wanted(project=project, slug=None, kind="coord", engine=engine, autonomy=autonomy, model=model)
        try:
            with waiting("the coordinator starts"):
                seated = fleet.coord.start(wanted, after=after)
        except errors.NotSeated:
            if after is None:
                raise
            return  # it was stopped or replaced since fleet decided to start it again
    _say_started(seated, as_json=given["json"])


@coord.command("replace")
@click.option("--proof-timeout", type=click.FloatRange(min=0.1), metavar="SECONDS",
              help="how long the new coordinator may take to prove itself (default: from the engine's file)")  # fmt: skip
@_start_options
@writing_unkeyed
def replace(
    proof_timeout: float | None, engine: str, autonomy: str | None, model: str | None, **given: Unpack[WritingUnkeyed]
) -> None:
    """Replace the coordinator. The old one works until the new one has proven that it runs: there are never two, and never none.

    \b
    Examples:
      fleet coord replace -p web
      fleet coord replace -p web --engine claude --autonomy edits --proof-timeout 600
    """
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        wanted = Wanted(
            project=project, slug=None, kind="coord", engine=engine, autonomy=autonomy, model=model, proof=proof_timeout
        )
        with waiting("the new coordinator proves itself"):
            seated = fleet.coord.replace(wanted)
    _say_started(seated, as_json=given["json"])


def _say_started(seated: Seated, *, as_json: bool) -> None:
    """Print the started coordinator, its warnings, and the next commands; or all as JSON."""
    if as_json:
        terminal.say_json(seated)
        return
    after = f", after {seated.replaces}" if seated.replaces else ""
    terminal.say(f"agent {seated.id} coordinates {seated.project} ({seated.engine}){after}")
    for warning in seated.warnings:
        terminal.say(f"  warning: {warning}")
    join = "join: fleet coord attach" if seated.session else "it is a duty of the daemon and has no terminal"
    terminal.say(f"  look: fleet peek {seated.id}   {join}   end: fleet coord stop")


@coord.command("status")
@reading
def status(project: str | None, *, json: bool) -> None:
    """Show who coordinates the project, and the candidate that is to follow.

    \b
    Examples:
      fleet coord status -p web
      fleet coord status -p web --json
    """
    with Fleet.open() as fleet:
        seat = fleet.coord.show(fleet.project_here(project))
    if json:
        terminal.say_json(seat)
        return
    if seat.holder is None:
        terminal.say(f"{seat.project} has no coordinator; `fleet coord start -p {seat.project}` starts one")
    else:
        again = f": `fleet coord start -p {seat.project}`" if seat.state.startswith("dead") else ""
        terminal.say(
            f"{seat.project}: {seat.holder} is {seat.state}{again} (epoch {seat.epoch}){_in_daemon(seat.where)}"
        )
    if seat.wake_trouble:
        terminal.say(f"  it cannot be woken: {seat.wake_trouble}")
    if seat.candidate:
        terminal.say(f"  next: {seat.candidate} has to prove itself by {utc(seat.deadline or '')}")
    for ident in seat.retiring:
        terminal.say(f"  retiring: {ident} is still alive and is being ended")
    for proof in seat.stale_proofs:
        terminal.say(f"  never proven: {proof.dispatch}, started {utc(proof.minted_at)}")


def _in_daemon(where: str | None) -> str:
    """Return the words that say that a coordinator runs in the daemon; "" for one in a tmux session.

    `where` is the place where the coordinator runs, in the words of the store; None when that is not known.
    """
    return f", in the {where}" if where is not None and where.startswith("daemon") else ""


@coord.command("attach")
@click.option("-p", "--project", metavar="PROJECT", help="the project (default: the one of the current directory)")
def attach(project: str | None) -> None:
    """Join the coordinator's terminal; Ctrl+Q leaves it.

    \b
    Examples:
      fleet coord attach -p web
    """
    with Fleet.open() as fleet:
        name = fleet.project_here(project)
        holder = fleet.coord.show(name).holder
        if holder is None:
            raise errors.NoCoordinator(project=name)
        words = fleet.agents.attach_words(holder)
    sys.stdout.flush()
    become(fleet.funnel, words)


@coord.command("stop")
@click.option("-r", "--reason", default="stopped by a person", show_default=True, metavar="TEXT", help="the reason")
@writing_unkeyed
def stop(reason: str, **given: Unpack[WritingUnkeyed]) -> int:
    """End the coordinator; the project then has none. Running agents continue.

    \b
    Examples:
      fleet coord stop -p web
    """
    what = "the coordinator is asked to exit"
    with Fleet.open(actor=given["as"]) as fleet, waiting(what):
        unseated = fleet.coord.stop(fleet.project_here(given["project"]), reason)
    if given["json"]:
        terminal.say_json(unseated)
    elif unseated.stopped:
        terminal.say(f"{unseated.id} no longer coordinates {unseated.project}; the seat is empty")
    else:
        terminal.say(f"{unseated.id} was asked to exit and is still there: {unseated.why}")
    return 0 if unseated.stopped else 1


coord.add_command(tick)
coord.add_command(run)
coord.add_command(watch)
COMMANDS = {"coord": coord}

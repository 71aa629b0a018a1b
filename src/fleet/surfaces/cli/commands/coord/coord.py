"""fleet coord: one coordinator a project."""

from __future__ import annotations

import sys
from typing import Any

import click

from fleet.api.agents.coord import ENGINE
from fleet.api.fleet import Fleet
from fleet.api.loop import Loop
from fleet.errors.absent import NoCoordinator
from fleet.errors.families import BadInput
from fleet.model.text.times import iso
from fleet.surfaces.cli.options import acting, reading
from fleet.surfaces.cli.ui import terminal
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.clock import Clock
from fleet.world.process.programs import become

_HOW = (
    click.option("--engine", metavar="NAME", default=ENGINE, show_default=True,
                 help="who coordinates: fleet's own loop, or an agent like claude"),
    click.option("--autonomy", type=click.Choice(["ask", "edits", "allowlist", "full"]), help="what an agent may do unasked"),
    click.option("--model", metavar="NAME", help="the model, as the engine calls it"),
)  # fmt: skip


def _starting(command: Any) -> Any:
    for option in reversed(_HOW):
        command = option(command)
    return command


@click.group("coord")
def coord() -> None:
    """One coordinator a project: it starts what is ready, moves work on, and merges it.

    \b
    Examples:
      fleet coord start -p web
      fleet coord status -p web
    """


@coord.command("start")
@_starting
@acting
def start(**given: Any) -> None:
    """Start the project's coordinator. A living one vetoes; a dead one is replaced.

    \b
    Examples:
      fleet coord start -p web
      fleet coord start -p web --engine claude --autonomy edits
    """
    with Fleet.open(actor=given["as"]) as fleet:
        made = fleet.coord.start(_wanted(fleet, given))
    _say_started(made, given)


@coord.command("replace")
@click.option("--proof-timeout", type=click.FloatRange(min=0.1), metavar="SECONDS",
              help="how long the new one may take to prove itself (default: as its engine's file says)")  # fmt: skip
@_starting
@acting
def replace(**given: Any) -> None:
    """Change the coordinator. The old one goes on until the new one has proven itself; there are never two, and never none.

    \b
    Examples:
      fleet coord replace -p web
      fleet coord replace -p web --engine claude --autonomy edits --proof-timeout 600
    """
    with Fleet.open(actor=given["as"]) as fleet:
        made = fleet.coord.replace(_wanted(fleet, given))
    _say_started(made, given)


def _wanted(fleet: Fleet, given: dict[str, Any]) -> Wanted:
    how = {name: given[name] for name in ("engine", "autonomy", "model")}
    project = fleet.project_here(given["project"])
    return Wanted(project=project, slug=None, kind="coord", proof=given.get("proof_timeout"), **how)


def _say_started(made: dict[str, Any], given: dict[str, Any]) -> None:
    if given["json"]:
        terminal.say_json(made)
        return
    after = f", after {made['replaces']}" if made.get("replaces") else ""
    terminal.say(f"agent {made['id']} coordinates {made['project']} ({made['engine']}){after}")
    for warning in made.get("warnings", []):
        terminal.say(f"  warning: {warning}")
    terminal.say(f"  look: fleet peek {made['id']}   join: fleet coord attach   end: fleet coord stop")


@coord.command("status")
@reading
def status(**given: Any) -> None:
    """Who coordinates the project, and who is to be next.

    \b
    Examples:
      fleet coord status -p web
      fleet coord status -p web --json
    """
    with Fleet.open() as fleet:
        seat = fleet.coord.show(fleet.project_here(given["project"]))
    if given["json"]:
        terminal.say_json(seat)
        return
    if seat["holder"] is None:
        terminal.say(f"{seat['project']} has no coordinator; `fleet coord start -p {seat['project']}` starts one")
    else:
        again = f": `fleet coord start -p {seat['project']}`" if seat["state"].startswith("dead") else ""
        terminal.say(f"{seat['project']}: {seat['holder']} is {seat['state']}{again} (epoch {seat['epoch']})")
    if seat["candidate"]:
        terminal.say(f"  next: {seat['candidate']} has to prove itself by {seat['deadline']}")
    for ident in seat["retiring"]:
        terminal.say(f"  retiring: {ident} lives on and is being ended")
    for each in seat["stale_proofs"]:
        terminal.say(f"  never proven: {each['dispatch']}, started {each['minted_at']}")


@coord.command("tick")
@click.option("--ack", "acknowledged", multiple=True, metavar="ID", help="a message that was read and applied")
@acting
def tick(acknowledged: tuple[str, ...], **given: Any) -> None:
    """Do a coordinator's work once: settle, hand over, move on, start. For an agent that coordinates; it says what matters next.

    \b
    Examples:
      fleet coord tick
      fleet coord tick --ack 3f2a9c01 --json
    """
    with Fleet.open() as fleet:
        if acknowledged:
            fleet.messages.acknowledge(list(acknowledged))
        told = fleet.coord.tick(fleet.project_here(given["project"]))
    if given["json"]:
        terminal.say_json(told)
    else:
        _say_ticked(told)


def _say_ticked(told: dict[str, Any]) -> None:
    for line in told["done"]:
        terminal.say(f"- {line}")
    for line in told["troubles"]:
        terminal.say(f"- trouble: {line}")
    nexts = told["next"]
    working = ", ".join(f"{each['task']} ({each['kind']} {each['id']})" for each in nexts["working"])
    for name, items in (
        ("working", working),
        ("ready", ", ".join(nexts["ready"])),
        ("to review", ", ".join(nexts["to_review"])),
        ("to merge", ", ".join(nexts["to_merge"])),
        ("trouble", "; ".join(f"{each['task']} is {each['status']}: {each['reason']}" for each in nexts["trouble"])),
    ):
        if items:
            terminal.say(f"{name}: {items}")
    for message in told["messages"]:
        terminal.say(f"message {message['id']} (say `fleet coord tick --ack {message['id']}` when done):")
        terminal.say_text(message["text"], indent="  ")


@coord.command("run")
@click.option("-p", "--project", metavar="PROJECT", help="the project (default: FLEET_PROJECT)")
def run(project: str | None) -> None:
    """Fleet's own coordinator: ticks on change and on time, without a model. `fleet coord start` starts it in a session of its own.

    \b
    Examples:
      fleet coord run
    """
    with Fleet.open() as fleet:
        name = fleet.project_here(project)
        if fleet.speaker is None:
            raise BadInput(what=f"this runs inside a coordinator's session; `fleet coord start -p {name}` starts one")
    clock = Clock()

    def say(line: str) -> None:
        terminal.say(f"[fleet] {iso(clock.now())} {line}")
        sys.stdout.flush()

    say(f"coordinating {name}")
    Loop(name, say).run()


@coord.command("attach")
@click.option("-p", "--project", metavar="PROJECT", help="the project (default: that of the current directory)")
def attach(project: str | None) -> None:
    """Join the coordinator's terminal; Ctrl+Q leaves it.

    \b
    Examples:
      fleet coord attach -p web
    """
    with Fleet.open() as fleet:
        name = fleet.project_here(project)
        holder = fleet.coord.show(name)["holder"]
        if holder is None:
            raise NoCoordinator(project=name)
        words = fleet.agents.attach_words(holder)
    sys.stdout.flush()
    become(fleet.funnel, words)


@coord.command("stop")
@click.option("-r", "--reason", default="stopped by a person", show_default=True, metavar="TEXT", help="why")
@acting
def stop(reason: str, **given: Any) -> int:
    """End the coordinator and empty the seat. Agents at work are left at work.

    \b
    Examples:
      fleet coord stop -p web
    """
    with Fleet.open(actor=given["as"]) as fleet:
        done = fleet.coord.stop(fleet.project_here(given["project"]), reason)
    if given["json"]:
        terminal.say_json(done)
    elif done["stopped"]:
        terminal.say(f"{done['id']} no longer coordinates {done['project']}; the seat is empty")
    else:
        terminal.say(f"{done['id']} was asked to exit and is still there: {done['why']}")
    return 0 if done["stopped"] else 1


COMMANDS = {"coord": coord}

"""fleet up."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.results.projects import Chosen
from fleet.surfaces.cli.commands.projects.trust import offer_trust
from fleet.surfaces.cli.options import unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.engines.reader import Engine
    from fleet.model.results.projects import Begun
    from fleet.surfaces.cli.options import Unkeyed

_AUTONOMY = {
    "ask": "nothing: they ask before each step",
    "edits": "edit files; they ask before they run commands",
    "allowlist": "edit files and run the commands you allowed",
    "full": "everything; give them a sandbox",
}
_REVIEW = {
    "person": "you look at all work before it is merged (`fleet review`)",
    "agent": "another agent looks at it",
    "none": "nobody: what passes verify is merged",
}
_CHOICES = ("engine", "autonomy", "review")
# Not for work: fleet's own loop, and the one that tests use.
_NOT_OFFERED = frozenset({"fleet", "job", "scripted", "shell"})


@click.command("up")
@click.argument("path", type=click.Path(file_okay=False), default=".")
@click.option("--name", metavar="NAME", help="the project's name (default: that of the directory)")
@click.option("--engine", metavar="NAME", help="the engine that agents run on")
@click.option("--autonomy", type=click.Choice(list(_AUTONOMY)), help="what agents may do unasked")
@click.option("--review", type=click.Choice(list(_REVIEW)), help="who looks at work before it is merged")
@click.option("-y", "--yes", is_flag=True, help="resume what was interrupted without asking")
@unkeyed
def up(
    path: str,
    name: str | None,
    engine: str | None,
    autonomy: str | None,
    review: str | None,
    *,
    yes: bool,
    **given: Unpack[Unkeyed],
) -> None:
    """Begin: register this repository, choose what agents may do and who reviews, and start the coordinator.

    What you choose is written into fleet.toml; what is there stays as it is. After a reboot it offers to resume what was
    interrupted. To say it again changes nothing.

    \b
    Examples:
      fleet up
      fleet up --engine claude --autonomy edits --review person
    """
    with Fleet.open(actor=given["as"]) as fleet:
        registered = fleet.projects.ensure(path, name)
        project = registered.name
        offer_trust(fleet, project, as_json=given["json"])
        options = {"engine": engine, "autonomy": autonomy, "review": review}
        asking = sys.stdin.isatty() and sys.stdout.isatty() and not given["json"]
        chosen = _chosen(fleet, project, options, asking=asking)
        resumed, left = _resume(fleet, project, yes=yes, asking=asking)
        begun = fleet.projects.begin(project, chosen).replaced(new=registered.new, resumed=resumed, left=left)
    terminal.say_json(begun) if given["json"] else _say_begun(begun)


def _chosen(fleet: Fleet, project: str, options: dict[str, str | None], *, asking: bool) -> Chosen:
    """Engine, autonomy and review: as said now, as fleet.toml says, or as the person answers. Never by default."""
    known = fleet.settings.read(project)
    chosen = Chosen(**{name: options[name] or known[name].value for name in _CHOICES})
    missing = [name for name in _CHOICES if not getattr(chosen, name)]
    if (waiting := [name for name in missing if known[name].untrusted]) and not asking:
        raise errors.NotTrusted(project=project, settings=", ".join(waiting))
    if missing and not asking:
        words = ", ".join(f"--{name}" for name in missing)
        raise errors.BadInput(what=f"{project}: say {words}; fleet.toml does not, and it is not chosen for you")
    chosen.engine = chosen.engine or _choose("Which engine do agents run on?", _offered(fleet.engines.all()))
    if not chosen.autonomy:
        can = fleet.engines.show(chosen.engine).autonomy or _AUTONOMY
        offered = {name: text for name, text in _AUTONOMY.items() if name in can}
        chosen.autonomy = _choose("What may agents do without asking you?", offered)
    chosen.review = chosen.review or _choose("Who looks at work before it is merged?", _REVIEW)
    return chosen


def _offered(engines: dict[str, Engine]) -> dict[str, str]:
    """Those that are installed; all when none is."""
    known = {name: each for name, each in engines.items() if name not in _NOT_OFFERED}
    here = {name: each for name, each in known.items() if not each.program or shutil.which(each.program)}
    return {name: each.summary for name, each in (here or known).items()}


def _choose(question: str, choices: dict[str, str]) -> str:
    terminal.say(terminal.paint(question, "bold"))
    for name, text in choices.items():
        terminal.say(f"  {name:<10} {text}")
    return str(click.prompt("  your choice", type=click.Choice(list(choices)), show_choices=False))


def _resume(fleet: Fleet, project: str, *, yes: bool, asking: bool) -> tuple[list[str], list[str]]:
    """Resume what was interrupted, if the person wants that. Returns the ids of those that go on, and of the others."""
    left = [each for each in fleet.dispatches.resumable(project) if each.interrupted]
    asked = left and not yes and asking
    for each in left if asked else ():
        terminal.say(f"  interrupted: {each.task or 'the coordinator'} ({each.id}, {each.engine})")
    if left and (yes or (asked and click.confirm("Resume them?", default=True))):
        resumed = fleet.dispatches.resume_all(project)
        return [each.id for each in resumed.resumed], [each.id for each in resumed.waiting]
    return [], [each.id for each in left]


def _say_begun(begun: Begun) -> None:
    terminal.say(f"project {begun.project} is {begun.path}{'' if begun.new else ' (it was already)'}")
    how = ", ".join(f"{name} {getattr(begun.settings, name)}" for name in _CHOICES)
    terminal.say(f"  {how}{'; written into fleet.toml' if begun.written else ' (as fleet.toml says)'}")
    back = begun.coordinator in begun.resumed
    now = "is started" if begun.started else "is resumed" if back else "is there already"
    terminal.say(f"  coordinator {begun.coordinator} {now}")
    if agents := [ident for ident in begun.resumed if ident != begun.coordinator]:
        terminal.say(f"  {terminal.counted(len(agents), 'agent')} resumed: {', '.join(agents)}")
    if begun.left:
        terminal.say(f"  interrupted, and not resumed: {', '.join(begun.left)} — `fleet resume --list` shows why")
    for each in begun.warnings:
        terminal.say(terminal.paint(f"  warning: {each}", "yellow"))
    if not (begun.new or begun.written or begun.started or begun.resumed):
        terminal.say("nothing was changed")
    terminal.say('next: fleet add "What is to be done"   then: fleet status, fleet review')


COMMANDS = {"up": up}

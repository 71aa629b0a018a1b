"""The command `fleet up`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.remote import lifecycle
from fleet.model.results.projects import Chosen
from fleet.model.settings.engine_choices import engine_choices
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.commands.projects.trust import offer_trust
from fleet.surfaces.cli.commands.views.screen import is_screen_possible, open_screen
from fleet.surfaces.cli.options import writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.waiting import waiting

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.engines.reader import Engine
    from fleet.model.results.projects import Begun
    from fleet.surfaces.cli.options import WritingHomeUnkeyed

    class UpGiven(WritingHomeUnkeyed):
        """The options of `fleet up` that are not written into fleet.toml."""

        target: str | None
        no_tui: bool


_AUTONOMY = {
    "ask": "nothing: they ask before each step",
    "edits": "edit files; they ask before they run commands",
    "allowlist": "edit files and run the commands you allowed",
    "full": "everything; give them a sandbox",
}
_REVIEW = {
    "person": "you review all work before it is merged (`fleet review`)",
    "agent": "another agent reviews it",
    "none": "nobody: work that passes verify is merged",
}
_CHOICES = ("engine", "autonomy", "review")
# Engines that are not offered for tasks: fleet's own loops, the engine of the tests, and a plain shell.
_NOT_OFFERED = frozenset({"fleet", "job", "scripted", "shell"})


@click.command("up")
@click.argument("path", type=click.Path(file_okay=False), default=".")
@click.option("--name", metavar="NAME", help="the project's name (default: the directory's name)")
@click.option("--engine", metavar="NAME", help="the engine that agents run on")
@click.option("--autonomy", type=click.Choice(list(_AUTONOMY)), help="what agents may do without asking")
@click.option("--review", type=click.Choice(list(_REVIEW)), help="who reviews work before it is merged")
@click.option("--target", metavar="BRANCH", help="the branch that finished work lands on (default: your current one)")
@click.option("-y", "--yes", is_flag=True, help="resume interrupted agents without asking")
@click.option("--no-tui", is_flag=True, help="do not open the screen at the end")
@writing_home_unkeyed
def up(
    path: str,
    name: str | None,
    engine: str | None,
    autonomy: str | None,
    review: str | None,
    *,
    yes: bool,
    **given: Unpack[UpGiven],
) -> int:
    """Set up fleet: register this repository, choose what agents may do and who reviews, and start the coordinator.

    Your choices are written into fleet.toml; settings that it already has are kept. The branch that finished work lands on is kept
    in the repository, unless fleet.toml sets target. After a reboot the command offers to resume
    interrupted agents. Repeating the command changes nothing. On a terminal the screen opens at the end.

    \b
    Examples:
      fleet up
      fleet up --engine claude --autonomy edits --review person
      fleet up --no-tui
    """
    with Fleet.open(actor=given["as"]) as fleet:
        registered = fleet.projects.ensure(path, name)
        project = registered.name
        with waiting("starting the daemon"):
            trouble = lifecycle.start_if_wanted(fleet)
        offer_trust(fleet, project, as_json=given["json"])
        options = {"engine": engine, "autonomy": autonomy, "review": review}
        is_interactive = terminal.is_interactive() and not given["json"]
        chosen = _choose_settings(fleet, project, options, is_interactive=is_interactive)
        chosen.target = given.get("target") or (_ask_target(fleet, project) if is_interactive else None)
        fleet.projects.keep_environment()  # before a resumed coordinator ticks
        resumed, left = _resume_interrupted(fleet, project, yes=yes, is_interactive=is_interactive)
        with waiting(f"starting the coordinator of {project}"):
            begun = fleet.projects.begin(project, chosen)
        begun = begun.replaced(new=registered.new, resumed=resumed, left=left)
    terminal.say_json(begun) if given["json"] else _print_begun(begun)
    if trouble:
        terminal.warn(f"fleet: the daemon is not running: {trouble}")
    wanted = is_screen_possible() and not given.get("json") and not given.get("no_tui")
    return open_screen(actor=given.get("as")) if wanted else 0


def _choose_settings(fleet: Fleet, project: str, options: dict[str, str | None], *, is_interactive: bool) -> Chosen:
    """Return engine, autonomy and review: each from the options, else from fleet.toml, else by asking the person.

    When nobody can be asked, raise BadInput for a setting that is missing (there are no defaults), or NotTrusted when
    fleet.toml has the setting but no person has trusted its value.
    """
    known = fleet.settings.read(project)
    chosen = Chosen(**{name: options[name] or known[name].value for name in _CHOICES})
    chosen.engine = ",".join(engine_choices(chosen.engine))
    missing = [name for name in _CHOICES if not getattr(chosen, name)]
    if (waiting := [name for name in missing if known[name].untrusted]) and not is_interactive:
        raise errors.NotTrusted(project=project, settings=", ".join(waiting))
    if missing and not is_interactive:
        words = ", ".join(f"--{name}" for name in missing)
        raise errors.BadInput(what=f"{project}: give {words}; fleet.toml does not set it, and there is no default")
    chosen.engine = chosen.engine or _ask_choice(
        "Which engine do agents run on?", _offered_engines(fleet.engines.all())
    )
    if not chosen.autonomy:
        can = fleet.engines.show(engine_choices(chosen.engine)[0]).autonomy or _AUTONOMY
        offered = {name: text for name, text in _AUTONOMY.items() if name in can}
        chosen.autonomy = _ask_choice("What may agents do without asking you?", offered)
    chosen.review = chosen.review or _ask_choice("Who reviews work before it is merged?", _REVIEW)
    return chosen


def _ask_target(fleet: Fleet, project: str) -> str | None:
    """Ask the person which branch finished work lands on, and return it.

    Returns None without asking when the branch was chosen before, or there is nothing to choose from.
    """
    choice = fleet.projects.targets(project)
    if choice.kept or not choice.branches or choice.branches == [choice.current]:
        return None
    terminal.say(terminal.paint("Which branch does finished work land on?", "bold"))
    terminal.say(f"  {', '.join(choice.branches)}")
    offered = click.Choice(choice.branches)
    return str(click.prompt("  your choice", type=offered, show_choices=False, default=choice.current))


def _offered_engines(engines: dict[str, Engine]) -> dict[str, str]:
    """Return the summaries of the engines that a person can choose from, by name.

    They are the installed ones, or all when none is installed.
    """
    known = {name: each for name, each in engines.items() if name not in _NOT_OFFERED}
    here = {name: each for name, each in known.items() if not each.program or shutil.which(each.program)}
    return {name: each.summary for name, each in (here or known).items()}


def _ask_choice(question: str, choices: dict[str, str]) -> str:
    """Ask the person to choose one of the names, printed with their descriptions. Returns the chosen name."""
    terminal.say(terminal.paint(question, "bold"))
    for name, text in choices.items():
        terminal.say(f"  {name:<10} {text}")
    return str(click.prompt("  your choice", type=click.Choice(list(choices)), show_choices=False))


def _resume_interrupted(fleet: Fleet, project: str, *, yes: bool, is_interactive: bool) -> tuple[list[str], list[str]]:
    """Resume the interrupted dispatches of a project if the person agrees; with `yes`, without asking.

    When nobody can be asked, resume none. Returns the ids of the dispatches that were resumed, and of those that were
    not.
    """
    left = [each for each in fleet.dispatches.resumable(project) if each.interrupted]
    asked = left and not yes and is_interactive
    for each in left if asked else ():
        terminal.say(f"  interrupted: {each.task or 'the coordinator'} ({each.id}, {each.engine})")
    if left and (yes or (asked and click.confirm("Resume them?", default=True))):
        with waiting("resuming everything that was interrupted"):
            resumed = fleet.dispatches.resume_all(project)
        return [dispatch.id for dispatch in resumed.resumed], [dispatch.id for dispatch in resumed.waiting]
    return [], [dispatch.id for dispatch in left]


def _print_begun(begun: Begun) -> None:
    """Print what `fleet up` did and what to do next."""
    terminal.say(f"project {begun.project} is {begun.path}{'' if begun.new else ' (it was already)'}")
    how = ", ".join(f"{name} {getattr(begun.settings, name)}" for name in _CHOICES)
    terminal.say(f"  {how}{'; written into fleet.toml' if begun.written else ' (as fleet.toml says)'}")
    if begun.target:
        terminal.say(f"  finished work lands on {begun.target}, when you say `fleet land`")
    back = begun.coordinator in begun.resumed
    now = "is started" if begun.started else "is resumed" if back else "is running already"
    terminal.say(f"  coordinator {begun.coordinator} {now}")
    if agents := [ident for ident in begun.resumed if ident != begun.coordinator]:
        terminal.say(f"  {counted(len(agents), 'agent')} resumed: {', '.join(agents)}")
    if begun.left:
        terminal.say(f"  interrupted, and not resumed: {', '.join(begun.left)} — `fleet resume --list` shows why")
    if begun.remote_control:
        terminal.say(
            f"  remote control of an agent that coordinates is on: `fleet rc down {begun.project}` turns it off, "
            'remote_control = "down" in config.toml for all'
        )
    for warning in begun.warnings:
        terminal.say(terminal.paint(f"  warning: {warning}", "yellow"))
    if not (begun.new or begun.written or begun.started or begun.resumed):
        terminal.say("nothing was changed")
    terminal.say('next: fleet add "TITLE OF A TASK"   then: fleet status, fleet review')


COMMANDS = {"up": up}

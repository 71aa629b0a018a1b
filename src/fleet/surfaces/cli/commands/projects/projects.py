"""The commands `fleet init` and `fleet project add`, `list`, `show`, `remove`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.model.tasks.steps import STATUSES
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.options import ProjectName, json_option, writing_home
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.projects import InTheWay, ProjectView
    from fleet.surfaces.cli.options import WritingHome

_PATH = click.argument("path", type=click.Path(file_okay=False), default=".")
_NAME = click.option("--name", metavar="NAME", help="the project's name (default: the directory's name)")


def _register(path: str, name: str | None, given: WritingHome) -> None:
    """Register a repository as a project and print it."""
    with Fleet.open(actor=given["as"]) as fleet:
        registered = fleet.projects.register(path, name, key=given["key"])
    if given["json"]:
        terminal.say_json(registered)
        return
    already = "" if registered.new else " (it was already)"
    terminal.say(f"project {registered.name} is {registered.path}{already}")


@click.command("init")
@_PATH
@_NAME
@writing_home
def init(path: str, name: str | None, **given: Unpack[WritingHome]) -> None:
    """Register the repository you are in as a project. Nothing is written into it.

    \b
    Examples:
      fleet init
      fleet init ~/src/web --name web
    """
    _register(path, name, given)


@click.group("project")
def project() -> None:
    """Register repositories and list them.

    \b
    fleet project add ~/src/web --name web
    fleet project list
    """


@project.command("add")
@_PATH
@_NAME
@writing_home
def add(path: str, name: str | None, **given: Unpack[WritingHome]) -> None:
    """Register a git repository as a project.

    \b
    Examples:
      fleet project add .
      fleet project add ~/src/web --name web
    """
    _register(path, name, given)


@project.command("list")
@json_option
def list_(*, json: bool) -> None:
    """List the projects with the counts of their tasks.

    \b
    Examples:
      fleet project list
      fleet project list --json
    """
    with Fleet.open() as fleet:
        projects = fleet.projects.list()
    if json:
        terminal.say_json(projects)
    elif not projects:
        terminal.say("no projects yet: `fleet init` in a repository registers it")
    else:
        rows = [(each.name, str(each.ready), *_task_counts(each), each.path) for each in projects]
        for line in terminal.table(("NAME", "READY", "OPEN", "WORKING", "DONE", "TROUBLE", "PATH"), rows):
            terminal.say(line)


def _task_counts(project: ProjectView) -> tuple[str, ...]:
    """Return how many of a project's tasks are open, in progress, done, and failed or blocked, as texts."""
    count = project.tasks
    return tuple(str(n) for n in (count.open, count.in_progress, count.done, count.failed + count.blocked))


@project.command("show")
@click.argument("name", type=ProjectName())
@json_option
def show(name: str, *, json: bool) -> None:
    """Show a project with the counts of its tasks.

    \b
    Examples:
      fleet project show web
    """
    with Fleet.open() as fleet:
        shown = fleet.projects.show(name)
    if json:
        terminal.say_json(shown)
        return
    terminal.say(f"{terminal.paint(shown.name, 'bold')}  {shown.path}")
    counts = [(status, getattr(shown.tasks, status)) for status in STATUSES]
    for what, count in (*counts, ("ready", shown.ready), ("archived", shown.archived)):
        terminal.say(f"  {what:<12} {count}")


@project.command("remove")
@click.argument("name", type=ProjectName())
@click.option("--with-tasks", is_flag=True, help="remove its tasks too, after exporting them into the fleet home")
@click.option("-y", "--yes", is_flag=True, help="stop, end and release all that is in the way, without asking")
@writing_home
def remove(name: str, *, with_tasks: bool, yes: bool, **given: Unpack[WritingHome]) -> None:
    """Remove a project from fleet. Your branches and your checkout are not touched.

    On a terminal the command shows what is in the way, asks once, and sees to it: it ends the coordinator, stops the agents, commits
    uncommitted work to refs/fleet/kept, and releases the worktrees of this project. Its tasks are exported into the fleet home.

    \b
    Examples:
      fleet project remove web
      fleet project remove web --with-tasks
      fleet project remove web --yes
    """
    as_json = given["json"]
    with Fleet.open(actor=given["as"]) as fleet:
        if yes or (terminal.is_interactive() and not as_json):
            with_tasks = _clear_way(fleet, name, yes=yes, quiet=as_json) or with_tasks
        removed = fleet.projects.remove(name, with_tasks=with_tasks, key=given["key"])
    if as_json:
        terminal.say_json(removed)
        return
    kept = f"; {counted(removed.tasks, 'task')} kept in {removed.kept}" if removed.kept and removed.tasks else ""
    terminal.say(f"project {name} is removed{kept}")


def _clear_way(fleet: Fleet, name: str, *, yes: bool, quiet: bool) -> bool:
    """Print all that ends with the project, ask the person whether to end and release it, and do it.

    The project's tasks are part of that. With `yes`, do not ask; with `quiet`, do not print. Returns True when the person
    agreed, which permits removing the tasks, too, and False when there was nothing to end. Raise click.Abort when the
    person says no.
    """
    found, shown = fleet.projects.in_the_way(name), fleet.projects.show(name)
    lines = _obstacles_in_words(found)
    total = shown.archived + sum(getattr(shown.tasks, status) for status in STATUSES)
    lines += [f"{counted(total, 'task')}, exported into the fleet home first"] if total else []
    for line in () if quiet else lines:
        terminal.say(f"  {line}")
    if not lines:
        return False
    if not yes and not click.confirm("All this ends. Remove the project?"):
        raise click.Abort
    for ref in fleet.projects.clear(name).kept:
        terminal.note(f"uncommitted work is kept as {ref}")
    return True


def _obstacles_in_words(found: InTheWay) -> list[str]:
    """Return a line for each thing that keeps a project from being removed."""
    lines = [f"coordinator {found.coordinator}"] if found.coordinator else []
    lines += [f"agents at work: {', '.join(found.agents)}"] if found.agents else []
    lines += [f"tasks in progress or with a worktree: {', '.join(found.tasks)}"] if found.tasks else []
    return lines + [f"job {ident}, which runs: cancel it first" for ident in found.jobs]


COMMANDS = {"init": init, "project": project}

"""The command `fleet add`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.results.tasks import EdgeView, Graph, GraphNode
from fleet.model.tasks.markdown_list import Item, Reading, read_list
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.options import Slug, from_stdin, read_time, writing
from fleet.surfaces.cli.ui import graph_drawing, terminal

if TYPE_CHECKING:
    from fleet.model.results.tasks import Added, AddedMany
    from fleet.model.states import ShownStatus

# How the name of a file with a list of tasks ends.
_LISTS = (".md", ".markdown", ".txt")
# The options that every added task gets.
_FIELDS = ("after", "tags", "priority", "not_before", "not_before_said", "verify", "engine", "model")


@click.command("add")
@click.argument("what", metavar="TITLE|FILE|-")
@click.option("-d", "--description", metavar="TEXT", help="what to do, in full (for one task); - reads standard input")
@click.option("-a", "--after", multiple=True, metavar="SLUG", type=Slug(), help="wait for this task (repeat for more)")
@click.option("-t", "--tag", "tags", multiple=True, metavar="TAG", help="a tag for the task (repeat for more)")
@click.option(
    "--priority", type=click.IntRange(-1_000, 1_000), help="higher goes first (default: as in fleet.toml, or 0)"
)
@click.option("--not-before", metavar="TIME", help="do not start it before this time: 2h, 18:00, 2026-11-15")
@click.option("--verify", metavar="COMMAND", help="the command that has to succeed on the merged work")
@click.option("--engine", metavar="NAME", help="the engine of its agents")
@click.option("--model", metavar="NAME", help="the model of its agents, as the engine calls it")
@click.option("--dry-run", is_flag=True, help="only print what would be added")
@writing
def add(what: str, **given: Any) -> None:
    """Add a task by its title, or many from a Markdown list: a file ending in .md or .txt, or - for standard input.

    Each item is a task. An indented item waits for the item above it, and text below an item is its description. Ticked items are
    left out. Either all tasks are added or none.

    \b
    Examples:
      fleet add "Fix the login page"
      fleet add plan.md --dry-run
      pbpaste | fleet add - --tag sprint-7
    """
    reading, name = _read_tasks(what, given["description"])
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        given |= {"not_before": read_time(given["not_before"], fleet), "not_before_said": given["not_before"]}
        fields = {each: given[each] for each in _FIELDS}
        added = fleet.graph.add_list(
            reading.items, project=project, name=name, dry=given["dry_run"], key=given["key"], **fields
        )
    added.left_out = reading.left_out
    terminal.say_json(added) if given["json"] else _print_added(added)


def _read_tasks(what: str, description: str | None) -> tuple[Reading, str]:
    """Return the tasks in `what` (a title, a list's file, or `-` for standard input), and the name of that source.

    `description` describes a single task; `-` reads it from standard input, None is none. Raise BadInput for a missing
    file, for a list without items, and for a list with a `description`.
    """
    from_file = what.endswith(_LISTS) and os.path.isfile(what)
    if what.endswith(_LISTS) and not from_file and " " not in what:
        raise errors.BadInput(
            what=f"there is no file {what}; to use it as a title, add a second word or change its ending"
        )
    if what != "-" and not from_file:
        described = from_stdin(description) or ""
        return Reading([Item(line=1, title=what, parent=None, description=described)]), "the command line"
    if description is not None:
        raise errors.BadInput(what="--description is for one task; in a list it is the text below an item")
    reading = read_list((_read_file(what) if from_file else from_stdin("-") or "").splitlines())
    name = os.path.basename(what) if from_file else "standard input"
    if not reading.items:
        raise errors.BadInput(what=f"{name} has no items; an item is a line like `- [ ] Fix the login page`")
    return reading, name


def _read_file(path: str) -> str:
    """Return the text of a file. Raise BadText when it is not UTF-8, BadInput when it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except UnicodeDecodeError:
        advice = "convert it, for example with `iconv -t utf-8`"
        raise errors.BadText(what=f"file {path}", why="is not valid UTF-8", advice=advice) from None
    except OSError as error:
        raise errors.BadInput(what=f"{path}: {str(error.strerror).lower()}") from None


def _print_added(added: AddedMany) -> None:
    """Print the tasks that were added, several as a tree."""
    first, *others = added.tasks
    what = f"{len(added.tasks)} tasks to {added.project}" if others else f"{added.project}/{first.slug}"
    after = f", after {', '.join(first.after)}" if first.after and not others else ""
    left = f" ({counted(added.left_out, 'line')} left out: ticked, or not items)" if added.left_out else ""
    terminal.say(f"{'would add' if added.dry_run else 'added'} {what}{after}{left}")
    if others:
        for line in graph_drawing.tree(_graph(added.project, added.tasks)):
            terminal.say(f"  {line}")


def _graph(project: str, tasks: list[Added]) -> Graph:
    """Return the added tasks as a graph. Dependencies on tasks that existed before are left out."""
    new = {task.slug for task in tasks}
    edges = [EdgeView(slug=task.slug, needs=needs) for task in tasks for needs in task.after if needs in new]
    return Graph(project=project, nodes=[_node(task) for task in tasks], edges=edges)


def _node(task: Added) -> GraphNode:
    """Return an added task as a node of the graph: `waiting` when it has dependencies, else `ready`."""
    state: ShownStatus = "waiting" if task.after else "ready"
    return GraphNode(slug=task.slug, title=task.title, status="open", state=state, priority=0, assignee=None)


COMMANDS = {"add": add}

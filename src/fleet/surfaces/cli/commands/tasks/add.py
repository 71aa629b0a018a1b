"""fleet add."""

from __future__ import annotations

import os
from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.errors.families import BadInput
from fleet.errors.given import BadText
from fleet.model.tasks.markdown_list import Item, Reading, read_list
from fleet.surfaces.cli.options import Slug, from_stdin, writing
from fleet.surfaces.cli.ui import drawing, terminal
from fleet.surfaces.cli.ui.when import moment

_LISTS = (".md", ".markdown", ".txt")
_FIELDS = ("after", "tags", "priority", "not_before", "not_before_said", "verify", "engine")


@click.command("add")
@click.argument("what", metavar="TITLE|FILE|-")
@click.option("-d", "--description", metavar="TEXT", help="of one task: what to do, in full")
@click.option("-a", "--after", multiple=True, metavar="SLUG", type=Slug(), help="wait for this task (repeat for more)")
@click.option("-t", "--tag", "tags", multiple=True, metavar="TAG", help="tag it (repeat for more)")
@click.option("--priority", type=click.IntRange(-1_000, 1_000), help="higher goes first (default: fleet.toml's, or 0)")
@click.option("--not-before", metavar="TIME", help="keep it waiting until then: 2h, 18:00, 2026-11-15")
@click.option("--verify", metavar="COMMAND", help="the command that has to pass on the merged work")
@click.option("--engine", metavar="NAME", help="the engine that should do it")
@click.option("--dry-run", is_flag=True, help="only show what would be added")
@writing
def add(what: str, **given: Any) -> None:
    """Add a task by its title, or many by a Markdown list: - reads standard input, a name ending in .md or .txt a file.

    Each item is a task, an indented item comes after the one it is indented under, text below an item is its description.
    Items that are ticked are left out. All are added or none.

    \b
    Examples:
      fleet add "Fix the login page"
      fleet add plan.md --dry-run
      pbpaste | fleet add - --tag sprint-7
    """
    reading, name = _read(what, given["description"])
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        given |= {"not_before": moment(given["not_before"], fleet), "not_before_said": given["not_before"]}
        fields = {each: given[each] for each in _FIELDS}
        made = fleet.graph.add_list(
            reading.items, project=project, name=name, dry=given["dry_run"], key=given["key"], **fields
        )
    made |= {"left_out": reading.left_out, "dry_run": given["dry_run"]}
    terminal.say_json(made) if given["json"] else _told(made)


def _read(what: str, description: str | None) -> tuple[Reading, str]:
    """What is to be added, and where it was read."""
    from_file = what.endswith(_LISTS) and os.path.isfile(what)
    if what.endswith(_LISTS) and not from_file and " " not in what:
        raise BadInput(what=f"there is no file {what}; a title has more than one word, or another end")
    if what != "-" and not from_file:
        return Reading([Item(line=1, title=what, parent=None, description=description or "")]), "the command line"
    if description is not None:
        raise BadInput(what="--description is for one task; in a list it is the text below an item")
    reading = read_list((_text_of(what) if from_file else from_stdin("-") or "").splitlines())
    name = os.path.basename(what) if from_file else "standard input"
    if not reading.items:
        raise BadInput(what=f"{name} has no items: a line like `- [ ] Fix the login page` is one")
    return reading, name


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except UnicodeDecodeError:
        advice = "convert it, for example with `iconv -t utf-8`"
        raise BadText(what=f"file {path}", why="is not valid UTF-8", advice=advice) from None
    except OSError as error:
        raise BadInput(what=f"{path}: {str(error.strerror).lower()}") from None


def _told(made: dict[str, Any]) -> None:
    count = len(made["tasks"])
    what = f"{made['project']}/{made['tasks'][0]['slug']}" if count == 1 else f"{count} tasks to {made['project']}"
    left = f" ({made['left_out']} lines left out: ticked, or no items)" if made["left_out"] else ""
    after = f", after {', '.join(made['tasks'][0]['after'])}" if count == 1 and made["tasks"][0]["after"] else ""
    terminal.say(f"{'would add' if made['dry_run'] else 'added'} {what}{after}{left}")
    if count > 1:
        for line in drawing.tree(_graph(made["tasks"])):
            terminal.say(f"  {line}")


def _graph(tasks: list[dict[str, Any]]) -> dict[str, Any]:
    new = {task["slug"] for task in tasks}
    edges = [{"slug": task["slug"], "needs": needs} for task in tasks for needs in task["after"] if needs in new]
    waiting = {edge["slug"] for edge in edges} | {task["slug"] for task in tasks if task["after"]}
    nodes = [task | {"state": "waiting" if task["slug"] in waiting else "ready"} for task in tasks]
    return {"nodes": nodes, "edges": edges}


COMMANDS = {"add": add}

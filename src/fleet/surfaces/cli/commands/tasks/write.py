"""The commands `fleet task add` and `fleet task edit`."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.hot.adding import print_added
from fleet.surfaces.cli.options import Slug, from_stdin, override_option, read_time, slug_argument, writing
from fleet.surfaces.cli.ui import terminal
from fleet.verbs.tasks.edit import Edit

_PRIORITY = click.IntRange(-1_000, 1_000)


@click.command("add")
@click.argument("title")
@click.option("--slug", metavar="SLUG", help="the task's name (default: made from the title)")
@click.option("-d", "--description", metavar="TEXT", default="", help="what to do, in full; - reads standard input")
@click.option("-a", "--after", multiple=True, metavar="SLUG", type=Slug(), help="wait for this task (repeat for more)")
@click.option("-t", "--tag", "tags", multiple=True, metavar="TAG", help="a tag for the task (repeat for more)")
@click.option("--priority", type=_PRIORITY, help="higher goes first (default: as in fleet.toml, or 0)")
@click.option("--not-before", metavar="TIME", help="do not start it before this time: 2h, 18:00, 2026-11-15")
@click.option("--verify", metavar="COMMAND", help="the command that has to succeed on the merged work")
@click.option("--engine", metavar="NAME", help="the engine of its agents")
@click.option("--model", metavar="NAME", help="the model of its agents, as the engine calls it")
@writing
def add(title: str, **given: Any) -> None:
    """Add a task.

    \b
    Examples:
      fleet task add "Write the parser" --slug parser
      fleet task add "Write the tests" --after parser --tag tests --priority 5
      fleet task add "Port the docs" -d - < brief.md
      fleet task add "Nightly clean-up" --not-before 22:00
    """
    with Fleet.open(actor=given.pop("as")) as fleet:
        project, as_json = fleet.project_here(given.pop("project")), given.pop("json")
        given["description"] = from_stdin(given["description"])
        given |= {"not_before": read_time(given["not_before"], fleet), "not_before_said": given["not_before"]}
        added = fleet.tasks.add(project=project, title=title, **given)
    print_added(added, as_json=as_json)


@click.command("edit")
@slug_argument
@click.option("--title", metavar="TEXT", help="the new title")
@click.option("-d", "--description", metavar="TEXT", help="the new description; - reads standard input")
@click.option("--priority", type=_PRIORITY, help="higher goes first")
@click.option("--not-before", metavar="TIME", help="do not start it before this time; 'none' removes the time")
@click.option("--verify", metavar="COMMAND", help="the new verify command; 'none' for the project's")
@click.option("--engine", metavar="NAME", help="the new engine; 'none' for the project's")
@click.option("--model", metavar="NAME", help="the new model, as the engine calls it; 'none' for the engine's own")
@click.option("-a", "--after", "add_after", multiple=True, metavar="SLUG", type=Slug(), help="wait for this task too")
@click.option(
    "--not-after", "drop_after", multiple=True, metavar="SLUG", type=Slug(), help="no longer wait for this task"
)
@click.option("-t", "--tag", "add_tags", multiple=True, metavar="TAG", help="add a tag")
@click.option("--untag", "drop_tags", multiple=True, metavar="TAG", help="remove a tag")
@override_option
@writing
def edit(slug: str, **given: Any) -> None:
    """Change a task, its tags or dependencies.

    Priority, tags and time can be changed at any time. While an agent works on the task, its instructions can be changed only with
    --override, which takes the task away from the agent.

    \b
    Examples:
      fleet task edit parser --priority 10
      fleet task edit docs --after parser --not-after tests
      fleet task edit docs --not-before none
    """
    with Fleet.open(actor=given.pop("as")) as fleet:
        project, as_json, key = fleet.project_here(given.pop("project")), given.pop("json"), given.pop("key")
        given["description"] = from_stdin(given["description"])
        clear = frozenset(name for name in ("not_before", "verify", "engine", "model") if given[name] == "none")
        given |= dict.fromkeys(clear)
        given |= {"not_before": read_time(given["not_before"], fleet), "not_before_said": given["not_before"]}
        edited = fleet.tasks.edit(Edit(project=project, slug=slug, clear=clear, **given), key=key)
    if as_json:
        terminal.say_json(edited)
    else:
        terminal.say(f"{'changed' if edited.changed else 'nothing to change on'} {project}/{slug}")


COMMANDS = {"task add": add, "task edit": edit}

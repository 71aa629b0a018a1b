"""fleet task show, list, ready, graph."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.looking import Looking
from fleet.model.tasks.steps import STATUSES
from fleet.surfaces.cli.options import COUNT, reading, slug_argument
from fleet.surfaces.cli.ui import drawing, terminal
from fleet.verbs.tasks.show import EVERYTHING, PAGE, Filters

_LABELS = (
    ("priority", "priority"),
    ("assignee", "assignee"),
    ("attempts", "attempts"),
    ("reason", "reason"),
    ("engine", "engine"),
    ("verify", "verify"),
    ("not_before", "not before"),
    ("added_at", "added"),
    ("changed_at", "changed"),
    ("started_at", "started"),
    ("ended_at", "ended"),
)


@click.command("show")
@slug_argument
@reading
def show(slug: str, **given: Any) -> None:
    """Everything about a task: its fields, dependencies, log and artifacts.

    \b
    Examples:
      fleet task show parser
      fleet task show parser --json | jq .log
    """
    with Looking.open() as fleet:
        found = fleet.task(project=fleet.project_here(given["project"]), slug=slug)
    if given["json"]:
        terminal.say_json(found)
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    terminal.say(f"{terminal.paint(found['title'], 'bold')}  {terminal.state(found['state'])}")
    flags = [name for name in ("paused", "archived") if found[name]]
    terminal.say(f"{found['project']}/{found['slug']}{''.join(f'  [{flag}]' for flag in flags)}")
    for name, label in _LABELS:
        if found[name]:
            terminal.say(f"  {label:<11} {found[name]}")
    for name, label in (("tags", "tags"), ("after", "after"), ("dependents", "before")):
        if found[name]:
            terminal.say(f"  {label:<11} {', '.join(found[name])}")
    if found["description"]:
        terminal.say()
        terminal.say_text(found["description"], indent="  ")
    for name in ("artifacts", "log"):
        if found[name]:
            terminal.say()
            terminal.say(terminal.paint(name, "bold"))
        for each in found[name]:
            text = each.get("message") or each.get("path", "")
            terminal.say_message(f"  {terminal.paint(each['at'], 'dim')} {each['actor']}: ", text)


@click.command("list")
@click.option("-s", "--status", type=click.Choice(STATUSES), help="only tasks in this status")
@click.option("-t", "--tag", metavar="TAG", help="only tasks with this tag")
@click.option("--text", metavar="TEXT", help="only tasks that have this in slug, title or description")
@click.option("--assignee", metavar="NAME", help="only tasks of this assignee")
@click.option("--archived", is_flag=True, help="archived ones too")
@click.option("-n", "--limit", type=COUNT, default=EVERYTHING, show_default=False, metavar="N", help="at most so many")
@reading
def list_(**given: Any) -> None:
    """List tasks, by status, tag, text or assignee.

    \b
    Examples:
      fleet task list
      fleet task list --status failed --tag api
      fleet task list --text login --json
    """
    project, as_json = given.pop("project"), given.pop("json")
    with Looking.open() as fleet:
        found = fleet.tasks(project=fleet.project_here(project), filters=Filters(**given))
        if as_json:
            terminal.say_json_list(found)
            return
        _list(found)


def _list(found: Any) -> None:
    """A page at a time, so that a hundred thousand tasks do not have to fit into memory or wait for the widest."""
    page: list[dict[str, Any]] = []
    count = 0
    for each in found:
        page.append(each)
        if len(page) == PAGE:
            _print_page(page, heads=count == 0)
            count += len(page)
            page = []
    _print_page(page, heads=count == 0)
    if count + len(page) == 0:
        terminal.say("no tasks")


def _print_page(page: list[dict[str, Any]], *, heads: bool) -> None:
    rows = [(t["slug"], t["state"], str(t["priority"] or ""), _who(t), t["title"]) for t in page]
    lines = terminal.table(("SLUG", "STATE", "PRIO", "WHO", "TITLE"), rows)
    for number, line in enumerate(lines):
        if page and (number or heads):
            terminal.say(line)


def _who(task: dict[str, Any]) -> str:
    return task["assignee"] or "" if task["status"] == "in_progress" else ""


@click.command("ready")
@click.option("-n", "--limit", type=COUNT, default=EVERYTHING, show_default=False, metavar="N", help="at most so many")
@reading
def ready(limit: int, **given: Any) -> None:
    """What could be started now, most urgent first.

    \b
    Examples:
      fleet task ready
      fleet task ready --limit 1 --json
    """
    with Looking.open() as fleet:
        found = fleet.ready(project=fleet.project_here(given["project"]), limit=limit)
    if given["json"]:
        terminal.say_json_list(found)
    elif not found:
        terminal.say("nothing is ready")
    else:
        rows = [(t["slug"], str(t["priority"] or ""), t["title"]) for t in found]
        for line in terminal.table(("SLUG", "PRIO", "TITLE"), rows):
            terminal.say(line)


@click.command("graph")
@click.option("--mermaid", "form", flag_value="mermaid", help="as Mermaid, for Markdown pages")
@click.option("--dot", "form", flag_value="dot", help="as DOT, for Graphviz")
@click.option("--archived", is_flag=True, help="archived tasks too")
@reading
def graph(form: str | None, **given: Any) -> None:
    """Draw the graph: a tree in the terminal, Mermaid or DOT.

    In the tree a task stands below what it waits for.

    \b
    Examples:
      fleet task graph
      fleet task graph --mermaid > graph.md
      fleet task graph --dot | dot -Tsvg > graph.svg
    """
    with Looking.open() as fleet:
        found = fleet.graph(project=fleet.project_here(given["project"]), archived=given["archived"])
    if given["json"]:
        terminal.say_json(found)
        return
    draw = {"mermaid": drawing.mermaid, "dot": drawing.dot}.get(form or "", drawing.tree)
    terminal.say_lines(draw(found))


COMMANDS = {"task show": show, "task list": list_, "task ready": ready, "task graph": graph}

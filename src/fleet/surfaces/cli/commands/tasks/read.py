"""fleet task show, list, ready, graph."""

from __future__ import annotations

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.ui import drawing, terminal
from fleet.verbs.tasks.show import PAGE, Filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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


def show_task(slug: str, **given: Any) -> None:
    """Everything about a task: its fields, dependencies, log and artifacts."""
    with Fleet.open() as fleet:
        found = fleet.tasks.show(project=fleet.project_here(given["project"]), slug=slug)
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


def list_tasks(**given: Any) -> None:
    """List tasks, by status, tag, text or assignee."""
    project, as_json = given.pop("project"), given.pop("json")
    with Fleet.open() as fleet:
        found = fleet.tasks.list(project=fleet.project_here(project), filters=Filters(**given))
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


def list_ready(limit: int | None, **given: Any) -> None:
    """What could be started now, most urgent first."""
    with Fleet.open() as fleet:
        found = fleet.tasks.ready(project=fleet.project_here(given["project"]), limit=limit)
    if given["json"]:
        terminal.say_json_list(found)
    elif not found:
        terminal.say("nothing is ready")
    else:
        rows = [(t["slug"], str(t["priority"] or ""), t["title"]) for t in found]
        for line in terminal.table(("SLUG", "PRIO", "TITLE"), rows):
            terminal.say(line)


def draw_graph(form: str | None, **given: Any) -> None:
    """Draw the graph: a tree in the terminal, Mermaid or DOT."""
    with Fleet.open() as fleet:
        found = fleet.graph.show(project=fleet.project_here(given["project"]), archived=given["archived"])
    if given["json"]:
        terminal.say_json(found)
        return
    draw = {"mermaid": drawing.mermaid, "dot": drawing.dot}.get(form or "", drawing.tree)
    terminal.say_lines(draw(found))

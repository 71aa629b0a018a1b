"""The commands `fleet task show`, `list`, `ready` and `graph`."""

from __future__ import annotations

from fleet.api.fleet import Fleet
from fleet.model.text.times import utc
from fleet.surfaces.cli.ui import graph_drawing, terminal
from fleet.verbs.tasks.show import PAGE, Filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fleet.model.results.agents import Cost
    from fleet.model.results.tasks import NextStep, TaskDetails, TaskView


def show_task(slug: str, *, project: str | None, json: bool) -> None:
    """Print a task: its fields, dependencies, log and artifacts."""
    with Fleet.open() as fleet:
        task = fleet.tasks.show(project=fleet.project_here(project), slug=slug)
    terminal.say_json(task) if json else _print_task(task)


def _print_task(task: TaskDetails) -> None:
    """Print a task for people: its fields, description, artifacts and log."""
    terminal.say(f"{terminal.paint(task.title, 'bold')}  {terminal.state(task.state)}")
    flags = ("  [paused]" if task.paused else "") + ("  [archived]" if task.archived else "")
    terminal.say(f"{task.project}/{task.slug}{flags}")
    for label, value in _shown_fields(task).items():
        if value:
            terminal.say(f"  {label:<11} {value}")
    if task.description:
        terminal.say()
        terminal.say_text(task.description, indent="  ")
    _print_entries("artifacts", [(artifact.at, artifact.actor, artifact.path) for artifact in task.artifacts])
    _print_entries("log", [(entry.at, entry.actor, entry.message) for entry in task.log])


def _handoffs_in_words(task: TaskDetails) -> str:
    """Return how often a task was handed off, and what the earlier agents have used; "" without a handoff."""
    if not task.handoffs:
        return ""
    used = _cost(task.used_before_handoffs)
    return f"{task.handoffs} ({used})" if used else str(task.handoffs)


def _cost(used: Cost) -> str:
    """Return the dollars and tokens that agents have used as text; "" when none are known."""
    return terminal.spending(used.tokens, used.dollars, used.unpriced) if used.tokens else ""


def _shown_fields(task: TaskDetails) -> dict[str, object]:
    """Return the fields of a task that are shown, by their labels."""
    return {
        "state": task.says,
        "priority": task.priority,
        "assignee": task.assignee,
        "attempts": task.attempts,
        "handoffs": _handoffs_in_words(task),
        "reason": task.reason,
        "next": _next_step_line(task.next_step),
        "engine": task.engine,
        "model": task.model,
        "verify": task.verify,
        "cost": _cost(task.used),
        "not before": _task_time(task.not_before),
        "added": _task_time(task.added_at),
        "changed": _task_time(task.changed_at),
        "started": _task_time(task.started_at),
        "ended": _task_time(task.ended_at),
        "tags": ", ".join(task.tags),
        "after": ", ".join(task.after),
        "before": ", ".join(task.dependents),
    }


def _task_time(at: str | None) -> str:
    """Return a time of a task in UTC, for people; "" for None."""
    return utc(at) if at else ""


def _next_step_line(step: NextStep | None) -> str:
    """Return the next step of a task on one line: the command, and why; "" when there is no command."""
    if step is None or step.command is None:
        return ""
    return f"{step.command}  ({step.says})"


def _print_entries(title: str, entries: list[tuple[str, str, str]]) -> None:
    """Print the entries of a task's log or its artifacts under a title, if there are any."""
    if entries:
        terminal.say()
        terminal.say(terminal.paint(title, "bold"))
    for at, actor, text in entries:
        terminal.say_message(f"  {terminal.paint(utc(at), 'dim')} {actor}: ", text)


def list_tasks(*, project: str | None, json: bool, **filters: Any) -> None:
    """Print the tasks that match the filters."""
    with Fleet.open() as fleet:
        tasks = fleet.tasks.list(project=fleet.project_here(project), filters=Filters(**filters))
        terminal.say_json_list(tasks) if json else _print_tasks(tasks)


def _print_tasks(tasks: Iterator[TaskView]) -> None:
    """Print tasks page by page, so that the first appear at once and memory stays small with a hundred thousand tasks."""
    page: list[TaskView] = []
    count = 0
    for task in tasks:
        page.append(task)
        if len(page) == PAGE:
            _print_task_page(page, heads=count == 0)
            count += len(page)
            page = []
    _print_task_page(page, heads=count == 0)
    if count + len(page) == 0:
        terminal.say("no tasks")


def _print_task_page(page: list[TaskView], *, heads: bool) -> None:
    """Print one page of tasks as a table; with `heads`, also the headings."""
    rows = [(t.slug, t.state, str(t.priority or ""), _assignee(t), t.title) for t in page]
    lines = terminal.table(("SLUG", "STATE", "PRIO", "WHO", "TITLE"), rows)
    for number, line in enumerate(lines):
        if page and (number or heads):
            terminal.say(line)


def _assignee(task: TaskView) -> str:
    """Return the assignee of a task in progress; "" for other tasks."""
    return task.assignee or "" if task.status == "in_progress" else ""


def list_ready(*, limit: int | None, project: str | None, json: bool) -> None:
    """Print the tasks that could be started now, most urgent first."""
    with Fleet.open() as fleet:
        tasks = fleet.tasks.ready(project=fleet.project_here(project), limit=limit)
    if json:
        terminal.say_json_list(tasks)
    elif not tasks:
        terminal.say("nothing is ready")
    else:
        rows = [(t.slug, str(t.priority or ""), t.title) for t in tasks]
        for line in terminal.table(("SLUG", "PRIO", "TITLE"), rows):
            terminal.say(line)


def draw_graph(*, form: str | None, archived: bool, project: str | None, json: bool) -> None:
    """Print the task graph as a tree, Mermaid or DOT."""
    with Fleet.open() as fleet:
        graph = fleet.graph.show(project=fleet.project_here(project), archived=archived)
    if json:
        terminal.say_json(graph)
        return
    draw = {"mermaid": graph_drawing.mermaid, "dot": graph_drawing.dot}.get(form or "", graph_drawing.tree)
    terminal.say_lines(draw(graph))

"""The command `fleet status`."""

from __future__ import annotations

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.views.sections import (
    hold_in_words,
    job_in_words,
    need_in_words,
    one_line,
    parked_in_words,
    place_of,
    sections,
    task_counts,
)
from fleet.api.views.tones import agent_tone
from fleet.model.results.jobs import JobView
from fleet.model.results.merge import Waiting
from fleet.model.results.views import Attempt, Failure, HoldView, Merging, NeedView, Obstacle, Parked, ToLand
from fleet.model.text.sizes import counted
from fleet.model.text.times import age, since_epoch
from fleet.surfaces.cli.ui import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fleet.api.views.sections import SectionEntry
    from fleet.model.results.agents import Cost
    from fleet.model.results.projects import ProjectView
    from fleet.model.results.views import Overview, Section

# The most entries of a section that are printed, and the most in JSON.
_SHOWN, _LISTED = 20, 200
# The most lines for a text, and the least columns for a line.
_LINES = 4
_NARROWEST = 20
_INDENT = " " * 4
# The command to print for a kind of need. Other kinds have `attach`, but for "over budget", which has none.
_NEED_COMMANDS = {
    "permission": "approve",
    "question": "answer",
    "silent": "peek",
    "stopped": "peek",
    "handoffs": "resume",
    "failed_turn": "message",
}
_HEADS = ("PROJECT", "READY", "WAITING", "IN PROGRESS", "BLOCKED", "DONE")


def show_status(*, project: str | None, metrics: bool, json: bool) -> None:
    """Print the status page: questions, reviews, problems, running agents, and a row for each project."""
    if metrics:
        _print_metrics(project)
        return
    with Fleet.open() as fleet:
        page, now = fleet.views.status(project, most=_LISTED if json else _SHOWN), fleet.clock.now()
    if json:
        terminal.say_json(page)
    elif not page.projects:
        terminal.say("no projects yet: run `fleet up` in a repository")
    else:
        _print_page(page, now)


def _print_metrics(project: str | None) -> None:
    """Print the figures of the home as OpenMetrics.

    Raise BadInput when `project` is not None: the figures of all projects are printed, each with its project as a
    label.
    """
    if project is not None:
        raise errors.BadInput(what="--metrics prints all projects, each with its label; leave -p out")
    with Fleet.open(needs_store=False) as fleet:
        terminal.say_lines(_metrics(fleet).splitlines())


def _metrics(fleet: Fleet) -> str:
    """Return the figures of the home as OpenMetrics text, with those of its daemon if one runs."""
    from fleet.api.remote import lifecycle

    return fleet.views.metrics(lifecycle.figures(lifecycle.status(fleet), fleet.clock.now()))


def _print_page(page: Overview, now: int) -> None:
    """Print the status page: whether the daemon has died, sections, projects, cost, and what is not released."""
    if page.daemon:
        terminal.say_lines([*(terminal.paint(line, "red") for line in wrapped(page.daemon, terminal.cut_width())), ""])
    for section in sections(page):
        _print_section(section, [_entry_line(each, now) for each in section.entries])
    _print_projects(page.projects)
    _print_cost(page)
    if page.remote_control:
        terminal.say(
            terminal.paint(f"remote control up: {', '.join(page.remote_control)} — `fleet rc down PROJECT`", "dim")
        )
    for line in page.reclaim:
        terminal.say(terminal.paint(f"{line} — see `fleet clean`", "yellow"))
    for line in page.elsewhere:
        terminal.say(terminal.paint(line, "yellow"))


def _entry_line(each: SectionEntry, now: int) -> str:
    """Return an entry of the status page as text of one or more lines. `now` is in milliseconds."""
    for kind, words in _LINES_OF.items():
        if isinstance(each, kind):
            return words(each, now)
    raise AssertionError(each)


def _print_section(section: Section, lines: list[str]) -> None:
    """Print a section of the status page with its count and its first entries."""
    after = terminal.paint(f"  {section.hint}", "dim") if section.hint else ""
    terminal.say(f"{terminal.paint(section.title, section.tone)} {len(lines) + section.more}{after}")
    for entry in lines[:_SHOWN]:
        for line in entry.split("\n"):
            terminal.say(terminal.shortened(f"  {line}", terminal.cut_width()))
    if (left := len(lines[_SHOWN:]) + section.more) > 0:
        terminal.say(f"  and {left} more")
    terminal.say()


def _obstacle_entry(each: Obstacle, _now: int) -> str:
    """Return an obstacle of the status page, wrapped to a few lines."""
    place = f"{each.project}/{each.slug}" if each.slug else each.project
    return _wrap(f"{place}: {each.text}")


def _need_entry(need: NeedView, now: int) -> str:
    """Return the lines about a need: the command that deals with it, if there is one, the task, and the question."""
    if need.kind == "over budget":
        return f"{place_of(need)}, {_age_since(need.since, now)} ago\n    {_wrap(one_line(need.text))}"
    asked, word = need_in_words(need), _NEED_COMMANDS.get(need.kind, "attach")
    who = f"fleet {word} {need.question or need.dispatch}  {place_of(need)}, {_age_since(need.since, now)} ago"
    fits = terminal.width_of(f"  {who}: {asked}") <= terminal.cut_width()
    return f"{who}: {asked}" if fits else f"{who}\n    {_wrap(asked, more='fleet questions')}"


def _review_entry(task: Waiting, now: int) -> str:
    """Return the line of a task that waits for a review, for the status page."""
    return f"{place_of(task)}  {task.title}  ({_age_since(task.changed_at, now)} ago)"


def _failure_entry(task: Failure, _now: int) -> str:
    """Return the lines of a failed task, with the command that continues it, for the status page."""
    return f"{place_of(task)}  {one_line(task.reason or task.title)}{_next_line(task)}"


def _parked_entry(task: Parked, _now: int) -> str:
    """Return the lines of a parked task, with the command that continues it, for the status page."""
    return f"{place_of(task)}  {parked_in_words(task)}{_next_line(task)}"


def _next_line(task: Failure | Parked) -> str:
    """Return the command that continues a task, as lines below its entry; "" when there is none.

    A command that is too long for a line is continued with a backslash, so that it can be copied into a shell. When a
    single word is longer than a line, return `fleet task why`, which shows the command.
    """
    if task.next_step is None or not task.next_step.command:
        return ""
    room = max(terminal.cut_width() - len(_INDENT) - 4, _NARROWEST)
    lines = wrapped(task.next_step.command, room, break_words=False)
    if any(len(line) > room for line in lines):
        lines = [f"fleet task why {task.slug} -p {task.project}"]
    painted = [terminal.paint(line, "cyan") for line in (*(f"{line} \\" for line in lines[:-1]), lines[-1])]
    return "".join(f"\n{_INDENT}{line}" for line in painted)


def _job_entry(job: JobView, _now: int) -> str:
    """Return a job's state, what it waits for or why it stopped, and the command that continues it."""
    state = job_in_words(job)
    count = f"{job.items.ended} of {job.items.total} items"
    if job.runs:
        return f"{job.id} {job.name} ({job.project})  {state}, {count}{f': {job.waits}' if job.waits else ''}"
    why = f": {one_line(job.reason)}" if job.reason else ""
    return f"fleet resume {job.id}  {job.name} ({job.project})  {state}, {count}{why}"


def _merge_entry(task: Merging, _now: int) -> str:
    """Return the line of a task that waits to be merged, for the status page."""
    return f"{place_of(task)}  {task.pull_request or task.title}"


def _landing_entry(waiting: ToLand, _now: int) -> str:
    """Return the line of a project whose merged commits wait to land, for the status page."""
    return f"{waiting.project}  {counted(waiting.commits, 'commit')} of {waiting.integration} for {waiting.target}"


def _agent_entry(attempt: Attempt, now: int) -> str:
    """Return a running agent: its id, its state and since when, its task, and what it does."""
    state = terminal.paint(attempt.state, agent_tone(attempt.state))
    handed = f", {attempt.handoffs} handoff{'' if attempt.handoffs == 1 else 's'}" if attempt.handoffs else ""
    known = f"{state} ({attempt.source}, {_age_since(attempt.since, now)}{handed})"
    text = attempt.title if attempt.state == "asks" else attempt.detail or attempt.title
    return f"{attempt.who} {known}  {place_of(attempt)}  {one_line(text)}"


def _print_projects(projects: list[ProjectView]) -> None:
    """Print a row for each project. In a narrow terminal the dispatch counts are on a second line."""
    rows, counts = [_project_row(project) for project in projects], [_dispatch_counts(project) for project in projects]
    whole = list(terminal.table((*_HEADS, ""), [(*row, text) for row, text in zip(rows, counts, strict=True)]))
    if not any("…" in line for line in whole):
        for line in whole:
            terminal.say(line)
        return
    head, *lines = terminal.table(_HEADS, rows)
    terminal.say(head)
    for line, text in zip(lines, counts, strict=True):
        terminal.say(line)
        terminal.say(f"  {text}")


def _print_cost(page: Overview) -> None:
    """Print the cost of all agents today, and the total cost of each project so far. Print nothing while none is known."""
    known = [project for project in page.projects if project.used.tokens]
    if known:
        today = terminal.spending(page.today.tokens, page.today.dollars, page.today.unpriced)
        each = ", ".join(f"{project.name} {_dollars(project.used)}" for project in known[:_SHOWN])
        terminal.say(terminal.shortened(f"cost today: {today}; in all: {each}", terminal.cut_width()))


def _dollars(used: Cost) -> str:
    """Return a cost in dollars; "?" when no price of its tokens is known."""
    return "?" if used.unpriced == used.tokens else f"${used.dollars:.2f}"


def _project_row(project: ProjectView) -> tuple[str, ...]:
    """Return the counts of a project's tasks as a row of the status page."""
    return (project.name, *(str(number) for number in task_counts(project).values()))


def _dispatch_counts(project: ProjectView) -> str:
    """Return, for the status page, how many dispatches of a project are active, and of how many the release is blocked."""
    count = project.dispatches
    return f"dispatches: {count.active} active, {count.blocked_reclaim} blocked-reclaim"


def _wrap(text: str, *, more: str = "fleet status --json") -> str:
    """Return a text wrapped to at most four lines.

    A text that is longer is cut and ends with the command `more`, which shows the rest.
    """
    room = max(terminal.cut_width() - len(_INDENT) - 2, _NARROWEST)
    lines = wrapped(one_line(text), room)
    if len(lines) > _LINES:
        left = sum(len(line) for line in lines[_LINES:])
        lines = [*lines[:_LINES], f"… {left:,} more characters: {more}"]
    return f"\n{_INDENT}".join(lines)


def wrapped(text: str, room: int, *, break_words: bool = True) -> list[str]:
    """Wrap a text into lines of at most `room` characters. Without `break_words`, a longer word is a longer line.

    textwrap is slow to import, so it is used only for a text that does not fit on one line.
    """
    if 0 < len(text) <= room and text.isprintable() and text == text.strip():
        return [text]
    import textwrap

    return textwrap.wrap(text, room, break_long_words=break_words, break_on_hyphens=break_words)


def _age_since(at: str, now: int) -> str:
    """Return how long ago an ISO time was, as text. `now` is in milliseconds."""
    return age(now - since_epoch(at))


# The function that returns the lines of an entry of the status page, by the class of the entry.
_LINES_OF: dict[type, Callable[[Any, int], str]] = {
    NeedView: _need_entry,
    Obstacle: _obstacle_entry,
    Waiting: _review_entry,
    Failure: _failure_entry,
    Parked: _parked_entry,
    HoldView: hold_in_words,
    Merging: _merge_entry,
    ToLand: _landing_entry,
    Attempt: _agent_entry,
    JobView: _job_entry,
}

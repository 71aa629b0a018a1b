"""fleet status."""

from __future__ import annotations

from fleet.api.fleet import Fleet
from fleet.errors.refused import LimitReached, NotWoken, Uncoordinated
from fleet.model.text import escapes
from fleet.model.text.times import age, since_epoch, utc
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.wording import held_in_words, state_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.model.results.agents import Cost
    from fleet.model.results.jobs import JobView
    from fleet.model.results.merge import Waiting
    from fleet.model.results.projects import ProjectView
    from fleet.model.results.views import (
        Attempt,
        Failure,
        HoldView,
        Merging,
        NeedView,
        Obstacle,
        Overview,
        Parked,
        ToLand,
    )

# How many tasks of a kind are printed, and how many JSON has.
_SHOWN, _LISTED = 20, 200
_LINES = 4
_NARROWEST = 20
_INDENT = " " * 4
# Obstacles that need a person at once: nobody coordinates the project.
_UNCOORDINATED = frozenset({Uncoordinated.__name__, NotWoken.__name__})
_ENDED = frozenset({"exited", "interrupted"})
_NEED_COMMANDS = {
    "permission": "approve",
    "question": "answer",
    "silent": "peek",
    "stopped": "peek",
    "handoffs": "resume",
    "failed_turn": "message",
}
_HEADS = ("PROJECT", "READY", "WAITING", "IN PROGRESS", "BLOCKED", "DONE")


def show_status(*, project: str | None, json: bool) -> None:
    """Print what is going on, on one page: questions, reviews, problems, running agents, and a row for each project."""
    with Fleet.open() as fleet:
        page, now = fleet.views.status(project, most=_LISTED if json else _SHOWN), fleet.clock.now()
    if json:
        terminal.say_json(page)
    elif not page.projects:
        terminal.say("no projects yet: run `fleet up` in a repository")
    else:
        _print_page(page, now)


def _print_page(page: Overview, now: int) -> None:
    """Print the sections of the page, then the projects."""
    alone = [each for each in page.in_the_way if each.kind in _UNCOORDINATED]
    needs = [*map(_obstacle_entry, alone), *(_need_entry(need, now) for need in page.needs_you)]
    _print_section("Needs you", "yellow", needs)
    in_the_way, no_room = _obstacle_entries([each for each in page.in_the_way if each not in alone])
    _print_section("In the way", "red", in_the_way)
    _print_section(
        "To review",
        "yellow",
        (_review_entry(task, now) for task in page.review),
        "`fleet review` walks you through",
        more=page.left_out.review,
    )
    _print_section("Failed", "red", map(_failure_entry, page.failed), more=page.left_out.failed)
    _print_section("Parked", "yellow", map(_parked_entry, page.parked), more=page.left_out.parked)
    _print_section("Held back", "red", (_hold_entry(hold, now) for hold in page.holds))
    _print_section("To merge", "blue", map(_merge_entry, page.merging), more=page.left_out.merging)
    _print_section("To land", "blue", map(_landing_entry, page.to_land), "`fleet land` moves your branch")
    over = [attempt for attempt in page.working if attempt.state in _ENDED]
    _print_section(
        "Ended", "red", (_agent_entry(attempt, now) for attempt in over), "the coordinator or `fleet clean` settles it"
    )
    _print_section(
        "Working",
        "cyan",
        (_agent_entry(attempt, now) for attempt in page.working if attempt.state not in _ENDED),
        more=page.left_out.working,
    )
    _print_section("Jobs", "cyan", map(_job_entry, page.jobs))
    _print_section("No room", "dim", no_room)
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


def _print_section(title: str, colour: str, lines: Iterable[str], hint: str = "", *, more: int = 0) -> None:
    """Print a section with its count and its first entries; nothing for an empty section. `more` are not among them."""
    entries = list(lines)
    if not entries:
        return
    after = terminal.paint(f"  {hint}", "dim") if hint else ""
    terminal.say(f"{terminal.paint(title, colour)} {len(entries) + more}{after}")
    for entry in entries[:_SHOWN]:
        for line in entry.split("\n"):
            terminal.say(terminal.shortened(f"  {line}", terminal.room()))
    if (left := len(entries[_SHOWN:]) + more) > 0:
        terminal.say(f"  and {left} more")
    terminal.say()


def _place(each: NeedView | Waiting | Failure | Parked | Merging | Attempt) -> str:
    return f"{each.project}/{each.slug}" if each.slug else f"{each.project}'s coordinator"


def _obstacle_entries(obstacles: list[Obstacle]) -> tuple[list[str], list[str]]:
    """Return the entries for what a person has to mend, and those for what passes when an agent ends."""
    entries: tuple[list[str], list[str]] = ([], [])
    for each in obstacles:
        entries[each.kind == LimitReached.__name__].append(_obstacle_entry(each))
    return entries


def _obstacle_entry(each: Obstacle) -> str:
    place = f"{each.project}/{each.slug}" if each.slug else each.project
    return _wrap(f"{place}: {each.text}")


def _need_entry(need: NeedView, now: int) -> str:
    """Return the command that answers, and the question, on a second line where both do not fit on one."""
    text, command = _one_line(need.text), _one_line(need.command or "")
    if command.startswith("{"):  # the input of a tool that is no command
        command = f"`fleet questions {need.question}` shows it whole"
    asked = text if command in text else f"{text} — {command}"
    if need.question is None and need.kind not in text:
        asked = f"{need.kind}: {asked}"
    if need.kind == "over budget":
        return f"{_place(need)}, {_age(need.since, now)} ago\n    {_wrap(text)}"
    word = _NEED_COMMANDS.get(need.kind, "attach")
    who = f"fleet {word} {need.question or need.dispatch}  {_place(need)}, {_age(need.since, now)} ago"
    fits = terminal.width_of(f"  {who}: {asked}") <= terminal.room()
    return f"{who}: {asked}" if fits else f"{who}\n    {_wrap(asked, more='fleet questions')}"


def _review_entry(task: Waiting, now: int) -> str:
    return f"{_place(task)}  {task.title}  ({_age(task.changed_at, now)} ago)"


def _failure_entry(task: Failure) -> str:
    return f"{_place(task)}  {_one_line(task.reason or task.title)}{_next_line(task)}"


def _parked_entry(task: Parked) -> str:
    until = f"to be fixed ({task.stage})  " if task.stage in {"fix", "rebase"} else ""
    until = f"until {utc(task.not_before)}  " if task.not_before else until
    return f"{_place(task)}  {until}{_one_line(task.reason or task.title)}{_next_line(task)}"


def _next_line(task: Failure | Parked) -> str:
    """Return the command that takes a task on, below its entry; empty when there is nothing to run.

    A command that does not fit on a line is continued on the next one, so that the shell can read what is copied. With a
    word that is longer than a line, `fleet task why` shows the command.
    """
    if task.next_step is None or not task.next_step.command:
        return ""
    import textwrap

    room = max(terminal.room() - len(_INDENT) - 4, _NARROWEST)
    lines = textwrap.wrap(task.next_step.command, room, break_long_words=False, break_on_hyphens=False)
    if any(len(line) > room for line in lines):
        lines = [f"fleet task why {task.slug} -p {task.project}"]
    painted = [terminal.paint(line, "cyan") for line in (*(f"{line} \\" for line in lines[:-1]), lines[-1])]
    return "".join(f"\n{_INDENT}{line}" for line in painted)


def _hold_entry(hold: HoldView, now: int) -> str:
    instead = f"  (agents run on {', '.join(hold.instead)} instead)" if hold.instead else ""
    return f"{hold.engine} ({hold.kind}) {held_in_words(hold.until, now)}{instead}: {_one_line(hold.reason)}"


def _job_entry(job: JobView) -> str:
    """Return a job's state, what it waits for or why it stopped, and the command that continues it."""
    state = state_in_words(job)
    count = f"{job.items.ended} of {job.items.total} items"
    if job.runs:
        return f"{job.id} {job.name} ({job.project})  {state}, {count}{f': {job.waits}' if job.waits else ''}"
    why = f": {_one_line(job.reason)}" if job.reason else ""
    return f"fleet resume {job.id}  {job.name} ({job.project})  {state}, {count}{why}"


def _merge_entry(task: Merging) -> str:
    return f"{_place(task)}  {task.pull_request or task.title}"


def _landing_entry(waiting: ToLand) -> str:
    return f"{waiting.project}  {terminal.counted(waiting.commits, 'commit')} of {waiting.integration} for {waiting.target}"


def _agent_entry(attempt: Attempt, now: int) -> str:
    state = terminal.paint(attempt.state, terminal.AGENT_COLOURS.get(attempt.state, "cyan"))
    handed = f", {attempt.handoffs} handoff{'' if attempt.handoffs == 1 else 's'}" if attempt.handoffs else ""
    known = f"{state} ({attempt.source}, {_age(attempt.since, now)}{handed})"
    text = attempt.title if attempt.state == "asks" else attempt.detail or attempt.title
    return f"{attempt.who} {known}  {_place(attempt)}  {_one_line(text)}"


def _print_projects(projects: list[ProjectView]) -> None:
    """Print a row for each project; in a narrow terminal its dispatch counts stand on a second line."""
    rows, counts = [_row(project) for project in projects], [_dispatch_counts(project) for project in projects]
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
    """Print what agents have cost today, and in each project in all; nothing before anything is known of it."""
    known = [project for project in page.projects if project.used.tokens]
    if known:
        today = terminal.spending(page.today.tokens, page.today.dollars, page.today.unpriced)
        each = ", ".join(f"{project.name} {_dollars(project.used)}" for project in known[:_SHOWN])
        terminal.say(terminal.shortened(f"cost today: {today}; in all: {each}", terminal.room()))


def _dollars(used: Cost) -> str:
    """Return what something has cost; a question mark when none of its prices is known."""
    return "?" if used.unpriced == used.tokens else f"${used.dollars:.2f}"


def _row(project: ProjectView) -> tuple[str, ...]:
    count = project.tasks
    waiting, stuck = count.open - project.ready, count.failed + count.blocked
    numbers = (project.ready, waiting, count.in_progress, stuck, project.finished)
    return (project.name, *(str(number) for number in numbers))


def _dispatch_counts(project: ProjectView) -> str:
    count = project.dispatches
    return f"dispatches: {count.active} active, {count.blocked_reclaim} blocked-reclaim"


def _wrap(text: str, *, more: str = "fleet status --json") -> str:
    """Return the text wrapped to a few lines, all but the first indented, with the number of characters left out."""
    import textwrap

    room = max(terminal.room() - len(_INDENT) - 2, _NARROWEST)
    lines = textwrap.wrap(_one_line(text), room)
    if len(lines) > _LINES:
        left = sum(len(line) for line in lines[_LINES:])
        lines = [*lines[:_LINES], f"… {left:,} more characters: {more}"]
    return f"\n{_INDENT}".join(lines)


def _one_line(text: str) -> str:
    """Return the text on one line, with control characters made visible."""
    return escapes.line(" ".join(text.split()))


def _age(at: str, now: int) -> str:
    return age(now - since_epoch(at))

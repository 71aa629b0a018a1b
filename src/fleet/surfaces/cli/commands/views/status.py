"""fleet status."""

from __future__ import annotations

from datetime import datetime

from fleet.api.fleet import Fleet
from fleet.model.text import escapes
from fleet.model.text.times import SECOND, age
from fleet.surfaces.cli.ui import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from fleet.model.results.merge import Waiting
    from fleet.model.results.projects import ProjectView
    from fleet.model.results.views import Attempt, Failure, HoldView, Merging, NeedView, Overview, Parked

_SHOWN = 20
_LINES = 4
_NARROWEST = 20
_INDENT = " " * 4
_OVER = frozenset({"exited", "interrupted"})
_AGAIN = "`fleet resume SLUG` goes on, `fleet task retry SLUG` opens it again"
_HEADS = ("PROJECT", "READY", "WAITING", "ON HAND", "STUCK", "DONE")


def show_status(**given: Any) -> None:
    """What is going on, on one page: who needs you, what to review, trouble, who works on what, a row a project."""
    with Fleet.open() as fleet:
        page, now = fleet.views.status(), fleet.clock.now()
    if given["json"]:
        terminal.say_json(page)
    elif not page.projects:
        terminal.say("no projects yet: `fleet up` in a repository begins")
    else:
        _show(page, now)


def _show(page: Overview, now: int) -> None:
    _part("Needs you", "yellow", (_need(each, now) for each in page.needs_you))
    _part("In the way", "red", (_wrapped(f"{each.project}: {each.text}") for each in page.in_the_way))
    _part("To review", "yellow", (_waiting(each, now) for each in page.review), "`fleet review` walks you through")
    _part("Failed", "red", map(_failure, page.failed), _AGAIN)
    _part("Parked", "yellow", map(_parked, page.parked), "`fleet resume SLUG` goes on with what stopped")
    _part("Held back", "red", map(_hold, page.holds))
    _part("To merge", "blue", map(_merging, page.merging))
    over = [each for each in page.working if each.state in _OVER]
    _part("Ended", "red", (_working(each, now) for each in over), "the coordinator or `fleet clean` settles it")
    _part("Working", "cyan", (_working(each, now) for each in page.working if each.state not in _OVER))
    _projects(page.projects)
    for line in page.reclaim:
        terminal.say(terminal.paint(f"{line} — see `fleet clean`", "yellow"))
    for line in page.elsewhere:
        terminal.say(terminal.paint(line, "yellow"))


def _part(title: str, colour: str, lines: Iterable[str], hint: str = "") -> None:
    entries = list(lines)
    if not entries:
        return
    more = terminal.paint(f"  {hint}", "dim") if hint else ""
    terminal.say(f"{terminal.paint(title, colour)} {len(entries)}{more}")
    for entry in entries[:_SHOWN]:
        for line in entry.split("\n"):
            terminal.say(terminal.shortened(f"  {line}", terminal.room()))
    if len(entries) > _SHOWN:
        terminal.say(f"  and {len(entries) - _SHOWN} more")
    terminal.say()


def _where(each: NeedView | Waiting | Failure | Parked | Merging | Attempt) -> str:
    return f"{each.project}/{each.slug}" if each.slug else f"{each.project}'s coordinator"


def _need(need: NeedView, now: int) -> str:
    """The command that answers, and the question: below it where they do not fit on one line."""
    text, command = _line(need.text), _line(need.command or "")
    asked = text if command in text else f"{text} — {command}"
    if need.question is None and need.kind not in text:
        asked = f"{need.kind}: {asked}"
    word = {"permission": "approve", "question": "answer"}.get(need.kind, "attach")
    who = f"fleet {word} {need.question or need.dispatch}  {_where(need)}, {_age(need.since, now)} ago"
    fits = terminal.width_of(f"  {who}: {asked}") <= terminal.room()
    return f"{who}: {asked}" if fits else f"{who}\n    {_wrapped(asked, more='fleet questions')}"


def _waiting(task: Waiting, now: int) -> str:
    return f"{_where(task)}  {task.title}  ({_age(task.changed_at, now)} ago)"


def _failure(task: Failure) -> str:
    return f"{_where(task)}  {_line(task.reason or task.title)}"


def _parked(task: Parked) -> str:
    until = f"to be mended ({task.stage})  " if task.stage in {"fix", "rebase"} else ""
    until = f"until {_clock(task.not_before)}  " if task.not_before else until
    return f"{_where(task)}  {until}{_line(task.reason or task.title)}"


def _hold(hold: HoldView) -> str:
    until = f"until {_clock(hold.until)}" if hold.until else "until somebody mends it"
    return f"{hold.engine} ({hold.kind})  {until}: {_line(hold.reason)}"


def _merging(task: Merging) -> str:
    return f"{_where(task)}  {task.pull_request or task.title}"


def _working(attempt: Attempt, now: int) -> str:
    state = terminal.paint(attempt.state, terminal.AGENT_COLOURS.get(attempt.state, "cyan"))
    learnt = f"{state} ({attempt.source}, {_age(attempt.since, now)})"
    text = attempt.title if attempt.state == "asks" else attempt.detail or attempt.title
    return f"{attempt.who} {learnt}  {_where(attempt)}  {_line(text)}"


def _projects(projects: list[ProjectView]) -> None:
    """A row a project; where the terminal is narrow, the counts of its dispatches stand below it."""
    rows, counts = [_row(each) for each in projects], [_dispatches(each) for each in projects]
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


def _row(project: ProjectView) -> tuple[str, ...]:
    count = project.tasks
    waiting, stuck = count.open - project.ready, count.failed + count.blocked
    numbers = (project.ready, waiting, count.in_progress, stuck, project.finished)
    return (project.name, *(str(number) for number in numbers))


def _dispatches(project: ProjectView) -> str:
    count = project.dispatches
    return f"dispatches: {count.active} active, {count.blocked_reclaim} blocked-reclaim"


def _wrapped(text: str, *, more: str = "fleet status --json") -> str:
    """As many lines as it takes, but no more than a few; all but the first are indented. What is left out is counted."""
    import textwrap

    room = max(terminal.room() - len(_INDENT) - 2, _NARROWEST)
    lines = textwrap.wrap(_line(text), room)
    if len(lines) > _LINES:
        left = sum(len(line) for line in lines[_LINES:])
        lines = [*lines[:_LINES], f"… {left:,} more characters: {more}"]
    return f"\n{_INDENT}".join(lines)


def _line(text: str) -> str:
    return escapes.line(" ".join(text.split()))


def _age(at: str, now: int) -> str:
    return age(now - round(datetime.fromisoformat(at).timestamp() * SECOND))


def _clock(at: str) -> str:
    """A time as the person's own clock shows it."""
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M")

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

    Document = dict[str, Any]

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
        found, now = fleet.views.status(), fleet.clock.now()
    if given["json"]:
        terminal.say_json(found)
    elif not found["projects"]:
        terminal.say("no projects yet: `fleet up` in a repository begins")
    else:
        _page(found, now)


def _page(found: Document, now: int) -> None:
    _part("Needs you", "yellow", (_needs(each, now) for each in found["needs_you"]))
    _part("In the way", "red", (_wrapped(f"{each['project']}: {each['text']}") for each in found["in_the_way"]))
    _part("To review", "yellow", (_titled(each, now) for each in found["review"]), "`fleet review` walks you through")
    _part("Failed", "red", (_reasoned(each) for each in found["failed"]), _AGAIN)
    _part(
        "Parked", "yellow", (_parked(each) for each in found["parked"]), "`fleet resume SLUG` goes on with what stopped"
    )
    _part("Held back", "red", (_held(each) for each in found["holds"]))
    _part("To merge", "blue", (_merging(each) for each in found["merging"]))
    over = [each for each in found["working"] if each["state"] in _OVER]
    _part("Ended", "red", (_working(each, now) for each in over), "the coordinator or `fleet clean` settles it")
    _part("Working", "cyan", (_working(each, now) for each in found["working"] if each not in over))
    _projects(found["projects"])
    for said in found["reclaim"]:
        terminal.say(terminal.paint(f"{said} — see `fleet clean`", "yellow"))
    for said in found["elsewhere"]:
        terminal.say(terminal.paint(said, "yellow"))


def _part(title: str, colour: str, lines: Iterable[str], hint: str = "") -> None:
    found = list(lines)
    if not found:
        return
    more = terminal.paint(f"  {hint}", "dim") if hint else ""
    terminal.say(f"{terminal.paint(title, colour)} {len(found)}{more}")
    for line in found[:_SHOWN]:
        for each in line.split("\n"):
            terminal.say(terminal.shortened(f"  {each}", terminal.room()))
    if len(found) > _SHOWN:
        terminal.say(f"  and {len(found) - _SHOWN} more")
    terminal.say()


def _where(each: Document) -> str:
    return f"{each['project']}/{each['slug']}" if each["slug"] else f"{each['project']}'s coordinator"


def _needs(each: Document, now: int) -> str:
    """The command that answers, and the question: below it where they do not fit on one line."""
    text, command = _line(each["text"]), _line(each["command"] or "")
    asked = text if command in text else f"{text} — {command}"
    if each["question"] is None and each["kind"] not in text:
        asked = f"{each['kind']}: {asked}"
    word = {"permission": "approve", "question": "answer"}.get(each["kind"], "attach")
    who = f"fleet {word} {each['question'] or each['dispatch']}  {_where(each)}, {_age(each['since'], now)} ago"
    fits = terminal.width_of(f"  {who}: {asked}") <= terminal.room()
    return f"{who}: {asked}" if fits else f"{who}\n    {_wrapped(asked, more='fleet questions')}"


def _titled(each: Document, now: int) -> str:
    return f"{_where(each)}  {each['title']}  ({_age(each['changed_at'], now)} ago)"


def _reasoned(each: Document) -> str:
    return f"{_where(each)}  {_line(each['reason'] or each['title'])}"


def _parked(each: Document) -> str:
    until = f"until {_clock(each['not_before'])}" if each["not_before"] else f"to be mended ({each['stage']})"
    waits = each["not_before"] or each["stage"] in {"fix", "rebase"}
    return f"{_where(each)}  {f'{until}  ' if waits else ''}{_line(each['reason'] or each['title'])}"


def _held(each: Document) -> str:
    until = f"until {_clock(each['until'])}" if each["until"] else "until somebody mends it"
    return f"{each['engine']} ({each['kind']})  {until}: {_line(each['reason'])}"


def _merging(each: Document) -> str:
    return f"{_where(each)}  {each['pull_request'] or each['title']}"


def _working(each: Document, now: int) -> str:
    state = terminal.paint(each["state"], terminal.AGENT_COLOURS.get(each["state"], "cyan"))
    learnt = f"{state} ({each['source']}, {_age(each['since'], now)})"
    said = each["title"] if each["state"] == "asks" else each["detail"] or each["title"]
    return f"{each['who']} {learnt}  {_where(each)}  {_line(said)}"


def _projects(found: list[Document]) -> None:
    """A row a project; where the terminal is narrow, what is said of its dispatches stands below it."""
    rows, said = [_row(each) for each in found], [_dispatches(each["dispatches"]) for each in found]
    whole = list(terminal.table((*_HEADS, ""), [(*row, text) for row, text in zip(rows, said, strict=True)]))
    if not any("…" in line for line in whole):
        for line in whole:
            terminal.say(line)
        return
    head, *lines = terminal.table(_HEADS, rows)
    terminal.say(head)
    for line, text in zip(lines, said, strict=True):
        terminal.say(line)
        terminal.say(f"  {text}")


def _row(project: Document) -> tuple[str, ...]:
    count = project["tasks"]
    waiting, stuck = count["open"] - project["ready"], count["failed"] + count["blocked"]
    numbers = (project["ready"], waiting, count["in_progress"], stuck, project["finished"])
    return (project["name"], *(str(number) for number in numbers))


def _dispatches(count: Document) -> str:
    return f"dispatches: {count['active']} active, {count['blocked_reclaim']} blocked-reclaim"


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

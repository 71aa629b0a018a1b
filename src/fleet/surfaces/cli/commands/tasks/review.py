"""fleet review."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.states import assert_never
from fleet.surfaces.cli.options import Slug, from_stdin, writing
from fleet.surfaces.cli.ui import drawing, streams, terminal
from fleet.verbs.tasks.review import ACCEPT, SEND_BACK

if TYPE_CHECKING:
    from fleet.model.results.merge import Tried, VerdictView, Waiting, Work
    from fleet.model.states import ReviewVerdict

_WORDS_SHOWN = 10
_TEMPLATE = """
# What is to be done about {place}? Say it above this line, or nothing to leave it as it is.
# A line like `src/login.py:12 name this differently` is about that line of the work.
"""
_MARKER = "# What is to be done about "
_KEYS = {"a": "accept", "s": "send back", "d": "diff", "n": "new since", "v": "verify", "k": "skip", "q": "quit"}


@click.command("review")
@click.argument("slug", type=Slug(), required=False)
@click.option("--list", "listed", is_flag=True, help="only list what waits")
@click.option("--accept", "verdict", flag_value=ACCEPT, help="accept the work: it goes on to be merged")
@click.option("--send-back", "verdict", flag_value=SEND_BACK, help="send it back to be mended; needs --comments")
@click.option(
    "-c",
    "--comments",
    metavar="TEXT",
    help="what is to be done, also as lines `FILE:LINE text`; - reads standard input",
)
@click.option(
    "--commit", metavar="COMMIT", help="the commit you looked at; refused when the branch is elsewhere by now"
)
@click.option(
    "--verify", is_flag=True, help="try first whether it merges and verify passes, in a worktree of fleet's own"
)
@writing
def review(slug: str | None, *, verdict: ReviewVerdict | None, verify: bool, **given: Any) -> None:
    """Look at finished work: what the agent said and changed. Accept it, send it back with comments, or skip it.

    On a terminal it walks through all that waits. An agent that reviews gives its verdict by the same command.

    \b
    Examples:
      fleet review
      fleet review fix-login --verify
      fleet review fix-login --accept
      fleet review fix-login --accept --commit 3c4d6223acca
      fleet review fix-login --send-back --comments "src/login.py:12 name this differently"
      fleet review --list --json
    """
    with Fleet.open(actor=given["as"]) as fleet:
        named = slug or given["project"] or verdict
        project = fleet.project_here(given["project"]) if named else None
        if verdict:
            place = {"project": project or "", "slug": slug or _own_task(fleet)}
            if verify:
                _try_first(fleet, **place, verdict=verdict)
            comments = from_stdin(given["comments"]) or ""
            judged = fleet.reviews.judge(
                **place, verdict=verdict, comments=comments, commit=given["commit"], key=given["key"]
            )
            terminal.say_json(judged) if given["json"] else _say_judged(judged)
        elif slug is None and (given["listed"] or not _is_person() or given["json"]):
            _list(fleet.reviews.waiting(project), as_json=given["json"])
        elif slug is not None and (given["json"] or not _is_person()):
            _show(fleet.reviews.work(project=project or "", slug=slug, verify=verify), as_json=given["json"])
        else:
            _walk(fleet, project, slug, verify=verify)


def _is_person() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _own_task(fleet: Fleet) -> str:
    """The task of the agent that is speaking."""
    if fleet.speaker is None:
        raise errors.BadInput(what="name the task; `fleet review --list` shows what waits")
    return fleet.task_here("review SLUG")


def _try_first(fleet: Fleet, project: str, slug: str, verdict: ReviewVerdict) -> None:
    """Refuse to accept work that does not merge, or that does not pass verify."""
    if verdict != ACCEPT:
        raise errors.BadInput(what="--verify is for looking and accepting; leave it out to send work back")
    tried = fleet.reviews.rehearse(project=project, slug=slug)
    if not tried.ok:
        raise errors.Refused(what=f"{project}/{slug} was not accepted: {tried.says.strip()}")


def _say_judged(judged: VerdictView) -> None:
    place, task = f"{judged.project}/{judged.task}", judged.task
    again = "" if judged.changed else " (it was already)"
    match judged.verdict:
        case "accept":
            terminal.say(f"{place} is accepted{again}: the coordinator merges it, or `fleet merge {task}`")
        case "send back":
            terminal.say(f"{place} is sent back{again}: the coordinator lets it be mended, or `fleet dispatch {task}`")
        case _:
            assert_never(judged.verdict)


def _list(waiting: list[Waiting], *, as_json: bool) -> None:
    if as_json:
        terminal.say_json(waiting)
        return
    if not waiting:
        terminal.say("nothing waits for your review")
        return
    rows = [(f"{each.project}/{each.slug}", each.changed_at[:16].replace("T", " "), each.title) for each in waiting]
    for line in terminal.table(("TASK", "SINCE (UTC)", "TITLE"), rows):
        terminal.say(line)


def _show(work: Work, *, as_json: bool) -> None:
    """For a program, or a pipe."""
    if as_json:
        terminal.say_json(work)
        return
    _say_head(work)
    sys.stdout.writelines(drawing.diff(work.diff))


def _walk(fleet: Fleet, project: str | None, slug: str | None, *, verify: bool) -> None:
    """Through all that waits, or one task."""
    queue = [(project or "", slug)] if slug else [(each.project, each.slug) for each in fleet.reviews.waiting(project)]
    if not queue:
        terminal.say("nothing waits for your review")
    for number, (place, each) in enumerate(queue, 1):
        terminal.say()
        terminal.say(terminal.paint(f"{number} of {len(queue)}", "dim"))
        try:
            if not _one(fleet, place, each, verify=verify):
                return
        except (
            errors.FleetError
        ) as error:  # somebody else was faster, or git does not answer: the others wait all the same
            terminal.say(terminal.paint(f"fleet: {error}", "red"))


def _one(fleet: Fleet, project: str, slug: str, *, verify: bool) -> bool:
    """Show one task until there is a verdict or it is skipped. False when the person quits."""
    work = fleet.reviews.work(project=project, slug=slug, verify=verify)
    _say_head(work)
    while True:
        choice = _ask()
        if choice == "d":
            _page(work.diff)
        elif choice == "n":
            _page(work.since.diff if work.since else "it was not looked at before\n")
        elif choice == "v":
            _say_verified(fleet.reviews.rehearse(project=project, slug=slug))
        elif choice in "as" and not _decide(fleet, work, choice):
            continue
        else:
            return choice != "q"


def _page(diff: str) -> None:
    """Show a diff in the person's pager."""
    click.echo_via_pager(streams.sent("".join(drawing.diff(diff))))


def _ask() -> str:
    shown = ", ".join(f"{word} ({key})" for key, word in _KEYS.items())
    return str(click.prompt(shown, type=click.Choice(list(_KEYS)), show_choices=False, prompt_suffix="? "))


def _decide(fleet: Fleet, work: Work, choice: str) -> bool:
    """Give the verdict on the commit that was shown. False when the person wrote no comments."""
    project, slug = work.project, work.slug
    if choice == "a":
        _say_judged(fleet.reviews.judge(project=project, slug=slug, verdict=ACCEPT, commit=work.commit))
        return True
    comments = _ask_comments(f"{project}/{slug}")
    if not comments:
        terminal.say("no comments, so nothing was sent back")
        return False
    _say_judged(fleet.reviews.judge(project=project, slug=slug, verdict=SEND_BACK, comments=comments))
    return True


def _ask_comments(place: str) -> str:
    """Ask what is to be done, in an editor; where there is none, in a line here."""
    try:
        return (click.edit(_TEMPLATE.format(place=place)) or "").partition(_MARKER)[0].strip()
    except click.ClickException as error:
        terminal.say(f"{error.format_message()} — EDITOR names the one to use")
    return str(click.prompt("what is to be done, in a line", default="", show_default=False)).strip()


def _say_head(work: Work) -> None:
    """What was asked for, what the agent said, and what changed, short."""
    terminal.say(f"{terminal.paint(work.title, 'bold')}  {work.project}/{work.slug}, by {work.assignee}")
    if work.description.strip():
        terminal.say()
        terminal.say_text(work.description.strip(), indent="  ")
    if len(work.log) > _WORDS_SHOWN:
        earlier = terminal.counted(len(work.log) - _WORDS_SHOWN, "earlier message")
        terminal.say(f"  … {earlier}: fleet task show {work.slug} -p {work.project}")
    for entry in work.log[-_WORDS_SHOWN:]:
        when = terminal.paint(entry.at[:16].replace("T", " "), "dim")
        terminal.say_message(f"  {when} {entry.actor}: ", entry.message)
    for title in work.commits:
        terminal.say(f"  {terminal.paint('commit', 'dim')} {title}")
    if work.verify:
        _say_verified(work.verify)
    if work.moved and work.reported and work.commit:
        moved = f"the branch moved since it was reported: {work.reported[:12]} then, {work.commit[:12]} now"
        terminal.say(terminal.paint(moved, "red"))
    if work.since:
        terminal.say()
        terminal.say(f"new since {work.since.commit[:12]}:")
        terminal.say_text(work.since.stat or "nothing")
    terminal.say()
    terminal.say_text(work.stat or "it changes nothing")


def _say_verified(tried: Tried) -> None:
    terminal.say_text(terminal.paint(tried.says.rstrip(), "green" if tried.ok else "red"))


COMMANDS = {"review": review}

"""The command `fleet review`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.states import assert_never
from fleet.model.text.sizes import counted
from fleet.model.text.times import utc
from fleet.surfaces.cli.options import Slug, from_stdin, writing
from fleet.surfaces.cli.ui import diff_drawing, streams, terminal
from fleet.surfaces.cli.ui.waiting import waiting
from fleet.verbs.tasks.review import ACCEPT, SEND_BACK

if TYPE_CHECKING:
    from fleet.model.results.merge import Tried, VerdictView, Waiting, Work
    from fleet.model.states import ReviewVerdict

# How many messages of a task's log are printed.
_MESSAGES_SHOWN = 10
_TEMPLATE = """
# What should change in {place}? Write it above this line; write nothing to send nothing back.
# A line like `src/login.py:12 name this differently` is about that line of the work.
"""
# Where the person's comments end in the edited template.
_MARKER = "# What should change in "
_KEYS = {"a": "accept", "s": "send back", "d": "diff", "n": "new since", "v": "verify", "k": "skip", "q": "quit"}


@click.command("review")
@click.argument("slug", type=Slug(), required=False)
@click.option("--list", "listed", is_flag=True, help="only list the work that waits for a review")
@click.option("--accept", "verdict", flag_value=ACCEPT, help="accept the work, so that it is merged")
@click.option("--send-back", "verdict", flag_value=SEND_BACK, help="send the work back to be fixed; needs --comments")
@click.option(
    "-c",
    "--comments",
    metavar="TEXT",
    help="what should change, also as lines `FILE:LINE text`; - reads standard input",
)
@click.option(
    "--commit", metavar="COMMIT", help="the commit that you reviewed; refused when the branch has moved since"
)
@click.option(
    "--verify", is_flag=True, help="first try whether the work merges and passes verify, in fleet's own worktree"
)
@writing
def review(slug: str | None, *, verdict: ReviewVerdict | None, verify: bool, **given: Any) -> None:
    """Review finished work: what the agent reported and changed. Accept it, send it back with comments, or skip it.

    On a terminal the command walks you through all work that waits. A reviewing agent gives its verdict with the same command.

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
                _refuse_unmergeable(fleet, **place, verdict=verdict)
            comments = from_stdin(given["comments"]) or ""
            judged = fleet.reviews.judge(
                **place, verdict=verdict, comments=comments, commit=given["commit"], key=given["key"]
            )
            terminal.say_json(judged) if given["json"] else _print_verdict(judged)
        elif slug is None and (given["listed"] or not terminal.is_interactive() or given["json"]):
            _print_waiting(fleet.reviews.waiting(project), as_json=given["json"])
        elif slug is not None and (given["json"] or not terminal.is_interactive()):
            with waiting(f"reading the work of {slug}"):
                work = _tried_work(fleet, project or "", slug, verify=verify)
            _print_work(work, as_json=given["json"])
        else:
            _walk_through(fleet, project, slug, verify=verify)


def _tried_work(fleet: Fleet, project: str, slug: str, *, verify: bool) -> Work:
    """Return a task's work as a reviewer sees it; with `verify`, first merge it for trial and add the result."""
    tried = fleet.reviews.rehearse(project=project, slug=slug) if verify else None
    return fleet.reviews.work(project=project, slug=slug).replaced(verify=tried)


def _own_task(fleet: Fleet) -> str:
    """Return the task of the agent that calls. Raise BadInput when a person calls, who has to name the task."""
    if fleet.speaker is None:
        raise errors.BadInput(what="name the task; `fleet review --list` lists the work that waits")
    return fleet.task_here("review SLUG")


def _refuse_unmergeable(fleet: Fleet, project: str, slug: str, verdict: ReviewVerdict) -> None:
    """Rehearse the merge of work that is to be accepted.

    Raise Refused when the work does not merge or fails verify, BadInput when `verdict` is not to accept it.
    """
    if verdict != ACCEPT:
        raise errors.BadInput(what="--verify is for showing and accepting work; leave it out to send work back")
    ahead = fleet.merge.ahead(project=project)
    if ahead:
        terminal.warn(f"waiting for another merge: {ahead}")
    with waiting(f"trying to merge {slug}, and running its verify command if it has one"):
        tried = fleet.reviews.rehearse(project=project, slug=slug)
    if not tried.ok:
        raise errors.Refused(what=f"{project}/{slug} was not accepted: {tried.says.strip()}")


def _print_verdict(judged: VerdictView) -> None:
    """Print the verdict on a task's work and what happens next."""
    place, task = f"{judged.project}/{judged.task}", judged.task
    again = "" if judged.changed else " (it was already)"
    match judged.verdict:
        case "accept":
            terminal.say(f"{place} is accepted{again}: the coordinator merges it, or `fleet merge {task}`")
        case "send back":
            terminal.say(f"{place} is sent back{again}: the coordinator has it fixed, or `fleet dispatch {task}`")
        case _:
            assert_never(judged.verdict)


def _print_waiting(waiting: list[Waiting], *, as_json: bool) -> None:
    """Print the tasks that wait for a review."""
    if as_json:
        terminal.say_json(waiting)
        return
    if not waiting:
        terminal.say("nothing waits for your review")
        return
    rows = [(f"{task.project}/{task.slug}", utc(task.changed_at), task.title) for task in waiting]
    for line in terminal.table(("TASK", "SINCE", "TITLE"), rows):
        terminal.say(line)


def _print_work(work: Work, *, as_json: bool) -> None:
    """Print a task's finished work without asking for a verdict."""
    if as_json:
        terminal.say_json(work)
        return
    _print_head(work)
    sys.stdout.writelines(diff_drawing.diff(work.diff))


def _walk_through(fleet: Fleet, project: str | None, slug: str | None, *, verify: bool) -> None:
    """With the person, review one task; without `slug`, all that wait, one after another, until the person quits.

    An error about a task is printed, and the next task follows.
    """
    queue = [(project or "", slug)] if slug else [(each.project, each.slug) for each in fleet.reviews.waiting(project)]
    if not queue:
        terminal.say("nothing waits for your review")
    for number, (place, each) in enumerate(queue, 1):
        terminal.say()
        terminal.say(terminal.paint(f"{number} of {len(queue)}", "dim"))
        try:
            if not _review_task(fleet, place, each, verify=verify):
                return
        except errors.FleetError as error:  # somebody else was faster, or git failed: go on with the next task
            terminal.say(terminal.paint(f"fleet: {error}", "red"))


def _review_task(fleet: Fleet, project: str, slug: str, *, verify: bool) -> bool:
    """Show one task's work until the person gives a verdict or skips it. Returns False when the person quits."""
    work = _tried_work(fleet, project, slug, verify=verify)
    _print_head(work)
    while True:
        choice = _ask_key()
        if choice == "d":
            _page_diff(work.diff)
        elif choice == "n":
            _page_diff(work.since.diff if work.since else "it was not reviewed before\n")
        elif choice == "v":
            with waiting(f"trying to merge {slug}, and running its verify command if it has one"):
                tried = fleet.reviews.rehearse(project=project, slug=slug)
            _print_trial(tried)
        elif choice in "as" and not _give_verdict(fleet, work, choice):
            continue
        else:
            return choice != "q"


def _page_diff(diff: str) -> None:
    """Show a diff in the person's pager."""
    click.echo_via_pager(streams.escape_controls("".join(diff_drawing.diff(diff))))


def _ask_key() -> str:
    """Ask the person what to do next in the review. Returns the chosen key."""
    shown = ", ".join(f"{word} ({key})" for key, word in _KEYS.items())
    return str(click.prompt(shown, type=click.Choice(list(_KEYS)), show_choices=False, prompt_suffix="? "))


def _give_verdict(fleet: Fleet, work: Work, choice: str) -> bool:
    """Accept the shown commit, or ask the person for comments and send the work back. `choice` is the pressed key.

    Returns False, without a verdict, when the person wrote no comments.
    """
    project, slug = work.project, work.slug
    if choice == "a":
        _print_verdict(fleet.reviews.judge(project=project, slug=slug, verdict=ACCEPT, commit=work.commit))
        return True
    comments = _ask_comments(f"{project}/{slug}")
    if not comments:
        terminal.say("no comments, so nothing was sent back")
        return False
    _print_verdict(fleet.reviews.judge(project=project, slug=slug, verdict=SEND_BACK, comments=comments))
    return True


def _ask_comments(place: str) -> str:
    """Ask the person for comments on the work of `place` (PROJECT/SLUG) and return them; "" when there are none.

    The person writes them in an editor, or types one line when no editor can be started.
    """
    try:
        return (click.edit(_TEMPLATE.format(place=place)) or "").partition(_MARKER)[0].strip()
    except click.ClickException as error:
        terminal.say(f"{error.format_message()} — set EDITOR to the editor to use")
    return str(click.prompt("what should change, in one line", default="", show_default=False)).strip()


def _print_head(work: Work) -> None:
    """Print the task, what its agent reported, its commits, and a summary of the changes."""
    by = f", by {work.assignee}" if work.assignee else ""
    terminal.say(f"{terminal.paint(work.title, 'bold')}  {work.project}/{work.slug}{by}")
    if work.description.strip():
        terminal.say()
        terminal.say_text(work.description.strip(), indent="  ")
    _print_log_and_comments(work)
    for title in work.commits:
        terminal.say(f"  {terminal.paint('commit', 'dim')} {title}")
    if work.verify:
        _print_trial(work.verify)
    if work.moved and work.reported and work.commit:
        moved = f"the branch moved since it was reported: {work.reported[:12]} then, {work.commit[:12]} now"
        terminal.say(terminal.paint(moved, "red"))
    if work.left_uncommitted:
        terminal.say_text(terminal.paint(f"left uncommitted on purpose: {work.left_uncommitted}", "yellow"))
    if work.since:
        terminal.say()
        terminal.say(f"new since {work.since.commit[:12]}:")
        terminal.say_text(work.since.stat or "nothing")
    terminal.say()
    terminal.say_text(work.stat or "it changes nothing")


def _print_log_and_comments(work: Work) -> None:
    """Print the newest messages of the task's log, and the comments of verdicts that came too late to count."""
    if len(work.log) > _MESSAGES_SHOWN:
        earlier = counted(len(work.log) - _MESSAGES_SHOWN, "earlier message")
        terminal.say(f"  … {earlier}: fleet task show {work.slug} -p {work.project}")
    for entry in work.log[-_MESSAGES_SHOWN:]:
        when = terminal.paint(utc(entry.at), "dim")
        terminal.say_message(f"  {when} {entry.actor}: ", entry.message)
    for each in work.verdicts:
        if not each.counted:
            terminal.say_message(f"  {each.actor} commented, beside the verdict ({each.verdict}): ", each.comments)


def _print_trial(tried: Tried) -> None:
    """Print the result of a rehearsed merge, green or red."""
    terminal.say_text(terminal.paint(tried.says.rstrip(), "green" if tried.ok else "red"))


COMMANDS = {"review": review}

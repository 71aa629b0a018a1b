"""The command `fleet resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.text.times import utc
from fleet.surfaces.cli.commands.jobs.jobs import resume_job
from fleet.surfaces.cli.options import ProjectName, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.waiting import waiting

if TYPE_CHECKING:
    from fleet.model.results.dispatches import Resumable, Resumed, ResumedMany

_HEADS = ("AGENT", "WORK", "ENDED", "CONVERSATION", "WHY")


@click.command("resume")
@click.argument("agent", metavar="[ID]", required=False)
@click.option("--all", "everything", is_flag=True, help="resume everything that was interrupted, within the limits")
@click.option("--list", "listed", is_flag=True, help="list what could be resumed, and why it ended")
@click.option("--force", is_flag=True, help="stop another resume of the same work first")
@click.option("-p", "--project", type=ProjectName(), metavar="NAME", help="only dispatches of this project")
@writing_home_unkeyed
def resume(agent: str | None, **given: Any) -> int:
    """Continue the work of an agent that stopped: a new agent starts in its worktree, in the same conversation if the engine can.

    ID is an agent's id or the beginning of it, a session's name, a task's slug, or a job's id. A job runs in this terminal, with its
    unfinished items. An agent that is alive or has finished is not resumed. After a reboot, --all resumes everything that was
    interrupted; an agent that a person stopped is resumed only by its id.

    \b
    Examples:
      fleet resume 3f2a9c01
      fleet resume fix-login -p web
      fleet resume --list
      fleet resume --all
    """
    chosen = [bool(agent), given["everything"], given["listed"]]
    if sum(chosen) != 1 or (given["force"] and not agent):
        raise errors.BadInput(what="give one of: an id (perhaps with --force), --all, --list")
    with Fleet.open(actor=given["as"]) as fleet:
        job = fleet.jobs.named(agent) if agent else None
        if job:
            return resume_job(job, force=given["force"], actor=given["as"], as_json=given["json"])
        if agent:
            with waiting(f"resuming {agent}"):
                resumed = fleet.dispatches.resume(agent, project=given["project"], force=given["force"])
            _print_resumed(resumed, as_json=given["json"])
        elif given["everything"]:
            with waiting("resuming everything that was interrupted"):
                many = fleet.dispatches.resume_all(given["project"])
            _print_all_resumed(many, as_json=given["json"])
        else:
            _print_resumable(fleet.dispatches.resumable(given["project"]), as_json=given["json"])
    return 0


def _print_resumed(resumed: Resumed, *, as_json: bool) -> None:
    """Print the new dispatch that continues an agent's work, and the next commands."""
    if as_json:
        terminal.say_json(resumed)
        return
    if resumed.stopped:
        terminal.say(f"stopped the resume that was in progress: {resumed.stopped}")
    _print_sentence(resumed)
    ident = resumed.id
    terminal.say(f"  look: fleet peek {ident}   join: fleet attach {ident}   end: fleet stop {ident}")


def _print_sentence(resumed: Resumed) -> None:
    """Print which agent continues which work, and the warnings of its start."""
    terminal.say(_resumed_sentence(resumed))
    for warning in resumed.warnings or ():
        terminal.say(f"  warning: {warning}")


def _resumed_sentence(resumed: Resumed) -> str:
    """Return a sentence that says which agent continues which work, and whether in the old conversation."""
    how = "in its conversation" if resumed.conversation else "in a new conversation"
    return (
        f"agent {resumed.id} continues {_name_of_work(resumed)} after {resumed.predecessor}, {how} ({resumed.engine})"
    )


def _name_of_work(row: Resumed | Resumable) -> str:
    """Return the name of a dispatch's work: its task, its job or its coordinator."""
    if row.kind == "job":
        return f"a job of {row.project}"
    return f"{row.project}/{row.task}" if row.task else f"the coordinator of {row.project}"


def _print_all_resumed(many: ResumedMany, *, as_json: bool) -> None:
    """Print which dispatches and jobs were resumed, and which have to wait."""
    if as_json:
        terminal.say_json(many)
        return
    for resumed in many.resumed:
        _print_sentence(resumed)
    for left in many.waiting:
        terminal.say(f"{left.id} ({_name_of_work(left)}) waits: {left.why}")
    for job in many.jobs:
        terminal.say(f"job {job} continues in the background: fleet job show {job}")
    if not (many.resumed or many.waiting or many.jobs):
        terminal.say("nothing was interrupted")


def _print_resumable(rows: list[Resumable], *, as_json: bool) -> None:
    """Print the dispatches that can be resumed, as a table or as JSON."""
    if as_json:
        terminal.say_json_list(rows)
        return
    if not rows:
        terminal.say("nothing can be resumed")
        return
    for line in terminal.table(_HEADS, map(_resumable_row, rows)):
        terminal.say(line)


def _resumable_row(row: Resumable) -> tuple[str, ...]:
    ended = utc(row.ended_at) if row.ended_at else ""
    return (row.id, _name_of_work(row), ended, "continued" if row.conversation else "new", row.reason)


COMMANDS = {"resume": resume}

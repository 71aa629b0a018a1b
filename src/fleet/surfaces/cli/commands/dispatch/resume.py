"""fleet resume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.cli.commands.jobs.jobs import resume_job
from fleet.surfaces.cli.options import ProjectName, unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from fleet.model.results.dispatches import Resumable, Resumed, ResumedMany

_HEADS = ("AGENT", "WORK", "ENDED (UTC)", "CONVERSATION", "WHY")


@click.command("resume")
@click.argument("agent", metavar="[ID]", required=False)
@click.option("--all", "everything", is_flag=True, help="everything that was interrupted, within the limits")
@click.option("--list", "listed", is_flag=True, help="show what could be resumed, and why it ended")
@click.option("--force", is_flag=True, help="stop a resume of the same work that is in progress")
@click.option("-p", "--project", type=ProjectName(), metavar="NAME", help="only of this project")
@unkeyed
def resume(agent: str | None, **given: Any) -> int:
    """Go on where an agent stopped: a new one in its worktree, in its own conversation where the engine can.

    ID is an agent's id or the beginning of one, a session's name, a task's slug, or a job's id: a job goes on here, with what
    is unfinished. An agent that is alive is not resumed, nor is one that has finished. After a reboot, --all brings back
    everything that was interrupted; what was stopped by a person is resumed by its id only.

    \b
    Examples:
      fleet resume 3f2a9c01
      fleet resume fix-login -p web
      fleet resume --list
      fleet resume --all
    """
    chosen = [bool(agent), given["everything"], given["listed"]]
    if sum(chosen) != 1 or (given["force"] and not agent):
        raise errors.BadInput(what="say one of: an id (perhaps with --force), --all, --list")
    with Fleet.open(actor=given["as"]) as fleet:
        job = fleet.jobs.named(agent) if agent else None
        if job:
            return resume_job(job, force=given["force"], actor=given["as"], as_json=given["json"])
        if agent:
            _say_one(
                fleet.dispatches.resume(agent, project=given["project"], force=given["force"]), as_json=given["json"]
            )
        elif given["everything"]:
            _say_all(fleet.dispatches.resume_all(given["project"]), as_json=given["json"])
        else:
            _say_list(fleet.dispatches.resumable(given["project"]), as_json=given["json"])
    return 0


def _say_one(resumed: Resumed, *, as_json: bool) -> None:
    if as_json:
        terminal.say_json(resumed)
        return
    if resumed.stopped:
        terminal.say(f"stopped the resume that was in progress: {resumed.stopped}")
    terminal.say(_sentence(resumed))
    ident = resumed.id
    terminal.say(f"  look: fleet peek {ident}   join: fleet attach {ident}   end: fleet stop {ident}")


def _sentence(made: Resumed) -> str:
    how = "in its conversation" if made.conversation else "from what it left"
    return f"agent {made.id} goes on with {_work(made)}, where {made.predecessor} stopped, {how} ({made.engine})"


def _work(row: Resumed | Resumable) -> str:
    if row.kind == "job":
        return f"a job of {row.project}"
    return f"{row.project}/{row.task}" if row.task else f"the coordinator of {row.project}"


def _say_all(many: ResumedMany, *, as_json: bool) -> None:
    if as_json:
        terminal.say_json(many)
        return
    for each in many.resumed:
        terminal.say(_sentence(each))
    for left in many.waiting:
        terminal.say(f"{left.id} ({_work(left)}) waits: {left.why}")
    for job in many.jobs:
        terminal.say(f"job {job} goes on in the background: fleet job show {job}")
    if not (many.resumed or many.waiting or many.jobs):
        terminal.say("nothing was interrupted")


def _say_list(rows: list[Resumable], *, as_json: bool) -> None:
    if as_json:
        terminal.say_json_list(rows)
        return
    if not rows:
        terminal.say("nothing is there to resume")
        return
    for line in terminal.table(_HEADS, map(_cells, rows)):
        terminal.say(line)


def _cells(row: Resumable) -> tuple[str, ...]:
    ended = (row.ended_at or "")[:16].replace("T", " ")
    return (row.id, _work(row), ended, "its own" if row.conversation else "anew", row.reason)


COMMANDS = {"resume": resume}

"""The commands `fleet merges list`, `restore` and `acknowledge`: the recorded merges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet.api.fleet import Fleet
from fleet.model.text.times import utc
from fleet.surfaces.cli.options import reading, writing_unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from fleet.model.results.merge import MergeView

_COLOURS = {"missing": "red", "acknowledged": "dim"}


@click.group("merges")
def merges() -> None:
    """List what was merged into the integration branch, and restore what is missing there.

    If somebody rewinds or deletes the integration branch, merged work is missing from it. fleet then merges, lands and starts
    nothing until you restore the work, or acknowledge that it is gone on purpose.

    \b
    fleet merges list
    fleet merges restore
    fleet merges acknowledge --reason "squashed into main"
    """


@merges.command("list")
@reading
def list_(**given: Any) -> None:
    """List every recorded merge, newest first: contained, missing, or acknowledged as gone.

    \b
    Examples:
      fleet merges list -p web
      fleet merges list --json
    """
    with Fleet.open() as fleet:
        recorded = fleet.merge.recorded(project=fleet.project_here(given["project"]))
    if given["json"]:
        terminal.say_json(recorded)
        return
    if not recorded:
        terminal.say("nothing was merged yet")
        return
    rows = [(merge.task, merge.made[:12], utc(merge.at), _merge_state(merge)) for merge in recorded]
    for line in terminal.table(("TASK", "COMMIT", "SINCE", "STATE"), rows):
        terminal.say(line)


def _merge_state(merge: MergeView) -> str:
    """Return the state of a recorded merge with its reason, coloured."""
    text = f"{merge.state}: {merge.reason}" if merge.reason else merge.state
    return terminal.paint(text, _COLOURS.get(merge.state, ""))


@merges.command("restore")
@writing_unkeyed
def restore(**given: Any) -> None:
    """Put missing merges back onto the integration branch, from the recorded commits. Nothing on the branch is lost.

    \b
    Examples:
      fleet merges restore -p web
    """
    with Fleet.open(actor=given["as"]) as fleet:
        result = fleet.merge.restore(project=fleet.project_here(given["project"]))
    if given["json"]:
        terminal.say_json(result)
    elif result.commit:
        terminal.say(f"restored {', '.join(result.restored)}: the integration branch is at {result.commit[:12]}")
    else:
        terminal.say("nothing is missing")


@merges.command("acknowledge")
@click.option("--reason", required=True, metavar="TEXT", help="why the merges are gone on purpose")
@writing_unkeyed
def acknowledge(reason: str, **given: Any) -> None:
    """Acknowledge that the missing merges are gone on purpose: squashed, reset, or unwanted. The reason is recorded.

    \b
    Examples:
      fleet merges acknowledge -p web --reason "squashed into main"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        result = fleet.merge.acknowledge(project=fleet.project_here(given["project"]), reason=reason)
    if given["json"]:
        terminal.say_json(result)
    elif result.changed:
        terminal.say(f"acknowledged that {', '.join(result.acknowledged)} is gone from the integration branch")
    else:
        terminal.say("nothing is missing")


COMMANDS = {"merges": merges}

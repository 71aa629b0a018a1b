"""The command `fleet merge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import Slug, writing_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.waiting import waiting

if TYPE_CHECKING:
    from fleet.model.results.merge import Merged, MergedTogether


@click.command("merge")
@click.argument("slugs", type=Slug(), nargs=-1, required=True, metavar="SLUG...")
@writing_unkeyed
def merge(slugs: tuple[str, ...], **given: Any) -> int:
    """Merge tasks into the integration branch, after the verify command passed on the merged tree.

    The merge happens in fleet's own worktree; your checkout is not touched. After a conflict or a failed verify the task is parked.
    Several tasks are merged one on top of another and verified once; when that is red, they are split to find the one to blame. Only one merge
    runs in a project at a time; another one waits.

    \b
    Examples:
      fleet merge fix-login
      fleet merge fix-login fix-logout
    """
    as_json: bool = given["json"]
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        ahead = fleet.merge.ahead(project=project)
        if ahead:
            terminal.warn(f"waiting for another merge: {ahead}")
        what = f"merging {', '.join(slugs)}, and running the verify command if there is one"
        if len(slugs) == 1:
            with waiting(what):
                merged = fleet.merge.task(project=project, slug=slugs[0])
            terminal.say_json(merged) if as_json else _print_merged(merged)
            return 0
        with waiting(what):
            together = fleet.merge.together(project=project, slugs=list(slugs))
    terminal.say_json(together) if as_json else _print_together(together)
    return errors.Refused.code if together.refused else 0


def _print_merged(merged: Merged) -> None:
    """Print whether one task was merged, and as which commit."""
    left = f"; left: {'; '.join(merged.left)}" if merged.left else ""
    outcome = f"is merged as {merged.commit[:12]}" if merged.changed else "has no unmerged work; it is archived"
    terminal.say(f"{merged.project}/{merged.task} {outcome}{left}")
    for line in merged.aside:
        terminal.say(line)


def _print_together(together: MergedTogether) -> None:
    """Print for each of several tasks whether it was merged; the refused ones on stderr."""
    for merged in together.merged:
        _print_merged(merged)
    for each in together.refused:
        terminal.warn(f"{each.why} — {each.hint}" if each.hint else each.why)


COMMANDS = {"merge": merge}

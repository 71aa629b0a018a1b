"""fleet merge."""

from __future__ import annotations

from typing import Any

import click

from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import Slug, acting
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.waiting import waiting


@click.command("merge")
@click.argument("slug", type=Slug())
@acting
def merge(slug: str, **given: Any) -> None:
    """Merge a task's work into the integration branch, after its verify command passed on the merged tree.

    The merge happens in fleet's own worktree; your checkout is not touched. After a conflict or a failed verify the task is parked.

    \b
    Examples:
      fleet merge fix-login
    """
    what = f"merging {slug}, and running its verify command if it has one"
    with Fleet.open(actor=given["as"]) as fleet, waiting(what):
        merged = fleet.merge.task(project=fleet.project_here(given["project"]), slug=slug)
    if given["json"]:
        terminal.say_json(merged)
        return
    left = f"; left: {'; '.join(merged.left)}" if merged.left else ""
    outcome = f"is merged as {merged.commit[:12]}" if merged.changed else "has no unmerged work; it is archived"
    terminal.say(f"{merged.project}/{slug} {outcome}{left}")
    for line in merged.aside:
        terminal.say(line)


COMMANDS = {"merge": merge}

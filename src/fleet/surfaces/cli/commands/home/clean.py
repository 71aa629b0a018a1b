"""fleet clean, fleet maintenance."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.homes.sweep import PHASES
from fleet.surfaces.cli.options import unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.home import Swept
    from fleet.surfaces.cli.options import Unkeyed


@click.group("maintenance")
def maintenance() -> None:
    """Keep the home tidy.

    \b
    fleet maintenance sweep-leaks
    fleet maintenance rotate-operations --older-than 90d
    """


@maintenance.command("rotate-operations")
@click.option("--older-than", metavar="AGE", help="move operations older than this (default: config.toml's, or 90d)")
@unkeyed
def rotate_operations(older_than: str | None, **given: Unpack[Unkeyed]) -> None:
    """Move old operations out of the database into compressed JSON Lines. Nothing is lost, nobody waits.

    `fleet ops --archived` reads them again.

    \b
    Examples:
      fleet maintenance rotate-operations
      fleet maintenance rotate-operations --older-than 30d
    """
    with Fleet.open(actor=given["as"]) as fleet:
        rotated = fleet.operations.rotate(older_than=older_than)
    if given["json"]:
        terminal.say_json(rotated)
        return
    files = terminal.counted(len(rotated.files), "new file")
    terminal.say(f"{terminal.counted(rotated.moved, 'operation')} moved into {files}")


@maintenance.command("sweep-leaks")
@click.option("--kill", is_flag=True, help="act; without it this only says what it would do, and why")
@click.option("--orphans", "phases", flag_value="orphans", multiple=True, help="only what lost its owner")
@click.option(
    "--retry-releases", "phases", flag_value="retry-releases", multiple=True, help="only what is still to be released"
)
@click.option(
    "--reconcile-derived", "phases", flag_value="reconcile-derived", multiple=True, help="only what is derived"
)
@unkeyed
def sweep_leaks(phases: tuple[str, ...], *, kill: bool, **given: Unpack[Unkeyed]) -> None:
    """Look for what leaked. Only what bears this home's mark and whose dispatch has ended is ever touched.

    \b
    Examples:
      fleet maintenance sweep-leaks
      fleet maintenance sweep-leaks --kill
    """
    with Fleet.open(actor=given["as"]) as fleet:
        found = fleet.sweep.run(kill=kill, phases=frozenset(phases or PHASES))
    if given["json"]:
        terminal.say_json(found)
    else:
        _print_findings(found)


@maintenance.command("prune-dispatch-archive")
@click.option("--older-than", metavar="AGE", default="90d", show_default=True, help="remove journals older than this")
@unkeyed
def prune_dispatch_archive(older_than: str, **given: Unpack[Unkeyed]) -> None:
    """Remove old journals from the archive. The archive also prunes itself above 100 MB.

    \b
    Examples:
      fleet maintenance prune-dispatch-archive --older-than 90d
    """
    with Fleet.open(actor=given["as"]) as fleet:
        pruned = fleet.sweep.prune_archive(older_than=older_than)
    words = f"{terminal.counted(pruned.pruned, 'journal')} removed, {pruned.kept} kept"
    terminal.say_json(pruned) if given["json"] else terminal.say(words)


def _print_findings(found: list[Swept]) -> None:
    moving = [each for each in found if not each.standing]
    standing = [each for each in found if each.standing]
    for each in moving:
        terminal.say(f"{each.what}: {each.why} ({each.proof}) → {each.action}")
    if standing:
        terminal.say(terminal.paint("Standing:", "bold"))
    for each in standing:
        terminal.say(f"  {each.what}: {each.why} ({each.proof}) → {each.action}")
    if not found:
        terminal.say("nothing leaked")


@click.command("clean")
@click.option("-y", "--yes", is_flag=True, help="do not ask; worktrees with uncommitted work are kept")
@unkeyed
def clean(*, yes: bool, **given: Unpack[Unkeyed]) -> None:
    """Sweep up: show what leaked, ask once, release it. Uncommitted work is never deleted: for each worktree you choose.

    \b
    Examples:
      fleet clean
      fleet clean --yes
    """
    asking = not yes and not given["json"]
    with Fleet.open(actor=given["as"]) as fleet:
        found = fleet.sweep.run(kill=False)
        moving = [each for each in found if not each.standing]
        if moving and asking and not _is_wanted(found, len(moving)):
            terminal.say("nothing was cleaned up")
            return
        if moving and (yes or asking):
            found = fleet.sweep.run(kill=True)
        if given["json"]:
            terminal.say_json(found)
            return
        _print_findings(found)
        if asking and sys.stdin.isatty():
            _offer(fleet)


def _is_wanted(found: list[Swept], count: int) -> bool:
    _print_findings(found)
    if not sys.stdin.isatty():
        raise errors.BadInput(what="nobody is there to be asked whether to go on: say --yes")
    return click.confirm(f"{terminal.counted(count, 'thing')} to clean up. Go on?")


def _offer(fleet: Fleet) -> None:
    """Each worktree that nobody needs any more but that is kept because of what is in it."""
    for tree in fleet.sweep.kept_trees():
        terminal.say(f"{tree.why} ({tree.project}/{tree.task}, which is archived)")
        choices = ["commit", "keep", "open"] if tree.committable else ["keep", "open"]
        commit = "commit it to a ref of its own and remove the worktree, " if tree.committable else ""
        question = f"{commit}keep it, or open it (its path is printed)"
        chosen = click.prompt(question, type=click.Choice(choices), default="keep")
        if chosen == "commit":
            kept = fleet.sweep.keep(project=tree.project, slug=tree.task)
            terminal.say(f"kept as {kept.ref}; `git show {kept.ref}` shows it")
            for each in [*kept.aside, *kept.left]:
                terminal.say(each)
        elif chosen == "open":
            terminal.say(f"cd {tree.path}")


COMMANDS = {"maintenance": maintenance, "clean": clean}

"""The commands `fleet clean` and `fleet maintenance`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.homes.sweep import CLEAN, PHASES
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.options import writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.waiting import waiting

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.home import Swept
    from fleet.surfaces.cli.options import WritingHomeUnkeyed


_NAMED = 20  # how many findings of a group are listed


@click.group("maintenance")
def maintenance() -> None:
    """Sweep leaks, rotate and prune old records.

    \b
    fleet maintenance sweep-leaks
    fleet maintenance rotate-operations --older-than 90d
    """


@maintenance.command("rotate-operations")
@click.option("--older-than", metavar="AGE", help="move operations older than this (default: config.toml's, or 90d)")
@writing_home_unkeyed
def rotate_operations(older_than: str | None, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Move old operations out of the database into compressed JSON Lines. Nothing is lost, and other commands need not wait.

    `fleet ops --archived` lists them too.

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
    files = counted(len(rotated.files), "new file")
    terminal.say(f"{counted(rotated.moved, 'operation')} moved into {files}")


@maintenance.command("sweep-leaks")
@click.option("--kill", is_flag=True, help="release what leaked")
@click.option("--dry-run", is_flag=True, help="only print what would be done, and why (the default)")
@click.option("--check", is_flag=True, help="the same, and exit with 14 when anything leaked, with 0 when nothing did")
@click.option("--orphans", "phases", flag_value="orphans", multiple=True, help="only things that have lost their owner")
@click.option(
    "--retry-releases",
    "phases",
    flag_value="retry-releases",
    multiple=True,
    help="only things that are still to be released",
)
@click.option(
    "--reconcile-derived",
    "phases",
    flag_value="reconcile-derived",
    multiple=True,
    help="only records that are derived from the database",
)
@writing_home_unkeyed
def sweep_leaks(
    phases: tuple[str, ...], *, kill: bool, dry_run: bool, check: bool, **given: Unpack[WritingHomeUnkeyed]
) -> int:
    """Find dead dispatches, and sessions, worktrees and files that ended ones left. With --kill, end and release them.

    With --check the exit code tells a test run or a CI job whether anything leaked: standing findings, which a sweep does not
    act on, count too. A coord-state.json in which entries are only missing, or which its project's coordinator rewrites at
    its next tick, does not count.

    \b
    Examples:
      fleet maintenance sweep-leaks
      fleet maintenance sweep-leaks --kill
      fleet maintenance sweep-leaks --dry-run --check
    """
    if kill and (dry_run or check):
        raise errors.BadInput(what=f"--kill acts, {'--dry-run' if dry_run else '--check'} does not: give one of them")
    with Fleet.open(actor=given["as"]) as fleet, waiting("looking for what leaked"):
        findings = fleet.sweep.run(kill=kill, phases=frozenset(phases or PHASES))
    if given["json"]:
        terminal.say_json(findings)
    else:
        _print_findings(findings)
    return errors.Refused.code if check and any(not finding.waiting for finding in findings) else 0


@maintenance.command("prune-dispatch-archive")
@click.option("--older-than", metavar="AGE", default="90d", show_default=True, help="remove journals older than this")
@writing_home_unkeyed
def prune_dispatch_archive(older_than: str, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Remove old journals from the archive. The archive also prunes itself above 100 MB.

    \b
    Examples:
      fleet maintenance prune-dispatch-archive --older-than 90d
    """
    with Fleet.open(actor=given["as"]) as fleet:
        pruned = fleet.sweep.prune_archive(older_than=older_than)
    words = f"{counted(pruned.pruned, 'journal')} removed, {pruned.kept} kept"
    terminal.say_json(pruned) if given["json"] else terminal.say(words)


def _print_findings(findings: list[Swept]) -> None:
    """Print the findings of a sweep: first those that it acts on, then those that it can only report."""
    _print_groups([finding for finding in findings if not finding.standing], indent="")
    standing = [finding for finding in findings if finding.standing]
    if standing:
        terminal.say(terminal.paint("Standing:", "bold"))
    _print_groups(standing, indent="  ")
    if not findings:
        terminal.say("nothing leaked")


def _print_groups(findings: list[Swept], *, indent: str) -> None:
    """Print findings that have the same reason, proof and action as one group: these once, then the things found.

    At most 20 things of a group are printed. Each line begins with `indent`.
    """
    groups: dict[tuple[str, str, str], list[Swept]] = {}
    for finding in findings:
        groups.setdefault((finding.why, finding.proof, finding.action), []).append(finding)
    for (why, proof, action), members in groups.items():
        words = f"{why} ({proof}) → {action}"
        if len(members) == 1:
            terminal.say(f"{indent}{members[0].what}: {words}")
            continue
        terminal.say(f"{indent}{counted(len(members), 'thing')}: {words}")
        for member in members[:_NAMED]:
            terminal.say(f"{indent}  {member.what}")
        if len(members) > _NAMED:
            terminal.say(f"{indent}  and {len(members) - _NAMED} more; --json names all")


@click.command("clean")
@click.option("-y", "--yes", is_flag=True, help="do not ask; worktrees with uncommitted work are kept")
@writing_home_unkeyed
def clean(*, yes: bool, **given: Unpack[WritingHomeUnkeyed]) -> None:
    """Show what leaked, ask once, and release it. Uncommitted work is never deleted: you choose for each such worktree.

    The prepared trees that merges keep for the next merge are removed too; the next merge makes them anew.

    \b
    Examples:
      fleet clean
      fleet clean --yes
    """
    asking = not yes and not given["json"]
    with Fleet.open(actor=given["as"]) as fleet:
        with waiting("looking for what leaked"):
            findings = fleet.sweep.run(kill=False, phases=CLEAN)
        moving = [finding for finding in findings if not finding.standing]
        if moving and asking and not _is_confirmed(findings, len(moving)):
            terminal.say("nothing was cleaned up")
            return
        if moving and (yes or asking):
            with waiting("releasing what leaked"):
                findings = fleet.sweep.run(kill=True, phases=CLEAN)
        if given["json"]:
            terminal.say_json(findings)
            return
        _print_findings(findings)
        if asking and sys.stdin.isatty():
            _offer_kept_worktrees(fleet)


def _is_confirmed(findings: list[Swept], count: int) -> bool:
    """Print the findings and ask the person whether to clean up. Raise BadInput without a terminal."""
    _print_findings(findings)
    if not sys.stdin.isatty():
        raise errors.BadInput(what="there is no terminal to ask for confirmation: use --yes")
    return click.confirm(f"{counted(count, 'thing')} to clean up. Continue?")


def _offer_kept_worktrees(fleet: Fleet) -> None:
    """For each worktree that is kept for its content, ask whether to commit the content, keep it, or print its path."""
    for tree in fleet.sweep.kept_trees():
        terminal.say(f"{tree.why} ({tree.project}/{tree.task}, which is archived)")
        choices = ["commit", "keep", "open"] if tree.committable else ["keep", "open"]
        commit = "commit it to a ref of its own and remove the worktree, " if tree.committable else ""
        question = f"{commit}keep it, or open it (prints its path)"
        chosen = click.prompt(question, type=click.Choice(choices), default="keep")
        if chosen == "commit":
            kept = fleet.sweep.keep(project=tree.project, slug=tree.task)
            terminal.say(f"kept as {kept.ref}; `git show {kept.ref}` shows it")
            for each in [*kept.aside, *kept.left]:
                terminal.say(each)
        elif chosen == "open":
            terminal.say(f"cd {tree.path}")


COMMANDS = {"maintenance": maintenance, "clean": clean}

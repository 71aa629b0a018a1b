"""The commands `fleet dispatches list`, `show`, `settle` and `disown`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.results.dispatches import SettledDispatchView
from fleet.model.text.times import SECOND, age, utc
from fleet.surfaces.cli.options import json_option, reading, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.picking import pick_agent
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.results.dispatches import DispatchView, Journal

_HEADS = ("ID", "KIND", "OWNER", "EXEC", "RECLAIM", "CLAIMS", "AGE", "REASON")


@click.group("dispatches")
def dispatches() -> None:
    """List, show, settle and disown dispatches.

    \b
    fleet dispatches list
    fleet dispatches show 3f2a9c01
    fleet dispatches settle 3f2a9c01 --not-ours 4711
    fleet dispatches disown 3f2a9c01 --reason "that machine is gone"
    """


@dispatches.command("list")
@click.option("--unfinished", is_flag=True, help="only dispatches that have not ended")
@reading
def list_(**given: Any) -> None:
    """List the dispatches: kind, owner, states, number of claims.

    \b
    Examples:
      fleet dispatches list
      fleet dispatches list --unfinished --json
    """
    with Fleet.open() as fleet:
        journals = fleet.dispatches.list(given["project"], ended=not given["unfinished"])
    if given["json"]:
        terminal.say_json(journals)
    elif not journals:
        terminal.say("no dispatches: all that ended are archived")
    else:
        for line in terminal.table(_HEADS, map(_dispatch_row, journals)):
            terminal.say(line)


def _dispatch_row(row: DispatchView) -> tuple[str, ...]:
    """Return a dispatch as a row of the table."""
    state = (row.exec_state, row.recl_state, str(row.claims))
    return (row.id, row.kind, row.owner, *state, _age_of_dispatch(row.age), row.blocked_reason or "")


def _age_of_dispatch(seconds: int | None) -> str:
    """Return an age in seconds as text, such as "5m"; "" for None."""
    return age(seconds * SECOND) if seconds is not None else ""


@dispatches.command("show")
@click.argument("agent", required=False)
@json_option
def show(agent: str | None, **given: Any) -> None:
    """Show the journal of a dispatch with its claims, also when it is archived.

    Each claim of a dispatch that is not archived is compared with the world now: its line says what is there, and how old the
    claim is.

    \b
    Examples:
      fleet dispatches show 3f2a9c01
      fleet dispatches show 3f2a9c01 --json
    """
    with Fleet.open() as fleet:
        journal = fleet.dispatches.show(agent if agent and _is_archived(fleet, agent) else pick_agent(fleet, agent))
    if given["json"]:
        terminal.say_json(journal)
    else:
        _print_journal(journal)


def _print_journal(journal: Journal) -> None:
    """Print the journal of a dispatch with its adoptions and claims."""
    for name, value in journal.as_json().items():
        if name not in {"claims", "adoptions", "age"} and value is not None:
            terminal.say(f"  {name:<15} {value}")
    terminal.say(f"  {'age':<15} {_age_of_dispatch(journal.age)}")
    for adoption in journal.adoptions:
        until = f" to {utc(adoption.released_at)}" if adoption.released_at else ""
        terminal.say(
            f"  {'adoption':<15} {adoption.generation}: {adoption.dispatch} ({adoption.kind}), {utc(adoption.adopted_at)}{until}"
        )
    for claim in journal.claims:
        named = claim.data.get("name") or claim.data.get("session") or ""
        seen = "" if journal.archived else f"{claim.look or '':<9} {_age_of_dispatch(claim.age):<5}"
        terminal.say(f"  {claim.class_:<10} {claim.kind:<20} {claim.state:<18} {seen} {named}".rstrip())


@dispatches.command("settle")
@click.argument("agent")
@click.option(
    "--not-ours",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="PID",
    help="this process in the worktree does not belong to the agent: ignore it, and let it live",
)
@writing_home_unkeyed
def settle(agent: str, not_ours: tuple[int, ...], **given: Any) -> None:
    """End a dispatch whose agent is dead, so that another dispatch can use its worktree. Kills no process.

    A process that runs in the worktree prevents this when fleet cannot tell who started it. If you know that it is your editor
    or server, name it with --not-ours; that is recorded for this process and this dispatch only.

    \b
    Examples:
      fleet dispatches settle 3f2a9c01
      fleet dispatches settle 3f2a9c01 --not-ours 4711
    """
    with Fleet.open(actor=given["as"]) as fleet:
        ident = fleet.dispatches.find(agent)
        excused = fleet.dispatches.excuse(ident, not_ours).not_ours if not_ours else []
        ended = fleet.sessions.settle(ident)
    if not ended.settled:
        raise errors.NotSettled(dispatch=ident, why=ended.why or "")
    if given["json"]:
        terminal.say_json(SettledDispatchView.made_of(ended, not_ours=excused))
        return
    left = f"; left: {'; '.join(ended.left)}" if ended.left else ""
    terminal.say(f"{ident} is settled ({ended.exec_state}){left}")


@dispatches.command("disown")
@click.argument("ident")
@click.option("-r", "--reason", required=True, metavar="TEXT", help="the reason, for the record")
@writing_home_unkeyed
def disown(ident: str, reason: str, **given: Any) -> None:
    """End a dispatch whose machine or home no longer exists. Its work is kept, and its task becomes free.

    Nothing outside the database is touched. Refused while a part of the dispatch lives on this machine, and when its death can be
    proven: use `fleet kill` or `fleet stop` then. A job whose home no longer exists is taken over in the same way.

    \b
    Examples:
      fleet dispatches disown 3f2a9c01 --reason "that machine is gone"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        disowned = fleet.homes.disown(ident, reason)
    if given["json"]:
        terminal.say_json(disowned)
        return
    left = f"; left: {'; '.join(disowned.left)}" if disowned.left else ""
    terminal.say(f"{ident} is disowned ({disowned.exec_state}); it was of {disowned.was}{left}")


def _is_archived(fleet: Fleet, agent: str) -> bool:
    """Whether the archive has a journal of the dispatch with this id."""
    return any(name.startswith(f"{agent}-") for name in fleet.files.names(paths.JOURNALS))


COMMANDS = {"dispatches": dispatches}

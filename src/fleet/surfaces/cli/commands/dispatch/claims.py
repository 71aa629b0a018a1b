"""fleet claims: list and disown claims; four hidden commands for programs.

The hidden commands print one JSON object on standard output, also when they fail; the exit code tells the outcome.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.dispatch.claim_steps import CLASSES
from fleet.surfaces.cli.options import json_option, unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.verbs.agents.prompts import WantedPrompt

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.dispatches import ClaimView, PromptOutcome


@click.group("claims")
def claims() -> None:
    """List the claims: what dispatches hold outside the database (sessions, worktrees, files).

    \b
    fleet claims list
    fleet claims list exclusive tmux_session
    """


@claims.command("list")
@click.argument("klass", metavar="[CLASS]", type=click.Choice(CLASSES), required=False)
@click.argument("kind", required=False)
@json_option
def list_claims(klass: str | None, kind: str | None, **given: Any) -> None:
    """List the claims of all dispatches, or only those of one class or kind.

    \b
    Examples:
      fleet claims list
      fleet claims list adoptable worktree --json
    """
    with Fleet.open() as fleet:
        held = fleet.claims.list(klass, kind)
    if given["json"]:
        terminal.say_json(held)
        return
    rows = [(claim.class_, claim.kind, claim.state, _owner(claim), claim.name) for claim in held]
    if not rows:
        terminal.say("no claims")
        return
    for line in terminal.table(("CLASS", "KIND", "STATE", "OWNER", "NAME"), rows):
        terminal.say(line)


def _owner(claim: ClaimView) -> str:
    """Return the dispatch, the job, the task or the project that a claim belongs to."""
    job = f"job {claim.job}" if claim.job else None
    of_task = f"{claim.project}/{claim.slug}" if claim.slug else f"project {claim.project}"
    return claim.dispatch or job or of_task


@claims.command("disown")
@click.argument("ident")
@click.option("--kind", required=True, metavar="KIND", help="the kind of the claims")
@click.option("-r", "--reason", required=True, metavar="TEXT", help="the reason, for the record")
@unkeyed
def disown(ident: str, kind: str, reason: str, **given: Any) -> None:
    """Give up a claim that another host or tmux socket made. The claimed thing itself is not touched.

    \b
    Examples:
      fleet claims disown 3f2a9c01 --kind tmux_session --reason "that machine is gone"
      fleet claims disown JOB --kind job_process --reason "that machine is gone"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        disowned = fleet.claims.disown(ident, kind, reason)
    if given["json"]:
        terminal.say_json(disowned)
    else:
        terminal.say(f"{disowned.count} claim(s) of {ident} given up")


def _print_outcome(ident: str, kind: str | None, act: Callable[[Fleet], PromptOutcome]) -> int:
    """Print the outcome of an act as JSON, also when it fails; return the exit code."""
    try:
        with Fleet.open() as fleet:
            terminal.say_json(act(fleet))
    except errors.FleetError as error:
        document = {"outcome": error.kind, "dispatch_id": ident, "kind": kind, "path": None}
        terminal.say_json(document | {"message": str(error), "hint": error.next_step})
        return error.code
    return 0


def _read_prompt() -> str:
    """Return the prompt on standard input."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        advice = "give it in UTF-8"
        raise errors.BadText(what="the prompt", why=f"is not UTF-8 at byte {error.start}", advice=advice) from None


@claims.command("acquire-prompt", hidden=True)
@click.argument("ident")
@click.option("--owner", required=True, metavar="OWNER", help="project/P/slug/S or coord/P")
@click.option("--project", metavar="NAME", help="accepted, but --owner already names the project")
@click.option("--kind", metavar="KIND", help="the dispatch's kind")
@click.option("--preserve", is_flag=True, help="keep the prompt in inbox/archive when it is released")
@click.option("--host-id", metavar="ID", help="refuse on any other host")
@click.option("--tmux-socket", metavar="PATH", help="refuse on any other socket")
def acquire_prompt(ident: str, project: str | None, **given: Any) -> int:  # noqa: ARG001 - the owner names it
    """Publish a prompt, read from standard input, for a dispatch; a missing dispatch is created as pending."""
    wanted = WantedPrompt(**given)
    return _print_outcome(
        ident, "coord_prompt_inbox", lambda fleet: fleet.claims.acquire_prompt(ident, _read_prompt(), wanted)
    )


@claims.command("release", hidden=True)
@click.argument("ident")
@click.option("--kind", required=True, metavar="KIND")
def release(ident: str, kind: str) -> int:
    """Release one claim of a dispatch."""
    return _print_outcome(ident, kind, lambda fleet: fleet.claims.release_prompt(ident, kind))


@claims.command("rewrite-prompt", hidden=True)
@click.argument("ident")
@click.option("--target-old-id", required=True, metavar="ID")
def rewrite_prompt(ident: str, target_old_id: str) -> int:
    """Give a prompt inbox to a new owner, with new content from standard input."""
    return _print_outcome(
        ident, "coord_prompt_inbox", lambda fleet: fleet.claims.rewrite_prompt(ident, target_old_id, _read_prompt())
    )


@claims.command("inspect", hidden=True)
@click.argument("ident")
def inspect(ident: str) -> int:
    """Show the claims of a dispatch and the present state of each claimed thing."""
    return _print_outcome(ident, None, lambda fleet: fleet.claims.inspect(ident))


COMMANDS = {"claims": claims}

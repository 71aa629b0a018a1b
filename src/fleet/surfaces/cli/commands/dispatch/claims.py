"""The commands `fleet claims list` and `disown`, and four hidden commands for programs.

The hidden commands print one JSON object on standard output, also when they fail; the exit code tells the outcome.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.dispatch.claim_steps import CLASSES
from fleet.model.names import is_dispatch_id
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.options import json_option, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal
from fleet.verbs.agents.prompts import WantedPrompt

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.results.dispatches import ClaimView, PromptOutcome


# The kind of claim that all hidden commands but `release` and `inspect` are about.
_INBOX = "coord_prompt_inbox"


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
    """Return who has a claim, as text: the dispatch, else the job, else the task, else the project."""
    job = f"job {claim.job}" if claim.job else None
    of_task = f"{claim.project}/{claim.slug}" if claim.slug else f"project {claim.project}"
    return claim.dispatch or job or of_task


@claims.command("disown")
@click.argument("ident")
@click.option("--kind", required=True, metavar="KIND", help="the kind of the claims")
@click.option("-r", "--reason", required=True, metavar="TEXT", help="the reason, for the record")
@writing_home_unkeyed
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
        terminal.say(f"{counted(disowned.count, 'claim')} of {ident} given up")


class ForPrograms(click.Command):
    """A hidden click command for programs.

    It prints a usage error as one JSON object on standard output, with exit code 2.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the words of the command. On a usage error, print it as JSON and end with exit code 2."""
        words = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            given = super().make_context(info_name, list(words), parent, **{**extra, "resilient_parsing": True}).params
            message = error.format_message().rstrip(".").replace("\n", " ")
            usage = errors.BadUsage(what=message, command=f"fleet claims {self.name}")
            # click gives up at the first bad word: the id may come after it.
            ident = given.get("ident") or next(filter(is_dispatch_id, words), None)
            _print_failure(ident, _kind_of(self.name, given.get("kind")), usage)
            raise click.exceptions.Exit(usage.code) from None

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Run the command and end at once: nothing follows its document, not even the warning of a moved home."""
        raise click.exceptions.Exit(super().invoke(ctx))


def _kind_of(command: str | None, given: str | None) -> str | None:
    """Return the kind of claim to print when a hidden command fails; None for claims of any kind.

    `given` is the word of the command's --kind, None when it was not read.
    """
    return {"release": given, "inspect": None}.get(command or "", _INBOX)


def print_refused_words(words: list[str], error: errors.FleetError) -> int:
    """Print as JSON why a hidden command could not begin, for example for invalid words. Returns the exit code.

    `words` is the whole command line, from `claims` on.
    """
    _print_failure(next(filter(is_dispatch_id, words), None), _kind_of(words[1], None), error)
    return error.code


def _print_outcome(ident: str, kind: str | None, act: Callable[[Fleet], PromptOutcome]) -> int:
    """Call `act` and print its outcome as JSON, also when it fails. Returns the exit code.

    `ident` and `kind`, the dispatch and the kind of claim, are printed when it fails; `kind` None: claims of any kind.
    """
    try:
        with Fleet.open() as fleet:
            terminal.say_json(act(fleet))
    except errors.FleetError as error:
        _print_failure(ident, kind, error)
        return error.code
    except OSError as error:
        failed = errors.ToolError(what=str(error))
        _print_failure(ident, kind, failed)
        return failed.code
    return 0


def _print_failure(ident: str | None, kind: str | None, error: errors.FleetError) -> None:
    """Print an error of a hidden command as JSON, with the dispatch `ident` and the kind of claim (None: null)."""
    document = {"outcome": error.kind, "dispatch_id": ident, "kind": kind, "path": None}
    terminal.say_json(document | {"message": str(error), "hint": error.next_step})


def _read_prompt() -> str:
    """Return the prompt text on standard input. Raise BadText when it is not UTF-8."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        advice = "give it in UTF-8"
        raise errors.BadText(what="prompt", why=f"is not UTF-8 at byte {error.start}", advice=advice) from None


@claims.command("acquire-prompt", cls=ForPrograms, hidden=True)
@click.argument("ident")
@click.option("--owner", required=True, metavar="OWNER", help="project/P/slug/S, coord/P, or only a task's slug")
@click.option(
    "-p", "--project", metavar="NAME", help="the project of a slug (default: the one of the current directory)"
)
@click.option("--kind", metavar="KIND", help="the dispatch's kind: worker, reviewer, … or coord")
@click.option("--preserve", is_flag=True, help="keep the prompt in inbox/archive when it is released")
@click.option("--host-id", metavar="HOST", help="refuse on any other host: its name or its id")
@click.option("--tmux-socket", metavar="PATH", help="refuse on any other socket")
def acquire_prompt(ident: str, **given: Any) -> int:
    """Publish a prompt, read from standard input, for a dispatch; a missing dispatch is created as pending."""
    wanted = WantedPrompt(**given)
    return _print_outcome(ident, _INBOX, lambda fleet: fleet.claims.acquire_prompt(ident, _read_prompt(), wanted))


@claims.command("release", cls=ForPrograms, hidden=True)
@click.argument("ident")
@click.option("--kind", required=True, metavar="KIND")
def release(ident: str, kind: str) -> int:
    """Release the claims of a dispatch that have one kind."""
    return _print_outcome(ident, kind, lambda fleet: fleet.claims.release_prompt(ident, kind))


@claims.command("rewrite-prompt", cls=ForPrograms, hidden=True)
@click.argument("ident")
@click.option("--target-old-id", required=True, metavar="ID")
def rewrite_prompt(ident: str, target_old_id: str) -> int:
    """Give a prompt inbox to a new owner, with new content from standard input."""
    return _print_outcome(
        ident, _INBOX, lambda fleet: fleet.claims.rewrite_prompt(ident, target_old_id, _read_prompt())
    )


@claims.command("inspect", cls=ForPrograms, hidden=True)
@click.argument("ident")
def inspect(ident: str) -> int:
    """Show the claims of a dispatch and the present state of each claimed thing."""
    return _print_outcome(ident, None, lambda fleet: fleet.claims.inspect(ident))


COMMANDS = {"claims": claims}

"""The commands `fleet task unclaim`, `retry`, `abandon`, `pause`, `unpause` and `archive`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.text.sizes import counted
from fleet.surfaces.cli.options import Slug, override_option, slug_argument, writing
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.value import Value
    from fleet.surfaces.cli.options import Writing


def _print_result(result: Value, text: str, *, changed: bool = True, as_json: bool) -> None:
    """Print a result as JSON, or as the sentence `text`; without `changed`, add that it was so before."""
    if as_json:
        terminal.say_json(result)
    else:
        terminal.say(text if changed else f"{text} (it was already)")


@click.command("unclaim")
@slug_argument
@override_option
@writing
def unclaim(slug: str, *, override: bool, **given: Unpack[Writing]) -> None:
    """Give a claimed task back: it is open again, and anybody can claim it.

    \b
    Examples:
      fleet task unclaim parser
      fleet task unclaim parser --override        take it away from its assignee
    """
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        result = fleet.tasks.unclaim(project=project, slug=slug, override=override, key=given["key"])
    _print_result(result, f"{project}/{slug} is open again", as_json=given["json"])


@click.command("retry")
@slug_argument
@click.option("--anew", is_flag=True, help="begin again with a worker, not at the stage that it had reached")
@writing
def retry(slug: str, *, anew: bool, **given: Unpack[Writing]) -> None:
    """Open a blocked or ended task again; an archived task is listed again.

    \b
    Examples:
      fleet task retry parser
      fleet task retry parser --anew              when its branch is lost, and its work with it
    """
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        result = fleet.tasks.retry(project=project, slug=slug, anew=anew, key=given["key"])
    _print_result(result, f"{project}/{slug} is open again (it was {result.was})", as_json=given["json"])


@click.command("abandon")
@slug_argument
@click.option("-r", "--reason", metavar="TEXT", help="the reason")
@override_option
@writing
def abandon(slug: str, *, reason: str | None, override: bool, **given: Unpack[Writing]) -> None:
    """Mark a task as no longer wanted. Tasks that wait for it need not wait any more.

    \b
    Examples:
      fleet task abandon parser --reason "we use a library instead"
    """
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        report = fleet.tasks.abandon(project=project, slug=slug, reason=reason, override=override, key=given["key"])
    freed = f"; now ready: {', '.join(report.ready)}" if report.ready else ""
    _print_result(report, f"{project}/{slug} is abandoned{freed}", changed=report.changed, as_json=given["json"])


def _pause_command(name: str, summary: str, *, paused: bool) -> click.Command:
    """Return the click command `fleet task pause` or `fleet task unpause`."""

    def perform(slug: str, **given: Unpack[Writing]) -> None:
        with Fleet.open(actor=given["as"]) as fleet:
            project = fleet.project_here(given["project"])
            result = fleet.tasks.pause(project=project, slug=slug, paused=paused, key=given["key"])
        text = f"{project}/{slug} is {'paused' if paused else 'not paused'}"
        _print_result(result, text, changed=result.changed, as_json=given["json"])

    usage = f"{summary}\n\n\b\nExamples:\n  fleet task {name} parser"
    return click.command(name, help=usage)(slug_argument(writing(perform)))


@click.command("archive")
@click.argument("slug", type=Slug(), required=False)
@click.option("--ended", is_flag=True, help="archive every task that ended long enough ago")
@click.option("--older-than", metavar="AGE", help="with --ended: how long ago (default: as in fleet.toml, or 7d)")
@writing
def archive(slug: str | None, *, ended: bool, older_than: str | None, **given: Unpack[Writing]) -> None:
    """Hide ended tasks from listings. They keep their slug and history; `fleet task retry` brings one back.

    \b
    Examples:
      fleet task archive parser
      fleet task archive --ended --older-than 30d
    """
    if bool(slug) == ended:
        raise errors.BadInput(what="name a task, or use --ended for all that ended long ago")
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        if slug:
            one = fleet.tasks.archive(project=project, slug=slug, key=given["key"])
            _print_result(one, f"{project}/{slug} is archived", changed=one.changed, as_json=given["json"])
        else:
            many = fleet.graph.archive_ended(project=project, older_than=older_than, key=given["key"])
            _print_result(many, f"{counted(many.archived, 'ended task')} of {project} archived", as_json=given["json"])


COMMANDS = {
    "task unclaim": unclaim,
    "task retry": retry,
    "task abandon": abandon,
    "task pause": _pause_command(
        "pause", "Pause a task: no agent starts on it. An agent that already works on it is not disturbed.", paused=True
    ),
    "task unpause": _pause_command("unpause", "End the pause of a task.", paused=False),
    "task archive": archive,
}

"""The command `fleet pr`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import Slug, project_option, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from fleet.model.results.merge import PullRequestView


@click.command("pr")
@click.argument("slug", type=Slug(), required=False)
@click.option(
    "--check",
    is_flag=True,
    help="check the state; without SLUG of all pull requests of the project, opening those that are due",
)
@project_option
@writing_home_unkeyed
def pr(slug: str | None, *, check: bool, **given: Any) -> None:
    """Push a task's branch and open its pull request; the task is done when the pull request is merged.

    The program gh or glab does this, or your own (pr.command in fleet.toml). With merge = "pr" in fleet.toml the coordinator opens
    and follows pull requests by itself.

    \b
    Examples:
      fleet pr fix-login
      fleet pr fix-login --check
      fleet pr --check -p web
    """
    if slug is None and not check:
        raise errors.BadInput(what="name a task; `fleet status` lists the tasks to merge")
    with Fleet.open(actor=given["as"]) as fleet:
        project = fleet.project_here(given["project"])
        if slug is None:
            requests = fleet.merge.tend_pulls(project=project)
        else:
            act = fleet.merge.check_pull if check else fleet.merge.open_pull
            requests = [act(project=project, slug=slug)]
    if given["json"]:
        terminal.say_json(requests)
        return
    for request in requests:
        terminal.say(_request_line(request))
    if not requests:
        terminal.say(f"{project} has no pull requests to check")


def _request_line(request: PullRequestView) -> str:
    """Return the state of a pull request in one line."""
    place = f"{request.project}/{request.task}"
    if request.why:
        return f"{place}: {request.why}"
    more = {"merged": "; the task is done", "closed": "; the task waits for a fix"}.get(request.state, "")
    return f"{place}: {request.address} is {request.state}{more}"


COMMANDS = {"pr": pr}

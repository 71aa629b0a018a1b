"""fleet pr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.cli.options import Slug, project_option, unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from fleet.model.results.merge import PullRequestView


@click.command("pr")
@click.argument("slug", type=Slug(), required=False)
@click.option("--check", is_flag=True, help="see how far it is; without a SLUG all of the project, opening what is due")
@project_option
@unkeyed
def pr(slug: str | None, *, check: bool, **given: Any) -> None:
    """Push a task's branch and open its pull request; the task is done when that is merged.

    gh or glab does it, or a program of yours: pr.command in fleet.toml. With merge = "pr" there the coordinator opens and
    follows pull requests by itself.

    \b
    Examples:
      fleet pr fix-login
      fleet pr fix-login --check
      fleet pr --check -p web
    """
    if slug is None and not check:
        raise errors.BadInput(what="name a task; `fleet status` shows what is ready to be merged")
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
        terminal.say(_line(request))
    if not requests:
        terminal.say(f"no pull requests of {project} to look at")


def _line(request: PullRequestView) -> str:
    place = f"{request.project}/{request.task}"
    if request.why:
        return f"{place}: {request.why}"
    more = {"merged": "; the task is done", "closed": "; the task waits to be mended"}.get(request.state, "")
    return f"{place}: {request.address} is {request.state}{more}"


COMMANDS = {"pr": pr}

"""click options and argument types that many commands share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model import names
from fleet.model.text import moments
from fleet.surfaces.cli.hot.table import COMMON

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from click.shell_completion import CompletionItem

    from fleet.surfaces.cli.hot.table import Option

    # The options that `writing` adds: `def command(slug: str, **given: Unpack[Writing])`.
    Writing = TypedDict("Writing", {"project": str | None, "as": str | None, "key": str | None, "json": bool})
    # The options that `writing_home_unkeyed` adds.
    WritingHomeUnkeyed = TypedDict("WritingHomeUnkeyed", {"as": str | None, "json": bool})
    # The options that `writing_unkeyed` and `writing_home` add.
    WritingUnkeyed = TypedDict("WritingUnkeyed", {"project": str | None, "as": str | None, "json": bool})
    WritingHome = TypedDict("WritingHome", {"as": str | None, "key": str | None, "json": bool})

F = TypeVar("F", bound="Callable[..., object] | click.Command")
# The click type of a whole number from 1.
COUNT = click.IntRange(1, 1 << 60)
# The key in click's context for the project of a task that was given as PROJECT/SLUG.
_NAMED = "fleet.project_of_task"


def click_option(option: Option) -> Callable[[F], F]:
    """Return the click decorator for an option of the hot table."""
    if option.into:
        return click.option(*option.names, option.name, flag_value=option.names[-1].lstrip("-"), help=option.help)
    if option.flag:
        return click.option(*option.names, option.name, is_flag=True, help=option.help)
    return click.option(
        *option.names,
        option.name,
        metavar=option.metavar or None,
        required=option.required,
        help=option.help,
        type=_click_type(option),
        callback=_project_of_task if option.name == "project" else None,
    )


def _project_of_task(ctx: click.Context, _param: click.Parameter, given: str | None) -> str | None:
    """Return the project given with -p or in PROJECT/SLUG. Raise BadInput when the two differ. click calls this."""
    named: str | None = ctx.meta.get(_NAMED)
    if given is not None and named is not None and given != named:
        raise errors.BadInput(what=f"a task of the project {named} was named, and -p {given}")
    return given if named is None else named


def _click_type(option: Option) -> click.Choice[str] | click.IntRange | ProjectName | None:
    """Return the click type of an option of the hot table; None for plain text."""
    if option.choices:
        return click.Choice(option.choices)
    if option.is_count:
        return COUNT
    return ProjectName() if option.name == "project" else None


class Slug(click.ParamType[str]):
    """The click type of a task's slug, or PROJECT/SLUG. The shell completes it."""

    name = "slug"

    def convert(self, value: str, _param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the slug from SLUG or PROJECT/SLUG. Set the command's project when the value names one.

        Raise BadInput when -p, or a task named before, is of another project.
        """
        named = ctx.params.get("project") or ctx.meta.get(_NAMED) if ctx else None
        project, slug = names.project_and_slug(value, named)
        if ctx is not None and project is not None:
            ctx.meta[_NAMED] = project
            if "project" in ctx.params:
                ctx.params.update(project=project)
        return slug

    def shell_complete(self, ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the project's slugs that begin with the incomplete word; [] without a project or a readable home."""
        from click.shell_completion import CompletionItem

        try:
            with Fleet.open() as fleet:
                project = fleet.project_here(ctx.params.get("project"))
                tasks = fleet.graph.slugs(project=project, prefix=incomplete)
        except errors.FleetError:
            return []
        return [CompletionItem(task.slug, help=task.title) for task in tasks]


class ProjectName(click.ParamType[str]):
    """The click type of a project's name. The shell completes it."""

    name = "name"

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the project names that begin with the incomplete word; [] when the home cannot be opened."""
        from click.shell_completion import CompletionItem

        try:
            with Fleet.open() as fleet:
                known = [project.name for project in fleet.projects.list()]
        except errors.FleetError:
            return []
        return [CompletionItem(name) for name in known if name.startswith(incomplete)]


_PROJECT, _AS, _KEY, _JSON = (click_option(option) for option in COMMON)


def reading(function: F) -> F:
    """Add the options of a command that reads from one project: -p, --json."""
    return _PROJECT(_JSON(function))


def writing(function: F) -> F:
    """Add the options of a command that changes something in one project: -p, --as, --key, --json."""
    return _PROJECT(_AS(_KEY(_JSON(function))))


def writing_home(function: F) -> F:
    """Add the options of a command that changes something outside a project: --as, --key, --json."""
    return _AS(_KEY(_JSON(function)))


def writing_home_unkeyed(function: F) -> F:
    """Add the options --as and --json, for a command with several transactions, which one --key cannot cover."""
    return _AS(_JSON(function))


def writing_unkeyed(function: F) -> F:
    """Add the options -p, --as and --json, for a command of one project with several transactions."""
    return _PROJECT(writing_home_unkeyed(function))


json_option = _JSON
as_option = _AS
project_option = _PROJECT
slug_argument = click.argument("slug", type=Slug())
override_option = click.option(
    "--override", is_flag=True, help="take the task away from the agent or person that works on it"
)


def from_stdin(given: str | None) -> str | None:
    """Return the given text; for `-`, the text on standard input without its last newline."""
    if given != "-":
        return given
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")


def read_time(given: str | None, fleet: Fleet, *, back: bool = False) -> int | None:
    """Return the time that a person wrote (`2h`, `18:00`, a date) in milliseconds; None for None.

    With `back`, `2h` means two hours ago, else in two hours. Raise BadTime for a text that is no time.
    """
    if given is None:
        return None
    return moments.moment(given, now=fleet.clock.now(), local=None, back=back)

"""Options that many commands share, and opening fleet for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

import click

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.surfaces.cli.hot.table import COMMON

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from click.shell_completion import CompletionItem

    from fleet.surfaces.cli.hot.table import Option

    # What `writing` hands over: `def command(slug: str, **given: Unpack[Writing])`.
    Writing = TypedDict("Writing", {"project": str | None, "as": str | None, "key": str | None, "json": bool})
    # What `unkeyed` hands over.
    Unkeyed = TypedDict("Unkeyed", {"as": str | None, "json": bool})
    # What `acting` hands over, and `anywhere`.
    Acting = TypedDict("Acting", {"project": str | None, "as": str | None, "json": bool})
    Anywhere = TypedDict("Anywhere", {"as": str | None, "key": str | None, "json": bool})

F = TypeVar("F", bound="Callable[..., object] | click.Command")
COUNT = click.IntRange(1, 1 << 60)


def click_option(option: Option) -> Callable[[F], F]:
    """An option of the hot table as click's."""
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
        type=_type(option),
    )


def _type(option: Option) -> click.Choice[str] | click.IntRange | ProjectName | None:
    if option.choices:
        return click.Choice(option.choices)
    if option.is_count:
        return COUNT
    return ProjectName() if option.name == "project" else None


class Slug(click.ParamType[str]):
    """A task's slug, completed by the shell."""

    name = "slug"

    def shell_complete(self, ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Slugs of the project that begin so."""
        from click.shell_completion import CompletionItem

        try:
            with Fleet.open() as fleet:
                project = fleet.project_here(ctx.params.get("project"))
                tasks = fleet.graph.slugs(project=project, prefix=incomplete)
        except errors.FleetError:
            return []
        return [CompletionItem(task.slug, help=task.title) for task in tasks]


class ProjectName(click.ParamType[str]):
    """A project's name, completed by the shell."""

    name = "name"

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Projects that begin so."""
        from click.shell_completion import CompletionItem

        try:
            with Fleet.open() as fleet:
                known = [each.name for each in fleet.projects.list()]
        except errors.FleetError:
            return []
        return [CompletionItem(name) for name in known if name.startswith(incomplete)]


_PROJECT, _AS, _KEY, _JSON = (click_option(option) for option in COMMON)


def reading(function: F) -> F:
    """The options of a command that reads from one project."""
    return _PROJECT(_JSON(function))


def writing(function: F) -> F:
    """The options of a command that changes something in one project."""
    return _PROJECT(_AS(_KEY(_JSON(function))))


def anywhere(function: F) -> F:
    """The options of a command that changes something outside projects."""
    return _AS(_KEY(_JSON(function)))


def unkeyed(function: F) -> F:
    """The options of a command that is more than one transaction, and so has no key."""
    return _AS(_JSON(function))


def acting(function: F) -> F:
    """The same for a command of one project."""
    return _PROJECT(unkeyed(function))


json_option = _JSON
project_option = _PROJECT
slug_argument = click.argument("slug", type=Slug())
override_option = click.option("--override", is_flag=True, help="take the task away from whoever works on it")


def from_stdin(given: str | None) -> str | None:
    """The text itself, or with `-` what comes on standard input, without the newline at its end."""
    if given != "-":
        return given
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")

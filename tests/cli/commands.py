"""Every command that there is, found by asking the program."""

import click

from fleet.surfaces.cli.app import root


def walk(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of every command and group that people are shown."""
    context = click.Context(group)
    found: list[tuple[str, ...]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        found.append((*path, name))
        if isinstance(command, click.Group):
            found += walk(command, (*path, name))
    return found


def is_group(path: tuple[str, ...]) -> bool:
    return any(other[:-1] == path for other in ALL)


ALL = walk(root)
COMMANDS = [path for path in ALL if not is_group(path)]

# What they print is for people, or for programs already.
WITHOUT_JSON = {
    ("completion",),
    ("task", "export"),
    ("attach",),
    ("tui",),
    ("coord", "attach"),
    ("coord", "run"),
    ("coord", "watch"),
    ("daemon", "run"),
}

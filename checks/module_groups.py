"""Compute which modules of fleet are imported together by commands, and write them as fleet/bundle_groups.py."""

from __future__ import annotations

from pathlib import Path

from fleet.bundle import FIRST
from fleet.surfaces.cli.hot.start import GROUPS_OF_COMMAND, groups_of

PAGE = Path("src/fleet/bundle_groups.py")
_HEAD = '''"""The modules that commands import together, each after those that it imports. Written by `make hot`. Do not edit."""

from __future__ import annotations

GROUPS = {
'''
# Imported before a group can be loaded.
_BEFORE = ("fleet", "fleet.bundle")
# Here the commands of sessions run for an unknown agent. What they import from this module on only reports that error.
_REFUSED = "fleet.errors.absent"


def text_of(outputs: dict[tuple[str, ...], str]) -> str:
    """Return the text of bundle_groups.py, from Python's reports of the imports of each command (-X importtime)."""
    begun, later = _first(next(iter(outputs.values()))), {}
    for words, output in outputs.items():
        later[words] = [name for name in _imported(output) if name not in begun]
    groups = {FIRST: begun, **_shared(later)}
    lines = [
        f"    {group!r}: (\n" + "".join(f"        {name!r},\n" for name in names) + "    ),\n"
        for group, names in groups.items()
    ]
    return "".join([_HEAD, *lines, "}\n"]).replace("'", '"')


def _shared(later: dict[tuple[str, ...], list[str]]) -> dict[str, list[str]]:
    """Return the modules of each group: those that all commands of this group import and that no earlier group has."""
    found: dict[str, list[str]] = {}
    for groups in dict.fromkeys(GROUPS_OF_COMMAND.values()):
        before: list[str] = []
        for group in groups.split():
            if group not in found:
                users = [names for words, names in later.items() if group in groups_of(list(words))]
                found[group] = [name for name in users[0] if name not in before and all(name in each for each in users)]
            before += found[group]
    return found


def _first(output: str) -> list[str]:
    """Return the modules that are imported before any command runs."""
    return _imported(output.partition("\nbegun\n")[0])


def _imported(output: str) -> list[str]:
    """Return the modules of fleet in the order in which their imports ended, from Python's report.

    Modules that their own package imports are left out: the package loads them.
    """
    lines = [line.split("|") for line in output.splitlines() if line.startswith("import time:")]
    names = [name for line in lines if (name := line[-1].strip()).split(".")[0] == "fleet" and name not in _BEFORE]
    if _REFUSED in names:
        names = names[: names.index(_REFUSED)]
    return [name for number, name in enumerate(names) if not _is_of_later(name, names[number:])]


def _is_of_later(name: str, later: list[str]) -> bool:
    """Return whether a module is in a package whose import ended later."""
    return any(name.startswith(f"{package}.") for package in later)

"""Which modules of fleet commands import together: what fleet/bundle_groups.py says."""

from __future__ import annotations

from pathlib import Path

from fleet.bundle import FIRST
from fleet.surfaces.cli.hot.start import GROUPS, groups_of

PAGE = Path("src/fleet/bundle_groups.py")
_HEAD = '''"""The modules that commands import together, each after those that it imports. Written by `make hot`. Do not edit."""

from __future__ import annotations

GROUPS = {
'''
# Imported before a group can be loaded.
_BEFORE = ("fleet", "fleet.bundle")
# The commands of sessions run for an unknown agent; from here on they import what tells of that.
_REFUSED = "fleet.errors.absent"


def text_of(outputs: dict[tuple[str, ...], str]) -> str:
    """Return the text of the file, from what Python said of the imports of each command (-X importtime)."""
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
    """Return the modules of each group: those that all commands with this group import, and no group before it has."""
    found: dict[str, list[str]] = {}
    for groups in dict.fromkeys(GROUPS.values()):
        before: list[str] = []
        for group in groups.split():
            if group not in found:
                users = [names for words, names in later.items() if group in groups_of(list(words))]
                found[group] = [name for name in users[0] if name not in before and all(name in each for each in users)]
            before += found[group]
    return found


def _first(output: str) -> list[str]:
    return _imported(output.partition("\nbegun\n")[0])


def _imported(output: str) -> list[str]:
    """Return the modules of fleet in the order in which their imports ended; a package before what is in it.

    What a package imports of itself is left out: it is loaded by the package.
    """
    lines = [line.split("|") for line in output.splitlines() if line.startswith("import time:")]
    names = [name for line in lines if (name := line[-1].strip()).split(".")[0] == "fleet" and name not in _BEFORE]
    if _REFUSED in names:
        names = names[: names.index(_REFUSED)]
    return [name for number, name in enumerate(names) if not _is_of_later(name, names[number:])]


def _is_of_later(name: str, later: list[str]) -> bool:
    """Whether a module is in a package whose import ended later."""
    return any(name.startswith(f"{package}.") for package in later)

"""Where things are: the size of folders, and the map in CONTRIBUTING.md.

python checks/layout.py            write the table of nouns and layers into CONTRIBUTING.md
python checks/layout.py --check    fail when a folder is too small or too large, the table is old, or a journey names a file that is not on its way
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

SOURCE, PAGE = Path("src/fleet"), Path("CONTRIBUTING.md")
FEWEST, MOST = 4, 12
# Folders whose size is not ours to choose: the package itself, its surfaces, numbered migrations, generated code.
FREE = {"src/fleet", "src/fleet/surfaces", "src/fleet/store/migrations", "src/fleet/store/queries"}
# Folders of the tests that are on a path of their own, or hold what one folder of tests shares.
FREE |= {"tests/plugins/auditing", "tests/real_agents/staging"}
# Each noun with the names that files and folders of it have.
NOUNS = {
    "tasks": ("tasks",),
    "projects": ("projects",),
    "dispatch": ("dispatch", "dispatches"),
    "agents": ("agents",),
    "merge": ("merge", "git", "forge", "merges"),
    "coord": ("coord",),
    "resume": ("resume",),
    "sweep": ("sweep", "clean", "trash"),
    "jobs": ("jobs",),
    "settings": ("settings",),
    "engines": ("engines",),
    "homes": ("homes", "home"),
    "views": ("views", "operations"),
}
LAYERS = {
    "model": SOURCE / "model",
    "world": SOURCE / "world",
    "store": SOURCE / "store/sql",
    "verbs": SOURCE / "verbs",
    "api": SOURCE / "api/*",
    "commands": SOURCE / "surfaces/cli/commands",
    "tests": Path("tests/*"),
}
TABLE = re.compile(r"(?<=<!-- map -->\n).*?(?=<!-- end of map -->)", re.DOTALL)
JOURNEY = re.compile(r"^### (A .*|An .*)\n((?:.*\n)*?)(?=^#|\Z)", re.MULTILINE)
STOP = re.compile(r"^\d+\. `([\w/]+\.py)`", re.MULTILINE)
# A stop that no stop before it imports: another process makes it, or a table loads it.
PROCESS = re.compile(r"^\d+\. `([\w/]+\.py)`.*\((?:a process of its own|loaded by the table of \w+)\)", re.MULTILINE)


def folders() -> list[Path]:
    """Every folder that holds Python files."""
    return sorted({path.parent for root in (SOURCE, Path("tests")) for path in root.rglob("*.py")})


def entries(folder: Path) -> list[str]:
    """The files and folders in a folder that a reader sees."""
    return sorted(
        path.name
        for path in folder.iterdir()
        if not path.name.startswith(("_", "."))
        and (path.suffix in {".py", ".sql"} or (path.is_dir() and any(path.rglob("*.*"))))
    )


def crowded() -> list[str]:
    """Folders with too few or too many entries."""
    found = []
    for folder in folders():
        count = len(entries(folder))
        if str(folder) not in FREE and not FEWEST <= count <= MOST:
            found.append(f"{folder} has {count} entries, not {FEWEST} to {MOST}")
    return found


def cell(layer: Path, names: tuple[str, ...]) -> str:
    """The files and folders of a noun in a layer."""
    folders = sorted(layer.parent.iterdir()) if layer.name == "*" else [layer]
    there = [path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.stem in names]
    shown = sorted(
        path for path in there if not path.name.startswith("_") and (path.is_file() or any(path.rglob("*.py")))
    )
    inside = [path.relative_to(layer.parent if layer.name == "*" else layer) for path in shown]
    return " ".join(f"`{each}{'/' if path.is_dir() else ''}`" for path, each in zip(shown, inside, strict=True))


def table() -> str:
    """Nouns down, layers across."""
    head = f"| | {' | '.join(LAYERS)} |\n"
    line = f"|---|{'---|' * len(LAYERS)}\n"
    rows = (
        f"| **{noun}** | {' | '.join(cell(path, names) for path in LAYERS.values())} |\n"
        for noun, names in NOUNS.items()
    )
    return head + line + "".join(rows)


def imports(path: Path) -> set[str]:
    """The modules that a file imports, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def astray(page: str) -> list[str]:
    """Stops of journeys that are not there, or that no earlier stop imports."""
    found = []
    for name, text in JOURNEY.findall(page):
        known: set[str] = set()
        for stop in STOP.findall(text):
            path = SOURCE / stop
            if not path.exists():
                found.append(f"{name}: {stop} is not there")
                continue
            module = "fleet." + stop.removesuffix(".py").replace("/", ".")
            if known and module not in known and stop not in PROCESS.findall(text):
                found.append(f"{name}: no stop before {stop} imports it")
            known |= imports(path)
    return found


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    now = TABLE.sub(lambda _old: table(), page)
    if "--check" not in sys.argv:
        PAGE.write_text(now, encoding="utf-8")
        return 0
    faults = crowded() + astray(page) + ([] if now == page else [f"the map in {PAGE} is old: run `make map`"])
    for fault in faults:
        print(fault)
    print(f"layout: {len(folders())} folders, {len(JOURNEY.findall(page))} journeys, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

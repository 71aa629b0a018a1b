"""Check the size of folders, and write the map of nouns and layers in CONTRIBUTING.md.

python checks/layout.py            write the table of nouns and layers into CONTRIBUTING.md
python checks/layout.py --check    fail when a folder is too small or too large, the table is old, a stop of a journey is wrong, or a
                                   target of the Makefile is not in the table of targets
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

SOURCE, PAGE = Path("src/fleet"), Path("CONTRIBUTING.md")
FEWEST, MOST = 4, 12
# Folders whose size is given: the package itself, its surfaces, numbered migrations, generated code.
FREE = {"src/fleet", "src/fleet/surfaces", "src/fleet/store/migrations", "src/fleet/store/queries"}
# Folders of the tests that have their own place on PYTHONPATH, or that hold what one folder of tests shares.
FREE |= {"tests/plugins/auditing", "tests/real_agents/staging"}
# Each noun, with the names of its files and folders.
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
TARGET = re.compile(r"^([a-z][\w-]*):", re.MULTILINE)
# A target that every other one runs by itself.
UNLISTED = {"ready"}
TABLE = re.compile(r"(?<=<!-- map -->\n).*?(?=<!-- end of map -->)", re.DOTALL)
JOURNEY = re.compile(r"^### (A .*|An .*)\n((?:.*\n)*?)(?=^#|\Z)", re.MULTILINE)
STOP = re.compile(r"^\d+\. `([\w/]+\.py)`", re.MULTILINE)
# A stop that no earlier stop imports: it runs in another process, or a table loads it.
PROCESS = re.compile(r"^\d+\. `([\w/]+\.py)`.*\((?:a process of its own|loaded by the table of \w+)\)", re.MULTILINE)


def folders() -> list[Path]:
    """Return every folder that holds Python files or queries."""
    roots = [(root, kind) for root in (SOURCE, Path("tests")) for kind in ("*.py", "*.sql")]
    return sorted({path.parent for root, kind in roots for path in root.rglob(kind)})


def entries(folder: Path) -> list[str]:
    """Return the names of a folder's Python files, files of queries, and folders, without hidden and private ones.

    A folder without any file in it is left out.
    """
    return sorted(
        path.name
        for path in folder.iterdir()
        if not path.name.startswith(("_", "."))
        and (path.suffix in {".py", ".sql"} or (path.is_dir() and any(path.rglob("*.*"))))
    )


def wrong_folder_sizes() -> list[str]:
    """Return a line for each folder with too few or too many entries."""
    wrong = []
    for folder in folders():
        count = len(entries(folder))
        if str(folder) not in FREE and not FEWEST <= count <= MOST:
            wrong.append(f"{folder} has {count} entries, not {FEWEST} to {MOST}")
    return wrong


def cell(layer: Path, names: tuple[str, ...]) -> str:
    """Return the files and folders of a noun in a layer, as a cell of the map.

    If the noun has none at the top of the layer, return those one folder below.
    """
    top = layer.parent if layer.name == "*" else layer
    folders = sorted(path for path in top.iterdir() if path.is_dir()) if layer.name == "*" else [layer]
    inner = sorted(path for folder in folders for path in folder.iterdir() if path.is_dir())
    shown = _named(folders, names) or _named(inner, names)
    return " ".join(f"`{path.relative_to(top)}{'/' if path.is_dir() else ''}`" for path in shown)


def _named(folders: list[Path], names: tuple[str, ...]) -> list[Path]:
    """Return the files and folders in some folders that have one of the names.

    Private files, and folders without source, are left out.
    """
    there = (path for folder in folders for path in folder.iterdir() if path.stem in names)
    return sorted(
        path
        for path in there
        if path.parent.name != "__pycache__"
        and not path.name.startswith("_")
        and (path.is_file() or any(file.suffix in {".py", ".sql"} for file in path.rglob("*")))
    )


def table() -> str:
    """Return the map as a table: a row for each noun, a column for each layer."""
    head = f"| | {' | '.join(LAYERS)} |\n"
    line = f"|---|{'---|' * len(LAYERS)}\n"
    rows = (
        f"| **{noun}** | {' | '.join(cell(path, names) for path in LAYERS.values())} |\n"
        for noun, names in NOUNS.items()
    )
    return head + line + "".join(rows)


def imports(path: Path) -> set[str]:
    """Return the modules and names that a file imports by `from … import`, also inside functions."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return modules


def wrong_stops(page: str) -> list[str]:
    """Return a line for each stop of a journey in CONTRIBUTING.md that does not exist or that no earlier stop imports."""
    wrong = []
    for name, text in JOURNEY.findall(page):
        known: set[str] = set()
        for stop in STOP.findall(text):
            path = SOURCE / stop
            if not path.exists():
                wrong.append(f"{name}: {stop} does not exist")
                continue
            module = "fleet." + stop.removesuffix(".py").replace("/", ".")
            if known and module not in known and stop not in PROCESS.findall(text):
                wrong.append(f"{name}: no stop before {stop} imports it")
            known |= imports(path)
    return wrong


def unlisted_targets(page: str, makefile: str) -> list[str]:
    """Return a line for each target of the Makefile without a row in CONTRIBUTING.md, and for each row without a target."""
    cells = re.findall(r"^\| ((?:`make [\w-]+`(?:, )?)+) \|", page, re.MULTILINE)
    listed = {name for each in cells for name in re.findall(r"`make ([\w-]+)`", each)}
    targets = set(TARGET.findall(makefile)) - UNLISTED
    return [f"make {name} is not in {PAGE}" for name in sorted(targets - listed)] + [
        f"{PAGE} has make {name}, which the Makefile does not have" for name in sorted(listed - targets)
    ]


def main() -> int:
    """Write the map, or with --check print the faults; return the exit code."""
    page = PAGE.read_text(encoding="utf-8")
    now = TABLE.sub(lambda _old: table(), page)
    if "--check" not in sys.argv:
        PAGE.write_text(now, encoding="utf-8")
        return 0
    faults = (
        wrong_folder_sizes()
        + wrong_stops(page)
        + unlisted_targets(page, Path("Makefile").read_text(encoding="utf-8"))
        + ([] if now == page else [f"the map in {PAGE} is old: run `make map`"])
    )
    for fault in faults:
        print(fault)
    print(f"layout: {len(folders())} folders, {len(JOURNEY.findall(page))} journeys, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Fail when a layer has more places that hide types from the checker than checks/untyped.txt records.

python checks/untyped.py             count, print the table, compare
python checks/untyped.py --record    write the counts into checks/untyped.txt, unless one has grown
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

SOURCE = Path("src/fleet")
GENERATED = SOURCE / "store" / "queries"
RECORD = Path(__file__).with_suffix(".txt")
KINDS = ("any", "cast", "ignore", "subscript")
HEAD = "# The most that each layer may have; `python checks/untyped.py --record` lowers it.\n"


def layer(path: Path) -> str:
    """Return the name of the layer that a module belongs to: the folder or file below src/fleet."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def kind(node: ast.AST) -> str | None:
    """Return how a node hides a type from the checker: any, cast, or subscript by a string; None for other nodes."""
    match node:
        case ast.Name(id="Any"):
            return "any"
        case ast.Call(func=ast.Name(id="cast")):
            return "cast"
        case ast.Subscript(slice=ast.Constant(value=str())):
            return "subscript"
        case _:
            return None


def count_module(text: str) -> Counter[str]:
    """Return how often each kind occurs in a module."""
    counts = Counter(filter(None, map(kind, ast.walk(ast.parse(text)))))
    counts["ignore"] = text.count("# type: ignore")
    return counts


def count_layers() -> dict[str, Counter[str]]:
    """Return how often each kind occurs in each layer."""
    counts: dict[str, Counter[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.parent != GENERATED:
            counts.setdefault(layer(path), Counter()).update(count_module(path.read_text(encoding="utf-8")))
    return counts


def read_record() -> dict[str, Counter[str]]:
    """Return the recorded counts of each layer."""
    rows = [line.split() for line in RECORD.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {name: Counter(dict(zip(KINDS, map(int, numbers), strict=True))) for name, *numbers in rows[1:]}


def table(counts: dict[str, Counter[str]]) -> str:
    """Return the counts as a table, which people and `read_record` read."""
    lines = [
        ("layer", *KINDS),
        *((name, *(str(layer_counts[kind]) for kind in KINDS)) for name, layer_counts in sorted(counts.items())),
    ]
    return "".join(f"{name:<12}" + "".join(f"{number:>11}" for number in numbers) + "\n" for name, *numbers in lines)


def main() -> int:
    """Print the counts and compare them with the record; with --record write them; return the exit code."""
    counts, known = count_layers(), read_record() if RECORD.exists() else {}
    print(table(counts), end="")
    more = [
        f"untyped: {name} has {layer_counts[kind]} × {kind}, {known.get(name, Counter())[kind]} recorded"
        for name, layer_counts in counts.items()
        for kind in KINDS
        if known and layer_counts[kind] > known.get(name, Counter())[kind]
    ]
    for line in more:
        print(line)
    if not more and "--record" in sys.argv:
        RECORD.write_text(HEAD + table(counts), encoding="utf-8")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())

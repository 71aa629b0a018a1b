"""Fails when a layer has more places that the type checker cannot see into than checks/untyped.txt records.

python checks/untyped.py             count, print the table, compare
python checks/untyped.py --record    write the counts down, where they have fallen
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
    """The folder or file below src/fleet that a module belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def kind(node: ast.AST) -> str | None:
    """What the type checker cannot see into: Any, a cast, or a key of a dict written as a string."""
    match node:
        case ast.Name(id="Any"):
            return "any"
        case ast.Call(func=ast.Name(id="cast")):
            return "cast"
        case ast.Subscript(slice=ast.Constant(value=str())):
            return "subscript"
        case _:
            return None


def counted(text: str) -> Counter[str]:
    """How often each kind occurs in a module."""
    found = Counter(filter(None, map(kind, ast.walk(ast.parse(text)))))
    found["ignore"] = text.count("# type: ignore")
    return found


def counts() -> dict[str, Counter[str]]:
    """The same for each layer."""
    found: dict[str, Counter[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.parent != GENERATED:
            found.setdefault(layer(path), Counter()).update(counted(path.read_text(encoding="utf-8")))
    return found


def recorded() -> dict[str, Counter[str]]:
    """The counts that are written down."""
    rows = [line.split() for line in RECORD.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {name: Counter(dict(zip(KINDS, map(int, numbers), strict=True))) for name, *numbers in rows[1:]}


def table(found: dict[str, Counter[str]]) -> str:
    """The counts for people, and for `recorded`."""
    lines = [("layer", *KINDS), *((name, *(str(each[kind]) for kind in KINDS)) for name, each in sorted(found.items()))]
    return "".join(f"{name:<12}" + "".join(f"{number:>11}" for number in numbers) + "\n" for name, *numbers in lines)


def main() -> int:
    """Count and compare, or record."""
    found, known = counts(), recorded() if RECORD.exists() else {}
    print(table(found), end="")
    more = [
        f"untyped: {name} has {each[kind]} × {kind}, {known.get(name, Counter())[kind]} recorded"
        for name, each in found.items()
        for kind in KINDS
        if known and each[kind] > known.get(name, Counter())[kind]
    ]
    for line in more:
        print(line)
    if not more and "--record" in sys.argv:
        RECORD.write_text(HEAD + table(found), encoding="utf-8")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())

"""Fail when a layer has more places that hide types from the checker than checks/hidden_types.txt has ever recorded.

python checks/untyped.py             count, print the table, compare with the record and with git's history of it
python checks/untyped.py --record    write the counts into the record, unless one has grown

A count that has fallen fails too, until it is recorded.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

SOURCE = Path("src/fleet")
GENERATED = SOURCE / "store" / "queries"
RECORD = Path(__file__).with_name("hidden_types.txt")
KINDS = ("any", "cast", "ignore", "subscript")
HEAD = "# The most that each layer may have; `python checks/untyped.py --record` lowers it.\n"


def layer(path: Path) -> str:
    """Return the name of the layer that a module belongs to: the folder or file below src/fleet."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def kind(node: ast.AST) -> str | None:
    """Return how a node hides a type from the checker: any, cast, or subscript by a string; None for other nodes."""
    match node:
        case ast.Name(id="Any") | ast.Attribute(attr="Any") | ast.Constant(value="Any"):
            return "any"
        case ast.Call(func=ast.Name(id="cast") | ast.Attribute(attr="cast")):
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
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    return dict(counts for line in lines if (counts := read_row(line)))


def read_row(line: str) -> tuple[str, Counter[str]] | None:
    """Return the layer and the counts in a line of the record; None for a line without counts."""
    name, *numbers = line.split()
    if len(numbers) != len(KINDS) or not all(map(str.isdecimal, numbers)):
        return None
    return name, Counter(dict(zip(KINDS, map(int, numbers), strict=True)))


def lowest_ever() -> dict[str, Counter[str]]:
    """Return the lowest counts of each layer in any version of the record in git's history."""
    words = ["git", "log", "-p", "--no-renames", "--format=", "--", RECORD.name]
    log = subprocess.run(words, cwd=RECORD.parent, capture_output=True, text=True, check=False).stdout
    found: dict[str, Counter[str]] = {}
    for line in log.splitlines():
        if line.startswith("+") and (row := read_row(line[1:] or "#")):
            name, counts = row
            least = found.setdefault(name, Counter(counts))
            found[name] = Counter({kind: min(counts[kind], least[kind]) for kind in KINDS})
    return found


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
    recorded = {name: known.get(name, Counter()) for name in counts} if known else {}
    more = [*grown(counts, recorded, "recorded"), *grown(counts, lowest_ever(), "once")]
    print(*more, sep="\n", end="\n" if more else "")
    if more:
        return 1
    if "--record" in sys.argv:
        RECORD.write_text(HEAD + table(counts), encoding="utf-8")
        return 0
    if counts != known:
        print("untyped: fewer than recorded; run `python checks/untyped.py --record`")
    return 1 if counts != known else 0


def grown(counts: dict[str, Counter[str]], before: dict[str, Counter[str]], when: str) -> list[str]:
    """Return a line for each count that is larger than the one that its layer had before."""
    return [
        f"untyped: {name} has {counts[name][kind]} × {kind}, {least[kind]} {when}"
        for name, least in before.items()
        for kind in KINDS
        if name in counts and counts[name][kind] > least[kind]
    ]


if __name__ == "__main__":
    sys.exit(main())

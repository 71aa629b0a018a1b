"""Fail when a layer has more places that hide types from the checker than checks/hidden_types.txt has ever recorded.

any         the type Any
cast        a cast
ignore      a `type: ignore`
subscript   an access by a string: x["key"]
method      the same by a method: x.get("key"), x.pop("key"), x.setdefault("key")
alias       a use of a name that stands for a type with Any in it, as Json = dict[str, Any]

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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path("src/fleet")
GENERATED = SOURCE / "store" / "queries"
RECORD = Path(__file__).with_name("hidden_types.txt")
# In the order of the record's columns; new ones come last, so that the record's history can still be read.
KINDS = ("any", "cast", "ignore", "subscript", "method", "alias")
# How many kinds the oldest records have.
_FEWEST = 4
HEAD = "# The most that each layer may have; `python checks/untyped.py --record` lowers it.\n"


def layer(path: Path) -> str:
    """Return the name of the layer that a module belongs to: the folder or file below src/fleet."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def kind(node: ast.AST, aliases: frozenset[str] = frozenset()) -> str | None:
    """Return how a node hides a type from the checker, as the kinds are listed above; None for other nodes."""
    match node:
        case ast.Name(id="Any") | ast.Attribute(attr="Any") | ast.Constant(value="Any"):
            return "any"
        case ast.Call(func=ast.Name(id="cast") | ast.Attribute(attr="cast")):
            return "cast"
        case ast.Subscript(slice=ast.Constant(value=str())):
            return "subscript"
        case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault"), args=[ast.Constant(value=str()), *_]):
            return "method"
        case ast.Name(id=name, ctx=ast.Load()) if name in aliases:
            return "alias"
        case _:
            return None


def count_module(text: str, aliases: frozenset[str] = frozenset()) -> Counter[str]:
    """Return how often each kind occurs in a module, in which these names are aliases."""
    counts = Counter(found for node in ast.walk(ast.parse(text)) if (found := kind(node, aliases)))
    counts["ignore"] = text.count("# type: ignore")
    return counts


def count_layers() -> dict[str, Counter[str]]:
    """Return how often each kind occurs in each layer."""
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != GENERATED]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    aliases = find_aliases({module_name(path): text for path, text in texts.items()})
    counts: dict[str, Counter[str]] = {}
    for path, text in texts.items():
        counts.setdefault(layer(path), Counter()).update(count_module(text, aliases[module_name(path)]))
    return counts


def module_name(path: Path) -> str:
    """Return the name under which other modules import a file."""
    return ".".join(("fleet", *path.relative_to(SOURCE).with_suffix("").parts))


def find_aliases(texts: dict[str, str]) -> dict[str, frozenset[str]]:
    """Return the names in each module that stand for a type with Any in it: assigned there, or imported."""
    trees = {module: ast.parse(text) for module, text in texts.items()}
    found: dict[str, frozenset[str]] = dict.fromkeys(texts, frozenset())
    while True:
        new = {
            module: frozenset({*_assigned(tree, found[module]), *_imported(tree, found)})
            for module, tree in trees.items()
        }
        if new == found:
            return found
        found = new


def _assigned(tree: ast.Module, aliases: frozenset[str]) -> Iterator[str]:
    """Yield the names to which a module assigns a type that has Any, or one of these aliases, in it."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp() as value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Subscript() | ast.BinOp() as value)
            ) if any(kind(each, aliases) in {"any", "alias"} for each in ast.walk(value)):
                yield name
            case _:
                pass


def _imported(tree: ast.Module, aliases: dict[str, frozenset[str]]) -> Iterator[str]:
    """Yield the names that a module imports and that are aliases in the module they come from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            known = aliases.get(node.module or "", frozenset())
            yield from (each.asname or each.name for each in node.names if each.name in known)


def read_record() -> dict[str, Counter[str]]:
    """Return the recorded counts of each layer."""
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    return dict(counts for line in lines if (counts := read_row(line)))


def read_row(line: str) -> tuple[str, Counter[str]] | None:
    """Return the layer and the counts in a line of the record; None for a line without counts.

    An old line has only the counts of the first kinds.
    """
    name, *numbers = line.split()
    if not _FEWEST <= len(numbers) <= len(KINDS) or not all(map(str.isdecimal, numbers)):
        return None
    return name, Counter(dict(zip(KINDS, map(int, numbers), strict=False)))


def lowest_ever() -> dict[str, Counter[str]]:
    """Return the lowest counts of each layer in any version of the record in git's history."""
    words = ["git", "log", "-p", "--no-renames", "--format=", "--", RECORD.name]
    log = subprocess.run(words, cwd=RECORD.parent, capture_output=True, text=True, check=False).stdout
    rows: dict[str, list[Counter[str]]] = {}
    for line in log.splitlines():
        if line.startswith("+") and (row := read_row(line[1:] or "#")):
            rows.setdefault(row[0], []).append(row[1])
    return {
        name: Counter({each: _least(each, known) for each in KINDS if any(each in row for row in known)})
        for name, known in rows.items()
    }


def _least(kind: str, rows: list[Counter[str]]) -> int:
    """Return the lowest count of a kind in those rows of the record that have it."""
    return min(row[kind] for row in rows if kind in row)


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
    none = Counter(dict.fromkeys(KINDS, 0))
    recorded = {name: known.get(name, none) for name in counts} if known else {}
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
    """Return a line for each count that is larger than the one that its layer had before.

    `when` says in that line what the number before is: "recorded", or had "once".
    """
    return [
        f"untyped: {name} has {counts[name][kind]} × {kind}, {least[kind]} {when}"
        for name, least in before.items()
        for kind in least
        if name in counts and counts[name][kind] > least[kind]
    ]


if __name__ == "__main__":
    sys.exit(main())

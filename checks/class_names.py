"""Fail when a class or a type has a name that another one has, unless checks/class_names.txt lists the name with its number.

One name has one meaning, so that a reader who meets it knows which. The numbers and their total only fall: git's history is asked.

python checks/class_names.py             count and compare
python checks/class_names.py --record    lower the numbers in checks/class_names.txt to those that are counted
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path("src/fleet")
RECORD = Path(__file__).with_suffix(".txt")
TOTAL = "total"
HEAD = "# Names that several classes or types have, and how many. The numbers only fall: `python checks/class_names.py --record` lowers them.\n"
_LINE = re.compile(r"[+]?(\w+) +(\d+)")
_NAME = re.compile(r"_?[A-Z]\w*[a-z]\w*")


def named(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the classes and types that a module defines at its top, those for the type checker too."""
    inner = (each for node in tree.body if isinstance(node, ast.If) for each in node.body)
    for node in [*tree.body, *inner]:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp | ast.Name):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name) and _NAME.fullmatch(each.id))


def count_names() -> dict[str, int]:
    """Return in how many modules each name is defined, for names that several modules define.

    The generated modules of queries count as one.
    """
    modules: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        place = "queries" if path.parent == SOURCE / "store" / "queries" else str(path)
        modules.setdefault(place, set()).update(named(ast.parse(path.read_text(encoding="utf-8"))))
    counts = Counter(name for names in modules.values() for name in names)
    return {name: number for name, number in sorted(counts.items()) if number > 1}


def read_record(text: str) -> dict[str, int]:
    """Return the recorded number of each name, and the total under the name TOTAL."""
    return {match[1]: int(match[2]) for line in text.splitlines() if (match := _LINE.fullmatch(line))}


def lowest_total() -> int | None:
    """Return the lowest total that git's history has; None where there is no history."""
    log = subprocess.run(
        ["git", "log", "-p", "--format=", "--", str(RECORD)],
        capture_output=True,
        text=True,
        check=False,
        cwd=RECORD.parent,
    )
    found = (_LINE.fullmatch(line) for line in log.stdout.splitlines() if line.startswith("+"))
    return min((int(match[2]) for match in found if match and match[1] == TOTAL), default=None)


def faults_of(counts: dict[str, int], known: dict[str, int], lowest: int | None) -> list[str]:
    """Return what is wrong with the counts against the record, and with the record against its history."""
    faults = [
        f"{counts.get(name, 0)} classes or types are named {name}, {known.get(name, 0)} are recorded"
        for name in sorted(counts.keys() | known.keys() - {TOTAL})
        if counts.get(name, 0) != known.get(name, 0)
    ]
    total = sum(number for name, number in known.items() if name != TOTAL)
    if known.get(TOTAL) != total:
        faults.append(f"the total is {total}, and {known.get(TOTAL)} is recorded")
    if lowest is not None and total > lowest:
        faults.append(f"the total is {total}, and was {lowest} once: give the new class a name of its own")
    return faults


def main() -> int:
    """Print the faults; with --record lower the recorded numbers before; return the exit code."""
    counts, known = count_names(), read_record(RECORD.read_text(encoding="utf-8"))
    if "--record" in sys.argv:
        lowered = {name: min(number, known[name]) for name, number in counts.items() if name in known}
        known = lowered | {TOTAL: sum(lowered.values())}
        RECORD.write_text(HEAD + "".join(f"{name} {number}\n" for name, number in known.items()), encoding="utf-8")
    faults = faults_of(counts, known, lowest_total())
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"class names: {len(counts)} that {sum(counts.values())} classes or types share, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

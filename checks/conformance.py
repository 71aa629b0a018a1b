"""Prints each row of the requirements with what this run's tests showed of it; fails when a row that is due is not shown.

`docs/reference/due.txt` lists the rows that are due, one a line: `ROW both` must be shown on SQLite and on PostgreSQL,
`ROW any` by any test. The file only grows; git's history is the witness.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

REQUIREMENTS = Path("docs/reference/requirements.md")
DUE = Path("docs/reference/due.txt")
STORES = ("sqlite", "postgres", "any")
LEGEND = "✓ shown   ✗ failing, or due and not shown   + shown before it is due   · not due yet   s: only skipped"

Counts = dict[str, Counter[str]]


def read_rows() -> dict[str, list[tuple[str, str]]]:
    """Sections in order, each with its rows and their texts."""
    sections: dict[str, list[tuple[str, str]]] = {}
    rows: list[tuple[str, str]] = []
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            rows = sections.setdefault(line[3:], [])
        elif match := re.match(r"- ([A-Z]+-\d+) (.*)", line):
            rows.append((match[1], match[2]))
    return sections


def read_due(lines: list[str]) -> dict[str, str]:
    """Rows and the stores they need; a row named twice needs the most that was ever said of it."""
    due: dict[str, str] = {}
    for row, stores in (line.split() for line in lines if line.strip()):
        due[row] = "both" if "both" in {stores, due.get(row)} else stores
    return due


def ever_due() -> dict[str, str]:
    """All that any version of the file said, as far as git remembers."""
    log = subprocess.run(["git", "log", "-p", "--format=", "--", str(DUE)], capture_output=True, text=True, check=False)
    return read_due([line[1:] for line in log.stdout.splitlines() if re.match(r"\+[A-Z]+-\d+ (any|both)$", line)])


def read_outcomes(path: Path) -> dict[str, Counts]:
    """How often each row passed, failed or was skipped, on each store."""
    rows: dict[str, Counts] = {}
    for test in json.loads(path.read_text(encoding="utf-8")):
        for row in test["rows"]:
            rows.setdefault(row, {store: Counter() for store in STORES})[test["store"]][test["outcome"]] += 1
    return rows


def lacks(counts: Counts, need: str | None) -> str:
    """What keeps this row from being shown, in words; nothing when it is shown."""
    if failing := sum(count["failed"] for count in counts.values()):
        return f"{failing} failing"
    if need == "both":
        missing = [store for store in ("sqlite", "postgres") if not counts[store]["passed"]]
        return f"no passing test on {' and '.join(missing)}" if missing else ""
    return "" if any(count["passed"] for count in counts.values()) else "no passing test"


def cell(count: Counter[str]) -> str:
    if count["failed"]:
        return f"{count['failed']}✗"
    if count["passed"]:
        return f"{count['passed']}✓"
    return f"{count['skipped']}s" if count["skipped"] else "-"


def mark(counts: Counts, need: str | None) -> str:
    lack = lacks(counts, need)
    if need:
        return "✗" if lack else "✓"
    return "✗" if "failing" in lack else "·" if lack else "+"


def print_table(sections: dict[str, list[tuple[str, str]]], due: dict[str, str], outcomes: dict[str, Counts]) -> None:
    marks: Counter[str] = Counter()
    print(f"\n  {'row':<10}{'due':<6}{'tests':>5}{'sqlite':>8}{'postgres':>10}{'any':>6}")
    for section, rows in sections.items():
        print(section)
        for row, text in rows:
            counts = outcomes.get(row) or {store: Counter() for store in STORES}
            sign = mark(counts, due.get(row))
            marks[sign] += 1
            tests = sum(count.total() for count in counts.values())
            cells = [cell(counts[store]) for store in STORES]
            line = f"{sign} {row:<10}{due.get(row, '-'):<6}{tests:>5}{cells[0]:>8}{cells[1]:>10}{cells[2]:>6}"
            print(f"{line}  {text if len(text) <= 60 else text[:57] + '...'}")  # noqa: PLR2004
    print(LEGEND)
    print(
        f"conformance: {sum(marks.values())} rows, {len(due)} due, {marks['✓']} of them shown; {marks['+']} shown early"
    )


def faults(known: set[str], due: dict[str, str], outcomes: dict[str, Counts]) -> list[str]:
    nothing: Counts = {store: Counter() for store in STORES}
    found = [f"{row} is not a requirement" for row in sorted((set(due) | set(outcomes)) - known)]
    found += [
        f"{row} ({need}): {lack}" for row, need in due.items() if (lack := lacks(outcomes.get(row, nothing), need))
    ]
    found += [
        f"{row} is not due but has failing tests"
        for row, counts in outcomes.items()
        if row not in due and "failing" in lacks(counts, None)
    ]
    found += [
        f"{row} {need} was due once and must stay so in {DUE}"
        for row, need in ever_due().items()
        if row not in due or (need, due[row]) == ("both", "any")
    ]
    return found


def main() -> int:
    sections = read_rows()
    due = read_due(DUE.read_text(encoding="utf-8").splitlines())
    path = Path(sys.argv[1])
    outcomes = read_outcomes(path) if path.exists() else {}
    print_table(sections, due, outcomes)
    found = faults({row for rows in sections.values() for row, _ in rows}, due, outcomes)
    for fault in found:
        print(f"✗ {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Print each row of the requirements with the outcomes of its tests in this run; fail when a due row has no passing test.

`docs/reference/due.txt` lists the due rows, one per line: `ROW both` needs passing tests on SQLite and on PostgreSQL, `ROW any`
any passing test. Rows may only be added to the file; this is checked with git's history. Where tests tried a part of what they could
try (tests/plugins/samples.py), the column `part` says how large it was, and a list below says what it was a part of, on which store.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

REQUIREMENTS = Path("docs/reference/requirements.md")
DUE = Path("docs/reference/due.txt")
STORES = ("sqlite", "postgres", "any")
LEGEND = "✓ passing   ✗ failing, or due and not passing   + passing before it is due   · not due yet   s: only skipped"

# Why tests of a row that is due on both stores may run on one alone, by their folder.
ONE_STORE = {
    "unit": "no store takes part",
    "live": "tmux, git and processes are tested; the same row has tests on both",
    "cli": "files of SQLite, or what no store sees",
    "crash": "a death costs seconds",
    "verbs": "a scene with settings of its own",
}

Counts = dict[str, Counter[str]]


@dataclass(kw_only=True)
class Sample:
    """How much of all possible cases the tests on one store tried; `of` is None where the number of cases is unknown."""

    ran: int = 0
    of: int | None = 0
    rows: set[str] = field(default_factory=set)

    def add(self, ran: int, of: int | None) -> None:
        """Add how much one more test tried, `ran` of `of` cases. Of several tests the largest `of` is the whole.

        It stays unknown once a test does not know it.
        """
        self.ran += ran
        self.of = None if of is None or self.of is None else max(self.of, of)

    def __str__(self) -> str:
        return f"{self.ran} of {self.of} ({share(self.ran, self.of)})" if self.of else f"{self.ran} of many"


Samples = dict[str, dict[str, Sample]]


def share(ran: int, of: int) -> str:
    """Return a part of a whole in percent, at least 1 %."""
    return f"{max(1, round(100 * ran / of))} %"


def read_rows() -> dict[str, list[tuple[str, str]]]:
    """Return the sections of the requirements in order, each with its rows and their texts."""
    sections: dict[str, list[tuple[str, str]]] = {}
    rows: list[tuple[str, str]] = []
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            rows = sections.setdefault(line[3:], [])
        elif match := re.match(r"- ([A-Z]+-\d+) (.*)", line):
            rows.append((match[1], match[2]))
    return sections


def read_due(lines: list[str]) -> dict[str, str]:
    """Return the due rows, each with the stores that it needs; `both` wins when a row is named twice."""
    due: dict[str, str] = {}
    for row, stores in (line.split() for line in lines if line.strip()):
        due[row] = "both" if "both" in {stores, due.get(row)} else stores
    return due


def ever_due() -> dict[str, str]:
    """Return every row that was due in any version of the file in git's history."""
    log = subprocess.run(["git", "log", "-p", "--format=", "--", str(DUE)], capture_output=True, text=True, check=False)
    return read_due([line[1:] for line in log.stdout.splitlines() if re.match(r"\+[A-Z]+-\d+ (any|both)$", line)])


def read_outcomes(path: Path) -> dict[str, Counts]:
    """Return how often the tests of each row passed, failed or were skipped, on each store."""
    rows: dict[str, Counts] = {}
    for test in json.loads(path.read_text(encoding="utf-8")):
        for row in test["rows"]:
            rows.setdefault(row, {store: Counter() for store in STORES})[test["store"]][test["outcome"]] += 1
    return rows


def read_samples(path: Path) -> Samples:
    """Return how much of each set of cases the tests tried, by set and store."""
    samples: Samples = {}
    for test in json.loads(path.read_text(encoding="utf-8")):
        for each in test.get("samples", ()):
            sample = samples.setdefault(each["what"], {}).setdefault(test["store"], Sample())
            sample.add(each["ran"], each["of"])
            sample.rows |= set(test["rows"])
    return samples


def part_of(row: str, samples: Samples) -> str:
    """Return how much of all cases the sampled tests of a row tried, on all stores, in percent.

    "some" when nobody knows how many cases there are; empty without sampled tests.
    """
    known = [each for stores in samples.values() for each in stores.values() if row in each.rows]
    counted = [(each.ran, each.of) for each in known if each.of]
    if not counted:
        return "some" if known else ""
    return share(sum(ran for ran, _ in counted), sum(of for _, of in counted))


def print_samples(samples: Samples) -> None:
    """Print how much of each set of cases the tests tried."""
    if samples:
        print("sampled in this run, another part in each:")
    for what, stores in sorted(samples.items()):
        parts = ", ".join(f"{store} {sample}" for store, sample in sorted(stores.items()))
        rows = sorted(set().union(*(sample.rows for sample in stores.values())))
        print(f"  {what:<32}{parts:<60}{' '.join(rows)}".rstrip())


def tests_on_one_store(path: Path, due: dict[str, str]) -> Counter[str]:
    """Return how many tests of rows that are due on both stores run on one store only, by folder.

    A test with several parameters counts once.
    """
    names = {
        test["test"].partition("[")[0]
        for test in json.loads(path.read_text(encoding="utf-8"))
        if test["store"] == "any" and any(due.get(row) == "both" for row in test["rows"])
    }
    return Counter(name.split("/")[1] for name in names)


def print_tests_on_one_store(counts: Counter[str]) -> None:
    """Print how many tests of rows that are due on both stores run on one only, by folder, and why."""
    if counts:
        print("tests of rows of both stores that run on one:")
    for folder, count in counts.most_common():
        print(f"  {count:>4} in tests/{folder}: {ONE_STORE.get(folder, 'nobody said why')}")


def why_not_passing(counts: Counts, need: str | None) -> str:
    """Return why a row does not count as passing, as text; empty when it does.

    `need` is `both` or `any` for a row that is due, None for one that is not.
    """
    if failing := sum(count["failed"] for count in counts.values()):
        return f"{failing} failing"
    if need == "both":
        missing = [store for store in ("sqlite", "postgres") if not counts[store]["passed"]]
        return f"no passing test on {' and '.join(missing)}" if missing else ""
    return "" if any(count["passed"] for count in counts.values()) else "no passing test"


def cell(count: Counter[str]) -> str:
    """Return the outcomes of a row's tests on one store, as a cell of the table."""
    if count["failed"]:
        return f"{count['failed']}✗"
    if count["passed"]:
        return f"{count['passed']}✓"
    return f"{count['skipped']}s" if count["skipped"] else "-"


def mark(counts: Counts, need: str | None) -> str:
    """Return the sign for the state of a row; LEGEND explains the signs."""
    why = why_not_passing(counts, need)
    if need:
        return "✗" if why else "✓"
    return "✗" if "failing" in why else "·" if why else "+"


def print_table(
    sections: dict[str, list[tuple[str, str]]], due: dict[str, str], outcomes: dict[str, Counts], samples: Samples
) -> None:
    """Print every row with its outcomes, and the totals."""
    marks: Counter[str] = Counter()
    print(f"\n  {'row':<10}{'due':<6}{'tests':>5}{'sqlite':>8}{'postgres':>10}{'any':>6}{'part':>7}")
    for section, rows in sections.items():
        print(section)
        for row, text in rows:
            counts = outcomes.get(row) or {store: Counter() for store in STORES}
            sign = mark(counts, due.get(row))
            marks[sign] += 1
            tests = sum(count.total() for count in counts.values())
            cells = [cell(counts[store]) for store in STORES]
            line = f"{sign} {row:<10}{due.get(row, '-'):<6}{tests:>5}{cells[0]:>8}{cells[1]:>10}{cells[2]:>6}{part_of(row, samples):>7}"
            print(f"{line}  {text if len(text) <= 60 else text[:57] + '...'}")  # noqa: PLR2004
    print(LEGEND)
    print(
        f"conformance: {sum(marks.values())} rows, {len(due)} due, {marks['✓']} of them passing; {marks['+']} passing early"
    )


def faults(known: set[str], due: dict[str, str], outcomes: dict[str, Counts]) -> list[str]:
    """Return a line for everything that fails the conformance check."""
    nothing: Counts = {store: Counter() for store in STORES}
    wrong = [f"{row} is not a requirement" for row in sorted((set(due) | set(outcomes)) - known)]
    wrong += [
        f"{row} ({need}): {why}"
        for row, need in due.items()
        if (why := why_not_passing(outcomes.get(row, nothing), need))
    ]
    wrong += [
        f"{row} is not due but has failing tests"
        for row, counts in outcomes.items()
        if row not in due and "failing" in why_not_passing(counts, None)
    ]
    wrong += [
        f"{row} {need} was due before and must stay in {DUE}"
        for row, need in ever_due().items()
        if row not in due or (need, due[row]) == ("both", "any")
    ]
    return wrong


def main() -> int:
    """Print the table and the faults; return the exit code."""
    sections = read_rows()
    due = read_due(DUE.read_text(encoding="utf-8").splitlines())
    path = Path(sys.argv[1])
    outcomes = read_outcomes(path) if path.exists() else {}
    samples = read_samples(path) if path.exists() else {}
    print_table(sections, due, outcomes, samples)
    print_samples(samples)
    print_tests_on_one_store(tests_on_one_store(path, due) if path.exists() else Counter())
    wrong = faults({row for rows in sections.values() for row, _ in rows}, due, outcomes)
    for fault in wrong:
        print(f"✗ {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

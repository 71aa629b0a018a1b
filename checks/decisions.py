"""Fail when a module reads a state, a task's status or a life itself more often than recorded, or SQL sets a state to other than a parameter.

`model/dispatch/remedies.py` decides what happens to a dispatch, from the facts that `verbs/dispatch/facts.py` gathers. Other
code uses the predicates of `model/dispatch/steps.py` (`is_unfinished`, …) and of Claim (`is_live`), and hands states on to
functions of model/. checks/decisions.txt lists the exceptions, each with its number of reads and the reason. A number that
has fallen is lowered there, and never rises again: git's history is asked. A new file may take over reads that other
files had; then the total shows whether there are more of them. The statuses of tasks have entries of their own,
`FILE:status`, and their own total.

python checks/decisions.py             count and compare
python checks/decisions.py --record    lower the numbers in checks/decisions.txt to those that are counted
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from deciding.known_types import read_types
from deciding.reads import count_reads
from deciding.updates import states_set

SOURCE = Path("src/fleet")
FOLDERS = ("verbs", "api", "store", "resources")
GENERATED = SOURCE / "store" / "queries"
RECORD = Path(__file__).with_suffix(".txt")
TOTAL = "total"
# What the reads of a task's status are recorded under, after the name of their file, and after TOTAL.
STATUSES = ":status"
_LINE = re.compile(r"([+]?)(\S+) +(\d+)(?: +(.*))?")

Entries = dict[str, tuple[int, str]]


def count_modules() -> dict[str, Counter[str]]:
    """Return how often each file reads each state itself, or sets each state to something other than a parameter.

    Its reads of a task's status are apart, under `FILE:status`.
    """
    types = read_types([SOURCE])
    counts = {}
    for path in sorted(path for folder in FOLDERS for path in (SOURCE / folder).rglob("*.py")):
        if path.parent != GENERATED:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            name, reads = str(path.relative_to(SOURCE)), count_reads(tree, types)
            counts[name + STATUSES] = Counter(status=reads.pop("status", 0))
            counts[name] = reads
    for path in sorted(SOURCE.rglob("*.sql")):
        if "migrations" not in path.parts:
            counts[str(path.relative_to(SOURCE))] = Counter(states_set(path.read_text(encoding="utf-8")))
    return counts


def read_entries(text: str) -> Entries:
    """Return the recorded number of each file, and the reason for it; also the totals."""
    lines = (_LINE.fullmatch(line) for line in text.splitlines() if not line.startswith("#"))
    return {match[2]: (int(match[3]), match[4] or "") for match in lines if match}


def lowest_ever() -> dict[str, int]:
    """Return the lowest number that git's history has of each file in the record; empty where there is no history."""
    log = subprocess.run(
        ["git", "log", "-p", "--format=", "--", str(RECORD)],
        capture_output=True,
        text=True,
        check=False,
        cwd=RECORD.parent,
    )
    lowest: dict[str, int] = {}
    for line in log.stdout.splitlines():
        match = _LINE.fullmatch(line)
        if match and match[1] and not line.startswith("+++"):
            lowest[match[2]] = min(int(match[3]), lowest.get(match[2], int(match[3])))
    return lowest


def faults_of(counts: dict[str, Counter[str]], known: Entries, lowest: dict[str, int]) -> list[str]:
    """Return what is wrong: with the counts against the record, and with the record against its own history."""
    faults = []
    for name, reads in sorted(counts.items()):
        number, (allowed, _reason) = reads.total(), known.get(name, (0, ""))
        words = ", ".join(f"{each} {times} times" for each, times in sorted(reads.items()))
        if number > allowed:
            instead = "take the state from its step table" if name.endswith(".sql") else "use `decide` of remedies.py, or a predicate of steps.py or fence.py"  # fmt: skip
            faults.append(f"{name} has {words}; {allowed} are allowed: {instead}")
        elif number < allowed:
            faults.append(f"{name} has {number} of {allowed}: record that with `python checks/decisions.py --record`")
    totals = totals_of(known)
    faults += [f"{name} is recorded and does not exist" for name in known if name not in counts and name not in totals]
    for name, total in totals.items():
        if known.get(name, (total, ""))[0] != total:
            faults.append(f"the {name} is {total}, and {known[name][0]} is recorded")
    faults += [
        f"{name} is recorded with {number}, and had {lowest[name]} once: the number may only fall"
        for name, (number, _reason) in sorted(known.items())
        if number > lowest.get(name, number)
    ]
    faults += [f"{name} is recorded without a reason" for name, (_number, reason) in known.items() if not reason]
    return faults


def totals_of(known: Entries) -> dict[str, int]:
    """Return the two totals of a record by their names: of the states of dispatches, claims and jobs, and of tasks' statuses."""
    totals = {TOTAL: 0, TOTAL + STATUSES: 0}
    for name, (number, _reason) in known.items():
        if name not in totals:
            totals[TOTAL + STATUSES if name.endswith(STATUSES) else TOTAL] += number
    return totals


def record(counts: dict[str, Counter[str]], known: Entries) -> Entries:
    """Write the numbers that have fallen into the record, without those that are 0, and return it."""
    kept = {name: (min(number, counts[name].total()), why) for name, (number, why) in known.items() if name in counts}
    lowered: Entries = {name: each for name, each in sorted(kept.items()) if each[0]}
    lowered |= {name: (total, "of all files; it may only fall, too") for name, total in totals_of(lowered).items()}
    head = [line for line in RECORD.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    rows = [f"{name:<40} {number:>3}  {why}" for name, (number, why) in lowered.items()]
    RECORD.write_text("\n".join([*head, *rows, ""]), encoding="utf-8")
    return lowered


def main() -> int:
    """Print the faults; with --record lower the recorded numbers before; return the exit code."""
    counts, known = count_modules(), read_entries(RECORD.read_text(encoding="utf-8"))
    if "--record" in sys.argv:
        known = record(counts, known)
    faults = faults_of(counts, known, lowest_ever())
    print(*faults, sep="\n", end="\n" if faults else "")
    total = sum(reads.total() for reads in counts.values())
    print(
        f"decisions: {total} reads of states in {sum(reads.total() > 0 for reads in counts.values())} files, {len(faults)} faults"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

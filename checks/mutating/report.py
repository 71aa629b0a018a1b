"""Print the progress of the trials and their verdicts."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mutating.trial import Verdict

_BAR = 30
# The kinds of verdicts that fail a whole run; CI's part has its own (part.py).
FAILING = frozenset({"survived", "misnamed", "hang", "unrun", "unsound", "unfit"})


class Progress:
    """Show the progress as a bar on a terminal, or as a line for each mutant elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.failing = total, 0, 0
        self.is_terminal = sys.stdout.isatty()

    def start(self, kept: list[Verdict]) -> None:
        """Count the verdicts of earlier runs as done, and print how many there are."""
        self.done += len(kept)
        if kept:
            print(f"mutants: {len(kept)} of {self.total} were caught by earlier runs and have not changed", flush=True)

    def show(self, verdict: Verdict) -> None:
        """Show the verdict on one more mutant."""
        self.done += 1
        self.failing += verdict.kind in FAILING
        if not self.is_terminal or verdict.kind in FAILING:
            clear = "\r\x1b[K" if self.is_terminal else ""
            print(f"{clear}{line_of(verdict)}", flush=True)
        if self.is_terminal:
            full = _BAR * self.done // self.total
            bar = "█" * full + "░" * (_BAR - full)
            end = "\n" if self.done == self.total else ""
            print(f"\r\x1b[K{bar} {self.done}/{self.total}, {self.failing} not caught", end=end, flush=True)


def line_of(verdict: Verdict) -> str:
    """Return the line that shows a verdict."""
    mutant, by = verdict.mutant, " | ".join(dict.fromkeys(verdict.by.values()))
    sign = "✓" if verdict.kind == "caught" else "✗" if verdict.kind in FAILING else "·"
    said = by if verdict.kind == "caught" else f"{verdict.kind}: {verdict.words}"
    return f"{sign} {mutant.row:<9}{mutant.name[:70]:<72}{verdict.seconds:>6.1f} s  {said}"


def print_table(verdicts: list[Verdict]) -> None:
    """Print a line for each mutant, by row, and the totals."""
    print("\n  row      mutant" + " " * 65 + "seconds  caught by")
    for verdict in sorted(verdicts, key=lambda each: (each.mutant.row.split("-")[0], each.mutant.row)):
        print(line_of(verdict))
    kinds = Counter(verdict.kind for verdict in verdicts)
    rows = {verdict.mutant.row for verdict in verdicts}
    others = "".join(f", {count} {kind}" for kind, count in kinds.items() if kind != "caught")
    print(f"mutants: {len(verdicts)} of {len(rows)} rows, {kinds['caught']} caught{others}")


def print_uncaught(verdicts: list[Verdict]) -> None:
    """Print the verdicts that fail the run, last of all: the end of a long output is what people see of it."""
    for verdict in verdicts:
        print(f"mutants: not caught: {verdict.mutant.area}.toml: {line_of(verdict)}")


def write_json(verdicts: list[Verdict], path: Path) -> None:
    """Write the verdicts to a file."""
    rows = [
        {
            "row": verdict.mutant.row,
            "mutant": verdict.mutant.name,
            "kind": verdict.kind,
            "by": verdict.by,
            "seconds": round(verdict.seconds, 1),
            "words": verdict.words,
        }
        for verdict in verdicts
    ]
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")

"""Plain text tables whose rows can have a target and a mark."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A limit for a value: the largest that it may be, or with `at_least` the smallest."""

    limit: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        """Return whether the value is within the limit."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        """Return the target as the table shows it."""
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"


def at_most(limit: float) -> Target:
    """Return a target that a value meets when it is not larger than this."""
    return Target(limit=limit)


def at_least(limit: float) -> Target:
    """Return a target that a value meets when it is not smaller than this."""
    return Target(limit=limit, at_least=True)


@dataclass(slots=True)
class Table:
    """Rows under a title; the last two columns are the target and the mark (ok or MISS)."""

    title: str
    columns: tuple[str, ...]
    notes: list[str] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: str, judged: float | None = None, target: Target | None = None) -> None:
        """Add a row; with a target, compare the judged value with it, mark the row, and note a miss in `misses`."""
        if target is None or judged is None:
            self.rows.append((*cells, "", ""))
            return
        met = target.met(judged)
        self.rows.append((*cells, str(target), "ok" if met else "MISS"))
        if not met:
            self.misses.append(f"{self.title}: {cells[0]} is {judged:.2f}, target {target}")

    def __str__(self) -> str:
        """Return the whole table as text."""
        head = (*self.columns, "target", "")
        widths = [max(len(row[place]) for row in [head, *self.rows]) for place in range(len(head))]
        lines = [self.title, *(f"  {note}" for note in self.notes), "  " + _line(head, widths)]
        lines += ["  " + "  ".join("-" * width for width in widths[:-1])]
        lines += ["  " + _line(row, widths) for row in self.rows]
        return "\n".join(line.rstrip() for line in lines) + "\n"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    """Return a row as text: the first and the last column left-aligned, the others right-aligned."""
    first, *middle, last = zip(cells, widths, strict=True)
    right = [cell.rjust(width) for cell, width in middle]
    return "  ".join([first[0].ljust(first[1]), *right, last[0].ljust(last[1])])


def ms(seconds: float) -> str:
    """Return seconds as milliseconds: with one decimal from 10 ms on, with two from 1 ms on, else with three."""
    value = seconds * 1000
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def times(ratio: float) -> str:
    """Return a ratio as text."""
    return f"{ratio:.2f}"


def percent(part: float) -> str:
    """Return a part of a whole as text, in percent."""
    return f"{part:.0%}"

"""Plain text tables with a target and a mark."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a ratio should be."""

    limit: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        """Whether the value is within the limit."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        """The target as it stands in the table."""
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"


def at_most(limit: float) -> Target:
    """No more than this."""
    return Target(limit=limit)


def at_least(limit: float) -> Target:
    """No less than this."""
    return Target(limit=limit, at_least=True)


@dataclass(slots=True)
class Table:
    """Rows under a title; the last two columns are the target and the mark."""

    title: str
    columns: tuple[str, ...]
    notes: list[str] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: str, judged: float | None = None, target: Target | None = None) -> None:
        """A row; with a target, the judged value is measured against it."""
        if target is None or judged is None:
            self.rows.append((*cells, "", ""))
            return
        met = target.met(judged)
        self.rows.append((*cells, str(target), "ok" if met else "MISS"))
        if not met:
            self.misses.append(f"{self.title}: {cells[0]} is {judged:.2f}, target {target}")

    def __str__(self) -> str:
        """The whole table."""
        head = (*self.columns, "target", "")
        widths = [max(len(row[place]) for row in [head, *self.rows]) for place in range(len(head))]
        lines = [self.title, *(f"  {note}" for note in self.notes), "  " + _line(head, widths)]
        lines += ["  " + "  ".join("-" * width for width in widths[:-1])]
        lines += ["  " + _line(row, widths) for row in self.rows]
        return "\n".join(line.rstrip() for line in lines) + "\n"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    """The first and the last column to the left, numbers to the right."""
    first, *middle, last = zip(cells, widths, strict=True)
    right = [cell.rjust(width) for cell, width in middle]
    return "  ".join([first[0].ljust(first[1]), *right, last[0].ljust(last[1])])


def ms(seconds: float) -> str:
    """Milliseconds with as many digits as mean something."""
    value = seconds * 1000
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def times(ratio: float) -> str:
    """A ratio."""
    return f"{ratio:.2f}"


def percent(part: float) -> str:
    """A part of the whole."""
    return f"{part:.0%}"

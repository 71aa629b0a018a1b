"""Sweep at intervals: report what dispatches left behind; release it when the setting `daemon_sweep` is "act"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.surfaces.daemon.duties.duty import Duty

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.model.results.home import Swept

# Seconds between two sweeps.
_EVERY = 600.0


class Sweeping(Duty):
    """Duty that sweeps every ten minutes. With `daemon_sweep = "report"`, the default, it releases nothing."""

    name = "sweep"
    every = _EVERY
    apart = _EVERY
    delay = 30.0

    def __init__(self) -> None:
        # How many findings of the last sweep a person has to look at, and how many wait to be released.
        self._standing = 0
        self._waiting = 0
        # The lines about the findings of the last sweep.
        self._before: frozenset[str] = frozenset()

    def run(self, fleet: Fleet) -> list[str]:
        """Sweep once. Returns a line for the daemon's log about each finding that the previous sweep did not have."""
        acts = fleet.settings.read()["daemon_sweep"].value == "act"
        findings = fleet.sweep.run(kill=acts)
        self._standing = sum(1 for each in findings if each.standing)
        self._waiting = 0 if acts else len(findings) - self._standing
        lines = {_line(each) for each in findings}
        before, self._before = self._before, frozenset(lines)
        return sorted(lines - before)

    def remark(self) -> str | None:
        """Return how many findings a person should look at or release; None when there are none."""
        parts = [f"{self._standing} to look at"] if self._standing else []
        parts += [f"{self._waiting} to release"] if self._waiting else []
        return f"{', '.join(parts)}: `fleet clean` shows them" if parts else None


def _line(finding: Swept) -> str:
    """Return a finding of a sweep as one line for the daemon's log."""
    return f"{finding.what}: {finding.why} ({finding.proof}): {finding.action}"

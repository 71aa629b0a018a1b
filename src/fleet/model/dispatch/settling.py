"""How a dispatch ends: its report or exit weighed. Pure; the death was proven before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model.states import assert_never

if TYPE_CHECKING:
    from fleet.model.states import AskedFor, Report

INTERRUPTED = "interrupted"
STOPPED = "stopped"
HANDED_OFF = "handed off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of a dispatch whose process is dead."""

    launched: bool
    report: Report | None = None
    report_reason: str | None = None
    exit_status: int | None = None
    asked_for: AskedFor | None = None
    asked_reason: str | None = None
    other_boot: bool = False
    work: bool = False
    why_not_launched: str = "it was never launched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is committed."""

    exec_state: Report
    reason: str | None = None

    @property
    def handed_off(self) -> bool:
        """It made way for a successor: its task goes on."""
        return self.reason == HANDED_OFF and self.exec_state == "blocked"


def outcome(seen: Evidence) -> Outcome:
    """The report if there is one; else what was asked of it; else how it exited and what it left behind."""
    if not seen.launched:
        return Outcome(exec_state="failed", reason=seen.asked_reason or seen.why_not_launched)
    if seen.report is not None:
        return Outcome(exec_state=seen.report, reason=seen.report_reason)
    return _outcome_by_request(seen) or _outcome_by_exit(seen)


def _outcome_by_request(seen: Evidence) -> Outcome | None:
    """An exit after we asked is evidence of nothing: what was asked for decides."""
    match seen.asked_for:
        case "kill" | "superseded":
            return Outcome(exec_state="failed", reason=seen.asked_reason or seen.asked_for)
        case "replaced":
            return Outcome(exec_state="done", reason=seen.asked_reason)
        case "handoff":
            return Outcome(exec_state="blocked", reason=HANDED_OFF)
        case "stop":
            return Outcome(exec_state="blocked", reason=STOPPED)
        case "report" | None:
            return None
        case _:
            return assert_never(seen.asked_for)


def _outcome_by_exit(seen: Evidence) -> Outcome:
    if seen.exit_status is None:
        why = INTERRUPTED if seen.other_boot else f"{INTERRUPTED}: it died without leaving an exit status"
        return Outcome(exec_state="blocked", reason=why)
    if seen.exit_status != 0:
        return Outcome(exec_state="failed", reason=f"exit status {seen.exit_status}, without a report")
    if seen.work:
        return Outcome(exec_state="done", reason=None)
    return Outcome(exec_state="blocked", reason="exited without report")

"""Decide how a dead dispatch ends (done, failed or blocked) from its report, the requested exit and its exit status.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model.dispatch.steps import HANDED_OFF, INTERRUPTED, STOPPED
from fleet.model.states import assert_never

if TYPE_CHECKING:
    from fleet.model.states import AskedFor, ReportState


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about a dispatch whose process is dead.

    None in a field means that there was no report, exit status or request. `other_boot`: it ran before the last boot.
    `work`: it left commits or artifacts.
    """

    launched: bool
    report: ReportState | None = None
    report_reason: str | None = None
    exit_status: int | None = None
    asked_for: AskedFor | None = None
    asked_reason: str | None = None
    other_boot: bool = False
    work: bool = False
    why_not_launched: str = "it was never launched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The state in which a dispatch ends (done, failed or blocked), and the reason."""

    exec_state: ReportState
    reason: str | None = None

    @property
    def handed_off(self) -> bool:
        """Return whether the dispatch ended for a handoff, so that a successor continues its task."""
        return self.reason == HANDED_OFF and self.exec_state == "blocked"


def outcome(seen: Evidence) -> Outcome:
    """Return the state in which a dead dispatch ends, and the reason.

    A dispatch that was never launched has failed. Otherwise its report decides; without a report, the exit that fleet
    requested; without that, its exit status and whether it left work.
    """
    if not seen.launched:
        return Outcome(exec_state="failed", reason=seen.asked_reason or seen.why_not_launched)
    if seen.report is not None:
        return Outcome(exec_state=seen.report, reason=seen.report_reason)
    return _outcome_by_request(seen) or _outcome_by_exit(seen)


def _outcome_by_request(seen: Evidence) -> Outcome | None:
    """Return the outcome if fleet asked the agent to exit; its exit status does not matter then.

    None when fleet did not ask, or asked only because of the agent's report.
    """
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
    """Return the outcome by the exit status: with 0, done if there is work, else blocked; with any other, failed.

    Blocked also without an exit status: then the dispatch was interrupted.
    """
    if seen.exit_status is None:
        why = INTERRUPTED if seen.other_boot else f"{INTERRUPTED}: it died without leaving an exit status"
        return Outcome(exec_state="blocked", reason=why)
    if seen.exit_status != 0:
        return Outcome(exec_state="failed", reason=f"exit status {seen.exit_status}, without a report")
    if seen.work:
        return Outcome(exec_state="done", reason=None)
    return Outcome(exec_state="blocked", reason="exited without report")

"""Resume the dispatches that a reboot interrupted, once for each boot, when the setting `resume_on_boot` is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.surfaces.daemon.duties.duty import Duty, DutyOver

if TYPE_CHECKING:
    from threading import Event

    from fleet.api.fleet import Fleet

# Seconds between rounds without news.
_LOOK = 30.0


class ResumeOnBoot(Duty):
    """Duty that resumes the dispatches and jobs that a reboot of the machine interrupted, within the limits.

    What exceeds the limits is resumed as other agents end. The duty ends when nothing is left to resume, or when the
    setting `resume_on_boot` is false.
    """

    name = "resume after a reboot"
    every = _LOOK
    on_change = True
    apart = 15.0

    def __init__(self, has_run: Event) -> None:
        self._has_run = has_run
        # What `run` has logged about the dispatches that waited after the last round.
        self._waiting: list[str] = []

    def run(self, fleet: Fleet) -> list[str]:
        """Resume what a reboot interrupted, as far as the limits allow, then set `has_run`, also after an error.

        Returns a line for the daemon's log about each dispatch or job that was resumed, and about each dispatch that has
        to wait, unless the previous round has returned the same line. Raises DutyOver when an earlier round has left
        nothing to resume, or when the setting `resume_on_boot` is false.
        """
        try:
            return self._resume(fleet)
        finally:
            self._has_run.set()

    def _resume(self, fleet: Fleet) -> list[str]:
        """Resume what a reboot interrupted, as far as the limits allow. Returns and raises what `run` does."""
        if not fleet.settings.read()["resume_on_boot"].value:
            raise DutyOver("resume_on_boot is false; `fleet resume --all` resumes what a reboot interrupted")
        many = fleet.dispatches.resume_after_boot()
        if many is None:
            raise DutyOver("what the last reboot interrupted was resumed before")
        lines = [f"resumed {each.predecessor} as {each.id}" for each in many.resumed]
        lines += [f"resumed job {ident}" for ident in many.jobs]
        waiting = [f"{each.id} waits: {each.why}" for each in many.waiting]
        lines += [line for line in waiting if line not in self._waiting]
        self._waiting = waiting
        return lines

    def remark(self) -> str | None:
        """Return which dispatches still wait to be resumed, and why; None when none does."""
        return "; ".join(self._waiting) or None

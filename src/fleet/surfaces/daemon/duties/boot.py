"""Resume what a reboot interrupted, once a boot, where the setting `resume_on_boot` says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.surfaces.daemon.duties.duty import Duty, DutyOver

if TYPE_CHECKING:
    from threading import Event

    from fleet.api.fleet import Fleet

_LOOK = 30.0


class ResumeOnBoot(Duty):
    """Resume everything that was lost with an earlier boot of the machine, within the limits.

    What does not fit into the limits is resumed as others end. The duty is over when nothing of that waits, or when the
    setting says that a person resumes.
    """

    name = "resume after a reboot"
    every = _LOOK
    on_change = True
    apart = 15.0

    def __init__(self, has_run: Event) -> None:
        self._has_run = has_run
        self._waiting: list[str] = []

    def run(self, fleet: Fleet) -> list[str]:
        """Resume what can be resumed now. Return one line for each."""
        try:
            return self._resume(fleet)
        finally:
            self._has_run.set()

    def _resume(self, fleet: Fleet) -> list[str]:
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
        """Return what waits to be resumed."""
        return "; ".join(self._waiting) or None

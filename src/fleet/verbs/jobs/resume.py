"""Resume a job: what is unfinished goes on, what is done stays done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.verbs.homes.ownership import refuse_foreign
from fleet.verbs.jobs import records
from fleet.verbs.jobs.begin import gate_of
from fleet.verbs.jobs.run import carry_on
from fleet.verbs.resume.work_lock import taken_to_resume

if TYPE_CHECKING:
    from fleet.verbs.context import Ground
    from fleet.verbs.jobs.progress import Tell
    from fleet.verbs.jobs.run import Wish


def resume_job(ground: Ground, ident: str, tell: Tell, wanted: Wish, *, force: bool = False) -> dict[str, Any]:
    """Take a job up where it was left, behind its gate; with force, whoever holds that is stopped first."""
    refuse_foreign(ground, f"job {ident}", ground.store.read(lambda rows: records.job_of(rows, ident)))
    gate = gate_of(ground, ident)
    stopped = taken_to_resume(ground, gate, ident, force=force)
    try:
        return carry_on(ground, ident, tell, wanted) | {"stopped": str(stopped) if stopped else None}
    finally:
        gate.give()

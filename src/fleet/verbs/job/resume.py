"""Resume a job: what is unfinished goes on, what is done stays done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.verbs.holding import taken_to_resume
from fleet.verbs.job import book
from fleet.verbs.job.begin import gate_of
from fleet.verbs.job.run import carry_on
from fleet.verbs.ownership import refuse_foreign

if TYPE_CHECKING:
    from fleet.verbs.ground import Ground
    from fleet.verbs.job.run import Wish
    from fleet.verbs.job.telling import Tell


def resume_job(ground: Ground, ident: str, tell: Tell, wanted: Wish, *, force: bool = False) -> dict[str, Any]:
    """Take a job up where it was left, behind its gate; with force, whoever holds that is stopped first."""
    refuse_foreign(ground, f"job {ident}", ground.store.read(lambda rows: book.job_of(rows, ident)))
    gate = gate_of(ground, ident)
    stopped = taken_to_resume(ground, gate, ident, force=force)
    try:
        return carry_on(ground, ident, tell, wanted) | {"stopped": str(stopped) if stopped else None}
    finally:
        gate.give()

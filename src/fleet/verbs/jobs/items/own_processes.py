"""Claim the processes that a job's runner starts itself: the input's command, and steps in the shared checkout.

The claim is recorded before the first process starts, and released when no process remains. So a runner that is killed
leaves a claim that says what may still run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors.families import Contested
from fleet.model.dispatch.claim import Claim
from fleet.model.text import jsontext
from fleet.resources import KINDS
from fleet.resources.job_process import (
    JobProcess,
    end_processes,
    job_lock,
    left_processes,
    life_of_runner,
    runner_of,
)
from fleet.resources.kind import Order
from fleet.store import queries as q
from fleet.store.bundles import add_claim
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import create_and_record, intent, release
from fleet.verbs.homes.ownership import is_own
from fleet.world.home import paths
from fleet.world.process.job_commands import CommandEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fleet.store.queries import Job
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

# Seconds: the first pause between two looks at a command, the longest (each is twice the one before), and the least
# time between two records of the processes.
_FIRST_LOOK = 0.004
_LAST_LOOK = 0.15
_BETWEEN_NOTES = 1.0


class OwnProcesses:
    """The processes that one runner starts itself. They inherit the open descriptor of a lock that the runner holds."""

    def __init__(self, context: Context, job: Job) -> None:
        self._context = context
        self._job = job
        self._lock = job_lock(job.id, context.world)
        self._handle = -1
        self._claim: Claim | None = None
        self._recorded: dict[str, str] = {}
        self._recorded_at = 0.0

    def take(self) -> int:
        """Claim the processes and take their lock; return the lock's file descriptor. Safe to repeat.

        Raises Contested when processes of an earlier runner still hold the lock.
        """
        if self._handle < 0:
            self._claim = self._claim or self._make_claim()
            try:
                self._handle = self._lock.take()
            except BlockingIOError:
                raise Contested(what=f"processes of job {self._job.id} still run, and hold {self._lock.path}") from None
        return self._handle

    def _make_claim(self) -> Claim:
        """Record the intent and acquire the claim on the runner's processes."""
        job, kind = self._job.id, KINDS[JobProcess.name]
        order = Order(dispatch="", project=self._job.project, slug=None, repository="", job=job)
        claim = intent(self._context, kind, order)
        self._context.commit(_add_intent(claim))
        create_and_record(self._context, [claim], order)
        self._recorded, self._recorded_at = {}, 0.0
        return claim

    def run(self, effect: str, words: Sequence[str], *, env: Mapping[str, str], cwd: str, files: tuple[str, str], limit: float,
            check_wanted: Callable[[], None]) -> CommandEnd:  # fmt: skip
        """Run one command to its end and return how it ended. A command that could not be started has ended, too.

        `words` are the command, `env` and `cwd` its environment and folder. `effect` names the command for those who
        watch effects, `files` are the paths for its output and its error output, and `limit` is in seconds. When
        `check_wanted` raises an error, or the runner is interrupted, kill the command and pass the error on.
        """
        output, errors = files
        lock, world = self.take(), self._context.world
        try:
            child = world.job_commands.start(
                effect, words, env=env, cwd=cwd, output=output, errors=errors, limit=limit, inherited=(lock,)
            )
        except OSError as error:  # one of the files cannot be opened
            return CommandEnd(status=None, why=f"{error.filename or output}: {str(error.strerror).lower()}")
        if isinstance(child, CommandEnd):
            return child
        wait = _FIRST_LOOK
        try:
            self._record({"input": child.pid})
            while (ended := child.look()) is None:
                check_wanted()
                world.clock.wait(wait)
                wait = min(2 * wait, _LAST_LOOK)
        except BaseException:
            child.kill()
            raise
        return ended

    def note(self, at_work: Mapping[str, int]) -> None:
        """Record the pid of the process that works on each item, if that has changed, at most once a second."""
        now = self._context.world.clock.ticks()
        if now - self._recorded_at >= _BETWEEN_NOTES:
            self._recorded_at = now
            self._record(at_work)

    def _record(self, at_work: Mapping[str, int]) -> None:
        """Record in the runner's claim the identities of these processes (pids by item), if they have changed."""
        whom = {item: self._context.world.processes.identify(pid) for item, pid in at_work.items()}
        processes = {item: str(who) for item, who in whom.items() if who is not None}
        if self._claim is not None and processes != self._recorded:
            self._context.commit(_record_processes(self._claim, processes))
            self._recorded = processes

    def release(self) -> list[str]:
        """Kill the runner's processes and release their claim. Safe when nothing was claimed.

        Returns why the claim could not be released, as a list of one; [] when it was.
        """
        self._lock.give()
        self._handle = -1
        claim = self._claim
        if claim is None:
            return []
        row = self._context.store.read(lambda rows: q.claim_by_id(rows, id=claim.id))
        left = release(self._context, Claim.of(row)) if row is not None else ""
        if not left:
            self._claim = None
        return [left] if left else []


def _add_intent(claim: Claim) -> Change[None]:
    """Return the change that records the claim on a runner's processes."""

    def work(tx: Tx) -> None:
        tx.about(claim.project or "")
        add_claim(tx, claim)
        tx.note(job=claim.job, claim=str(claim))

    return Change(f"job {claim.job}: claim the processes of its runner", work)


def _record_processes(claim: Claim, processes: dict[str, str]) -> Change[None]:
    """Return the change that records in a runner's claim which process works on which item."""
    data = jsontext.dumps(claim.data | {"processes": processes})

    def work(tx: Tx) -> None:
        tx.about(claim.project or "")
        tx.note(job=claim.job, processes=processes)
        q.set_claim_data(tx, id=claim.id, data=data, at=tx.at)

    return Change(f"job {claim.job}: record {len(processes)} processes", work)


def open_claims(context: Context, job: str) -> list[Claim]:
    """Return the claims of a job's runners that are not released."""
    return [Claim.of(row) for row in context.store.read(lambda rows: q.open_claims_of_job(rows, job=job))]


def end_leftovers(context: Context, job: str) -> None:
    """End the processes of dead runners and release their claims. The caller holds the job's gate.

    Raises Contested when a process cannot be ended, or when a runner of this home lives without the gate; OtherHost
    when another home or host has to end the processes.
    """
    for claim in open_claims(context, job):
        _refuse_living_runner(context, claim)
        left = release(context, claim)
        if left:
            whom = ", ".join(str(who.pid) for who in left_processes(claim, context.world))
            raise Contested(what=f"{left} (processes {whom}); end them yourself" if whom else left)
    end_processes(_unrecorded_claim(context, job), context.world)  # an older fleet made no claims


def _refuse_living_runner(context: Context, claim: Claim) -> None:
    """Raise Contested when this home's runner that made the claim is alive."""
    runner = runner_of(claim)
    if is_own(context, claim) and life_of_runner(claim, context.world) == "alive":
        raise Contested(
            what=f"process {runner.pid if runner else '?'} runs job {claim.job}, and does not hold its gate"
        )


def _unrecorded_claim(context: Context, job: str) -> Claim:
    """Return a claim that is not in the store: with it, a job's processes can be found by their mark and lock."""
    return Claim(id="", kind=JobProcess.name, name=paths.job_lock(job), host=context.world.host.id, job=job)

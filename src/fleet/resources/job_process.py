"""job_process: the processes that a job's runner starts itself: the input command, and steps that run in one checkout.

One claim covers all of them, from before the first is started until none is left. Three proofs find them: the job's
mark in their environment, the lock that they inherit from the runner, and the identities that the runner recorded. Only
their own runner ends them, or any process after that runner is proven dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.model.identity import Identity
from fleet.world.files.locks import FileLock
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.model.identity import Life
    from fleet.resources.kind import Order
    from fleet.world.world import World

# Seconds: how long the killed processes may take to end, and the pause between two looks at them.
_PATIENCE = 10.0
_LOOK_AGAIN = 0.05


class JobProcess:
    """All processes that one runner of a job has started."""

    name = "job_process"
    klass = "exclusive"
    by_program = False

    def name_for(self, order: Order, _world: World) -> str:
        """Return the path, relative to the home, of the lock file that the processes inherit."""
        return paths.job_lock(order.job)

    def data_for(self, _order: Order, world: World) -> dict[str, Any]:
        """Return the identity of the runner, and an empty table for the processes that it will record by item."""
        return {"runner": str(world.processes.me()), "processes": {}}

    def look(self, claim: Claim, world: World) -> Look:
        """Return `ours` while the runner lives, or when it is dead and a process that it started lives.

        `unknown` while a process that is not visible here holds the lock, or when processes are left and it is unknown
        whether the runner lives. Else `absent`. The runner counts as dead when it asks about its own processes.
        """
        runner = life_of_runner(claim, world)
        if runner == "alive":
            return "ours"
        if left_processes(claim, world):
            return "ours" if runner == "dead" else "unknown"
        return "absent" if job_lock(claim.job or "", world).is_free() else "unknown"

    def acquire(self, claim: Claim, order: Order, world: World, _lock: int) -> None:
        """Create the lock file; raise Contested when a process holds the lock. The runner takes the lock afterwards."""
        lock = job_lock(order.job, world)
        try:
            world.funnel.through(f"make {self.name} lock", lock.take)
        except BlockingIOError:
            raise errors.Contested(what=f"processes of job {claim.job} still run, and hold {lock.path}") from None
        finally:
            lock.give()

    def release(self, claim: Claim, world: World, _lock: int) -> None:
        """Kill all processes of the job that are left.

        Raise Contested when the runner is neither proven dead nor the calling process, or when a process does not die.
        """
        if life_of_runner(claim, world) != "dead":
            raise errors.Contested(what=f"the runner of job {claim.job} is not proven dead")
        end_processes(claim, world)


def job_lock(job: str, world: World) -> FileLock:
    """Return the lock of a job. While it is held, the runner or a process that it started is alive."""
    return FileLock(f"{world.home}/{paths.job_lock(job)}", home=world.home)


def runner_of(claim: Claim) -> Identity | None:
    """Return the runner that started the claim's processes; None when the claim does not name one."""
    return Identity.parse(str(claim.data.get("runner", "")))


def life_of_runner(claim: Claim, world: World) -> Life:
    """Return whether the runner is alive, dead or unknown.

    "dead" also when the runner itself asks, because it may end its own processes.
    """
    runner = runner_of(claim)
    return "dead" if runner == world.processes.me() else world.processes.life(runner)


def recorded_processes(claim: Claim) -> dict[str, Identity]:
    """Return the processes that the runner recorded, by item; the input command is recorded under `input`."""
    known = {item: Identity.parse(str(text)) for item, text in claim.data.get("processes", {}).items()}
    return {item: who for item, who in known.items() if who is not None}


def left_processes(claim: Claim, world: World) -> list[Identity]:
    """Return the living processes of a job, descendants first, without the runner and the calling process.

    A process belongs to the job if it has the job's mark or lock, if the runner recorded it, or if it descends from such a
    process.
    """
    processes = world.processes
    roots = [who for who in recorded_processes(claim).values() if processes.life(who) == "alive"]
    roots += processes.of_job(claim.job or "")
    lock = job_lock(claim.job or "", world)
    roots += [] if lock.is_free() else processes.inheriting(lock.path)
    families = processes.families(roots) if roots else []
    return [who for who in families if who != runner_of(claim) and processes.life(who) == "alive"]


def end_processes(claim: Claim, world: World) -> None:
    """Kill the job's processes until none is left and the lock is free.

    Raise Contested, with the pids of the processes that are left, when that takes longer than ten seconds.
    """
    lock, until = job_lock(claim.job or "", world), world.clock.ticks() + _PATIENCE
    while True:
        left = left_processes(claim, world)
        if not left and lock.is_free():
            return
        if world.clock.ticks() >= until:
            who = (
                ", ".join(f"process {process.pid}" for process in left) or f"an unknown process that holds {lock.path}"
            )
            raise errors.Contested(what=f"what a dead runner of job {claim.job} started still runs: {who}")
        world.processes.kill_all(left)
        world.clock.wait(_LOOK_AGAIN)

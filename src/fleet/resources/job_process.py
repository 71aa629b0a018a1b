"""job_process: the processes that a job's runner starts itself: the command of the input, and steps in one checkout.

One claim covers all of them, from before the first is started until none is left. They are found by three proofs: the job's mark
in their environment, the lock that they inherit from the runner, and the identities that the runner recorded. They are ended by
their own runner, or when that runner is proven dead.
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

_PATIENCE = 10.0
_LOOK_AGAIN = 0.05


class JobProcess:
    """What one runner of a job has started."""

    name = "job_process"
    klass = "exclusive"
    by_program = False

    def name_for(self, order: Order, _world: World) -> str:
        """The lock that the processes inherit, below the home."""
        return paths.job_lock(order.job)

    def data_for(self, _order: Order, world: World) -> dict[str, Any]:
        """Who the runner is, and who is known to have been started, by item."""
        return {"runner": str(world.processes.me()), "processes": {}}

    def look(self, claim: Claim, world: World) -> Look:
        """Ours while the runner lives or something that it started does. Unknown while an unseen process holds the lock."""
        runner = life_of_runner(claim, world)
        if runner == "alive":
            return "ours"
        if left_processes(claim, world):
            return "ours" if runner == "dead" else "unknown"
        return "absent" if job_lock(claim.job or "", world).is_free() else "unknown"

    def acquire(self, claim: Claim, order: Order, world: World, _lock: int) -> None:
        """Make the lock, and refuse when somebody holds it. The runner takes it next."""
        lock = job_lock(order.job, world)
        try:
            world.funnel.through(f"make {self.name} lock", lock.take)
        except BlockingIOError:
            raise errors.Contested(what=f"processes of job {claim.job} still run, and hold {lock.path}") from None
        finally:
            lock.give()

    def release(self, claim: Claim, world: World, _lock: int) -> None:
        """Kill whatever is left, if the runner is dead or asks for it itself."""
        if life_of_runner(claim, world) != "dead":
            raise errors.Contested(what=f"the runner of job {claim.job} is not proven dead")
        end_processes(claim, world)


def job_lock(job: str, world: World) -> FileLock:
    """The lock itself. While it is held, the runner or something that it started lives."""
    return FileLock(f"{world.home}/{paths.job_lock(job)}")


def runner_of(claim: Claim) -> Identity | None:
    """The process that started what the claim covers."""
    return Identity.parse(str(claim.data.get("runner", "")))


def life_of_runner(claim: Claim, world: World) -> Life:
    """Whether the runner lives. To the runner itself it counts as dead: it may end what it started."""
    runner = runner_of(claim)
    return "dead" if runner == world.processes.me() else world.processes.life(runner)


def recorded_processes(claim: Claim) -> dict[str, Identity]:
    """The processes that the runner recorded_processes, by item; the command of the input is called input."""
    known = {item: Identity.parse(str(text)) for item, text in claim.data.get("processes", {}).items()}
    return {item: who for item, who in known.items() if who is not None}


def left_processes(claim: Claim, world: World) -> list[Identity]:
    """Processes of the job that are alive, each one found by at least one of the proofs; descendants come first."""
    processes = world.processes
    roots = [who for who in recorded_processes(claim).values() if processes.life(who) == "alive"]
    roots += processes.of_job(claim.job or "")
    lock = job_lock(claim.job or "", world)
    roots += [] if lock.is_free() else processes.inheriting(lock.path)
    families = processes.families(roots) if roots else []
    return [who for who in families if who != runner_of(claim) and processes.life(who) == "alive"]


def end_processes(claim: Claim, world: World) -> None:
    """Kill the processes until none is left and nobody holds their lock. Contested names those that stay."""
    lock, until = job_lock(claim.job or "", world), world.clock.ticks() + _PATIENCE
    while True:
        left = left_processes(claim, world)
        if not left and lock.is_free():
            return
        if world.clock.ticks() >= until:
            who = ", ".join(f"process {each.pid}" for each in left) or f"somebody who holds {lock.path}"
            raise errors.Contested(what=f"what a dead runner of job {claim.job} started still runs: {who}")
        world.processes.kill_all(left)
        world.clock.wait(_LOOK_AGAIN)

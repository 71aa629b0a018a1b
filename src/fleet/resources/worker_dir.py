"""worker_dir: the folder with fleet's own files about a task, beside the task's worktree."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from fleet.world.files import folders
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim, Look
    from fleet.resources.kind import Order
    from fleet.world.world import World


class WorkerDir:
    """The worker directory of one task, handed from dispatch to dispatch."""

    name = "worker_dir"
    klass = "adoptable"
    by_program = False

    def name_for(self, order: Order, world: World) -> str:
        """Return the path of the task's folder; all dispatches of the task share it."""
        return f"{world.home}/{paths.worker_dir(order.project, order.slug or '')}"

    def data_for(self, order: Order, world: World) -> dict[str, Any]:
        """Return {"was_there": True} if files are in the folder already, else {}.

        A person has put them there, or a dispatch of which the database knows nothing (a backup was restored).
        """
        return {"was_there": True} if _has_entries(self.name_for(order, world)) else {}

    def look(self, claim: Claim, _world: World) -> Look:
        """Return `ours` for a folder at the claim's path, `foreign` for anything else there, `absent` for nothing.

        `unknown` when the path cannot be looked at.
        """
        try:
            os.lstat(claim.name)
        except FileNotFoundError:
            return "absent"
        except OSError:
            return "unknown"
        return "ours" if os.path.isdir(claim.name) and not os.path.islink(claim.name) else "foreign"

    def acquire(self, claim: Claim, _order: Order, world: World, _lock: int) -> None:
        """Create the folder, which only its owner can read; do nothing when it exists."""
        world.funnel.through(f"mkdir {self.name}", lambda: folders.make_private_folder(claim.name, below=world.home))

    def release(self, claim: Claim, world: World, _lock: int) -> None:
        """Remove the folder; raise OSError when that fails.

        A folder that had files before the claim stays; only the two files that fleet wrote there are deleted from it.
        """
        if claim.data.get("was_there"):
            for note in ("set-up", "changed.json"):
                world.files.unlink(f"{os.path.relpath(claim.name, world.home)}/{note}")
            return
        world.funnel.through(f"rmtree {self.name}", lambda: shutil.rmtree(claim.name, ignore_errors=True))
        if os.path.lexists(claim.name):
            raise OSError(f"{claim.name} could not be removed")


def _has_entries(path: str) -> bool:
    try:
        return bool(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return False

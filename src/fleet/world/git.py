"""git, asked from outside the user's own checkout."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from fleet.errors import FleetError, NotARepository

if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_LIMIT = 30
# A hook or alias of git may call fleet: what it set for its own repository does not hold for ours.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")


class Git:
    """The program git."""

    def __init__(self, funnel: Funnel) -> None:
        self._funnel = funnel

    def main_checkout(self, path: str) -> str:
        """The top of the repository's main checkout, wherever in the repository (or a worktree of it) the path is."""
        if not os.path.isdir(path):
            raise NotARepository(path=path)
        words = ["git", "-C", path, "rev-parse", "--path-format=absolute", "--git-common-dir", "--is-bare-repository"]
        done = self._funnel.through("git rev-parse", lambda: _run(words))
        if done.returncode != 0:
            raise NotARepository(path=path)
        common, bare = done.stdout.splitlines()[:2]
        return os.path.realpath(common if bare == "true" else os.path.dirname(common))


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT, check=False, env=clean)
    except FileNotFoundError:
        raise FleetError(what="git is not installed") from None
    except subprocess.TimeoutExpired:
        raise FleetError(what=f"{' '.join(words[:4])} did not answer within {_LIMIT} s") from None

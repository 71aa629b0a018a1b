"""What the machine has to offer: programs, their versions, space."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_LIMIT = 10


class Machine:
    """Questions to the machine."""

    def __init__(self, funnel: Funnel) -> None:
        self._funnel = funnel

    def python(self) -> tuple[int, int]:
        """The version of Python that runs this."""
        return sys.version_info[:2]

    def version(self, program: str, flag: str) -> tuple[int, int] | None:
        """The version of a program, None when it is not installed, (0, 0) when it does not say."""
        if shutil.which(program) is None:
            return None
        said = self._funnel.through(f"{program} {flag}", lambda: _output([program, flag]))
        found = re.search(r"(\d+)\.(\d+)", said)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def free_bytes(self, path: str) -> int:
        """How much room there is."""
        return shutil.disk_usage(path).free

    def is_private(self, path: str) -> bool:
        """Whether only its owner can look into it."""
        return not stat.S_IMODE(os.stat(path).st_mode) & 0o077


def _output(words: list[str]) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""

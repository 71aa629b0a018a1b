"""The machine as a person set it up: installed programs, free space, and the person's own files."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

from fleet.world.files.folders import make_private_folder
from fleet.world.files.user_file import replacing

if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_LIMIT = 10


class Machine:
    """Questions about the machine, and changes to the person's own files."""

    def __init__(self, funnel: Funnel) -> None:
        self._funnel = funnel

    def python(self) -> tuple[int, int]:
        """Return (major, minor) of the running Python."""
        return sys.version_info[:2]

    def version(self, program: str, flag: str) -> tuple[int, int] | None:
        """Return (major, minor) of the version that a program prints when it is run with `flag`.

        None when it is not installed, (0, 0) when it prints no version on its standard output within 10 seconds.
        """
        if shutil.which(program) is None:
            return None
        said = self._funnel.through(f"{program} {flag}", lambda: _output_of_program([program, flag]))
        found = re.search(r"(\d+)\.(\d+)", said)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def has(self, program: str) -> bool:
        """Return whether a program is installed."""
        return shutil.which(program) is not None

    def has_module(self, name: str) -> bool:
        """Return whether the running Python could import a module. The module is not imported."""
        return importlib.util.find_spec(name) is not None

    def is_mac(self) -> bool:
        """Return whether this is macOS."""
        return sys.platform == "darwin"

    def variable(self, name: str) -> str:
        """Return a variable of this process's environment; empty when it is not set."""
        return os.environ.get(name, "")

    def user_folder(self) -> str:
        """Return the home directory of this user."""
        return os.path.expanduser("~")

    def free_bytes(self, path: str) -> int:
        """Return how many bytes are free on the disk that a path is on; raise OSError when the path is missing."""
        return shutil.disk_usage(path).free

    def is_private(self, path: str) -> bool:
        """Return whether only the owner of a file or folder has permissions on it; raise OSError if it is missing."""
        return not stat.S_IMODE(os.stat(path).st_mode) & 0o077

    def read_file(self, path: str) -> str | None:
        """Return the text of a person's own file; None when it is missing; raise OSError when it cannot be read.

        Bytes that are not UTF-8 become replacement characters.
        """
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def remove_file(self, path: str) -> None:
        """Remove a person's own file; do nothing when it is missing."""
        self._funnel.through(f"remove {os.path.basename(path)}", lambda: _remove_user_file(path))

    def make_folder(self, path: str) -> None:
        """Create a folder outside the home and the missing folders above it, all private; existing ones stay unchanged.

        `path` is absolute.
        """
        self._funnel.through("make folder", lambda: make_private_folder(path, below="/"))

    def replace_file(self, path: str, text: str) -> None:
        """Write a person's own file atomically, and create missing folders above it; `path` is absolute.

        Existing files and folders keep their permissions; new ones are private. Raise WriteFailed when the file cannot
        be written.
        """
        self._funnel.through(f"write {os.path.basename(path)}", lambda: _replace_user_file(path, text))


def _remove_user_file(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _replace_user_file(path: str, text: str) -> None:
    make_private_folder(os.path.dirname(path), below="/")
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o600
    with replacing(path, mode=mode) as file:
        file.write(text)


def _output_of_program(words: list[str]) -> str:
    """Return what a program prints; empty when it cannot be run or takes too long."""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""

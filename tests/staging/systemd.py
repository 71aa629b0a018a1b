"""A systemd for a test: a `busctl` that makes scopes as the user's manager does, and the places in which a system tells of it."""

import contextlib
import os
import pwd
import secrets
import sys
from dataclasses import asdict
from pathlib import Path

from fleet.world.process.scopes import Places

# Answers when the job is queued: the process is moved a moment later.
WORKS = """
(mkdir -p "$scopes/$unit" && echo "$pid" >"$scopes/$unit/cgroup.procs") </dev/null >/dev/null 2>&1 &
"""
FAILS = 'echo "Call failed: no such bus" >&2; exit 1'
HANGS = "exec sleep 1000"
_BUSCTL = """#!/bin/sh
echo "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR $*" >>"{root}/calls"
scopes={scopes}
while [ $# -gt 0 ]; do
  case $1 in *.scope) unit=$1;; PIDs) pid=$4;; esac
  shift
done
{act}
"""
_FLEET = """#!{python}
from functools import partial
from fleet.world import world
from fleet.world.process import cgroups
from fleet.world.process.scopes import Places
cgroups.Cgroups = partial(cgroups.Cgroups, places=Places(**{places!r}))
world.fleet_program = lambda: __file__
from fleet.surfaces.cli.entry import main
raise SystemExit(main())
"""


class Systemd:
    """The manager of this user, of a test's own."""

    def __init__(self, root: Path, parent: str, group: str) -> None:
        name = f"manager-{secrets.token_hex(6)}"
        self.root = root
        self.folder = Path(parent, name)
        self.scopes = self.folder / "app.slice"
        (root / "linger").mkdir()
        (root / "linger" / pwd.getpwuid(os.getuid()).pw_name).touch()
        (root / "system").mkdir()
        (root / "bin").mkdir()
        self.places = Places(
            systemd=str(root / "system"),
            linger=str(root / "linger"),
            runtime=str(root / "runtime"),
            manager=f"{group.rstrip('/')}/{name}",
        )

    def answer(self, act: str) -> None:
        """Let `busctl` answer so."""
        self._write("busctl", _BUSCTL.format(root=self.root, scopes=self.scopes, act=act))

    def fleet(self) -> str:
        """A fleet that takes this for the systemd of its machine."""
        return self._write("fleet", _FLEET.format(python=sys.executable, places=asdict(self.places)))

    def calls(self) -> list[str]:
        log = self.root / "calls"
        return log.read_text().splitlines() if log.exists() else []

    def remove(self) -> None:
        for folder, _folders, _files in os.walk(self.folder, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def _write(self, name: str, text: str) -> str:
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o700)
        return str(path)


def without(folder: Path, program: str) -> str:
    """A PATH on which everything is but one program."""
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        for name in os.listdir(place) if os.path.isdir(place) else ():
            if name != program:
                (folder / name).unlink(missing_ok=True)
                (folder / name).symlink_to(f"{place}/{name}")
    return str(folder)

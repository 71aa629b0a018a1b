"""Control groups: a folder of the kernel's for each agent, which lists every process that descends from it.

No process can leave it by another environment, session or title. Used where version 2 is mounted and this user may write to the
group of the tmux server. Where systemd runs, a group is systemd's unless it says that it was delegated; then none is made. A scope of
systemd's own is not asked for.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.world.funnel import Funnel

_OURS = re.compile(r"(.*)/fleet-[0-9a-f]{12}-[0-9a-f]{8}(/.*)?")
_SYSTEMD = "/run/systemd/system"
# Goes out of an agent's group before it becomes the program: what it starts is not the agent's.
_LEAVE = '{ echo 0 >"$0"; } 2>/dev/null; exec "$@"'


class Cgroups:
    """The control groups of one home's agents."""

    def __init__(self, funnel: Funnel, home_id: str, *, proc: str = "/proc", systemd: str = _SYSTEMD) -> None:
        self._funnel = funnel
        self._home_id = home_id
        self._proc = proc
        self._systemd = systemd

    def place_for(self, dispatch: str, server: int) -> str | None:
        """Where the group of a dispatch is to be: in that of the tmux server. None: there can be none."""
        parent = self._group_of(server)
        if parent is None:
            return None
        # An agent may have started the server: the groups of agents are beside each other, not within.
        found = _OURS.fullmatch(parent)
        parent = found[1] if found else parent
        return f"{parent}/fleet-{self._home_id}-{dispatch}" if self._is_usable(parent) else None

    def all_of_home(self, near: int) -> list[str]:
        """The groups of this home's agents that are beside that of a process."""
        beside = self.place_for("*", near)
        return sorted(glob.glob(beside)) if beside else []

    def make(self, path: str) -> None:
        """Make a group. Where that fails there is none: it is one proof of several."""

        def act() -> None:
            with contextlib.suppress(OSError):
                os.mkdir(path)

        self._funnel.through("make cgroup", act)

    def join(self, path: str) -> None:
        """Put this process into a group, if there is one."""

        def act() -> None:
            with contextlib.suppress(OSError), open(f"{path}/cgroup.procs", "r+", encoding="ascii") as file:
                file.write("0")

        self._funnel.through("join cgroup", act)

    def members(self, path: str) -> list[int]:
        """The processes in a group and in groups that were made within it."""
        found: list[int] = []
        for folder, _folders, _files in os.walk(path):
            with contextlib.suppress(OSError), open(f"{folder}/cgroup.procs", encoding="ascii") as file:
                found += [int(line) for line in file]
        return [pid for pid in found if pid > 0]  # 0: somebody whom we cannot see from here

    def remove(self, path: str) -> None:
        """Remove an empty group and those within it. OSError while somebody is in one of them."""

        def act() -> None:
            for folder, _folders, _files in os.walk(path, topdown=False):
                with contextlib.suppress(FileNotFoundError):
                    os.rmdir(folder)

        self._funnel.through("remove cgroup", act)

    def outside(self, words: Sequence[str]) -> list[str]:
        """The words that start a program outside the agent's group that this process may be in."""
        group = self._group_of("self")
        found = _OURS.fullmatch(group) if group else None
        return ["/bin/sh", "-c", _LEAVE, f"{found[1]}/cgroup.procs", *words] if found else list(words)

    def _is_usable(self, group: str) -> bool:
        if not os.access(group, os.W_OK) or not os.access(f"{group}/cgroup.procs", os.W_OK):
            return False
        return not os.path.isdir(self._systemd) or _is_delegated(group)

    def _group_of(self, pid: int | str) -> str | None:
        """The folder of the group that a process is in."""
        top, mount = self._mount()
        lines = _lines(f"{self._proc}/{pid}/cgroup") if mount else []
        group = next((line.removeprefix("0::") for line in lines if line.startswith("0::/")), "")
        if not group or not f"{group}/".startswith(f"{top.rstrip('/')}/"):
            return None
        return os.path.normpath(f"{mount}/{group[len(top.rstrip('/')) :]}")

    def _mount(self) -> tuple[str, str]:
        """Which group is mounted where; empty when version 2 is not."""
        for line in _lines(f"{self._proc}/self/mountinfo"):
            given, _, kind = line.partition(" - ")
            if kind.startswith("cgroup2 "):
                words = given.split()
                return words[3], words[4]
        return "", ""


def _is_delegated(group: str) -> bool:
    if sys.platform != "linux":
        return False
    try:
        return os.getxattr(group, "user.delegate") == b"1"
    except OSError:
        return False


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []

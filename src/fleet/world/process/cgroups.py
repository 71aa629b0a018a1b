"""Control groups: the kernel lists in an agent's group every process that descends from the agent.

No process can leave the group by another environment, session or title. Fleet creates groups where cgroup v2 is mounted
and this user may write to the group of the tmux server. Where systemd runs, groups belong to systemd unless they are
marked as delegated. There fleet asks the user's systemd manager for a scope, if that manager outlives the user's
logins.
"""

from __future__ import annotations

import os
import sys

from fleet.fast import contextlib, glob, re
from fleet.world.process.scopes import SLICE, Places, Scopes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.world.clock import Clock
    from fleet.world.funnel import Funnel
    from fleet.world.process.programs import Programs

_SCOPE = ".scope"
_OURS = r"(?P<parent>.*)/fleet-[0-9a-f]{12}-[0-9a-f]{8}(?P<scope>\.scope)?(/.*)?"
# A shell script that leaves the agent's group and then execs the program. $0: the file of the group to join; $1: "must" if
# the program must not run inside the agent's group.
_LEAVE = """
must=$1; shift
if ! { echo 0 >"$0"; } 2>/dev/null && [ "$must" = must ]; then echo "cannot join the control group of $0" >&2; exit 1; fi
exec "$@"
"""


class Cgroups:
    """The control groups of one home's agents."""

    def __init__(
        self, funnel: Funnel, home_id: str, *, programs: Programs, clock: Clock, places: Places | None = None
    ) -> None:
        self._funnel = funnel
        self._home_id = home_id
        self._places = places or Places()
        self._scopes = Scopes(programs, clock, self._places)

    def place_for(self, dispatch: str, server: int) -> str | None:
        """Return the path for a dispatch's control group: inside the tmux server's group, or a systemd scope.

        None when neither can be created. `server` is the pid of the tmux server.
        """
        name = f"fleet-{self._home_id}-{dispatch}"
        parent = self._parent_near(server)
        if parent is not None:
            return f"{parent}/{name}"
        manager = self._manager() if self._scopes.are_kept() else None
        return f"{manager}/{SLICE}/{name}{_SCOPE}" if manager is not None else None

    def all_of_home(self, near: int) -> list[str]:
        """Return the paths of the control groups of this home's agents.

        These are the systemd scopes, and the groups inside the group of the process `near`. If that process is in an
        agent's group, they are the groups inside the group around it instead.
        """
        manager = self._manager()
        folders = {self._parent_near(near), f"{manager}/{SLICE}" if manager is not None else None} - {None}
        found = [path for folder in folders for path in glob.glob(f"{folder}/fleet-{self._home_id}-*")]
        return sorted(path for path in found if re.fullmatch(_OURS, path))

    def make(self, path: str) -> None:
        """Create a control group. For a scope do nothing: systemd creates it when the agent joins.

        A failure is ignored, because the group is only one of several proofs.
        """
        if path.endswith(_SCOPE):
            return

        def act() -> None:
            with contextlib.suppress(OSError):
                os.mkdir(path)

        self._funnel.through("make cgroup", act)

    def join(self, path: str) -> str:
        """Move this process into a control group and return the id of its view (see `view`).

        Empty when this process could not be moved, or its view is unknown.
        """
        if path.endswith(_SCOPE):
            self._scopes.enter(os.path.basename(path), lambda: self._group_of("self") == path)
        else:
            self._enter(path)
        return self.view() if self._group_of("self") == path else ""

    def _enter(self, path: str) -> None:
        """Move this process into a control group by writing to the group's file; a failure is ignored."""

        def act() -> None:
            with contextlib.suppress(OSError), open(f"{path}/cgroup.procs", "r+", encoding="ascii") as file:
                file.write("0")

        self._funnel.through("join cgroup", act)

    def view(self) -> str:
        """Return an id of how this process sees the control groups (namespace and mount); empty when unknown.

        In another view a group's path may be missing, or lead to another group.
        """
        top, mount = self._mount()
        try:
            namespace = os.readlink(f"{self._places.proc}/self/ns/cgroup")
        except OSError:
            return ""
        return f"{namespace} {top} {mount}" if mount else ""

    def members(self, path: str) -> list[int]:
        """Return the pids in a control group and in its subgroups; a group that cannot be read counts as empty."""
        found: list[int] = []
        for folder, _folders, _files in os.walk(path):
            with contextlib.suppress(OSError), open(f"{folder}/cgroup.procs", encoding="ascii") as file:
                found += [int(line) for line in file]
        return [pid for pid in found if pid > 0]  # 0: a process that is not visible here

    def remove(self, path: str) -> None:
        """Remove an empty control group and its subgroups; raise OSError while a process is in one of them.

        Do nothing when the group is missing.
        """

        def act() -> None:
            for folder, _folders, _files in os.walk(path, topdown=False):
                with contextlib.suppress(FileNotFoundError):
                    os.rmdir(folder)

        self._funnel.through("remove cgroup", act)

    def outside(self, words: Sequence[str], *, must: bool = False) -> list[str]:
        """Return the command that starts a program (`words`) outside the agent's control group.

        The words are unchanged when this process is in no agent's group. Otherwise the program moves to the group around
        the agent's, or to a new scope through systemd. With `must`, the program is not started when it cannot leave the
        agent's group.
        """
        group = self._group_of("self")
        found = re.fullmatch(_OURS, group) if group else None
        if found is None:
            return list(words)
        if found["scope"]:
            unit = f"fleet-{self._home_id}-outside"
            return self._scopes.outside(words, group=self._named("self"), unit=unit, must=must)
        return ["/bin/sh", "-c", _LEAVE, f"{found['parent']}/cgroup.procs", "must" if must else "", *words]

    def _parent_near(self, pid: int) -> str | None:
        """Return the path of the control group for new groups: that of a process, or the one around an agent's group.

        None when fleet may not create groups there.
        """
        parent = self._group_of(pid)
        if parent is None:
            return None
        # If an agent started the server, use the group around the agent's: agents' groups are siblings, never nested.
        found = re.fullmatch(_OURS, parent)
        parent = found["parent"] if found else parent
        return parent if self._is_usable(parent) else None

    def _is_usable(self, group: str) -> bool:
        """Return whether fleet may create control groups in a group.

        This user must be able to write to it and, where systemd runs, systemd must have delegated it.
        """
        if not os.access(group, os.W_OK) or not os.access(f"{group}/cgroup.procs", os.W_OK):
            return False
        return not os.path.isdir(self._places.systemd) or _is_delegated(group)

    def _manager(self) -> str | None:
        """Return the path of the control group of the user's systemd manager; None when it does not run."""
        folder = self._folder(self._places.manager)
        return folder if folder is not None and os.path.isdir(folder) else None

    def _group_of(self, pid: int | str) -> str | None:
        """Return the path of the control group that a process is in; None when unknown."""
        group = self._named(pid)
        return self._folder(group) if group else None

    def _named(self, pid: int | str) -> str:
        """Return the kernel's name of the control group that a process is in; empty when unknown."""
        lines = _lines_of_file(f"{self._places.proc}/{pid}/cgroup")
        return next((line.removeprefix("0::") for line in lines if line.startswith("0::/")), "")

    def _folder(self, group: str) -> str | None:
        """Return the path of a control group, from the kernel's name for it; None where the group is not mounted."""
        top, mount = self._mount()
        if not mount or not f"{group}/".startswith(f"{top.rstrip('/')}/"):
            return None
        return os.path.normpath(f"{mount}/{group[len(top.rstrip('/')) :]}")

    def _mount(self) -> tuple[str, str]:
        """Return which control group is mounted, and the path where it is mounted; ("", "") without cgroup v2."""
        for line in _lines_of_file(f"{self._places.proc}/self/mountinfo"):
            given, _, kind = line.partition(" - ")
            if kind.startswith("cgroup2 "):
                words = given.split()
                return words[3], words[4]
        return "", ""


def _is_delegated(group: str) -> bool:
    """Return whether systemd has marked a control group as delegated; False when that is unknown."""
    if sys.platform != "linux":
        return False
    try:
        return os.getxattr(group, "user.delegate") == b"1"
    except OSError:
        return False


def _lines_of_file(path: str) -> list[str]:
    """Return the lines of a file; [] when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []

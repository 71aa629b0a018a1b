"""Census: all processes of this machine at one moment, read from the kernel once."""

from __future__ import annotations

import os

from fleet.model import FLEET_DISPATCH_ID, names
from fleet.model.identity import Identity
from fleet.world.process import ps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from fleet.world.process.ps import ProcessEntry, Status

    class Kernel(Protocol):
        """The questions about processes to which the kernel has the answers.

        The module `ps` asks the kernel of this machine, and documents each question; the simulated world answers them,
        too.
        """

        def own_pid(self) -> int: ...
        def status(self, pid: int) -> Status | None: ...
        def parents(self) -> dict[int, int]: ...
        def everyone(self) -> list[ProcessEntry]: ...
        def is_seen(self, pid: int, start: str) -> bool: ...
        def age(self, start: str) -> float:
            """Return how many seconds ago a process started; `start` is its start time as the kernel tells it."""
            ...

        def environment(self, pid: int) -> frozenset[bytes]: ...
        def command(self, pid: int) -> str: ...
        def program(self, pid: int) -> str: ...
        def is_own(self, pid: int) -> bool: ...
        def works_in(self, pid: int, folder: str) -> bool | None: ...
        def inheritors(self, path: str) -> list[int]: ...
        def handle_of(self, pid: int) -> int | None: ...
        def deliver(self, pid: int, number: int, is_meant: Callable[[], bool]) -> bool:
            """Send signal `number` to a process if `is_meant` is still true just before; return whether it was sent."""
            ...


_MARK = f"{FLEET_DISPATCH_ID}=".encode()
_HINT = f" settle --hint {names.session('')}"
_FIRST = 1
# Programs by which a person logs in. What they start belongs to a person, also without a terminal.
_LOGINS = frozenset({"sshd", "sshd-session", "login", "mosh-server"})
_USER_MANAGER = "systemd"
# Terminal programs in which people have their shells; the kernel cuts names after fifteen characters. `script` is not one of them:
# an agent can use it to give a terminal to its own processes.
_WINDOWS = (
    "gnome-terminal- kgx ptyxis ptyxis-agent konsole yakuake xfce4-terminal mate-terminal lxterminal terminator tilix "
    "xterm urxvt rxvt st alacritty kitty wezterm-gui foot ghostty code codium emacs"
)
_TERMINALS = frozenset({"tmux: server", "screen", "zellij", *_WINDOWS.split()})


class Census:
    """All processes of this machine at one moment.

    To decide about a dispatch, use a census that was taken after the agent's death was proven: an earlier one may lack
    a child of the agent.
    """

    def __init__(self, *, host: str, boot: str, home: bytes, kernel: Kernel = ps) -> None:
        self._kernel = kernel
        self._host = host
        self._boot = boot
        self._home = home
        self._environments: dict[int, frozenset[bytes]] = {}
        self.entries = {entry.pid: entry for entry in kernel.everyone()}
        self._below: dict[int, list[int]] = {}
        for entry in self.entries.values():
            self._below.setdefault(entry.parent, []).append(entry.pid)

    def identity(self, pid: int) -> Identity:
        """Return the identity of the process that had a pid when the census was taken."""
        return Identity(host=self._host, boot=self._boot, pid=pid, start=self.entries[pid].start)

    def has(self, who: Identity) -> bool:
        """Return whether this exact process was alive when the census was taken; False when it could not be read."""
        return who.pid in self.entries and self.identity(who.pid) == who

    def age(self, pid: int) -> float:
        """Return how many seconds a process has lived; infinity where the kernel does not say."""
        return self._kernel.age(self.entries[pid].start)

    def environment(self, pid: int) -> frozenset[bytes]:
        """Return the environment (entries NAME=VALUE) that a process of this user was started with.

        Without any variable when it cannot be read, or when the process is another user's. It is read when it is first
        asked for, later than the census was taken.
        """
        if pid not in self._environments:
            self._environments[pid] = self._kernel.environment(pid)
        return self._environments[pid]

    def mark(self, pid: int) -> str:
        """Return the id of the dispatch of this home that a process's environment names; empty when there is none.

        The tmux hook that reports the agent's death has the same variables, and does not count.
        """
        told = self.environment(pid)
        if self._home not in told:
            return ""
        found = next((entry for entry in told if entry.startswith(_MARK)), _MARK)
        dispatch = found[len(_MARK) :].decode("ascii", "replace")
        return "" if dispatch and f"{_HINT}{dispatch}" in self._kernel.command(pid) else dispatch

    def is_fleets(self, pid: int) -> bool:
        """Return whether a process is a fleet command of this home, or a descendant of one, and was not started by an agent.

        The process and each ancestor up to that command must have this home, and no FLEET_DISPATCH_ID, in their environment.
        The environment of the process alone is no proof, because an agent can start a program without FLEET_DISPATCH_ID.
        """
        for each in (self.entries[pid], *self._ancestors(pid)):
            told = self.environment(each.pid)
            if self._home not in told or any(entry.startswith(_MARK) for entry in told):
                return False
            if _runs_fleet(self._kernel.command(each.pid)):
                return True
        return False

    def marked(self, dispatch: str) -> set[int]:
        """Return the pids of processes whose environment names this home and a dispatch, without this process."""
        return {pid for pid in self.entries if pid != self._kernel.own_pid() and self.mark(pid) == dispatch}

    def naming(self, dispatch: str) -> set[int]:
        """Return the pids of processes whose environment names a dispatch, of any home, without this process.

        The tmux hook that reports the agent's death does not count.
        """
        entry = _MARK + dispatch.encode()
        return {
            pid
            for pid in self.entries
            if pid != self._kernel.own_pid()
            and entry in self.environment(pid)
            and f"{_HINT}{dispatch}" not in self._kernel.command(pid)
        }

    def in_session(self, leader: Identity) -> set[int]:
        """Return the pids in the session that a process leads or led.

        Empty when another process has its pid now: then the session is gone.
        """
        if leader.pid in self.entries and not self.has(leader):
            return set()
        since = int(leader.start) if leader.start.isdigit() else 0
        return {entry.pid for entry in self.entries.values() if entry.session == leader.pid and entry.is_since(since)}

    def with_descendants(self, pids: Iterable[int]) -> list[int]:
        """Return these pids and all their descendants, those with the most ancestors first."""
        found = list(dict.fromkeys(pids))
        for pid in found:
            found.extend(each for each in self._below.get(pid, ()) if each not in found)
        return sorted(found, key=lambda pid: -len(self._ancestors(pid)))

    def stopped_in(self, root: Identity) -> list[int]:
        """Return the stopped pids among `root` and its descendants, deepest last; [] when `root` is not alive."""
        family = reversed(self.with_descendants([root.pid])) if self.has(root) else ()
        return [pid for pid in family if self.entries[pid].stopped]

    def newest_below(self, root: Identity) -> int | None:
        """Go from `root` to its newest child, from that to its own newest child, and so on; return the pid at the end.

        None when `root` has no child or is not alive.
        """
        pid = root.pid if self.has(root) else None
        seen: set[int] = set()
        while pid is not None and pid not in seen and (below := self._below.get(pid)):
            seen.add(pid)
            pid = min(below, key=self.age)
        return pid if seen else None

    def _ancestors(self, pid: int) -> list[ProcessEntry]:
        """Return the parent of a process, the parent's parent, and so on."""
        found: list[ProcessEntry] = []
        entry = self.entries.get(pid)
        while entry is not None and (above := self.entries.get(entry.parent)) is not None and above not in found:
            found.append(above)
            entry = above
        return found

    def working_in(self, folder: str, *, since: Identity, server: Identity | None) -> tuple[list[int], list[int]]:
        """Return the pids that work in or below a folder and may be the agent's, and the pids that cannot be inspected.

        A process works there if its current directory or a file that it has open for writing is there. Left out are
        processes that are older than the agent (`since`), that a person started, or that belong to another user; this
        process and its descendants; and fleet's own commands of this home (see `is_fleets`). `server` is the tmux
        server of the agent, None when unknown. Both lists are empty when the start time of the agent cannot be
        compared.
        """
        if not since.start.isdigit():
            return [], []  # a date, as older versions recorded it on macOS
        reapers = self._reapers(server)
        are_known = server is not None and self.has(server)
        mine = self.with_descendants([self._kernel.own_pid()])
        young = [entry for entry in self.entries.values() if entry.is_since(int(since.start)) and entry.pid not in mine]
        found: list[int] = []
        closed: list[int] = []
        for entry in young:
            if not self._kernel.is_own(entry.pid) or self._is_a_persons(
                entry, int(since.start), reapers, are_known=are_known
            ):
                continue
            works = self._kernel.works_in(entry.pid, folder)
            if works is None:
                closed.append(entry.pid)
            elif works and not self.is_fleets(entry.pid):
                found.append(entry.pid)
        return found, closed

    def _reapers(self, server: Identity | None) -> set[int]:
        """Return the pids of the processes that inherit the children of a dead agent.

        These are process 1, every systemd, and the ancestors of `server`, the tmux server (None when unknown).
        """
        managers = {pid for pid in self.entries if self._kernel.program(pid) == _USER_MANAGER}
        above = (
            {entry.pid for entry in self._ancestors(server.pid)} if server is not None and self.has(server) else set()
        )
        return {_FIRST} | managers | above

    def _is_a_persons(self, entry: ProcessEntry, since: int, reapers: set[int], *, are_known: bool) -> bool:
        """Return whether a person started a process.

        A person did if the process or an ancestor is a login, a terminal window, started from outside this container,
        or older than the agent, which started at `since`. `reapers` are the processes that inherit orphans, such as
        process 1: as ancestors they prove nothing. That a process has a terminal proves nothing either, because an
        agent can give one to its children. Without `are_known` (the tmux server is gone, so not all reapers are known)
        an older ancestor counts only if its child is in the same session.
        """
        below = entry
        for each in (entry, *self._ancestors(entry.pid)):
            if each.pid in reapers:
                return False
            if self._kernel.program(each.pid) in _LOGINS | _TERMINALS or _is_from_outside(each):
                return True
            if not each.is_since(since):
                return are_known or below.session == each.session
            below = each
        return False


def _is_from_outside(entry: ProcessEntry) -> bool:
    """Return whether somebody outside this container started a process (docker exec): its parent is not visible here.

    The parents of an agent's children always are.
    """
    return entry.parent == 0 and entry.pid != _FIRST


def _runs_fleet(command: str) -> bool:
    """Return whether a command line runs `fleet`: directly, through its interpreter, or through the shell of a tmux hook."""
    words = command.split(" ")
    return any(os.path.basename(word) == "fleet" for word in words[:2]) or _HINT in command

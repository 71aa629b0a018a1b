"""Processes: identify them, prove whether they live, and end them.

A process is dead only if that is proven: the kernel has no such pid, or another process has it now, or it is a zombie,
or the machine has booted since. What cannot be read is unknown. So is a contradiction: another boot, and yet the same
pid with the same start time. Signals go through a pidfd where there is one, and the identity is compared after the
pidfd was opened, so that no other process can be hit.
"""

from __future__ import annotations

import os
import select
import sys

from fleet.fast import signal
from fleet.model import FLEET_DISPATCH_ID, FLEET_HOME, FLEET_RUNNER_OF
from fleet.model.identity import Identity
from fleet.world.clock import Clock
from fleet.world.process import pid_namespaces, ps, surroundings
from fleet.world.process.census import Census

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fleet.model.identity import Life
    from fleet.world.funnel import Funnel
    from fleet.world.host import Host
    from fleet.world.process.census import Kernel

_LOOK_AGAIN = 0.01
_MARK = f"{FLEET_DISPATCH_ID}="
_RUNNER = f"{FLEET_RUNNER_OF}="
# How many levels below bubblewrap's process the sandboxed program is.
_DEPTH = 2


class Processes:
    """The processes of this machine."""

    def __init__(
        self,
        host: Host,
        funnel: Funnel,
        home: str,
        socket: str,
        *,
        kernel: Kernel = ps,
        clock: Clock | None = None,
    ) -> None:
        self._kernel = kernel
        self._clock = clock or Clock()
        self._home = f"{FLEET_HOME}={home}".encode()
        self._namespaces = pid_namespaces.PidNamespaces(home, host.boot, socket)
        self._socket = socket
        self._host = host.machine_id
        self._boot = host.boot
        self._funnel = funnel
        self._me: Identity | None = None
        # Processes of other boots and pid namespaces that are proven dead: that never changes.
        self._dead: set[Identity] = set()

    def me(self) -> Identity:
        """Return the identity of this process, looked up once, and again after a fork.

        When the kernel does not show the process, its boot is "" and its start "unseen"; the method `life` then answers
        "unknown" for it.
        """
        if self._me is None or self._me.pid != self._kernel.own_pid():
            self._me = self.identify(self._kernel.own_pid()) if self._boot else None
        if self._me is None or self._me.pid != self._kernel.own_pid():  # /proc does not show it, or shows somebody else
            self._me = Identity(host=self._host, boot="", pid=self._kernel.own_pid(), start="unseen")
        return self._me

    def identify(self, pid: int) -> Identity | None:
        """Return the identity of the process that has a pid now, also of a zombie.

        None when there is none, or when it cannot be read.
        """
        found = self._status(pid)
        if found is None or not found.start:
            return None
        return Identity(host=self._host, boot=self._boot, pid=pid, start=found.start)

    def caller(self) -> Identity:
        """Return the process that called fleet: the parent of the process that asks.

        In the daemon, the process that asks is the client. When its parent cannot be identified, return the process
        that asks; when that cannot be identified either, this process.
        """
        asker = surroundings.asker()
        pid = asker.pid if asker else self._kernel.own_pid()
        whom = (self.identify(each) for each in (self._kernel.parents().get(pid), pid) if each)
        return next((who for who in whom if who is not None), self.me())

    def life(self, who: Identity | None) -> Life:
        """Return whether a process is "alive", "dead" or "unknown": "unknown" for None and another host's process."""
        if who is None or who.host != self._host or not who.boot or not self._boot:
            return "unknown"
        if who.boot == self._boot:
            return self._life(who.pid, who.start)
        if who not in self._dead and self._is_proven_dead_elsewhere(who):
            self._dead.add(who)
        return "dead" if who in self._dead else "unknown"

    def exit_descriptor(self, who: Identity) -> int | None:
        """Return a descriptor that becomes readable when this exact process exits.

        None where the kernel has no pidfds, or when the process is not proven alive. The caller closes the descriptor.
        """
        try:
            descriptor = self._kernel.handle_of(who.pid)
        except OSError:
            return None
        if descriptor is not None and self.life(who) != "alive":  # asked after the descriptor was opened
            os.close(descriptor)
            return None
        return descriptor

    def wait_for_exit(self, whom: Iterable[Identity], seconds: float) -> bool:
        """Wait until one of these processes exits, or this many seconds are over; return True in both cases.

        Return False at once when there are none, when the kernel cannot report the exit of each, or when one is not
        proven alive.
        """
        handles = [self.exit_descriptor(who) for who in whom]
        known = [handle for handle in handles if handle is not None]
        try:
            if not known or len(known) < len(handles):
                return False
            poll = select.poll()
            for handle in known:
                poll.register(handle, select.POLLIN)
            poll.poll(seconds * 1_000)
        finally:
            for handle in known:
                os.close(handle)
        return True

    def may_live(self, who: Identity | None) -> bool:
        """Return whether a process is alive, or may be; False for None.

        It may be alive when its boot or pid namespace cannot be compared with ours, and a process with its pid and start
        time is visible here.
        """
        found = self.life(who)
        return who is not None and (
            found == "alive" or (found == "unknown" and self._kernel.is_seen(who.pid, who.start))
        )

    def _is_proven_dead_elsewhere(self, who: Identity) -> bool:
        """Return whether a process of another boot or pid namespace is proven dead; False means unknown.

        Proven: nobody holds the lock of that namespace in this home, and no process that is visible here can be it.
        """
        (then, _, namespace), (now, _, mine) = who.boot.partition("."), self._boot.partition(".")
        if self._namespaces.is_used(who.boot):
            return False
        if then == now:
            return pid_namespaces.is_gone(namespace, self._socket)
        if self._kernel.is_seen(who.pid, who.start):
            return False
        # From inside a pid namespace the processes of others are not visible.
        return namespace == mine or not mine or pid_namespaces.is_gone(namespace, self._socket)

    def inside_sandbox(self, outer: Identity) -> Identity:
        """Return the process of the program in a sandbox, given bubblewrap's process, `outer`.

        `outer` itself when no program runs there. Bubblewrap has one child, the first process of the sandbox, which
        starts the program as its first child.
        """
        below, found = self._children(), outer
        for _ in range(_DEPTH):
            children = [who for pid in below.get(found.pid, ()) if (who := self.identify(pid)) is not None]
            if not children:
                return outer
            found = min(children, key=lambda who: (int(who.start) if who.start.isdigit() else 0, who.pid))
        return found

    def census(self) -> Census:
        """Return all processes at this moment, for questions about many dispatches."""
        return Census(host=self._host, boot=self._boot, home=self._home, kernel=self._kernel)

    def families(self, roots: Iterable[Identity]) -> list[Identity]:
        """Return the descendants of these processes, deepest first, then these processes themselves.

        The process that calls this is left out. So is a process of `roots` that has ended, with its descendants. All
        processes are identified before their parents are read, so that a process which has got a reused pid meanwhile
        is not taken for another.
        """
        before, below = {who.pid: who for who in self._others()}, self._children()
        found = dict.fromkeys(root for root in roots if before.get(root.pid) == root)
        queue = list(found)
        for who in queue:
            more = [before[pid] for pid in below.get(who.pid, ()) if pid in before and before[pid] not in found]
            found |= dict.fromkeys(more)
            queue += more
        return list(reversed(found))

    def _children(self) -> dict[int, list[int]]:
        """Return the pids of the children of each pid."""
        below: dict[int, list[int]] = {}
        for pid, parent in self._kernel.parents().items():
            below.setdefault(parent, []).append(pid)
        return below

    def marked(self, dispatch: str) -> list[Identity]:
        """Return this user's living processes whose environment names this home and the dispatch, without this process.

        The tmux hook that reports the agent's death has the same variables, and does not count.
        """
        census = self.census()
        return self._living([census.identity(pid) for pid in census.marked(dispatch)])

    def of_job(self, job: str) -> list[Identity]:
        """Return this user's living processes whose environment names this home and the job, without this process.

        Its runner started them, or their ancestors.
        """
        return self._carrying(f"{_RUNNER}{job}")

    def variable(self, who: Identity, name: str) -> str:
        """Return an environment variable of a process of this user; empty when it is not set or cannot be read."""
        found = [each for each in self._kernel.environment(who.pid) if each.startswith(f"{name}=".encode())]
        return found[0].partition(b"=")[2].decode("utf-8", "replace") if found else ""

    def command(self, pid: int) -> str:
        """Return the command line of a process; empty when it cannot be read."""
        return self._kernel.command(pid)

    def inheriting(self, path: str) -> list[Identity]:
        """Return the living processes that hold the lock of a file, taken or inherited, without this process."""
        before = {who.pid: who for who in self._others()}
        return [
            before[pid] for pid in self._kernel.inheritors(path) if pid in before and self.life(before[pid]) == "alive"
        ]

    def of_dispatch(self, dispatch: str) -> list[Identity]:
        """Return this user's living processes whose environment names the dispatch, of any home, without this process.

        The tmux hook that reports the agent's death counts, too, unlike in `marked`.
        """
        entry = f"{_MARK}{dispatch}".encode()
        return [
            who for who in self._others() if entry in self._kernel.environment(who.pid) and self.life(who) == "alive"
        ]

    def of_home(self, home: str) -> list[Identity]:
        """Return this user's living agents and job commands whose environment names a home, without this process.

        `home` is the path of the home. What these processes started counts, too.
        """
        entry, marks = f"{FLEET_HOME}={home}".encode(), (_MARK.encode(), _RUNNER.encode())
        found = []
        for who in self._others():
            told = self._kernel.environment(who.pid)
            if entry in told and any(each.startswith(marks) for each in told) and self.life(who) == "alive":
                found.append(who)
        return found

    def _carrying(self, entry: str) -> list[Identity]:
        """Return this user's living processes whose environment has this entry (NAME=VALUE) and names this home."""
        both = {entry.encode(), self._home}
        return [
            who for who in self._others() if both <= self._kernel.environment(who.pid) and self.life(who) == "alive"
        ]

    def _others(self) -> list[Identity]:
        """Return the identities of all processes but this one.

        Call it before anything else is asked about a pid: a process that gets the pid later is then told apart.
        """
        whom = (self.identify(pid) for pid in self._kernel.parents() if pid != self._kernel.own_pid())
        return [who for who in whom if who is not None]

    def marks(self) -> dict[str, list[Identity]]:
        """Return this user's living processes whose environment names this home and a dispatch, by the dispatch's id.

        This process and tmux hooks that report the death of an agent do not count.
        """
        census, found = self.census(), dict[str, list[Identity]]()
        for pid in census.entries:
            dispatch = census.mark(pid) if pid != self._kernel.own_pid() else ""
            if dispatch and self.life(census.identity(pid)) == "alive":
                found.setdefault(dispatch, []).append(census.identity(pid))
        return found

    def marks_of_jobs(self) -> dict[str, list[Identity]]:
        """Return this user's living processes that job runners of this home started, by the job's id."""
        found: dict[str, list[Identity]] = {}
        for job, who in self._bearing(_RUNNER):
            found.setdefault(job, []).append(who)
        return found

    def _bearing(self, name: str) -> Iterator[tuple[str, Identity]]:
        """Yield each other living process of this home that has an environment variable, after the variable's value.

        `name` is the name of the variable and ends with "=".
        """
        for who in self._others():
            told = self._kernel.environment(who.pid)
            for entry in told if self._home in told else ():
                if entry.startswith(name.encode()) and self.life(who) == "alive":
                    yield entry[len(name) :].decode("ascii", "replace"), who

    def _living(self, whom: list[Identity]) -> list[Identity]:
        """Return which of these processes are still alive. A process whose pid was reused is left out."""
        return [who for who in whom if self.life(who) == "alive"]

    def signal(self, who: Identity, number: int) -> bool:
        """Send a signal to this exact process; return whether it was sent.

        It is not sent when the process is not proven alive, or when this user may not signal it.
        """
        name = signal.Signals(number).name
        return self._funnel.through(f"{name} to {who.pid}", lambda: self._signal(who, number))

    def kill_all(self, whom: Iterable[Identity]) -> None:
        """Kill these processes in this order, each only while its pid still belongs to it."""
        for who in whom:
            self.signal(who, signal.SIGKILL)

    def gone_within(self, whom: list[Identity], seconds: float) -> list[Identity]:
        """Wait at most `seconds` until these processes are proven dead; return those that are not by then."""
        until = self._clock.ticks() + seconds
        while True:
            left = [who for who in whom if self.life(who) != "dead"]
            if not left or self._clock.ticks() >= until:
                return left
            self._clock.wait(_LOOK_AGAIN)

    def _signal(self, who: Identity, number: int) -> bool:
        """Send a signal to this exact process; return whether it was sent. The caller passes the funnel."""
        return self._kernel.deliver(who.pid, number, lambda: self.life(who) == "alive")

    def _status(self, pid: int) -> ps.Status | None:
        """Return the status of a pid, with the start "" when it cannot be read; None when no process has the pid."""
        try:
            return self._kernel.status(pid)
        except ps.Unreadable:
            return ps.Status(start="", zombie=False)

    def _life(self, pid: int, start: str) -> Life:
        """Return whether the process with this pid and start time, which was recorded on the present boot, lives.

        A zombie is "dead", and so is a process whose pid another process has now. "unknown" when the process cannot be
        read, or its start time was recorded as a date.
        """
        try:
            found = self._kernel.status(pid)
        except ps.Unreadable:
            return "unknown"
        if found is None or found.zombie:
            return "dead"
        if not found.start or "_" in start:  # a date, as older versions recorded it on macOS
            return "unknown"
        return "alive" if found.start == start else "dead"


if sys.platform not in {"linux", "darwin"}:  # pragma: no cover
    msg = f"fleet knows no processes on {sys.platform}"
    raise ImportError(msg)

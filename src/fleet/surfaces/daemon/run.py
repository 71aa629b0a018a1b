"""`fleet daemon run`: the process that serves a home until it is told to end.

SIGTERM and Ctrl-C drain: the daemon takes no new requests and finishes those it has begun. SIGHUP reads the settings
again; with a controlling terminal it means that the terminal is gone, and drains too. No agent ends with the daemon.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from time import monotonic
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.api.remote.door import DIRECT
from fleet.api.remote.lifecycle import FAILED, refuse_unusable_store
from fleet.surfaces.daemon.duties.duties import Duties
from fleet.surfaces.daemon.household import Household
from fleet.surfaces.daemon.serving.server import DRAIN, Server
from fleet.world.files.sockets import Listener
from fleet.world.funnel import Funnel
from fleet.world.home import paths
from fleet.world.world import UNATTENDED

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.surfaces.daemon.serving.server import Commands
    from fleet.world.files.gates import Gate

# Seconds after which Python switches threads: an answer should not wait for a long computation.
_SWITCH = 0.0005
# How many files and connections the daemon may have open.
_FILES = 8_192
# Seconds within which all parts of the daemon end: less than `fleet daemon stop` waits. The duties may take 10 of them,
# and the requests 10 more.
ENDING = 25.0


def run(commands: Callable[[], Commands], log: Callable[..., None]) -> None:
    """Serve the home that the environment names until a signal or a request ends the daemon.

    Wait for a database server that does not answer. Raise DaemonRuns when another daemon serves the home, Refused when
    an agent calls this, HomeMoved or HomeCopied when the home was moved or copied, StoreReplaced when the database was
    replaced, another StoreError when the store cannot be used. `commands` makes the object that performs command lines,
    `log` writes the daemon's log.
    """
    os.environ[DIRECT] = os.environ[UNATTENDED] = "1"
    os.environ.pop("MALLOC_ARENA_MAX", None)  # it counts from the start of a process, and is not meant for agents
    with Fleet.open(needs_store=False) as fleet:
        if fleet.speaker is not None:
            raise errors.Refused(what="only a person starts the daemon, and this is an agent")
        if fleet.moved_error is not None:
            raise fleet.moved_error
        refuse_unusable_store(fleet)
        gate = _take_gate(fleet)
        household = Household(fleet.home, fleet.world.record, Funnel())
    _allow_many_files()
    try:
        Daemon(household, commands(), log).serve()
    except Exception as error:
        log(FAILED, pid=os.getpid(), why=str(error))
        raise
    finally:
        gate.give()


def _allow_many_files() -> None:
    """Raise this process's limit of open files to 8192, as far as the system allows, so that many clients can connect."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _take_gate(fleet: Fleet) -> Gate:
    """Take the gate of the home's daemon, of which there is only one, and return the gate.

    Raise DaemonRuns, with the holder, when another process holds it.
    """
    gate = fleet.world.daemon_gate()
    try:
        gate.take()
    except errors.GateHeld:
        raise errors.DaemonRuns(home=fleet.home, holder=str(gate.holder() or "an unknown process")) from None
    return gate


class Daemon:
    """The parts of the daemon (writer, server, duties), started and stopped in order."""

    def __init__(self, household: Household, commands: Commands, log: Callable[..., None]) -> None:
        self._household = household
        self._log = log
        home, funnel = household.home, household.funnel
        listeners = {
            Listener(f"{home}/{paths.DAEMON_SOCKET}", funnel): False,
            Listener(f"{home}/{paths.AGENTS_SOCKET}", funnel): True,
        }
        self._duties = Duties(household.open, log)
        self._server = Server(household, commands, listeners, self._duties, log)
        self._server.reload = self._reload

    def serve(self) -> None:
        """Start all parts and serve until a signal or a request ends the daemon; then stop all parts.

        Raise StoreReplaced when the database was replaced: what the threads remember belongs to the old one.
        """
        sys.setswitchinterval(_SWITCH)
        self._household.serve()
        try:
            self._server.start()
            self._listen_to_signals()
            self._duties.start()
            self._log("started", pid=os.getpid(), home=self._household.home)
            self._server.loop.run()
        finally:
            self._end()
        if self._server.why_ended is not None:
            raise self._server.why_ended

    def _end(self) -> None:
        """Stop the duties, finish the requests that were begun, and stop the writer: within 25 seconds in all."""
        self._log("ending", pid=os.getpid())
        until = monotonic() + ENDING
        self._duties.stop(DRAIN)
        self._server.drain(until)
        self._household.end(until)
        self._log("ended", pid=os.getpid())

    def _listen_to_signals(self) -> None:
        """Let SIGTERM and SIGINT end the daemon, and SIGHUP call `_hang_up` in the loop.

        A handler only wakes the loop: it may interrupt this thread while the thread holds a lock, such as that of the
        log.
        """
        loop = self._server.loop
        loop.hung_up = self._hang_up
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: loop.stop())
        signal.signal(signal.SIGHUP, lambda _number, _frame: loop.hang_up())

    def _hang_up(self) -> None:
        """End after SIGHUP when a terminal controls this process, else read the settings again. The loop calls it."""
        if _has_terminal():
            self._server.loop.stop()
        else:
            self._reload()

    def _reload(self) -> None:
        """Log that the settings are read again, and look for new operations.

        Nothing else is needed: every round of a duty and every request reads the settings.
        """
        self._log("reads the settings again")
        self._server.changes.notice()


def _has_terminal() -> bool:
    """Whether a terminal controls this process."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True

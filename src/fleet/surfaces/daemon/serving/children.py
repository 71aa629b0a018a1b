"""Perform heavy requests in child processes: those that start and end agents, merge, or run jobs.

A child has the environment and directory of whoever asks. It writes lines of JSON: progress, and at last its answer.
When the client goes away, its child is interrupted, as Ctrl-C interrupts a command. When the daemon ends, children finish
what they have begun. Only those that run jobs are interrupted: their clients continue the jobs themselves.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.remote.acts import METHODS_THAT_RUN_JOBS
from fleet.api.remote.door import DIRECT
from fleet.model import FLEET_HOME

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen
    from typing import IO

    from fleet.api.remote.wire import Json
    from fleet.surfaces.daemon.household import Household
    from fleet.surfaces.daemon.serving.connection import Connection
    from fleet.surfaces.daemon.serving.requests import DaemonRequest

MOST = 64
_LAST_WORDS = 2_000
# Seconds to wait for the rest of an ended child's error output.
_PATIENCE = 1.0


class Children:
    """The child processes that perform heavy requests."""

    def __init__(self, household: Household, send: Callable[[Connection, Json], None]) -> None:
        self._household = household
        self._send = send
        self._at_work: dict[Popen[bytes], DaemonRequest] = {}
        # Whether the daemon is ending: children then go on although the connections of their clients are closed.
        self._is_leaving = False
        # How many were begun and have not ended, also those whose process is only about to start.
        self._begun = 0
        self._lock = Lock()

    def __len__(self) -> int:
        """Return how many child processes are at work."""
        return self._begun

    def perform(self, request: DaemonRequest) -> None:
        """Perform a request in a child process; its answer is sent later.

        Raise Refused when 64 children are at work.
        """
        with self._lock:
            if self._begun >= MOST:
                raise errors.Refused(
                    what=f"{MOST} commands are at work in the daemon already; try again when some have ended"
                )
            self._begun += 1
        try:
            Thread(target=self._attend, args=(request,), name=f"child of {request.method}", daemon=True).start()
        except RuntimeError:  # the system has no thread left
            with self._lock:
                self._begun -= 1
            raise

    def leave(self) -> None:
        """From now on let children finish what they have begun, although the daemon closes the connections of their clients.

        Children that run jobs are interrupted all the same: their clients continue the jobs at once.
        """
        self._is_leaving = True

    def interrupt(self, connection: Connection) -> None:
        """Send SIGINT to the children that work for a client that went away.

        While the daemon ends (see `leave`), only to those that run jobs.
        """
        with self._lock:
            ours = [
                child
                for child, request in self._at_work.items()
                if request.connection is connection
                and not (self._is_leaving and request.method not in METHODS_THAT_RUN_JOBS)
            ]
        for child in ours:
            self._household.funnel.through("interrupt a child", lambda: _interrupt(child))  # noqa: B023 - called at once

    def _attend(self, request: DaemonRequest) -> None:
        """Run one request in a child and send its answer, or the error, to the client. Runs in a thread of its own."""
        try:
            answer = self._answer_of(request)
        except BaseException as error:  # noqa: BLE001 - the client is told
            answer = request.failed(error)
        with self._lock:
            self._begun -= 1
        self._send(request.connection, answer)

    def _answer_of(self, request: DaemonRequest) -> Json:
        """Start the child for a request and return its answer.

        Interrupt the child if the client has gone away while the child was started.
        """
        world, asker = self._household.world(), request.surroundings
        env = {**asker.environ, FLEET_HOME: self._household.home, DIRECT: "1"}
        folder = asker.directory if asker.directory and os.path.isdir(asker.directory) else self._household.home
        child = world.programs.begin(
            f"perform {request.method}", [world.fleet_program, "daemon", "act"], env=env, cwd=folder
        )
        with self._lock:
            self._at_work[child] = request
        if not request.connection.is_open:  # the client went away while the child was started
            self.interrupt(request.connection)
        try:
            return self._listen(child, request)
        finally:
            with self._lock:
                del self._at_work[child]

    def _listen(self, child: Popen[bytes], request: DaemonRequest) -> Json:
        """Send the request to the child, pass its progress on to the client, and return its answer.

        Raise FleetError, with the end of the child's error output, when the child ends without an answer.
        """
        asked = {"id": request.id, "method": request.method, "args": request.args, "key": request.key,
                 "caller": {"as": request.actor, "dispatch": request.dispatch}, "pid": request.connection.pid}  # fmt: skip
        assert child.stdin is not None  # noqa: S101 - pipes were asked for
        assert child.stdout is not None  # noqa: S101
        assert child.stderr is not None  # noqa: S101
        said = LastWords(child.stderr)
        with suppress(BrokenPipeError), child.stdin:  # it may have ended already; its last words say why
            child.stdin.write(json.dumps(asked).encode() + b"\n")
        answer: Json | None = None
        with child.stdout:
            for line in child.stdout:
                told = json.loads(line)
                if "push" in told:
                    self._send(request.connection, {**told, "id": request.id})
                else:
                    answer = told
        status = child.wait()
        if answer is None:
            raise errors.FleetError(
                what=f"the process that did it ended with {status} and without an answer: {said.text()}"
            )
        return answer


class LastWords:
    """Keeps the end of a child's error output.

    A thread reads it all the time, because a full pipe would block the child.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._end = b""
        self._thread = Thread(target=self._read, name="what a child prints", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return the last part of the ended child's error output.

        Wait at most a second for the end of the output: a process that the child left may keep the pipe open.
        """
        self._thread.join(_PATIENCE)
        return self._end.decode("utf-8", "replace").strip()

    def _read(self) -> None:
        """Read the child's error output to its end, and keep the last 2000 bytes. Runs in this object's own thread."""
        with self._stream:
            for line in self._stream:
                self._end = (self._end + line)[-_LAST_WORDS:]


def _interrupt(child: Popen[bytes]) -> None:
    """Send SIGINT to a child process that still runs."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)

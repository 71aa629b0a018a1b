"""Start the commands of jobs: programs that run beside this process and write their output to files."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from time import monotonic, sleep
from typing import TYPE_CHECKING

from fleet.records import record
from fleet.world.files import folders
from fleet.world.process.programs import clean_environment
from fleet.world.process.ps import handle_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fleet.world.funnel import Funnel

# How many seconds a command has between SIGTERM and SIGKILL.
_GRACE = 2.0
_FILE = 0o600


@record(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """How a command of a job ended, a child of this process.

    `status` is its exit status, 128 + N when signal N killed it. It is None when the command could not be started, or
    was ended after its time limit; then `why` says so.
    """

    status: int | None
    why: str = ""

    @property
    def ok(self) -> bool:
        """Return whether the child exited by itself with status 0."""
        return self.status == 0


class JobCommand:
    """A running command of a job, with a time limit. It is a child of this process."""

    def __init__(self, process: subprocess.Popen[bytes], limit: float, funnel: Funnel) -> None:
        self._funnel = funnel
        self._process = process
        self._limit = limit
        self._until = monotonic() + limit
        self._asked: float | None = None

    @property
    def pid(self) -> int:
        """Return the pid. The kernel does not reuse it until `look` or `kill` has reaped the child."""
        return self._process.pid

    def look(self) -> CommandEnd | None:
        """Return how the child ended; None while it runs.

        Once its time limit is over, a call sends SIGTERM to the child's process group, and a call two seconds later or
        more SIGKILL. When the child has ended, what is left in its process group is killed.
        """
        if self._is_over():
            return self._reaped()
        now = monotonic()
        if self._asked is None and now >= self._until:
            self._asked = now
            self._signal_all(signal.SIGTERM)
        elif self._asked is not None and now >= self._asked + _GRACE:
            self._signal_all(signal.SIGKILL)
        return None

    def wait(self, seconds: float) -> None:
        """Wait until the child exits, for at most this many seconds; the whole time where the kernel has no pidfds."""
        handle = handle_of(self._process.pid)
        if handle is None:
            sleep(seconds)
            return
        try:
            told = select.poll()
            told.register(handle, select.POLLIN)
            told.poll(seconds * 1_000)
        finally:
            os.close(handle)

    def kill(self) -> None:
        """Kill the child and everything in its process group, and reap the child."""
        self._signal_all(signal.SIGKILL)
        self._process.wait()

    def _signal_all(self, number: signal.Signals) -> None:
        """Send a signal to the child's whole process group."""
        self._funnel.through(f"{number.name} to job step", lambda: _signal_process_group(self._process.pid, number))

    def _is_over(self) -> bool:
        """Return whether the child has exited. Where the system has `waitid`, this does not reap the child."""
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _reaped(self) -> CommandEnd:
        """Kill what the child left in its process group, reap the child, and return how it ended."""
        if self._process.returncode is None:
            self._signal_all(signal.SIGKILL)
        status = self._process.wait()
        if self._asked is not None:
            return CommandEnd(status=None, why=f"it took longer than {self._limit:g} s and was ended")
        return CommandEnd(status=status if status >= 0 else 128 - status)


class JobCommands:
    """Start the commands of jobs."""

    def __init__(self, funnel: Funnel, home: str) -> None:
        self._funnel = funnel
        self._home = home

    def start(
        self,
        effect: str,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        output: str,
        errors: str | None = None,
        limit: float,
        inherited: Sequence[int] = (),
    ) -> JobCommand | CommandEnd:
        """Start a child whose output is appended to files; return CommandEnd when it could not be started.

        Raise OSError when a file cannot be opened. `errors` is the path of the file for standard error, by default the
        same as `output`. The child inherits the descriptors in `inherited`, such as a lock. Its time limit is `limit`
        seconds: `JobCommand.look` ends it after that.
        """

        def act() -> JobCommand | CommandEnd:
            with contextlib.ExitStack() as files:
                out = files.enter_context(_open_to_append(output, self._home))
                err = files.enter_context(_open_to_append(errors, self._home)) if errors else subprocess.STDOUT
                try:
                    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=clean_environment(env, speaks=True),
                                               cwd=cwd, pass_fds=inherited, start_new_session=True)  # fmt: skip
                except OSError as error:
                    return CommandEnd(status=None, why=f"{error.filename or words[0]}: {str(error.strerror).lower()}")
            self._funnel.during(effect, process.pid)
            return JobCommand(process, limit, self._funnel)

        return self._funnel.through(effect, act)


@contextlib.contextmanager
def _open_to_append(path: str, home: str) -> Iterator[int]:
    """Yield the descriptor of a file to append to, created with its folders if missing; close it after the block."""
    folders.make_private_folder(os.path.dirname(path), below=home)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, _FILE)
    try:
        yield handle
    finally:
        os.close(handle)


def _signal_process_group(pid: int, number: int) -> None:
    """Send a signal to a process group, if there is one that this user may signal."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)

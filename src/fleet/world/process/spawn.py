"""Start a program with posix_spawn: to import subprocess costs more than a bare start of Python.

The program is started as `subprocess.Popen` starts it: in a session of its own, with pipes, with only those descriptors
of this process that it is to inherit, and with the default action for the signals that Python ignores. What posix_spawn
cannot do is left to subprocess.
"""

from __future__ import annotations

import os

from fleet.fast import alarm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    # The two ends of a pipe: to read, to write.
    Pipe = tuple[int, int]

_DESCRIPTORS = "/dev/fd"
# The first descriptor after the standard streams.
_FIRST = 3
_IGNORED_BY_PYTHON = [getattr(alarm, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(alarm, name)]


class Spawned:
    """A started program, with those attributes of `subprocess.Popen` that fleet uses."""

    def __init__(self, pid: int, stdin: int | None, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        # Whoever reads the pipes closes them.
        self.stdin = None if stdin is None else open(stdin, "wb", buffering=0)  # noqa: SIM115
        self.stdout = open(stdout, "rb", buffering=0)  # noqa: SIM115
        self.stderr = open(stderr, "rb", buffering=0)  # noqa: SIM115

    def poll(self) -> int | None:
        """Return the exit status, -N when signal N ended the program; None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int | None:
        """Wait for the program to end, and return its exit status."""
        return self._reap(0)

    def _reap(self, options: int) -> int | None:
        """Return the exit status, and ask the kernel for it if it is not known; None while the program runs.

        0 when the kernel has not kept the status.
        """
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:  # this process ignores SIGCHLD
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def spawn(words: Sequence[str], env: Mapping[str, str], kept: Sequence[int], *, reads: bool) -> Spawned | None:
    """Start a program that inherits the descriptors in `kept`. Its standard input is a pipe if it `reads`, else empty.

    Return None when subprocess has to do it: the program was not found, a standard stream of this process is closed, or
    the system's posix_spawn makes no sessions. Raise OSError when the program cannot be executed.
    """
    path = _path_of(words[0], env)
    if path is None:
        return None
    pipes = [os.pipe() for _ in range(3 if reads else 2)]
    out, err, *given = pipes
    theirs, ours = [out[1], err[1], *(pipe[0] for pipe in given)], [out[0], err[0], *(pipe[1] for pipe in given)]
    pid = None
    try:
        if min(theirs + ours) >= _FIRST:
            actions = [*_streams(out, err, *given), *_inherited(kept, spare=out[0]), *_closed(kept)]
            pid = os.posix_spawn(
                path, tuple(words), env, file_actions=actions, setsid=True, setsigdef=_IGNORED_BY_PYTHON
            )
    except NotImplementedError:
        return None
    finally:
        for each in theirs if pid else theirs + ours:
            os.close(each)
    return Spawned(pid, given[0][1] if reads else None, out[0], err[0]) if pid else None


def _path_of(program: str, env: Mapping[str, str]) -> str | None:
    """Return the path of a program, searched for in the PATH of its own environment; None when it is not found.

    A name with a slash is returned as it is.
    """
    if "/" in program:
        return program
    paths = (os.path.join(folder, program) for folder in os.get_exec_path(env))
    return next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), None)


def _streams(out: Pipe, err: Pipe, given: Pipe | None = None) -> list[tuple[object, ...]]:
    """Return the file actions of posix_spawn that make pipes the program's standard streams.

    Without `given`, its standard input is empty.
    """
    stdin = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0) if given is None else (os.POSIX_SPAWN_DUP2, given[0], 0)
    )
    return [stdin, (os.POSIX_SPAWN_DUP2, out[1], 1), (os.POSIX_SPAWN_DUP2, err[1], 2)]


def _inherited(kept: Sequence[int], *, spare: int) -> list[tuple[object, ...]]:
    """Return the file actions of posix_spawn that let the program inherit the descriptors `kept`.

    Only duplicates are inherited, so each descriptor is duplicated to the descriptor `spare` and back.
    """
    to_and_fro = [[(os.POSIX_SPAWN_DUP2, each, spare), (os.POSIX_SPAWN_DUP2, spare, each)] for each in kept]
    return [*(action for both in to_and_fro for action in both), (os.POSIX_SPAWN_CLOSE, spare)]


def _closed(kept: Sequence[int]) -> list[tuple[object, ...]]:
    """Return the file actions of posix_spawn that close the inheritable descriptors of this process, except `kept`.

    The three standard streams stay open. Descriptors that Python opened are not inheritable.
    """
    return [
        (os.POSIX_SPAWN_CLOSE, each)
        for each in map(int, os.listdir(_DESCRIPTORS))
        if each >= _FIRST and each not in kept and _is_inheritable(each)
    ]


def _is_inheritable(descriptor: int) -> bool:
    """Return whether a program inherits a descriptor; False for a closed one."""
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False

"""Other programs: the one place that starts them. No shell sees any word of ours.

A program that performs an effect inherits the effect's lock. If fleet is killed while git goes on writing, the lock stays
locked until git has ended too, and recovery waits for that.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, NoReturn

from fleet.world.process.captured_output import Recording, listen
from fleet.world.process.ps import handle_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fleet.world.funnel import Funnel

_A_WHILE = 0.5
# What a parent agent or a git hook leaves in the environment does not hold for our children.
_FOREIGN = frozenset(
    [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_PREFIX",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "TMUX",
        "TMUX_PANE",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a program ended. None: it did not end in time and was killed, or is not there."""

    status: int | None
    out: str
    err: str

    @property
    def ok(self) -> bool:
        """It ended, and said all is well."""
        return self.status == 0


class Child(subprocess.Popen[bytes]):
    """A program that was started. Its end is told by the kernel, not looked for time and again."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, within so many seconds."""
        end = None if timeout is None or self.returncode is not None else handle_of(self.pid)
        if end is None or timeout is None:
            return super().wait(timeout)
        told = select.poll()
        told.register(end, select.POLLIN)
        try:
            if not told.poll(max(timeout, 0) * 1000):
                raise subprocess.TimeoutExpired(self.args, timeout)
        finally:
            os.close(end)
        return super().wait()


class Programs:
    """Starts other programs."""

    def __init__(self, funnel: Funnel, lease: Callable[[], int] = lambda: -1) -> None:
        self.funnel = funnel
        # What programs inherit: the lock that says that this room uses the home. They may outlive us.
        self._lease = lease

    def run(
        self,
        effect: str,
        words: Sequence[str],
        *,
        limit: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        given: str | None = None,
        lock: int | None = None,
        meanwhile: Callable[[], None] | None = None,
        exact: bool = False,
    ) -> Done:
        """Run a program to its end, or for at most so many seconds; what can be done meanwhile is done while it runs.

        Exact: what is no UTF-8 can be given back to a program as it came; else it is replaced by a sign for people.
        """
        stdin = subprocess.DEVNULL if given is None else subprocess.PIPE

        def act() -> Done:
            try:
                child = _begun(words, env, cwd, self._kept(lock), stdin=stdin)
            except OSError as error:
                return Done(status=None, out="", err=f"{words[0]}: {error.strerror}")
            self.funnel.during(effect, child.pid)
            try:
                if meanwhile is not None:
                    meanwhile()
            finally:
                done = _finished(child, given, limit, errors="surrogateescape" if exact else "replace")
            return done

        return self.funnel.through(effect, act)

    def _kept(self, lock: int | None) -> list[int]:
        """Return the descriptors that a program inherits: the effect's lock, and the lease of this room."""
        return [each for each in (lock, self._lease()) if each is not None and each >= 0]

    def record(
        self,
        effect: str,
        words: Sequence[str],
        *,
        path: str = "",
        limit: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        most: int = 4_000,
    ) -> Done:
        """Run a program to its end, or for at most so many seconds, however much it prints: both outputs go into a file.

        The beginning and the end are kept there; `out` has so many bytes of both, and says how much is left out between them.
        """

        def act() -> Done:
            recording = Recording(path)
            try:
                child = _begun(words, env, cwd, self._kept(None), stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
            except OSError as error:
                recording.close()
                return Done(status=None, out="", err=f"{words[0]}: {error.strerror}")
            self.funnel.during(effect, child.pid)
            in_time = listen(child, recording, limit=limit)
            late = "" if in_time else _killed(child, limit).err
            recording.close()
            _close(child)
            return Done(status=child.returncode if in_time else None, out=recording.text(most), err=late)

        return self.funnel.through(effect, act)

    def leave(self, effect: str, words: Sequence[str], *, env: Mapping[str, str], cwd: str) -> None:
        """Start a program that goes on by itself: nobody waits for it, no terminal owns it, nothing of it stays with us."""
        nowhere = subprocess.DEVNULL

        def act() -> None:
            child = os.fork()
            if child == 0:
                try:
                    subprocess.Popen(words, stdin=nowhere, stdout=nowhere, stderr=nowhere, env=cleaned(env), cwd=cwd,
                                     start_new_session=True)  # fmt: skip
                finally:
                    os._exit(0)
            os.waitpid(child, 0)

        self.funnel.through(effect, act)


def become(funnel: Funnel, words: list[str]) -> NoReturn:
    """Become another program, which gets this process's terminal."""
    funnel.through(f"exec {words[0]}", lambda: os.execvpe(words[0], words, cleaned(None)))  # noqa: S606 - no shell is what is wanted


def detached() -> bool:
    """Go on in a child that nobody waits for and no terminal owns. True in the parent, which is to end."""
    if os.fork():
        return True
    os.setsid()
    return False


def _begun(
    words: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | None,
    kept: list[int],
    *,
    stdin: int,
    stderr: int = subprocess.PIPE,
) -> Child:
    return Child(
        words,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=cleaned(env),
        cwd=cwd,
        pass_fds=kept,
        start_new_session=True,
    )


def _finished(child: Child, text: str | None, limit: float, *, errors: str) -> Done:
    """How it ended. What it left behind in the background may hold its pipes for ever; that is not waited for."""
    until = monotonic() + limit
    given = None if text is None else text.encode("utf-8", errors)
    while True:
        ended = child.poll() is not None  # then all that it said is there to be read
        patience = _A_WHILE if ended else max(min(_A_WHILE, until - monotonic()), 0)
        try:
            out, err = child.communicate(given, timeout=patience if given is None else limit)
        except subprocess.TimeoutExpired as late:
            if ended and (not _has_more(child) or monotonic() >= until):
                _close(child)
                return Done(status=child.returncode, out=_text(late.stdout, errors), err=_text(late.stderr, errors))
            if child.poll() is None and monotonic() >= until:
                return _killed(child, limit)
            given = None
        else:
            return Done(status=child.returncode, out=_text(out, errors), err=_text(err, errors))


def _has_more(child: Child) -> bool:
    """Whether there is something to be read yet, or its end: we may just not have come to it."""
    waiting = select.poll()
    for pipe in (child.stdout, child.stderr):
        if pipe is not None and not pipe.closed:
            waiting.register(pipe, select.POLLIN)
    return bool(waiting.poll(0))


def _killed(child: Child, limit: float) -> Done:
    os.killpg(child.pid, signal.SIGKILL)  # with all that it started: it leads a group of its own
    child.wait()
    _close(child)
    return Done(status=None, out="", err=f"no answer within {limit:g} s")


def _close(child: Child) -> None:
    """The pipes, not read to their end: somebody else may hold the other one."""
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def _text(said: bytes | None, errors: str) -> str:
    """As it was printed: a carriage return stays one."""
    return (said or b"").decode("utf-8", errors)


def cleaned(env: Mapping[str, str] | None) -> dict[str, str]:
    """An environment, ours when none is given, without what holds only for somebody else."""
    given = os.environ if env is None else env
    return {name: value for name, value in given.items() if name not in _FOREIGN}

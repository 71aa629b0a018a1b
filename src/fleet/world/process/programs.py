"""Start other programs; only this file does. No shell sees any of the words.

A program that performs an effect inherits the effect's lock. If fleet is killed while git goes on writing, the lock
stays locked until git has ended too, and recovery waits for that.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from time import monotonic

from fleet.model.agents.actors import TOKEN
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.records import record
from fleet.world.process.captured_output import Recording, record_output
from fleet.world.process.ps import handle_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO, NoReturn

    from fleet.world.funnel import Funnel

_A_WHILE = 0.5
# Variables of a parent agent or a git hook, which are wrong for the programs that fleet starts.
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
# Put before a program's words to set variables that `clean_environment` would remove.
ENV = "/usr/bin/env"
# Secrets with which a program can speak for this agent; only the agent's own programs get them.
_SECRETS = frozenset([VARIABLE, TOKEN])


@record(frozen=True, slots=True, kw_only=True)
class Done:
    """The result of a program. `status` is None when it is not installed, or was killed after its time limit."""

    status: int | None
    out: str
    err: str

    @property
    def ok(self) -> bool:
        """Return whether the program exited with status 0."""
        return self.status == 0


class Child(subprocess.Popen[bytes]):
    """A started program. The kernel reports its end; nothing polls."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait at most `timeout` seconds for the program to end, and return its exit status.

        Raise TimeoutExpired when it has not ended by then.
        """
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
    """Start other programs."""

    def __init__(self, funnel: Funnel, lease: Callable[[], int] = lambda: -1) -> None:
        self.funnel = funnel
        # What programs inherit: the lock that records that this pid namespace uses the home. They may outlive us.
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
        """Run a program to its end, with a time limit in seconds, and return its result.

        `given` is its standard input; `meanwhile` is called while it runs. With `exact`, bytes that are not UTF-8 are kept;
        else they become replacement characters. `effect` names the run in the funnel; `lock` is the descriptor of an effect
        lock that the program inherits.
        """
        stdin = subprocess.DEVNULL if given is None else subprocess.PIPE

        def act() -> Done:
            try:
                child = _start_program(words, env, cwd, self._kept(lock), stdin=stdin)
            except OSError as error:
                return Done(status=None, out="", err=f"{words[0]}: {error.strerror}")
            self.funnel.during(effect, child.pid)
            try:
                if meanwhile is not None:
                    meanwhile()
            finally:
                done = _wait_for_program(child, given, limit, errors="surrogateescape" if exact else "replace")
            return done

        return self.funnel.through(effect, act)

    def _kept(self, lock: int | None) -> list[int]:
        """Return the descriptors that a program inherits: the effect's lock, and the lock of this pid namespace."""
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
        given: str | None = None,
    ) -> Done:
        """Run a program to its end, and record its output, in memory or, with a `path`, in a bounded file.

        After `limit` seconds the program is killed; then the result has no exit status. The file keeps the beginning and
        the end of standard output and error; `out` of the result has at most `most` bytes of them. `given` is the
        standard input, passed as a file so that a program that does not read it never blocks. `effect` names the run in
        the funnel.
        """

        def act() -> Done:
            recording = Recording(path)
            try:
                with _input_file(given) as stdin:
                    kept = self._kept(None)
                    child = _start_program(words, env, cwd, kept, stdin=stdin.fileno(), stderr=subprocess.STDOUT)
            except OSError as error:
                recording.close()
                return Done(status=None, out="", err=f"{words[0]}: {error.strerror}")
            self.funnel.during(effect, child.pid)
            in_time = record_output(child, recording, limit=limit)
            late = "" if in_time else _kill_after_limit(child, limit).err
            recording.close()
            _close_pipes(child)
            return Done(status=child.returncode if in_time else None, out=recording.text(most), err=late)

        return self.funnel.through(effect, act)

    def begin(self, effect: str, words: Sequence[str], *, env: Mapping[str, str], cwd: str) -> Child:
        """Start a program with pipes to its three streams; the caller reads them and waits for its end.

        The program keeps the secrets in its environment, with which it may speak for the agent.
        """

        def act() -> Child:
            child = _start_program(words, env, cwd, self._kept(None), stdin=subprocess.PIPE, speaks=True)
            self.funnel.during(effect, child.pid)
            return child

        return self.funnel.through(effect, act)

    def leave(self, effect: str, words: Sequence[str], *, env: Mapping[str, str], cwd: str) -> None:
        """Start a program in the background: this process does not wait for it, and it has no terminal."""
        nowhere = subprocess.DEVNULL

        def act() -> None:
            child = os.fork()
            if child == 0:
                try:
                    subprocess.Popen(words, stdin=nowhere, stdout=nowhere, stderr=nowhere, env=clean_environment(env), cwd=cwd,
                                     start_new_session=True)  # fmt: skip
                finally:
                    os._exit(0)
            os.waitpid(child, 0)

        self.funnel.through(effect, act)


def become(funnel: Funnel, words: list[str]) -> NoReturn:
    """Replace this process by another program, which gets the terminal."""
    funnel.through(f"exec {words[0]}", lambda: os.execvpe(words[0], words, clean_environment(None)))  # noqa: S606 - no shell is what is wanted


def lend_terminal(funnel: Funnel, words: list[str]) -> int:
    """Run a program on this process's terminal and return its exit status.

    Its standard output and error are discarded: tmux prints there that it has detached.
    """

    def act() -> int:
        return subprocess.call(words, env=clean_environment(None), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return funnel.through(f"run {words[0]} on the terminal", act)


def detach() -> bool:
    """Fork a child without a terminal, and continue in it.

    Return True in the parent, which has to exit, and False in the child.
    """
    if os.fork():
        return True
    os.setsid()
    return False


def _start_program(
    words: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | None,
    kept: list[int],
    *,
    stdin: int,
    stderr: int = subprocess.PIPE,
    speaks: bool = False,
) -> Child:
    """Start a program with pipes, in a session of its own, with a clean environment.

    It inherits the descriptors in `kept`. `speaks`: see `clean_environment`.
    """
    asked, variables = _split_off_variables(words)
    return Child(
        asked,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=clean_environment(env, speaks=speaks) | variables,
        cwd=cwd,
        pass_fds=kept,
        start_new_session=True,
    )


def _split_off_variables(words: Sequence[str]) -> tuple[Sequence[str], dict[str, str]]:
    """Split `/usr/bin/env NAME=VALUE … WORDS` into WORDS and the variables, so that no process for env is needed.

    Other words are returned as they are, with {}.
    """
    if words[0] != ENV:
        return words, {}
    first = next(number for number, word in enumerate(words) if number and "=" not in word)
    return words[first:], dict(word.split("=", 1) for word in words[1:first])


def _input_file(given: str | None) -> IO[bytes]:
    """Return the standard input for a program: a nameless file with the given text; /dev/null for None."""
    if given is None:
        return open(os.devnull, "rb")
    import tempfile  # noqa: PLC0415 - few programs read anything

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(given.encode())
    file.seek(0)
    return file


def _wait_for_program(child: Child, text: str | None, limit: float, *, errors: str) -> Done:
    """Wait for a program and return its result; kill it after `limit` seconds.

    `text` is its standard input, None for none. Background processes that still hold its pipes are not waited for.
    """
    until = monotonic() + limit
    given = None if text is None else text.encode("utf-8", errors)
    while True:
        ended = child.poll() is not None  # if so, all its output can be read now
        patience = _A_WHILE if ended else max(min(_A_WHILE, until - monotonic()), 0)
        try:
            out, err = child.communicate(given, timeout=patience if given is None else limit)
        except subprocess.TimeoutExpired as late:
            if ended and (not _has_more(child) or monotonic() >= until):
                _close_pipes(child)
                return Done(status=child.returncode, out=_text(late.stdout, errors), err=_text(late.stderr, errors))
            if child.poll() is None and monotonic() >= until:
                return _kill_after_limit(child, limit)
            given = None
        else:
            return Done(status=child.returncode, out=_text(out, errors), err=_text(err, errors))


def _has_more(child: Child) -> bool:
    """Return whether a program's pipes have something to read, or have reached their end."""
    waiting = select.poll()
    for pipe in (child.stdout, child.stderr):
        if pipe is not None and not pipe.closed:
            waiting.register(pipe, select.POLLIN)
    return bool(waiting.poll(0))


def _kill_after_limit(child: Child, limit: float) -> Done:
    """Kill a program and its process group, and return the result of a program that took longer than `limit` seconds."""
    os.killpg(child.pid, signal.SIGKILL)  # it leads a process group, so this kills what it started, too
    child.wait()
    _close_pipes(child)
    return Done(status=None, out="", err=f"no answer within {limit:g} s")


def _close_pipes(child: Child) -> None:
    """Close a program's pipes without reading to their end: a background process may hold the other end."""
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def _text(said: bytes | None, errors: str) -> str:
    """Return the output of a program as text; "" for None. Carriage returns are kept.

    `errors` says how bytes that are not UTF-8 are decoded.
    """
    return (said or b"").decode("utf-8", errors)


def clean_environment(env: Mapping[str, str] | None, *, speaks: bool = False) -> dict[str, str]:
    """Return an environment (by default this process's) without variables that belong to another agent or a git hook.

    With `speaks`, it keeps the secrets with which the program may speak for the agent that this process is.
    """
    given = os.environ if env is None else env
    left_out = _FOREIGN if speaks else _FOREIGN | _SECRETS
    return {name: value for name, value in given.items() if name not in left_out}

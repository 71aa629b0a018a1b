"""Start other programs. No shell sees any of the words.

A program that performs an effect inherits the effect's lock. If fleet is killed while git goes on writing, the lock
stays locked until git has ended too, and recovery waits for that.
"""

from __future__ import annotations

import os

from fleet.fast import signal
from fleet.model.agents.actors import TOKEN
from fleet.model.dispatch.one_time_proof import VARIABLE
from fleet.records import record
from fleet.world.process.captured_output import Recording, read_output
from fleet.world.process.spawn import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from subprocess import Popen
    from typing import IO, NoReturn

    from fleet.world.funnel import Funnel
    from fleet.world.process.spawn import Spawned

    StartedProgram = Popen[bytes] | Spawned

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
    """The result of a program.

    `status` is its exit status, -N when signal N killed it. It is None when the program did not start, or was killed
    after its time limit; then `err` says so.
    """

    status: int | None
    # What the program printed to its standard output and to its standard error.
    out: str
    err: str

    @property
    def ok(self) -> bool:
        """Return whether the program exited with status 0."""
        return self.status == 0


class Programs:
    """Start other programs."""

    def __init__(self, funnel: Funnel, namespace_lock: Callable[[], int] = lambda: -1) -> None:
        self.funnel = funnel
        # Returns the descriptor of the lock that records that this pid namespace uses the home; -1 for none. Programs
        # inherit it, because they may outlive this process.
        self._namespace_lock = namespace_lock

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
        """Run a program to its end and return its result; after `limit` seconds kill it and its process group.

        It gets the environment `env` (None: this process's) as `clean_environment` leaves it. `given` is its standard
        input; `meanwhile` is called once, after the program has started. With `exact`, bytes that are not UTF-8 are
        kept; else they become replacement characters. `effect` names the run in the funnel; `lock` is the descriptor of
        an effect lock that the program inherits.
        """

        def act() -> Done:
            try:
                child = _start_program(words, env, cwd, self._kept(lock), reads=given is not None)
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
        return [each for each in (lock, self._namespace_lock()) if each is not None and each >= 0]

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

        After `limit` seconds the program and its process group are killed; then the result has no exit status. The file
        keeps the beginning and the end of standard output and error; `out` of the result has at most `most` bytes of
        both (see `Recording.text`), `err` only the reason why the program did not start or was killed. `given` is the
        standard input, passed as a file so that a program that does not read it never blocks. `effect` names the run in
        the funnel.
        """

        def act() -> Done:
            recording = Recording(path)
            try:
                with _input_file(given) as stdin:
                    kept = self._kept(None)
                    child = _popen(words, env, cwd, kept, stdin=stdin.fileno(), joined=True)
            except OSError as error:
                recording.close()
                return Done(status=None, out="", err=f"{words[0]}: {error.strerror}")
            self.funnel.during(effect, child.pid)
            in_time = read_output(child, {_descriptor(child.stdout): recording.take}, limit=limit)
            late = "" if in_time else _kill_after_limit(child, limit)
            recording.close()
            _close_pipes(child)
            return Done(status=child.returncode if in_time else None, out=recording.text(most), err=late)

        return self.funnel.through(effect, act)

    def begin(self, effect: str, words: Sequence[str], *, env: Mapping[str, str], cwd: str) -> Popen[bytes]:
        """Start a program with pipes to its three streams; the caller reads them and waits for its end.

        The program keeps the secrets in its environment, with which it may speak for the agent. Raise OSError when it
        cannot be started.
        """

        def act() -> Popen[bytes]:
            child = _popen(words, env, cwd, self._kept(None), speaks=True)
            self.funnel.during(effect, child.pid)
            return child

        return self.funnel.through(effect, act)

    def start_detached(self, effect: str, words: Sequence[str], *, env: Mapping[str, str], cwd: str) -> None:
        """Start a program in the background: this process does not wait for it, and it has no terminal.

        Its standard streams are /dev/null. A program that cannot be started is not reported.
        """
        import subprocess  # noqa: PLC0415 - a large import

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
    """Replace this process by another program, which gets the terminal; raise OSError when that fails."""
    funnel.through(f"exec {words[0]}", lambda: os.execvpe(words[0], words, clean_environment(None)))  # noqa: S606 - no shell is what is wanted


def lend_terminal(funnel: Funnel, words: list[str]) -> int:
    """Run a program on this process's terminal and return its exit status, -N when signal N killed it.

    Its standard output and error are discarded: tmux prints there that it has detached.
    """
    import subprocess  # noqa: PLC0415 - a large import

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
    words: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, kept: list[int], *, reads: bool
) -> StartedProgram:
    """Start a program with pipes, in a session of its own, with a clean environment; raise OSError when that fails.

    It inherits the descriptors in `kept`. Its standard input is a pipe if it `reads`, else empty.
    """
    asked, variables = _split_off_variables(words)
    spawned = None if cwd else spawn(asked, clean_environment(env) | variables, kept, reads=reads)
    if spawned is not None or reads:
        return spawned or _popen(words, env, cwd, kept)
    with _input_file(None) as empty:
        return _popen(words, env, cwd, kept, stdin=empty.fileno())


def _popen(
    words: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | None,
    kept: list[int],
    *,
    stdin: int | None = None,
    joined: bool = False,
    speaks: bool = False,
) -> Popen[bytes]:
    """Start a program with pipes in the folder `cwd`, in a session of its own, with a clean environment.

    It inherits the descriptors in `kept`. Assignments after `/usr/bin/env` at the head of `words` become variables.
    `stdin` is the descriptor of its standard input; None: a pipe. With `joined`, its standard error is its standard
    output. With `speaks`, it keeps the variables by which it may speak for an agent.
    """
    import subprocess  # noqa: PLC0415 - a large import

    asked, variables = _split_off_variables(words)
    return subprocess.Popen(
        asked,
        stdin=subprocess.PIPE if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if joined else subprocess.PIPE,
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


def _wait_for_program(child: StartedProgram, text: str | None, limit: float, *, errors: str) -> Done:
    """Wait for a program and return its result; kill it after `limit` seconds.

    `text` is its standard input, None for none. `errors` says how to decode bytes that are not UTF-8. Background
    processes that still hold the program's pipes are not waited for.
    """
    out, err = bytearray(), bytearray()
    take = {_descriptor(child.stdout): out.extend, _descriptor(child.stderr): err.extend}
    in_time = read_output(child, take, limit=limit, given=(text or "").encode("utf-8", errors))
    late = "" if in_time else _kill_after_limit(child, limit)
    _close_pipes(child)
    if late:
        return Done(status=None, out="", err=late)
    return Done(status=child.returncode, out=out.decode("utf-8", errors), err=err.decode("utf-8", errors))


def _descriptor(pipe: IO[bytes] | None) -> int:
    """Return the descriptor of a pipe. The caller knows that the program has it, so that it is not None."""
    assert pipe is not None  # noqa: S101
    return pipe.fileno()


def _kill_after_limit(child: StartedProgram, limit: float) -> str:
    """Kill a program that took longer than `limit` seconds, and its process group; return the message to show."""
    os.killpg(child.pid, signal.SIGKILL)  # it leads a process group, so this kills what it started, too
    child.wait()
    return f"no answer within {limit:g} s"


def _close_pipes(child: StartedProgram) -> None:
    """Close a program's pipes without reading to their end: a background process may hold the other end."""
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def clean_environment(env: Mapping[str, str] | None, *, speaks: bool = False) -> dict[str, str]:
    """Return an environment (None: this process's) without the variables of a tmux pane or a git hook.

    With `speaks`, it keeps the secrets with which a program may speak for the agent that this process is; otherwise
    they are left out, too.
    """
    given = os.environ if env is None else env
    left_out = _FOREIGN if speaks else _FOREIGN | _SECRETS
    return {name: value for name, value in given.items() if name not in left_out}

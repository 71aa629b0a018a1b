"""Run a hot command or a read in the daemon: send its words and print the answer, before anything else is imported.

When no daemon runs, when it does not answer in time, or when it leaves the command to this process, the command runs
here. It then uses the idempotency key of the request, so that a change that the daemon has made is not repeated.
"""

from __future__ import annotations

import os
import sys

from fleet.model import (
    DAEMON_SOCKET,
    DEFAULT_HOME,
    FLEET_DIRECT,
    FLEET_DISPATCH_ID,
    FLEET_DOOR,
    FLEET_HOME,
    FLEET_TOKEN,
    VERSION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The commands that the daemon runs for a client: those called by their first word, and those of the group `fleet task`.
_HOT = frozenset(("log", "artifact", "done", "fail", "block", "status", "ps"))
_OF_TASK = frozenset(
    ("log", "artifact", "done", "fail", "block", "claim", "show", "list", "ready", "why", "graph")
)  # behind `fleet task`
# Words that only this process can handle: help, and text from standard input.
_FOR_THIS_PROCESS = frozenset(("--help", "-h", "-"))
# The command that tmux runs when an agent has died. A daemon notices the death by itself.
_HINT = ["settle", "--hint"]
# The environment variables that the daemon gets, besides those that begin with FLEET_.
_SENT_VARIABLES = ("USER", "LOGNAME", "NO_COLOR", "FORCE_COLOR", "TERM")
# Errors by which the daemon refuses the speaker. This process must not run the command instead.
_REFUSALS = frozenset(("WrongToken", "OnlyForAgents", "NotOwned"))
# Seconds to wait for the daemon's greeting, which a suspended daemon never sends, and then for its answer.
_GREETING = 5.0
_PATIENCE = 20.0
# Bytes that are read from the socket at once.
_CHUNK = 1 << 16
# Bytes that a Unix socket's address can hold on every system.
_LONGEST_ADDRESS = 103
_DESCRIPTORS = "/proc/self/fd"


def run(words: list[str]) -> tuple[int | None, str | None]:
    """Let the daemon run a command, and print its output. Returns the exit code and the request's idempotency key.

    The code is the command's, 1 when its output cannot be written, None when this process has to run the command. The
    key is None when the daemon was not asked. `fleet settle --hint` is not sent, because a daemon notices by itself
    that an agent has died: for it, return (0, None) when a daemon is there, else (None, None).
    """
    if words[:2] == _HINT:
        return (0 if is_there() else None), None
    result, key = ask(words)
    if result.get("code") is None:
        return None, key
    why = _write(1, result.get("out", ""))
    _write(2, f"fleet: the output could not be written: {why}\n" if why else result.get("err", ""))
    return 1 if why else result.get("code"), key


def ask(words: list[str]) -> tuple[dict[str, Any], str | None]:
    """Let the daemon run a command. Returns its result (code, out, err) and the request's idempotency key.

    The result is {} when this process has to run the command; the key is None when the daemon was not asked. When the
    home's daemon does not answer, set FLEET_DIRECT, so that this process does not ask it again.
    """
    if not _is_ours(words) or os.environ.get(FLEET_DIRECT) or "_FLEET_COMPLETE" in os.environ:
        return {}, None
    door = os.environ.get(FLEET_DOOR)
    path = door or f"{_home()}/{DAEMON_SOCKET}"
    if not os.path.exists(path) or (getattr(sys.stdout, "encoding", None) or "").lower() != "utf-8":
        return {}, None
    key = os.urandom(12).hex()
    answer = exchange(path, _request(words, key))
    if answer is None and not door:
        os.environ[FLEET_DIRECT] = "1"  # it did not answer: this process does everything itself
    return _result(answer or {}), key


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the command's result from the daemon's answer: `code` (exit code), `out` and `err` (what to print).

    When the daemon refused the speaker, the result has the error's exit code and text. {} when the answer has no
    result: this process runs the command itself then.
    """
    error = answer.get("error") or {}
    if error.get("name") in _REFUSALS:
        return {"code": error.get("code"), "out": "", "err": f"fleet: {error.get('message')} — {error.get('hint')}\n"}
    return answer.get("result") or {}


def is_there() -> bool:
    """Whether a daemon accepts connections at the home's socket; False with FLEET_DIRECT."""
    path = f"{_home()}/{DAEMON_SOCKET}"
    if os.environ.get(FLEET_DIRECT) or not os.path.exists(path):
        return False
    from fleet.fast import unix_socket

    connection = unix_socket()
    try:
        with _Address(path) as address:
            connection.connect(address)
    except OSError:
        return False
    finally:
        connection.close()
    return True


def _home() -> str:
    """Return the path of the fleet home, as the environment has it."""
    return os.environ.get(FLEET_HOME) or os.path.expanduser(DEFAULT_HOME)


class _Address:
    """Yields a path by which the `with` block can connect to a socket, also when the socket's own path is too long.

    For a long path on a system without /proc, the working directory of the block is the folder of the socket.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder = self._before = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) <= _LONGEST_ADDRESS:
            return self._path
        self._folder = os.open(os.path.dirname(self._path), os.O_RDONLY | os.O_DIRECTORY)
        name = os.path.basename(self._path)
        if os.path.isdir(_DESCRIPTORS):
            return f"{_DESCRIPTORS}/{self._folder}/{name}"
        self._before = os.open(".", os.O_RDONLY)
        os.fchdir(self._folder)
        return name

    def __exit__(self, *_: object) -> None:
        if self._before >= 0:
            os.fchdir(self._before)
            os.close(self._before)
        if self._folder >= 0:
            os.close(self._folder)


def _is_ours(words: list[str]) -> bool:
    """Whether the daemon can run the words.

    It can when they call a hot command or a read, and ask neither for help nor for text from standard input.
    """
    if not words or not _FOR_THIS_PROCESS.isdisjoint(words):
        return False
    return words[0] in _HOT or (words[0] == "task" and len(words) > 1 and words[1] in _OF_TASK)


def _request(words: list[str], key: str) -> bytes:
    """Return the request to run a command, as a line of JSON with the asker's directory, environment and token."""
    from fleet.fast import encode

    environ = {
        name: value
        for name, value in os.environ.items()
        if (name.startswith("FLEET_") and name != FLEET_TOKEN) or name in _SENT_VARIABLES
    }
    caller = {
        "dispatch": os.environ.get(FLEET_DISPATCH_ID),
        "token": os.environ.get(FLEET_TOKEN),
        "directory": _directory(),
        "environ": environ,
    }
    args = {"words": words, "columns": _columns()}
    request = {"id": 1, "method": "command", "args": args, "key": key, "caller": caller, "fleet": VERSION}
    return encode(request).encode("utf-8", "surrogateescape") + b"\n"


def _directory() -> str | None:
    """Return the current directory; None when it was removed."""
    try:
        return os.path.realpath(os.getcwd())
    except OSError:
        return None


def _columns() -> int:
    """Return the width of the terminal on standard output; 0 when it is not a terminal."""
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 0


def exchange(path: str, request: bytes, patience: float = _PATIENCE) -> dict[str, Any] | None:
    """Send one request to the daemon's socket and return the answer.

    None when the daemon cannot be reached, does not greet within 5 seconds (or `patience`, if that is less), does not
    answer within `patience` seconds after its greeting, or answers with anything but a JSON object.
    """
    from fleet.fast import scan, unix_socket

    connection = unix_socket()
    try:
        connection.settimeout(min(_GREETING, patience))
        with _Address(path) as address:
            connection.connect(address)
        connection.sendall(request)
        text = b""
        while (lines := text.count(b"\n")) < 2:  # noqa: PLR2004 - the greeting and the answer
            if lines:
                connection.settimeout(patience)
            chunk = connection.recv(_CHUNK)
            if not chunk:
                return None
            text += chunk
        found: Any = scan(text.split(b"\n")[1].decode())
    except (OSError, ValueError, StopIteration):
        return None
    finally:
        connection.close()
    return found if isinstance(found, dict) else None


def _write(number: int, text: str) -> str:
    """Write a text to a descriptor. Returns why that failed; "" on success, and when the reader is gone."""
    rest = text.encode("utf-8", "surrogateescape")
    try:
        while rest:
            rest = rest[os.write(number, rest) :]
    except BrokenPipeError:
        return ""
    except OSError as error:
        return str(error.strerror).lower()
    return ""

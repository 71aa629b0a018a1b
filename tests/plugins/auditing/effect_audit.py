"""An audit hook that reports every effect of fleet's own code that passes no funnel.

An effect is an audit event of Python's: a file opened for writing, a folder made, a program started, a signal sent, and the
like. It is fleet's when the innermost frame that is not the standard library's lies in src/fleet. It is allowed when one of
the frames around it is the funnel's, or a function of EXEMPT. Reports go to the file that REPORTS names, one line each.
A signal by pidfd has no audit event in Python: `install` gives it one.

Imported at the start of every program that tests start: it needs nothing but what Python has loaded by then.
"""

import _signal
import os
import sys
from types import FrameType

REPORTS = "AUDIT_EFFECTS_INTO"
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
SOURCE = os.path.join(os.path.dirname(TESTS), "src", "fleet", "")
# The harness and what is played for users; what they do is not an act of fleet.
PLAYED = (
    os.path.join(TESTS, ""),
    os.path.join(SOURCE, "testing", ""),
    os.path.join(SOURCE, "demo", ""),
    os.path.join(SOURCE, "surfaces", "cli", "commands", "home", "demo.py"),
)

# The same, there only while `make coverage` runs (checks/covering).
MEASURING = os.path.join(sys.prefix, "covering", "")

_BY_PIDFD = "signal.pidfd_send_signal"
EFFECTS = frozenset(
    (
        "open",
        "os.chmod",
        "os.chown",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.link",
        "os.mkdir",
        "os.posix_spawn",
        "os.remove",
        "os.removexattr",
        "os.rename",
        "os.rmdir",
        "os.setxattr",
        "os.spawn",
        "os.symlink",
        "os.system",
        "os.truncate",
        "os.utime",
        "signal.pthread_kill",
        _BY_PIDFD,
        "socket.bind",
        "socket.connect",
        "socket.sendmsg",
        "socket.sendto",
        "sqlite3.connect",
        "subprocess.Popen",
    )
)
FUNNEL = frozenset(("Funnel.through", "Funnel.commit"))
# Functions whose effects pass no funnel, by path and qualified name; a class stands for all its methods. Each with the reason.
EXEMPT = {
    "world/files/gates.py:Gate": "a lock file: the kernel frees it with its holder, and its text is for people",
    "world/files/locks.py:FileLock": "a lock file: whoever performs an effect holds it around the funnel",
    "world/files/locks.py:WriterLock": "a lock file: the store's queue of writers",
    "world/process/programs.py:detach": "the command itself goes on in the background; its effects pass the funnel there",
    "surfaces/cli/hot/hook.py:_run_own_status_line": "the same, while its parent becomes the person's own program",
    "api/remote/door.py:Door": "a request to the daemon, whose effects pass its own funnel; its key makes it safe to repeat",
    "surfaces/cli/hot/by_daemon.py:exchange": "the same, from a hot command or a hook",
    "surfaces/cli/hot/by_daemon.py:is_there": "a question: connects to learn whether a daemon listens, and sends nothing",
    "world/process/pid_namespaces.py:listener": "a question: connects to learn who listens, and sends nothing",
    "surfaces/cli/commands/tasks/review.py:_ask_comments": "the person's own editor, at the terminal",
    "surfaces/cli/commands/tasks/review.py:_page_diff": "the person's own pager, at the terminal",
    "bundle_writing.py:_replace": "a cache of bytecode beside Python's own, which anybody may delete at any time",
    "surfaces/cli/commands/home/completion.py:completion": "a question: click asks bash for its version",
}

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def install() -> None:
    sys.addaudithook(_hear)
    _announce_pidfd_signals()


def _announce_pidfd_signals() -> None:
    """Let a signal by pidfd raise an audit event first, as one by pid does."""
    send = getattr(_signal, "pidfd_send_signal", None)
    if send is None:
        return

    def announced(handle: int, number: int, *more: object) -> None:
        sys.audit(_BY_PIDFD, handle, number)
        send(handle, number, *more)

    for name in ("_signal", "signal"):  # the second takes the function from the first when it is imported
        if name in sys.modules:
            sys.modules[name].pidfd_send_signal = announced  # type: ignore[attr-defined]


def _hear(event: str, args: tuple[object, ...]) -> None:
    if event in EFFECTS and _is_effect(event, args):
        where = _unfunnelled(sys._getframe(2 if event == _BY_PIDFD else 1))
        if where:
            _report(f"{event} {args[0] if args else ''!r} in {where}")


def _is_effect(event: str, args: tuple[object, ...]) -> bool:
    if event in {"os.kill", "os.killpg", _BY_PIDFD}:
        return args[1] != 0  # signal 0 only asks whether somebody is there
    if event == "sqlite3.connect":  # whoever opens a database that is there says that it must be
        return not str(args[0]).endswith(("mode=rw", "mode=ro", ":memory:"))
    if event != "open":
        return True
    path, flags = args[0], args[2]
    if not isinstance(path, str | bytes) or not isinstance(flags, int) or not flags & _WRITES:
        return False
    place = os.fsdecode(path)
    return not place.startswith("/dev/") or place.startswith(
        "/dev/shm/"
    )  # a stream is no file; a disk in memory has files


def _unfunnelled(frame: FrameType | None) -> str:
    """Where fleet's code does this outside of any funnel; empty when it does not."""
    while frame is not None and not _is_source(frame):
        if frame.f_code.co_filename.startswith((*PLAYED, MEASURING, "<frozen importlib")):
            return ""
        frame = frame.f_back
    if frame is None:
        return ""
    where = f"{frame.f_code.co_filename.removeprefix(SOURCE)}:{frame.f_lineno} {frame.f_code.co_qualname}"
    while frame is not None:
        if frame.f_code.co_qualname in FUNNEL or _is_exempt(frame):
            return ""
        frame = frame.f_back
    return where


def _is_source(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return name.startswith(SOURCE) and not name.startswith(PLAYED)


def _is_exempt(frame: FrameType) -> bool:
    if not _is_source(frame):
        return False
    file, name = frame.f_code.co_filename.removeprefix(SOURCE), frame.f_code.co_qualname
    return any(f"{file}:{each}" in EXEMPT for each in (name, name.partition(".")[0]))


def _report(line: str) -> None:
    path = os.environ.get(REPORTS)
    if path:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.write(handle, f"{line}\n".encode(errors="backslashreplace"))
        os.close(handle)

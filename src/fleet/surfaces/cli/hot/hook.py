"""`fleet hook`: engines call it at their events. It never fails, and prints only what the engine has to read.

An error is written to hooks/last-error in the home, where `fleet doctor` finds it.
"""

from __future__ import annotations

import os
import sys

from fleet.api.agents.dialects import dialect_of
from fleet.model import FLEET_DIRECT, FLEET_DISPATCH_ID
from fleet.model.agents.actors import DOOR, TOKEN
from fleet.model.text import jsontext
from fleet.model.text.times import iso
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel
from fleet.world.home import paths
from fleet.world.home.location import home_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.api.hooking import Hooking
    from fleet.model.agents.dialect import Dialect
    from fleet.surfaces.cli.hot.daemon_or_local_hooks import DaemonOrLocalHooks
    from fleet.surfaces.cli.hot.socket_hooks import SocketHooks

# The exit code with which a hook wakes an idle agent.
WAKE = 2
# How many bytes can be written into a pipe before anybody reads from it.
_PIPE_BYTES = 60_000


def run(*, event: str, engine: str) -> int:
    """Handle one event of an engine and return the exit code. On an error, record it and return 0."""
    at, funnel = Clock().begun(), Funnel()
    try:
        return _run(event, engine, at, funnel)
    except BaseException as error:  # noqa: BLE001 - a hook never fails the agent
        _write_last_error(f"{event} of {engine}", error, at, funnel)
        return 0


def _run(event: str, engine: str, at: int, funnel: Funnel) -> int:
    """Read the event from standard input, handle it, and print the reply for the engine if there is one.

    It may wait long: for a person's answer, or, when the agent is idle, for messages. Returns the exit code: WAKE when
    messages for an idle agent were printed on standard error, else 0. `at` is when the hook was called. Any error is
    raised, and `run` records it.
    """
    text = (
        sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    )  # first, because the engine is waiting to write it
    dialect = dialect_of(home_path(), engine)
    meaning = dialect.events.get(event, "")
    document: Any = jsontext.loads(text) if text else {}
    if meaning == "status":
        _run_own_status_line(dialect, text, funnel)
    with _hooking(funnel) as fleet:
        if meaning == "idles":
            return _wake(fleet, dialect, at)
        if meaning == "started":
            fleet.prove()
        reply = fleet.handle_event(dialect, event, document, at)
        payload = reply.payload
        if reply.question is not None:
            payload = fleet.wait_for_answer(dialect, event, document, reply.question, _gone_check())
        if payload is not None:
            sys.stdout.write(f"{jsontext.dumps(payload)}\n")
            sys.stdout.flush()
        fleet.acknowledge(reply.messages)
    return 0


def _hooking(funnel: Funnel) -> Hooking | SocketHooks | DaemonOrLocalHooks:
    """Return the object that handles this agent's events: through the daemon, or in this process.

    The daemon is used if the agent has only the daemon's socket. It is also used if the home has a daemon's socket, the
    agent has a token, and FLEET_DIRECT is not set.
    """
    if door := os.environ.get(DOOR):
        from fleet.surfaces.cli.hot.socket_hooks import SocketHooks  # noqa: PLC0415 - loads next to nothing

        return SocketHooks(door)
    path = f"{home_path()}/{paths.DAEMON_SOCKET}"
    if os.environ.get(TOKEN) and not os.environ.get(FLEET_DIRECT) and os.path.exists(path):
        from fleet.surfaces.cli.hot.daemon_or_local_hooks import DaemonOrLocalHooks  # noqa: PLC0415 - loads next to nothing

        return DaemonOrLocalHooks(path, funnel)
    from fleet.api.hooking import Hooking  # noqa: PLC0415 - loads the store

    return Hooking.here(funnel)


def _wake(fleet: Hooking | SocketHooks | DaemonOrLocalHooks, dialect: Dialect, at: int) -> int:
    """Wait for messages beside an idle agent.

    Print them on stderr and return the exit code WAKE, which makes the engine wake the agent; return 0 when none came.
    """
    text, idents = fleet.wait_for_messages(dialect, at, _gone_check())
    if not text:
        return 0
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
    fleet.acknowledge(idents)
    return WAKE


def _gone_check() -> Any:
    """Return a function that returns whether the agent that started this hook is gone."""
    parent = os.getppid()
    return lambda: os.getppid() != parent


def _run_own_status_line(dialect: Dialect, text: str, funnel: Funnel) -> None:
    """Become the person's own status-line command (exec); a forked child returns from this call and handles the event.

    Without such a command, or when the event does not fit into a pipe, return without a child.
    """
    command, event = _own_status_command(dialect), text.encode()
    if not command or len(event) > _PIPE_BYTES:
        return
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        return
    reader, writer = os.pipe()
    os.write(writer, event)
    os.close(writer)
    os.dup2(reader, 0)
    words, env = ["sh", "-c", command], {name: value for name, value in os.environ.items() if name != TOKEN}
    funnel.through("exec status line", lambda: os.execve("/bin/sh", words, env))  # noqa: S606 - the person's own command, as their settings have it


def _own_status_command(dialect: Dialect) -> str:
    """Return the status-line command in the person's own settings; "" when there is none.

    The last file that has a command counts. Files in a worktree are ignored.
    """
    command = ""
    for path in filter(os.path.isabs, map(os.path.expanduser, dialect.own_status)):
        try:
            with open(path, encoding="utf-8") as file:
                settings: Any = jsontext.loads(file.read().strip())
            command = str(settings["statusLine"]["command"] or "") or command
        except (OSError, ValueError, TypeError, KeyError, StopIteration):
            continue
    return command


def _write_last_error(what: str, error: BaseException, at: int, funnel: Funnel) -> None:
    """Write a failed hook to hooks/last-error in the home, for `fleet doctor`; ignore a failure to write."""
    line = f"{iso(at)} {what} ({os.environ.get(FLEET_DISPATCH_ID)}): {type(error).__name__}: {error}\n"
    try:
        funnel.through(
            "write last-error", lambda: _write_error_file(f"{home_path()}/{paths.LAST_HOOK_ERROR}", line[:2_000])
        )
    except (OSError, ValueError):
        return


def _write_error_file(path: str, text: str) -> None:
    """Write the text to the file, readable only by its owner. Raise OSError when the path is a symbolic link."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)  # a link may lead anywhere
    with open(fd, "w", encoding="utf-8") as file:
        file.write(text)

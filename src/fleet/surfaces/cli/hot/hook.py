"""fleet hook: what engines call at their events. It never fails, and says nothing but what the engine must read.

What went wrong is kept in hooks/last-error of the home, where `fleet doctor` finds it.
"""

from __future__ import annotations

import os
import sys

from fleet.api.hooking import Hooking, dialect_of
from fleet.model.text import jsontext
from fleet.model.text.times import iso
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel
from fleet.world.home import paths
from fleet.world.home.location import home_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.model.agents.dialect import Dialect

    Told = dict[str, Any]

# The status with which a hook wakes an idle agent.
WAKE = 2
# What a pipe takes without a reader.
_PIPE = 60_000


def run(*, event: str, engine: str) -> int:
    """Take in one event."""
    at, funnel = Clock().begun(), Funnel()
    try:
        return _run(event, engine, at, funnel)
    except BaseException as error:  # noqa: BLE001 - a hook never fails the agent
        _write_last_error(f"{event} of {engine}", error, at, funnel)
        return 0


def _run(event: str, engine: str, at: int, funnel: Funnel) -> int:
    text = sys.stdin.buffer.read().decode("utf-8", "replace").strip()  # first of all: the engine is writing it
    dialect = dialect_of(engine)
    meaning = dialect.events.get(event, "")
    told: Any = jsontext.loads(text) if text else {}
    if meaning == "status":
        _show_own(dialect, text, funnel)
    with Hooking.here(funnel) as fleet:
        if meaning == "idles":
            return _wake(fleet, dialect, at)
        if meaning == "started":
            fleet.prove()
        reply = fleet.handle_event(dialect, event, told, at)
        payload = reply.payload
        if reply.question is not None:
            payload = fleet.wait_for_answer(dialect, event, told, reply.question, _alone())
        if payload is not None:
            sys.stdout.write(f"{jsontext.dumps(payload)}\n")
            sys.stdout.flush()
        fleet.acknowledge(reply.messages)
    return 0


def _wake(fleet: Hooking, dialect: Dialect, at: int) -> int:
    """Wait beside an idle agent; what comes on standard error with this status wakes it."""
    text, idents = fleet.wait_for_messages(dialect, at, _alone())
    if not text:
        return 0
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
    fleet.acknowledge(idents)
    return WAKE


def _alone() -> Any:
    """Whether the agent that started this hook is gone."""
    parent = os.getppid()
    return lambda: os.getppid() != parent


def _show_own(dialect: Dialect, text: str, funnel: Funnel) -> None:
    """Become the person's own status line, if there is one; a child goes on here, behind it."""
    command, given = _own_status(dialect), text.encode()
    if not command or len(given) > _PIPE:
        return
    if os.fork() == 0:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        return
    reader, writer = os.pipe()
    os.write(writer, given)
    os.close(writer)
    os.dup2(reader, 0)
    words = ["sh", "-c", command]
    funnel.through("exec status line", lambda: os.execv("/bin/sh", words))  # noqa: S606 - the person's own command, as their settings have it


def _own_status(dialect: Dialect) -> str:
    """The command of the person's own settings. A file in the worktree does not count: agents write there."""
    found = ""
    for path in filter(os.path.isabs, map(os.path.expanduser, dialect.own_status)):
        try:
            with open(path, encoding="utf-8") as file:
                given: Any = jsontext.loads(file.read().strip())
            found = str(given["statusLine"]["command"] or "") or found
        except (OSError, ValueError, TypeError, KeyError, StopIteration):
            continue
    return found


def _write_last_error(what: str, error: BaseException, at: int, funnel: Funnel) -> None:
    line = f"{iso(at)} {what} ({os.environ.get('FLEET_DISPATCH_ID')}): {type(error).__name__}: {error}\n"
    try:
        funnel.through("write last-error", lambda: _write(f"{home_path()}/{paths.LAST_HOOK_ERROR}", line[:2_000]))
    except (OSError, ValueError):
        return


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)

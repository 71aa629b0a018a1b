"""One request: read from its line, checked, and done in the way that its method has."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import PARTS
from fleet.api.remote import wire
from fleet.api.remote.acts import WAYS
from fleet.model import VERSION, names
from fleet.store.transaction import SharedBroken
from fleet.world.process import surroundings
from fleet.world.process.surroundings import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.api.remote.wire import Json
    from fleet.surfaces.daemon.serving.connection import Connection

# Methods that wait for ever, or that are about the asking process: the daemon does not perform them.
_NOT_HERE = frozenset({"agents.follow", "operations.follow", "sessions.launch", "agents.attach_words", "jobs.step"})
# The variables of an agent in a sandbox that count, and those that it gets from the daemon instead.
_OF_AGENTS = frozenset(
    {"FLEET_PROJECT", "FLEET_TASK", "FLEET_KIND", "FLEET_REPLACE_NONCE", "NO_COLOR", "FORCE_COLOR", "LANG", "TERM"}
)

# What a fleet of another version may ask: after an update it has to see the old daemon, and to end it.
_OF_EVERY_VERSION = frozenset({"daemon.status", "daemon.stop"})
_OF_DAEMON = ("PATH", "HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "XDG_RUNTIME_DIR")


class Request:
    """A request as it was sent."""

    __slots__ = ("args", "caller", "connection", "document", "id", "key", "method")

    def __init__(self, connection: Connection, document: Json) -> None:
        self.connection = connection
        self.document = document
        self.id = document.get("id")
        self.method: str = document.get("method", "")
        self.args: Json = document.get("args") or {}
        self.key: str | None = document.get("key")
        self.caller: Json = document.get("caller") or {}

    @property
    def dispatch(self) -> str | None:
        """Return the dispatch that speaks; None for a person."""
        return self.caller.get("dispatch")

    @property
    def surroundings(self) -> Surroundings:
        """Return where the request comes from. The environment names the dispatch that speaks, and no other."""
        environ = self._environ()
        if self.dispatch:
            environ["FLEET_DISPATCH_ID"] = self.dispatch
        return Surroundings(
            environ=environ,
            directory=None if self.connection.is_for_agents else self.caller.get("directory"),
            pid=self.connection.pid,
            is_confined=self.connection.is_for_agents,
            columns=int(self.args.get("columns") or 0) if self.method == "command" else 0,
        )

    def _environ(self) -> dict[str, str]:
        """Return the variables of the asker.

        Of an agent in a sandbox only a few count: what is done for it outside must not be led by its PATH or PYTHONPATH.
        """
        given = {
            name: value for name, value in (self.caller.get("environ") or {}).items() if name != "FLEET_DISPATCH_ID"
        }
        if not self.connection.is_for_agents:
            return given
        own = {name: os.environ[name] for name in _OF_DAEMON if name in os.environ}
        return own | {name: value for name, value in given.items() if name in _OF_AGENTS}

    def answer(self, **fields: object) -> dict[str, object]:
        """Return the answer to this request."""
        return {"id": self.id, **fields}

    def failed(self, error: BaseException) -> dict[str, object]:
        """Return the answer that tells an error."""
        return self.answer(error=wire.error_document(error))


def parsed(connection: Connection, line: bytes) -> Request:
    """Return the request of a line, not checked yet. BadRequest when the line is none."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise errors.BadRequest(why=f"it is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise errors.BadRequest(why="it is not an object")
    return Request(connection, document)


_KINDS: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "args": (dict, type(None)),
    "key": (str, type(None)),
    "caller": (dict, type(None)),
    "id": (int, str),
}
_OF_CALLER: dict[str, tuple[type, ...]] = {
    "as": (str, type(None)),
    "dispatch": (str, type(None)),
    "token": (str, type(None)),
    "directory": (str, type(None)),
    "environ": (dict, type(None)),
}


def check(document: Json) -> None:
    """Raise BadRequest when a field of a request is missing or of a wrong kind; OtherVersion for another version of fleet."""
    for name, kinds in _KINDS.items():
        if not isinstance(document.get(name), kinds):
            raise errors.BadRequest(why=f"{name!r} is missing or of a wrong kind")
    caller = document.get("caller") or {}
    for name, kinds in _OF_CALLER.items():
        if not isinstance(caller.get(name), kinds):
            raise errors.BadRequest(why=f"'caller.{name}' is of a wrong kind")
    if any(not isinstance(value, str) for value in (caller.get("environ") or {}).values()):
        raise errors.BadRequest(why="'caller.environ' has a value that is no text")
    if document.get("fleet", VERSION) != VERSION and document.get("method") not in _OF_EVERY_VERSION:
        raise errors.OtherVersion(daemon=VERSION, client=document["fleet"])
    if caller.get("dispatch"):
        names.DispatchId(caller["dispatch"], source="caller.dispatch")


def way_of(request: Request) -> str:
    """Return how the method of a request is performed. BadRequest when `Fleet` has no such method."""
    part, _, name = request.method.partition(".")
    if part not in PARTS or not name or name.startswith("_") or request.method in _NOT_HERE:
        raise errors.BadRequest(why=f"there is no method {request.method!r}")
    way = WAYS.get(request.method, "light")
    if way == "own":
        raise errors.BadRequest(why=f"{request.method} is done by the asking process itself")
    if request.method == "coord.start" and (request.args.get("wanted") or {}).get("engine") == "fleet":
        return "light"  # the daemon itself takes the seat
    return way


def perform(fleet: Fleet, request: Request, extra: Json | None = None) -> dict[str, object]:
    """Call the method of a request, and return the answer."""
    part, _, name = request.method.partition(".")
    method: Callable[..., object] | None = getattr(getattr(fleet, part), name, None)
    if method is None or not callable(method):
        raise errors.BadRequest(why=f"there is no method {request.method!r}")
    takes = wire.parameters_of(request.method, method)
    args = wire.arguments(request.method, request.args, takes.kinds) | (extra or {})
    if "key" in takes.kinds and args.get("key") is None:
        args.update(key=request.key)
    takes.check(args)
    with fleet.committer.under(request.key):
        result = wire.listed(method(**args))
    return request.answer(result=wire.plain(result), type=wire.type_of(result))


def in_surroundings(request: Request, act: Callable[[], dict[str, object]]) -> dict[str, object]:
    """Do something for whoever asks, in this thread; errors become answers."""
    surroundings.enter(request.surroundings)
    try:
        return act()
    except SharedBroken:  # the writer does it again
        raise
    except BaseException as error:  # noqa: BLE001 - the client is told
        return request.failed(error)
    finally:
        surroundings.leave()

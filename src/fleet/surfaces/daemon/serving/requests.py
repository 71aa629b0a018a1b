"""One request: parse its line, check its fields, choose how it is performed, and call the method."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import PARTS
from fleet.api.remote import wire
from fleet.api.remote.acts import WAYS
from fleet.model import FLEET_DISPATCH_ID, FLEET_KIND, FLEET_PROJECT, FLEET_REPLACE_NONCE, FLEET_TASK, VERSION, names
from fleet.model.results.value import Value
from fleet.store.transaction import SharedBroken
from fleet.world.process import surroundings
from fleet.world.process.surroundings import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.api.remote.wire import Json
    from fleet.surfaces.daemon.serving.connection import Connection

# Methods that the daemon refuses: they never end, or are about the asking process.
_NOT_HERE = frozenset({"agents.follow", "operations.follow", "sessions.launch", "agents.attach_words", "jobs.step"})
# The variables that are taken from an agent in a sandbox. _OF_DAEMON names those that come from the daemon instead.
_OF_AGENTS = frozenset(
    {FLEET_PROJECT, FLEET_TASK, FLEET_KIND, FLEET_REPLACE_NONCE, "NO_COLOR", "FORCE_COLOR", "LANG", "TERM"}
)

# Methods that a client of another version may call: after an update it has to see the old daemon, and to stop it.
_OF_EVERY_VERSION = frozenset({"daemon.status", "daemon.stop"})
_OF_DAEMON = ("PATH", "HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "XDG_RUNTIME_DIR")
# The types of an id. An answer has the id of its request only if it is one of them.
_IDS = (int, str)
# No terminal is wider.
_MOST_COLUMNS = 10_000


class DaemonRequest:
    """One request of a client, as it was sent. Its fields may have wrong types until `check` has accepted them."""

    __slots__ = ("args", "caller", "connection", "document", "id", "key", "method")

    def __init__(self, connection: Connection, document: Json) -> None:
        self.connection = connection
        self.document = document
        ident = document.get("id")
        self.id: int | str | None = ident if type(ident) in _IDS else None
        self.method: str = document.get("method", "")
        self.args: Json = document.get("args") or {}
        self.key: str | None = document.get("key")
        self.caller: Json = document.get("caller") or {}

    @property
    def actor(self) -> str | None:
        """The name that the asker gave with --as; None without one."""
        return self.caller.get("as")

    @property
    def dispatch(self) -> str | None:
        """The dispatch that the request speaks for; None for a person."""
        return self.caller.get("dispatch")

    @property
    def surroundings(self) -> Surroundings:
        """The environment, directory and process of the asker.

        FLEET_DISPATCH_ID in it is the dispatch that the request names; without one, the variable is missing.
        """
        environ = self._environ()
        if self.dispatch:
            environ[FLEET_DISPATCH_ID] = self.dispatch
        return Surroundings(
            environ=environ,
            directory=None if self.connection.is_for_agents else self.caller.get("directory"),
            pid=self.connection.pid,
            is_confined=self.connection.is_for_agents,
            columns=self._columns() if self.method == "command" else 0,
            marks=self.connection.marks,
        )

    def _columns(self) -> int:
        """Return the width of the asker's terminal, 0 without a terminal. Raise BadRequest when it is not valid."""
        columns = self.args.get("columns") or 0
        if type(columns) is not int or not 0 <= columns <= _MOST_COLUMNS:
            raise errors.BadRequest(why=f"'columns' is not a number from 0 to {_MOST_COLUMNS}")
        return columns

    def _environ(self) -> dict[str, str]:
        """Return the environment variables of the asker.

        From an agent in a sandbox only a few are taken: its PATH or PYTHONPATH must not decide what runs outside.
        """
        given: dict[str, str] = dict(self.caller.get("environ") or ())
        given.pop(FLEET_DISPATCH_ID, None)
        if not self.connection.is_for_agents:
            return given
        own = {name: os.environ[name] for name in _OF_DAEMON if name in os.environ}
        return own | {name: value for name, value in given.items() if name in _OF_AGENTS}

    def answer(self, **fields: object) -> dict[str, object]:
        """Return the answer to this request, a JSON object with these fields and the request's id."""
        return {"id": self.id, **fields}

    def failed(self, error: BaseException) -> dict[str, object]:
        """Return the answer that reports an error to the client. It never raises."""
        try:
            return self.answer(error=wire.error_document(error))
        except Exception as odd:  # noqa: BLE001 - facts that are nested too deeply, for example
            return self.answer(error=wire.error_document(errors.FleetError(what=f"{type(error).__name__}: {odd}")))


def parsed(connection: Connection, line: bytes) -> DaemonRequest:
    """Parse a line into a request, without checking its fields. Raise BadRequest when it is not a JSON object."""
    try:
        document = _decoded(line)
    except (ValueError, RecursionError) as error:
        raise errors.BadRequest(why=f"it is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise errors.BadRequest(why="it is not an object")
    return DaemonRequest(connection, document)


def _decoded(line: bytes) -> object:
    """Return the JSON value of a line, as `json.loads` does but faster where no blanks are around the value."""
    text = line.decode()
    try:
        document, end = _DECODE(text)
    except ValueError:
        return json.loads(text)
    return document if end == len(text) else json.loads(text)


_DECODE = json.JSONDecoder().raw_decode
_KINDS: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "args": (dict, type(None)),
    "key": (str, type(None)),
    "caller": (dict, type(None)),
    "id": _IDS,
}
_OF_CALLER: dict[str, tuple[type, ...]] = {
    "as": (str, type(None)),
    "dispatch": (str, type(None)),
    "token": (str, type(None)),
    "directory": (str, type(None)),
    "environ": (dict, type(None)),
}


def check(document: Json) -> None:
    """Raise BadRequest when a field of the request is missing or has a wrong type, BadId for a wrong dispatch id.

    Raise OtherVersion for a client of another version of fleet, except for `daemon.status` and `daemon.stop`.
    """
    for name, kinds in _KINDS.items():
        if type(document.get(name)) not in kinds:
            raise errors.BadRequest(why=f"{name!r} is missing or of a wrong kind")
    caller = document.get("caller") or {}
    for name, value in caller.items():
        if name in _OF_CALLER and type(value) not in _OF_CALLER[name]:
            raise errors.BadRequest(why=f"'caller.{name}' is of a wrong kind")
    environ = caller.get("environ")
    if environ and any(type(value) is not str for value in environ.values()):
        raise errors.BadRequest(why="'caller.environ' has a value that is no text")
    if document.get("fleet", VERSION) != VERSION and document.get("method") not in _OF_EVERY_VERSION:
        raise errors.OtherVersion(daemon=VERSION, client=document["fleet"])
    if caller.get("dispatch"):
        names.DispatchId(caller["dispatch"], source="caller.dispatch")


def way_of(request: DaemonRequest) -> str:
    """Return how the request's method is performed: "quick", "light" or "heavy".

    The writer performs quick methods, a thread light ones, a child process heavy ones. Raise BadRequest when `Fleet`
    has no such method, or the asking process has to perform it itself.
    """
    way = WAYS.get(request.method, "light")
    if way == "quick":
        return way
    part, _, name = request.method.partition(".")
    if part not in PARTS or not name or name.startswith("_") or request.method in _NOT_HERE:
        raise errors.BadRequest(why=f"there is no method {request.method!r}")
    if way == "own":
        raise errors.BadRequest(why=f"{request.method} is done by the asking process itself")
    if request.method == "coord.start" and _engine_of(request.args.get("wanted")) == "fleet":
        return "light"  # the daemon itself takes the seat
    return way


def _engine_of(wanted: object) -> object:
    """Return the engine that an argument asks for; None when it has none, or is no object."""
    return wanted.get("engine") if isinstance(wanted, dict) else None


def perform(fleet: Fleet, request: DaemonRequest, extra: Json | None = None) -> dict[str, object]:
    """Call the method of `Fleet` that the request names, under its key, and return the answer.

    `extra` are the arguments that are functions, by name. Raise BadRequest when there is no such method, or an argument
    does not fit.
    """
    part, _, name = request.method.partition(".")
    method: Callable[..., object] | None = getattr(getattr(fleet, part), name, None)
    if method is None or not callable(method):
        raise errors.BadRequest(why=f"there is no method {request.method!r}")
    takes = wire.parameters_of(request.method, method)
    args = wire.arguments(request.method, request.args, takes)
    if extra:
        args.update(extra)
    if "key" in takes.kinds and args.get("key") is None:
        args.update(key=request.key)
    takes.check(args)
    by = fleet.committer
    by.begin_invocation(request.key)
    try:
        result = method(**args)
    finally:
        by.end_invocation()
    if isinstance(result, Value):
        return {"id": request.id, "result": wire.plain(result), "type": wire.name_of_class(type(result))}
    result = wire.iterator_as_list(result)
    return request.answer(result=wire.plain(result), type=wire.type_of(result))


def in_surroundings(request: DaemonRequest, act: Callable[[], dict[str, object]]) -> dict[str, object]:
    """Call `act` while `surroundings` describes the asker to this thread (environment, directory); return its answer.

    When `act` raises any error, return an answer that tells the client of it. Only SharedBroken is raised: the
    transaction that several requests share was lost, and the writer calls `act` again.
    """
    try:
        surroundings.enter(request.surroundings)
        return act()
    except SharedBroken:  # the writer does it again
        raise
    except BaseException as error:  # noqa: BLE001 - the client is told
        return request.failed(error)
    finally:
        surroundings.leave()

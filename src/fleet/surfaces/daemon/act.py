"""`fleet daemon act`: the child process of the daemon that performs one heavy request, read from standard input."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING

from fleet.api.fleet import Fleet
from fleet.api.remote import wire
from fleet.surfaces.daemon.serving.connection import Connection
from fleet.surfaces.daemon.serving.requests import DaemonRequest, perform
from fleet.world.process import surroundings
from fleet.world.process.surroundings import Surroundings

if TYPE_CHECKING:
    from typing import TextIO

    from fleet.api.remote.wire import Json


def main() -> int:
    """Read one request from standard input, perform it, and write its answer as one line of JSON.

    Returns exit code 0.
    """
    document: Json = json.loads(sys.stdin.readline())
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the method prints must not mix with the answer
    request = DaemonRequest(_nobody(), document)
    surroundings.enter(Surroundings(environ=os.environ, directory=surroundings.directory(), pid=document["pid"]))
    try:
        with Fleet.open(actor=request.actor) as fleet:
            answer = perform(fleet, request, _callbacks(request, lines))
    except BaseException as error:  # noqa: BLE001 - whoever asked is told, also of Ctrl-C
        answer = request.failed(error)
    _write(lines, answer)
    return 0


def _nobody() -> Connection:
    """Return an empty Connection: not this process but the daemon is connected to the client."""
    return Connection.__new__(Connection)


def _callbacks(request: DaemonRequest, lines: TextIO) -> Json:
    """Return, by name, the functions that the request's method takes as arguments; {} when it takes none.

    They write progress for the client to `lines`. For a job, `wanted` returns False after SIGINT, so that the
    job's runner ends by itself and records that the job was interrupted.
    """

    def telling(told: object) -> None:
        """Push one value of progress to the client."""
        _write(lines, {"push": "tell", "value": wire.plain(told), "type": wire.type_of(told)})

    if request.method in {"jobs.run", "jobs.resume"}:
        interrupted: list[int] = []
        signal.signal(signal.SIGINT, lambda number, _frame: interrupted.append(number))
        return {"tell": telling, "wanted": lambda: not interrupted}
    if request.method == "graph.ingest":
        return {"progress": lambda done: _write(lines, {"push": "progress", "value": done})}
    return {}


def _write(lines: TextIO, document: Json) -> None:
    lines.write(json.dumps(document) + "\n")
    lines.flush()

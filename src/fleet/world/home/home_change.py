"""Write the record of a home, home.json, and its copy: created once, changed under a gate, atomically."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.text import jsontext
from fleet.world.clock import Clock
from fleet.world.files import folders
from fleet.world.files.files import Files
from fleet.world.files.gates import Gate
from fleet.world.home import home_record, paths
from fleet.world.home.home_record import HomeRecord
from fleet.world.host import Host

if TYPE_CHECKING:
    from fleet.world.funnel import Funnel

_ID_BYTES = 6
# How many seconds to wait for the gate of the record.
_WAIT = 10.0
# Files and folders that only a used home has, whatever its store is.
_TRACES = (paths.DATABASE, paths.PROJECTS, paths.INBOX, paths.DISPATCHES, paths.LOCKS)


def id_of_path(home: str) -> str:
    """Return the home id that older versions derived from the home's path; short socket names still use it."""
    import hashlib  # noqa: PLC0415 - only a home without a record needs it

    return hashlib.sha256(os.path.realpath(home).encode()).hexdigest()[: 2 * _ID_BYTES]


def is_in_use(home: str) -> bool:
    """Return whether an older fleet has used a home that has no record.

    Sessions and worktrees of such a home carry the id that was derived from the home's path.
    """
    return any(os.path.lexists(f"{home}/{name}") for name in _TRACES)


def unsaved(home: str) -> HomeRecord:
    """Return a new record for a home that has none, without writing it.

    Its id is the one that older versions derived from the path.
    """
    machine = Host().machine_id
    return HomeRecord(id=id_of_path(home), host=machine, machine=machine, path=os.path.realpath(home), database="")


def remember(home: str, funnel: Funnel, *, database: str, is_old: bool) -> HomeRecord:
    """Return a home's record; create it if there is none, and change the kind of database in it if that differs.

    Raise HomeUnusable when the record is damaged, WriteFailed when it cannot be written. When two processes create the
    record at once, both use the one that was written first. With `is_old`, a new record gets the id that older versions
    of fleet derived from the path.
    """
    found = home_record.read(home)
    if found is None:
        new = unsaved(home)
        new.id = new.id if is_old else os.urandom(_ID_BYTES).hex()
        new.database = database
        _create_record(home, paths.RECORD, new, funnel)
        found = home_record.read(home)
    if found is None:
        raise errors.HomeUnusable(path=home, why=f"{paths.RECORD} was removed meanwhile")
    return found if found.database == database else change(home, funnel, database=database)


def keep_copy(home: str, funnel: Funnel, record: HomeRecord) -> None:
    """Write the copy of the record if there is none. If that fails, a later command tries again."""
    with contextlib.suppress(OSError, errors.WriteFailed):
        _create_record(home, paths.RECORD_COPY, record, funnel)


def restore(home: str, funnel: Funnel) -> None:
    """Write a lost or damaged home.json again from its copy. If that fails, the copy stays in use."""
    with contextlib.suppress(OSError, errors.FleetError):
        change(home, funnel)


def _create_record(home: str, name: str, record: HomeRecord, funnel: Funnel) -> None:
    funnel.through(f"create {name}", lambda: _link_new(home, name, record))


def _link_new(home: str, name: str, record: HomeRecord) -> None:
    """Write a record into a file unless the file exists; raise WriteFailed when that fails.

    A temporary file is linked into place, because a rename would replace what another process has just written.
    """
    path = f"{home}/{name}"
    building = f"{path}.{os.urandom(4).hex()}.new"
    try:
        folders.make_private_folder(os.path.dirname(path), below=home)
        handle = os.open(building, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(jsontext.dumps(record.as_document()) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(building, path)
    except OSError as error:
        raise errors.WriteFailed(path=path, why=str(error.strerror or error).lower()) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(building)


def change(home: str, funnel: Funnel, **values: str) -> HomeRecord:
    """Change these fields of a home's record, write it and its copy, and return the new record.

    Without fields, write the record and its copy as it is. Raise GateHeld when another process holds the record's gate
    for 10 seconds, WriteFailed when writing fails.
    """
    with contextlib.ExitStack() as stack:
        gate = Gate(f"{home}/{paths.lock('home')}", home=home, clock=Clock(), host=Host())
        gate.take(wait=_WAIT)
        stack.callback(gate.give)
        found = home_record.read(home) or unsaved(home)
        now = HomeRecord(**(found.as_document() | values))
        content = (jsontext.dumps(now.as_document()) + "\n").encode()
        for name in (paths.RECORD, paths.RECORD_COPY):
            Files(home, funnel).publish(name, content)
    return now


def why_elsewhere(record: HomeRecord, home: str) -> errors.Refused | None:
    """Return the error that a home was moved or copied, or is reached by another path; None when its record fits.

    HomeMoved or HomeCopied. The caller raises it.
    """
    here = os.path.realpath(home)
    if record.path == here:
        return None
    with contextlib.suppress(OSError):
        if os.path.samefile(record.path, here):
            return errors.HomeCopied(path=here, was=record.path, how="another name of")
    with contextlib.suppress(errors.HomeUnusable):
        there = home_record.read(record.path)
        if there is not None and there.id == record.id:
            return errors.HomeCopied(path=here, was=record.path, how="a copy of")
    return errors.HomeMoved(path=here, was=record.path)

"""Rotate the operation log: move old operations from the database into compressed JSON Lines files.

The file is written and synced before its rows are deleted. After a kill in between, the next rotation finds the file
and deletes the rows; so no operation is lost or in two files. 5000 operations are moved at a time, so that no writer
waits long.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.results.home import Rotated
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.views.operations import FOREVER
from fleet.world.home import paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.store.queries import Operation, WholeOperation
    from fleet.store.transaction import Store, Tx
    from fleet.verbs.context import Context
    from fleet.world.files.files import Files

# How many operations one archive file has at most.
STEP = 5_000
# The name of an archive file: the first and the last sequence number in it.
_NAME = re.compile(r"(\d{12})-(\d{12})\.jsonl\.gz")


def rotate(context: Context, *, before: int) -> Rotated:
    """Move operations older than the time `before` (milliseconds) into archive files; return their number and the files.

    First finish a rotation that was interrupted. The newest operation always stays in the database. Raise Refused when
    an archive file and the database have different operations under the same sequence numbers, as after an older backup
    was restored.
    """
    moved = _finish_interrupted(context)
    names: list[str] = []
    while True:
        rows = context.store.read(lambda snapshot: q.operations_to_rotate(snapshot, before=before, most=STEP))
        if not rows:
            return Rotated(moved=moved, files=names)
        name = f"{rows[0].seq:012d}-{rows[-1].seq:012d}.jsonl.gz"
        context.world.files.publish(f"{paths.OPERATIONS}/{name}", _compressed(rows))
        names.append(name)
        moved += context.commit(_forget_operations(rows[0].seq, rows[-1].seq))


def archived_operations(files: Files) -> Iterator[Operation]:
    """Yield every operation in the archive files, oldest first."""
    for name in _archive_names(files):
        yield from map(q.Operation.made_of, _read_archive(files, name))


def _read_archive(files: Files, name: str) -> list[WholeOperation]:
    """Return the operations in one archive file."""
    text = gzip.decompress(files.read(f"{paths.OPERATIONS}/{name}")).decode()
    return [q.WholeOperation.from_json(json.loads(line)) for line in text.split("\n")[:-1]]


def _finish_interrupted(context: Context) -> int:
    """Delete operations from the database that an interrupted rotation has already archived. Returns how many."""
    store, files = context.store, context.world.files
    oldest = store.read(lambda rows: q.operations_after(rows, after=0, until=FOREVER, most=1))
    moved = 0
    for name in _archive_names(files):
        first, last = (int(part) for part in _NAME.fullmatch(name).groups())  # type: ignore[union-attr]
        if oldest and last >= oldest[0].seq and _is_still_stored(store, files, name, (first, last)):
            moved += context.commit(_forget_operations(first, last))
    return moved


def _is_still_stored(store: Store, files: Files, name: str, span: tuple[int, int]) -> bool:
    """Return whether the database still has operations of the archive file `name`.

    `span` are the first and last sequence number in the file. Raises Refused when the database has other operations
    under these numbers.
    """
    stored = store.read(lambda rows: q.operation_keys(rows, first=span[0], last=span[1]))
    archived = {row.key for row in _read_archive(files, name)} if stored else set()
    if any(row.key not in archived for row in stored):
        why = (
            "was written before an older backup was restored, and has the numbers of other operations than the database"
        )
        raise errors.Refused(
            what=f"{files.root}/{paths.OPERATIONS}/{name} {why}; move it to another folder, then rotate again"
        )
    return bool(stored)


def _archive_names(files: Files) -> list[str]:
    """Return the names of the archive files of operations, oldest first."""
    return [name for name in files.names(paths.OPERATIONS) if _NAME.fullmatch(name)]


def _forget_operations(first: int, last: int) -> Change[int]:
    """Return the change that deletes operations `first` to `last` from the database; committing it returns how many."""

    def work(tx: Tx) -> int:
        count = q.forget_operations(tx, first=first, last=last)
        tx.note(first=first, last=last, forgotten=count)
        return count

    return Change(f"archive operations {first} to {last}", work)


def _compressed(rows: list[WholeOperation]) -> bytes:
    """Return operations as gzipped JSON Lines, the same bytes for the same operations."""
    lines = "".join(json.dumps(row.as_json(), ensure_ascii=False) + "\n" for row in rows)
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as file:
        file.write(lines.encode())
    return buffer.getvalue()

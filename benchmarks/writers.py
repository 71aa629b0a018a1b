"""The writers that are compared: fleet, and bare sqlite3 with exactly the statements that fleet commits."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from time import time
from typing import TYPE_CHECKING

from benchmarks.scene import PROJECT
from fleet.api.fleet import Fleet
from fleet.store import queries as q
from fleet.store.transaction import fingerprint

if TYPE_CHECKING:
    from pathlib import Path

ACTOR = "bench"


class Ours:
    """A writer that uses fleet in this process."""

    def __init__(self, home: Path) -> None:
        self._acts = Fleet.open(str(home), actor=ACTOR)
        self.db: sqlite3.Connection = vars(self._acts.store)["_db"]  # so that a benchmark can trace its statements

    def log(self, task: str, message: str) -> None:
        """Add a message to a task's log."""
        self._acts.tasks.log(project=PROJECT, slug=task, message=message)

    def claim(self, task: str) -> None:
        """Claim a task."""
        self._acts.tasks.claim(project=PROJECT, slug=task)

    def done(self, task: str) -> None:
        """Report a task as done."""
        self._acts.tasks.done(project=PROJECT, slug=task)

    def close(self) -> None:
        """Close the store."""
        self._acts.close()


class Bare:
    """A writer that uses a bare connection, with fleet's pragmas and tables."""

    def __init__(self, home: Path) -> None:
        self.db = sqlite3.connect(home / "fleet.db", timeout=30, isolation_level=None)
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("PRAGMA foreign_keys = ON")

    def log(self, task: str, message: str) -> None:
        """Commit the statements of `log`."""
        here, at, key = {"project": PROJECT, "slug": task}, int(time() * 1000), os.urandom(12).hex()
        seq = self._begin(key)
        self.db.execute(q.TASK_STATE.sqlite, here).fetchone()
        said = {"seq": seq, "at": at, "actor": ACTOR, "message": message}
        self.db.execute(q.ADD_LOG.sqlite, here | said)
        self._commit(here, seq=seq, key=key, at=at, why=f"log on {PROJECT}/{task}", what=f'{{"message": "{message}"}}')

    def log_together(self, tasks: list[tuple[str, str, str]]) -> None:
        """Log on several tasks in one transaction, each in a savepoint and under its own key."""
        self.db.execute("BEGIN IMMEDIATE")
        for task, message, key in tasks:
            self.db.execute("SAVEPOINT request")
            here, at = {"project": PROJECT, "slug": task}, int(time() * 1000)
            seq: int = self.db.execute(q.NEXT_OPERATION.sqlite, {"key": key}).fetchone()[0]
            self.db.execute(q.TASK_STATE.sqlite, here).fetchone()
            self.db.execute(q.ADD_LOG.sqlite, here | {"seq": seq, "at": at, "actor": ACTOR, "message": message})
            what = f'{{"message": "{message}"}}'
            self._write_operation(here, seq=seq, key=key, at=at, why=f"log on {PROJECT}/{task}", what=what)
            self.db.execute("RELEASE SAVEPOINT request")
        self.db.execute("COMMIT")

    def claim(self, task: str) -> None:
        """Commit the statements of `claim`."""
        here, at, key = {"project": PROJECT, "slug": task}, int(time() * 1000), os.urandom(12).hex()
        seq = self._begin(key)
        self.db.execute(q.CLAIM_TASK.sqlite, here | {"actor": ACTOR, "at": at, "after": "in_progress"})
        self.db.execute(q.TASK_STATE.sqlite, here).fetchone()
        what = f'{{"status": "in_progress", "assignee": "{ACTOR}"}}'
        self._commit(here, seq=seq, key=key, at=at, why=f"claim {PROJECT}/{task}", what=what)

    def done(self, task: str) -> None:
        """Commit the statements of `done` for a task that another one waits for."""
        here, at, key = {"project": PROJECT, "slug": task}, int(time() * 1000), os.urandom(12).hex()
        seq = self._begin(key)
        self.db.execute(q.TASK_STATE.sqlite, here).fetchone()
        was = {"was": "in_progress", "was_assignee": ACTOR}
        self.db.execute(q.ANNOUNCED_MERGE.sqlite, here).fetchone()
        self.db.execute(
            q.END_TASK.sqlite,
            here | was | {"status": "done", "assignee": ACTOR, "reason": None, "work": None, "at": at},
        )
        self.db.execute(q.SHIFT_BLOCKERS.sqlite, here | {"change": -1})
        freed = self.db.execute(q.FREED_BY.sqlite, here | {"most": 50}).fetchall()
        self.db.execute(q.LEAVE_UNCOMMITTED.sqlite, here | {"reason": None})
        what = f'{{"status": "done", "was": "in_progress", "ready": ["{freed[0][0]}"]}}'
        self._commit(here, seq=seq, key=key, at=at, why=f"done {PROJECT}/{task}", what=what)

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def _begin(self, key: str) -> int:
        """Begin a transaction and return the next sequence number."""
        self.db.execute("BEGIN IMMEDIATE")
        seq: int = self.db.execute(q.NEXT_OPERATION.sqlite, {"key": key}).fetchone()[0]
        return seq

    def _commit(self, here: dict[str, str], **fields: object) -> None:
        self._write_operation(here, **fields)
        self.db.execute("COMMIT")

    def _write_operation(self, here: dict[str, str], **fields: object) -> None:
        asked = fingerprint(str(fields["why"]), ())
        row = here | fields | {"actor": ACTOR, "dispatch": None, "request": asked, "result": fields["what"]}
        self.db.execute(q.WRITE_OPERATION.sqlite, row)


class Queued(Bare):
    """A bare writer for many processes, which queue on a lock file, because SQLite's own busy handler lets some starve."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._lock = os.open(home / "queue", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def log(self, task: str, message: str) -> None:
        """Commit the statements of `log` when it is this process's turn."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            super().log(task, message)
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

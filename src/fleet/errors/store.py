"""Errors of the database and of the fleet home."""

from __future__ import annotations

from fleet.errors.families import StoreError


class HomeUnusable(StoreError):
    """The fleet home cannot be used."""

    says = "the fleet home {path} cannot be used: {why}"
    hint = "set FLEET_HOME to a directory that you own and may write to"


class StoreUnreadable(StoreError):
    """The database file is empty, damaged or not a database. fleet never overwrites it."""

    says = "{path} cannot be read as fleet's database: {why}"
    hint = (
        "it was left as it is; move it away together with its -wal and -shm; a backup from {backups} may take its place"
    )


class StoreForeign(StoreError):
    """The file is a database of another program."""

    says = "{path} is a database of another program"
    hint = "it was left as it is; move it away, or set FLEET_HOME to another directory"


class StoreNewer(StoreError):
    """The database was made by a newer version of fleet."""

    says = "{path} has schema {found}; this fleet {program} knows schemas up to {known}"
    hint = "install a newer fleet"


class StoreGone(StoreError):
    """The home had a database, and it is missing. fleet makes an empty one only when a person asks for it."""

    says = "the fleet home {home} has a database ({database}), but {store} is not there"
    hint = (
        "put a backup in its place (docs/how-to/restore-a-backup.md), or correct `store` in config.toml; "
        "`fleet home new-database --reason TEXT` starts with an empty one"
    )


class StoreReplaced(StoreError):
    """The database file was removed or replaced while this process had it open."""

    says = "{path} was {how} while it was in use; nothing more is written, and this process ends"
    hint = "start it again to work with what is there now"


class StoreMixed(StoreError):
    """The database file was replaced, but the -wal file of the old one is still there; SQLite would mix the two."""

    says = "another file took the place of {path} while {path}-wal is of the old one; nothing was read or written"
    hint = (
        "end every process that has the old one open, move {path}-wal and {path}-shm away "
        "(docs/how-to/restore-a-backup.md), then try again"
    )


class WriteFailed(StoreError):
    """The change could not be written; nothing was changed."""

    says = "nothing was changed: {path}: {why}"
    hint = "free some space or fix the permissions, then try again"


class NotAFolder(WriteFailed):
    """A file is where the home needs a folder."""

    says = "nothing was changed: {path} is not a folder, and fleet needs one there"
    hint = "move it away; fleet makes the folder itself"


class DriverMissing(StoreError):
    """The Python driver for this kind of store is not installed."""

    says = "the store {url} needs the driver psycopg, which is not installed"
    hint = "install fleet with its extra: fleet-agents[postgres]"


class StoreUnreachable(StoreError):
    """The database server does not answer."""

    says = "the store {url} does not answer: {why}"
    hint = "check that the server runs and that `store` in config.toml is right"


class OutcomeUnknown(StoreError):
    """The connection broke during a commit, and fleet could not ask whether the commit happened."""

    says = "the store {url} stopped answering while {doing!r} was committed: whether it was done is not known"
    hint = "repeat it with --key {key}, under which it is done once at most"


class InvariantBroken(StoreError):
    """A bug in fleet: the database refused a change, or a table of steps lacks the step. Nothing was changed."""

    says = "the store refused {doing!r}: {why}"
    hint = "this is a bug in fleet; nothing was changed"


class EffectInTransaction(StoreError):
    """A bug in fleet: an effect was tried while its thread had a transaction open. The effect was not performed."""

    says = "{effect} was tried while the transaction {why!r} was open"
    hint = "this is a bug in fleet; nothing was changed"

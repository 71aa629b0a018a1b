"""The database or the home cannot be used."""

from __future__ import annotations

from fleet.errors.families import StoreError


class HomeUnusable(StoreError):
    """The fleet home cannot be used."""

    says = "the fleet home {path} cannot be used: {why}"
    hint = "set FLEET_HOME to a directory that you own and may write to"


class StoreUnreadable(StoreError):
    """Not a database, or a broken one. It is never overwritten."""

    says = "{path} cannot be read as fleet's database: {why}"
    hint = (
        "it was left as it is; move it away together with its -wal and -shm; a backup from {backups} may take its place"
    )


class StoreForeign(StoreError):
    """A database, but not fleet's."""

    says = "{path} is a database of another program"
    hint = "it was left as it is; move it away, or set FLEET_HOME to another directory"


class StoreNewer(StoreError):
    """The database was made by a newer fleet."""

    says = "{path} has schema {found}; this fleet {program} knows schemas up to {known}"
    hint = "install a newer fleet"


class StoreGone(StoreError):
    """The home remembers that it has a database. An empty one is never made in its place without a person's word."""

    says = "the fleet home {home} has a database ({database}), but {store} is not there"
    hint = (
        "put a backup in its place (docs/how-to/restore-a-backup.md), or put `store` in config.toml right; "
        "`fleet home new-database --reason TEXT` begins with an empty one"
    )


class StoreReplaced(StoreError):
    """The path names another file than the one that this process opened, or none."""

    says = "{path} was {how} while it was in use; nothing more is written, and this process ends"
    hint = "start it again to work with what is there now"


class StoreMixed(StoreError):
    """SQLite would apply the recent changes of the old database to the file that took its place."""

    says = "another file took the place of {path} while {path}-wal is of the old one; nothing was read or written"
    hint = (
        "end whoever has the old one open, move {path}-wal and {path}-shm away "
        "(docs/how-to/restore-a-backup.md), then try again"
    )


class WriteFailed(StoreError):
    """The change could not be written, and was not made."""

    says = "nothing was changed: {path}: {why}"
    hint = "free some space or mend the permissions, then try again"


class DriverMissing(StoreError):
    """The driver of this store is not installed."""

    says = "the store {url} needs the driver psycopg, which is not installed"
    hint = "install fleet with its extra: fleet-agents[postgres]"


class StoreUnreachable(StoreError):
    """The database server does not answer."""

    says = "the store {url} does not answer: {why}"
    hint = "see that the server runs and that `store` in config.toml is right"


class OutcomeUnknown(StoreError):
    """The connection broke in mid-commit, and nobody could be asked what became of it."""

    says = "the store {url} stopped answering while {doing!r} was committed: whether it was done is not known"
    hint = "repeat it with --key {key}, under which it is done once at most"


class InvariantBroken(StoreError):
    """The database refused what the code above it allowed. Nothing was changed."""

    says = "the store refused {doing!r}: {why}"
    hint = "this is a defect of fleet; nothing was changed"


class EffectInTransaction(StoreError):
    """No transaction is ever held over the outside."""

    says = "{effect} was tried while the transaction {why!r} was open"
    hint = "this is a defect of fleet; nothing was changed"

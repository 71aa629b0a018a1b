"""List the trash that will soon be deleted, for people."""

from __future__ import annotations

from fleet.model.text.times import DAY, age
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import KeptTrash, Trash
    from fleet.verbs.context import Context


def own_home_id(context: Context) -> str:
    """Return the id of this fleet home. It marks the home's own trash in a database that several homes share."""
    return context.world.record.id


def expiring_trash_lines(context: Context) -> list[str]:
    """Return a line for people for each entry of this home's trash that has expired, or expires within a day."""
    now = context.world.clock.now()
    rows = context.store.read(lambda snapshot: q.kept_trash(snapshot, home=own_home_id(context)))
    return [
        f"{describe_count(row)} in {row.name}: {describe_expiry(row, now)}" for row in rows if row.until - now <= DAY
    ]


def describe_expiry(row: KeptTrash, now: int) -> str:
    """Return when an entry of the trash will be deleted, as text."""
    return f"expires in {age(row.until - now)}" if row.until > now else "expired, the next sweep deletes it"


def describe_count(row: KeptTrash | Trash) -> str:
    """Return how many ignored files an entry of the trash contains, as text."""
    return f"{row.files} ignored file{'' if row.files == 1 else 's'}"

"""What will soon be deleted from the trash, for people."""

from __future__ import annotations

from fleet.model.text.times import DAY, age
from fleet.store import queries as q

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.queries import KeptTrash, Trash
    from fleet.verbs.context import Context


def home_of(context: Context) -> str:
    """The id of this home, by which its own trash is known in a shared database."""
    return context.world.record.id


def expiring_trash_lines(context: Context) -> list[str]:
    """What will be deleted from the trash within a day, in words."""
    now = context.world.clock.now()
    rows = context.store.read(lambda snapshot: q.kept_trash(snapshot, home=home_of(context)))
    return [f"{counted(row)} in {row.name}: {expiry(row, now)}" for row in rows if row.until - now <= DAY]


def expiry(row: KeptTrash, now: int) -> str:
    """When it will be deleted."""
    return f"expires in {age(row.until - now)}" if row.until > now else "expired, the next sweep deletes it"


def counted(row: KeptTrash | Trash) -> str:
    """How many files it is."""
    return f"{row.files} ignored file{'' if row.files == 1 else 's'}"

"""Dispatches as rows of the store: what they are called, whose they are, and how far they came."""

from itertools import count

from fleet.api.fleet import Fleet
from fleet.model.agents.actors import Caller
from fleet.model.dispatch.steps import owner
from fleet.store import queries as q
from fleet.store.row import Query

AT = 1_700_000_000_000
KEYS = count()


def write(fleet: Fleet, *statements: str) -> None:
    """Change the tables by hand."""

    def work(tx):
        return sum(tx.write(Query("raw", sql, sql), {}) for sql in statements)

    fleet.store.transact("by hand", work, Caller(actor="t", at=AT, key=f"by hand {next(KEYS)}"))


def begin(
    fleet: Fleet, ident: str, slug: str | None, *, project: str = "p", state: str = "pending", at: int = AT
) -> str:
    """A dispatch of this home and host; its task is added if there is none."""
    if slug is not None and not any(task.slug == slug for task in fleet.tasks.list(project=project)):
        fleet.tasks.add(project=project, title=slug, slug=slug)
    world = fleet.world

    def work(tx):
        q.reserve_id(tx, id=ident, at=at)
        return q.add_dispatch(
            tx, id=ident, kind="worker" if slug else "coord", project=project, slug=slug,
            owner=owner(project=project, slug=slug), host=world.host.id, home=world.record.id, tmux_socket=world.tmux.socket,
            at=at, predecessor=None, engine="shell", autonomy=None, model=None, command=None, base=None, spawner="", server=None,
        )  # fmt: skip

    assert fleet.store.transact(f"dispatch {ident}", work, Caller(actor="t", at=at, key=f"begin {ident}")) == 1
    if state != "pending":
        write(fleet, f"UPDATE dispatches SET exec_state = '{state}' WHERE id = '{ident}'")
    return ident

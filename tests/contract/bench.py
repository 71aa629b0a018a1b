"""A store with a task, on which a test sets a state, tries an event, and compares what follows with the table of steps."""

import itertools

from staging.raw import select

from fleet.errors.families import FleetError
from fleet.store import queries as q
from fleet.store.row import Query
from fleet.store.transaction import Change

ID, OLD, NEW = "00000001", "0000000a", "0000000b"
P = {"project": "p", "slug": "a"}


class Bench:
    def __init__(self, fleet):
        self.fleet = fleet

    def do(self, *statements: str) -> None:
        self.tx(lambda tx: [tx.write(Query("raw", sql, sql), {}) for sql in statements])

    def tx(self, work) -> None:
        def run(tx):
            work(tx)
            return {}

        self.fleet.commit(Change("try", run))

    def one(self, sql: str):
        return next(iter(self.fleet.store.read(lambda rows: select(rows, sql))), None)

    def add_dispatch(self, ident: str = ID, *, kind: str = "worker", slug: str | None = "a") -> None:
        def work(tx):
            q.reserve_id(tx, id=ident, at=1)
            q.add_dispatch(tx, id=ident, kind=kind, project="p", slug=slug, owner="o", host="h", home=None, tmux_socket="/s",
                at=1, predecessor=None, engine="shell", autonomy=None, model=None, command=None, base=None, spawner="", server=None,
            )  # fmt: skip

        self.tx(work)

    def compare(self, table, states, drivers, *, put, now) -> None:
        """Try each event from each state: the state is what the table says, and stays where it has no step."""
        wrong = {}
        for state, event in itertools.product(states, drivers):
            put(state)
            try:
                drivers[event]()
            except FleetError:
                assert now() == state, "a refused step changes nothing"
            # What an event falls back to when it has no step of its own is named after it: "resume/claim".
            expected = next((table[state, name] for name in event.split("/") if (state, name) in table), state)
            if now() != expected:
                wrong[state, event] = (now(), expected)
        assert wrong == {}

"""PostgreSQL goes away in the middle of the daemon's commit: nobody is told that nothing was done, and the key finds what was."""

import pytest

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.agents.actors import Caller
from fleet.store import queries as q
from fleet.store.registry import open_store
from fleet.surfaces.daemon.writer import Waiting, Writer
from fleet.testing.postgres import ThrowawayPostgres
from fleet.verbs.projects.register import register
from fleet.world.funnel import Funnel


@pytest.fixture
def server():
    """A PostgreSQL server of the test's own, which can be ended and started again."""
    with ThrowawayPostgres(lives=2) as running:
        yield running


@pytest.fixture
def writer(home, server):
    """A writer in front of a home on that server, held back until `start`."""
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f'store = "{server.url()}"\n')
    Fleet.open(str(home)).close()
    return Writer(lambda: open_store(str(home), Funnel()), longest=60.0)


def end_after_commit(store, server) -> None:
    """Let the store's next commit be done, and let the server be gone before its answer is heard."""

    def deaf() -> None:
        type(store)._commit(store)
        store._in_doubt = True
        server.end()
        store._db.execute("SELECT 1")

    store._commit = deaf


def wish(writer: Writer, key: str, outcomes: dict, *, reads_first: bool = False) -> Waiting:
    """A request that registers a project."""
    change = register(name=f"p-{key}", path=f"/repositories/{key}")

    def act() -> object:
        if reads_first:
            writer.read(q.all_projects)
        return writer.transact(change.why, change.work, Caller(actor="ann", at=1, key=f"{key}:step"), *change.request)

    return Waiting(act, lambda done: outcomes.update({key: done.error or done.result}), key=key)


@pytest.mark.req("IPC-2", "STORE-16")
def test_a_commit_before_the_server_went_away_is_not_told_as_a_change_that_was_not_made(writer, server, home):
    outcomes: dict = {}
    store = writer._opened()
    end_after_commit(store, server)
    writer.submit(wish(writer, "k1", outcomes))
    writer.submit(wish(writer, "k2", outcomes, reads_first=True))
    writer.start()
    writer.stop()
    for key in ("k1", "k2"):
        assert isinstance(outcomes[key], errors.OutcomeUnknown), outcomes[key]
        assert f"--key {key}," in outcomes[key].next_step
    server.begin_again()
    again = Writer(lambda: open_store(str(home), Funnel()))
    for key in ("k1", "k2"):
        again.submit(wish(again, key, outcomes))
    again.start()
    again.stop()
    assert not any(isinstance(outcome, BaseException) for outcome in outcomes.values())
    check = open_store(str(home), Funnel())
    done = check.read(lambda rows: q.operations_after(rows, after=0, until=1 << 60, most=1 << 60))
    check.close()
    assert sorted(each.why for each in done) == ["register project p-k1", "register project p-k2"]


@pytest.mark.req("IPC-2")
def test_a_server_that_went_away_before_the_commit_has_changed_nothing(writer, server):
    outcomes: dict = {}
    store = writer._opened()

    def ended(_by) -> None:
        type(store).open_shared(store, _by)
        server.end()

    store.open_shared = ended
    writer.submit(wish(writer, "k1", outcomes))
    writer.start()
    writer.stop()
    assert isinstance(outcomes["k1"], errors.StoreUnreachable)

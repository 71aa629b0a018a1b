"""Group commit: requests share one synced transaction, each undoes only itself, and none is answered before the commit."""

import sqlite3
import threading
from time import monotonic

import pytest

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.agents.actors import Caller
from fleet.store import queries as q
from fleet.store.registry import open_store
from fleet.store.sqlite import SqliteStore
from fleet.surfaces.daemon.checkpoints import EVERY, LAST_RESORT, Checkpoints
from fleet.surfaces.daemon.household import Household
from fleet.surfaces.daemon.writer import SharedStore, WaitingChange, Writer
from fleet.testing.crash.scenarios import until
from fleet.verbs.projects.register import register
from fleet.world.files.locks import WriterLock
from fleet.world.funnel import Funnel
from fleet.world.home import home_record, paths
from fleet.world.process import surroundings
from fleet.world.process.surroundings import Surroundings

pytestmark = pytest.mark.req("IPC-1")


@pytest.fixture
def writer(home, store_url):
    """A writer in front of a new home, held back until `start`."""
    if store_url != "sqlite":
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(f'store = "{store_url}"\n')
    Fleet.open(str(home)).close()
    made = Writer(lambda: open_store(str(home), Funnel()), longest=60.0)
    yield made
    made.start() if not made._thread.ident else None
    made.stop()


def caller(number: int) -> Caller:
    return Caller(actor="ann", at=1_000 + number, key=f"key-{number}")


def wish(writer: Writer, number: int, outcomes: dict, name: str = "") -> WaitingChange:
    """A request that registers a project."""
    change = register(name=name or f"p{number}", path=f"/repositories/{name or number}")
    return WaitingChange(
        lambda: writer.transact(change.why, change.work, caller(number), *change.request),
        lambda done: outcomes.update({number: done.error or done.result}),
    )


def projects(writer: Writer, home) -> list[str]:
    store = open_store(str(home), Funnel())
    try:
        return sorted(row.name for row in store.read(q.all_projects))
    finally:
        store.close()


def test_requests_that_wait_together_share_one_transaction(writer, home):
    outcomes: dict = {}
    for number in range(20):
        writer.submit(wish(writer, number, outcomes))
    writer.start()
    writer.stop()
    assert len(outcomes) == 20
    assert (writer.figures.batches, writer.figures.requests, writer.figures.largest) == (1, 20, 20)
    assert projects(writer, home) == sorted(f"p{number}" for number in range(20))


def test_a_request_that_is_refused_undoes_only_itself(writer, home):
    outcomes: dict = {}
    for number, name in enumerate(["a", "b", "a", "c"]):  # the third takes a name that is taken
        writer.submit(wish(writer, number, outcomes, name if number != 2 else "a"))
    change = register(name="d", path="/repositories/d")

    def half_way(tx):
        change.work(tx)
        raise errors.Refused(what="half way")

    writer.submit(
        WaitingChange(
            lambda: writer.transact("half", half_way, caller(9)), lambda done: outcomes.update({9: done.error})
        )
    )
    writer.start()
    writer.stop()
    assert writer.figures.batches == 1
    assert isinstance(outcomes[9], errors.Refused)
    assert projects(writer, home) == ["a", "b", "c"]


def test_a_transaction_is_bounded_so_that_others_get_their_turn(home, writer):
    outcomes: dict = {}
    writer._most = 8
    for number in range(20):
        writer.submit(wish(writer, number, outcomes))
    writer.start()
    writer.stop()
    assert (writer.figures.batches, writer.figures.largest) == (3, 8)
    assert len(projects(writer, home)) == 20


def test_nobody_is_answered_before_the_commit(writer, home, monkeypatch):
    seen: list[list[str]] = []
    change = register(name="a", path="/repositories/a")
    waiting = WaitingChange(
        lambda: writer.transact(change.why, change.work, caller(1), *change.request),
        lambda _done: seen.append(projects(writer, home)),
    )
    writer.submit(waiting)
    writer.start()
    writer.stop()
    assert seen == [["a"]]


def test_a_lost_transaction_is_done_again_one_by_one(writer, home):
    outcomes: dict = {}
    store = writer._opened()
    commits = iter([RuntimeError("the connection broke")])

    def failing(why, *, commit):
        error = next(commits, None)
        type(store).close_shared(store, why, commit=commit and error is None)
        if error is not None:
            raise error

    store.close_shared = failing
    for number in range(5):
        writer.submit(wish(writer, number, outcomes))
    writer.start()
    writer.stop()
    assert writer.figures.lost == 1
    assert sorted(outcomes) == list(range(5))
    assert not any(isinstance(outcome, BaseException) for outcome in outcomes.values())
    assert len(projects(writer, home)) == 5


def test_a_commit_whose_outcome_was_not_heard_is_not_done_twice(writer, home):
    """The transaction was committed, and the connection broke before the answer: the keys find what is there."""
    outcomes: dict = {}
    store = writer._opened()
    first = iter([True])

    def deaf(why, *, commit):
        type(store).close_shared(store, why, commit=commit)
        if next(first, False):
            raise RuntimeError

    store.close_shared = deaf
    for number in range(5):
        writer.submit(wish(writer, number, outcomes))
    writer.start()
    writer.stop()
    assert len(projects(writer, home)) == 5
    assert not any(isinstance(outcome, BaseException) for outcome in outcomes.values())


def test_threads_beside_the_writer_commit_through_it_and_read_by_themselves(writer, home):
    writer.start()
    errors_met: list[BaseException] = []

    def work(number: int) -> None:
        store = SharedStore(writer, lambda: open_store(str(home), Funnel()))
        change = register(name=f"p{number}", path=f"/repositories/{number}")
        try:
            store.transact(change.why, change.work, caller(number), *change.request)
            assert f"p{number}" in [row.name for row in store.read(q.all_projects)]
        except BaseException as error:  # noqa: BLE001 - the main thread tells
            errors_met.append(error)
        finally:
            store.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors_met == []
    assert len(projects(writer, home)) == 8


def quick(writer: Writer, number: int, finished: list[tuple[int, bool]]) -> WaitingChange:
    """A request that notes, when it is answered, whether this thread did it."""
    here = threading.get_ident()
    waiting = wish(writer, number, {})
    waiting.finish = lambda _done: finished.append((number, threading.get_ident() == here))
    return waiting


def test_the_loop_commits_quick_requests_itself_when_nobody_else_writes(writer, home, store_url):
    finished: list[tuple[int, bool]] = []
    writer._opened()
    for number in range(3):
        writer.add_quick(quick(writer, number, finished))
    writer.do_quick()
    is_here = store_url == "sqlite"  # every statement would wait for a server
    assert finished == ([(0, True), (1, True), (2, True)] if is_here else [])
    writer.start()
    writer.stop()
    assert finished == [(number, is_here) for number in range(3)]
    assert (writer.figures.batches, writer.figures.largest) == (1, 3)
    assert projects(writer, home) == ["p0", "p1", "p2"]


def test_quick_requests_that_come_while_the_loop_performs_others_join_their_transaction(writer, home, store_url):
    finished: list[tuple[int, bool]] = []
    coming = [2, 1]
    writer._opened()
    writer.take_arrived = lambda: writer.add_quick(quick(writer, coming.pop(), finished)) if coming else None
    writer.add_quick(quick(writer, 0, finished))
    has_done = writer.do_quick()
    is_here = store_url == "sqlite"
    assert has_done == is_here
    assert finished == ([(0, True), (1, True), (2, True)] if is_here else [])
    writer.start()
    writer.stop()
    assert (writer.figures.batches, writer.figures.largest) == (1, 3 if is_here else 1)
    assert not writer.do_quick()


def test_what_comes_while_the_loop_performs_requests_joins_only_within_the_limits_of_a_transaction(writer, store_url):
    if store_url != "sqlite":
        return  # the thread takes what waits
    finished: list[tuple[int, bool]] = []
    writer._opened()
    writer._most = 2
    coming = iter(range(1, 10))
    writer.take_arrived = lambda: writer.add_quick(quick(writer, next(coming), finished))
    writer.add_quick(quick(writer, 0, finished))
    writer.do_quick()
    assert finished == [(0, True), (1, True)]


def test_the_loop_waits_for_no_other_process(writer, home):
    finished: list[tuple[int, bool]] = []
    other = WriterLock(str(home / paths.WRITERS_LOCK))
    writer._opened()
    other.take(0)
    for number in range(2):
        writer.add_quick(quick(writer, number, finished))
    writer.do_quick()
    assert finished == []
    other.give()
    writer.start()
    writer.stop()
    assert finished == [(0, False), (1, False)]
    assert projects(writer, home) == ["p0", "p1"]


def test_a_disk_that_syncs_slowly_is_left_to_the_thread(writer, home, monkeypatch):
    finished: list[tuple[int, bool]] = []
    monkeypatch.setattr("fleet.surfaces.daemon.writer._QUICK", -1.0)
    writer.submit(wish(writer, 0, {}))
    writer.start()
    while not writer.figures.batches:
        threading.Event().wait(0.001)
    writer.add_quick(quick(writer, 1, finished))
    writer.do_quick()
    writer.stop()
    assert finished == [(1, False)]
    assert projects(writer, home) == ["p0", "p1"]


def test_quick_requests_that_come_while_the_thread_writes_are_done_with_its_own(writer, home):
    finished: list[tuple[int, bool]] = []
    begun, may_end = threading.Event(), threading.Event()
    writer.submit(WaitingChange(lambda: (begun.set(), may_end.wait(60)), lambda _done: None))
    writer.start()
    begun.wait(60)
    writer.add_quick(quick(writer, 1, finished))
    writer.do_quick()
    assert finished == []
    may_end.set()
    writer.stop()
    assert finished == [(1, False)]
    assert writer.figures.batches == 1


class TurnAfterThread:
    """The turn of the writer, which its thread has had just before the loop gets it, or just after: it did all that waited."""

    def __init__(self, writer: Writer, when: str) -> None:
        self._writer = writer
        self._when = when

    def acquire(self, *, blocking: bool) -> bool:
        assert not blocking
        if self._when == "before":
            self._writer._quick.clear()
        return True

    def release(self) -> None:
        if self._when == "after":
            self._writer._quick.clear()


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_loop_may_come_late_for_its_quick_requests_and_leaves_no_transaction_open(writer, home, when):
    finished: list[tuple[int, bool]] = []
    writer._opened()
    writer._is_slow = when == "after"
    writer._turn, turn = TurnAfterThread(writer, when), writer._turn
    writer.add_quick(quick(writer, 1, finished))
    writer.do_quick()
    writer._turn = turn
    writer.start()
    writer.commit("register project p2", register(name="p2", path="/repositories/2").work, caller(2), ())
    assert "p2" in projects(writer, home)


def test_the_loop_is_woken_when_the_thread_leaves_quick_requests_to_it(writer):
    woken = threading.Event()
    writer.wake_loop = woken.set
    writer._most = 1
    begun, may_end = threading.Event(), threading.Event()
    writer.submit(WaitingChange(lambda: (begun.set(), may_end.wait(60)), lambda _done: None))
    writer.start()
    begun.wait(60)
    writer.add_quick(wish(writer, 1, {}))
    writer.do_quick()
    may_end.set()
    assert woken.wait(60)


def test_no_effect_happens_in_a_shared_transaction(writer):
    store = writer._opened()
    caught: list[BaseException | None] = []
    waiting = WaitingChange(
        lambda: store._funnel.through("touch", lambda: None), lambda done: caught.append(done.error)
    )
    writer.submit(waiting)
    writer.start()
    writer.stop()
    assert isinstance(caught[0], errors.EffectInTransaction)


def test_the_writer_keeps_the_fleets_of_its_askers_apart(writer, home):
    household = Household(str(home), home_record.read(str(home)), Funnel())

    def asked(named: str | None, **environ: str) -> Fleet:
        surroundings.enter(Surroundings(environ=environ))
        try:
            return household.open_kept(named)
        finally:
            surroundings.leave()

    ann, bob, agent = asked("ann"), asked("bob"), asked(None, FLEET_DISPATCH_ID="0123abcd")
    assert [(each.actor, each.speaker) for each in (ann, bob, agent)] == [
        ("ann", None),
        ("bob", None),
        ("0123abcd", "0123abcd"),
    ]
    assert asked("ann") is ann
    with pytest.raises(errors.ActorIsGiven):
        asked("ann", FLEET_DISPATCH_ID="0123abcd")


# the write-ahead log, which is copied beside the commits --------------------------------------------------------------
@pytest.fixture
def writing(home):
    """A connection that writes, as the daemon's writer does, to a new home."""
    Fleet.open(str(home)).close()
    store = SqliteStore(str(home), Funnel(), wait=1.0)
    store.leave_checkpoints(LAST_RESORT)
    yield store
    store.close()


def write_project(store: SqliteStore, name: str) -> None:
    change = register(name=name, path=f"/repositories/{name}")
    store.transact(change.why, change.work, Caller(actor="ann", at=1, key=name), *change.request)


def copied(home) -> list[str]:
    """The projects in the database itself, without those that are only in its log."""
    with sqlite3.connect(f"file:{home}/{paths.DATABASE}?immutable=1", uri=True) as database:
        found = [name for (name,) in database.execute("SELECT name FROM projects ORDER BY name")]
    database.close()
    return found


# So many requests in one transaction change as many pages as the log is copied for, and so many a few less.
MANY, FEWER = 4 * EVERY, 4 * (EVERY - 8)


def test_the_log_is_copied_after_many_requests_and_not_before(home, writing):
    checkpoints = Checkpoints(lambda: SqliteStore(str(home), Funnel(), wait=1.0))
    checkpoints.start()
    write_project(writing, "web")
    checkpoints.count(FEWER)
    assert copied(home) == []
    checkpoints.count(1)
    until(lambda: copied(home) == ["web"])
    write_project(writing, "api")
    checkpoints.count(FEWER)
    checkpoints.stop(60.0)
    assert copied(home) == ["web"]


def test_the_log_is_copied_while_a_transaction_is_open(home, writing):
    checkpoints = Checkpoints(lambda: SqliteStore(str(home), Funnel(), wait=1.0))
    checkpoints.start()
    write_project(writing, "web")
    writing.open_shared()
    checkpoints.count(MANY)
    until(lambda: copied(home) == ["web"])
    writing.close_shared("undo", commit=False)
    checkpoints.stop(60.0)


def test_a_store_that_cannot_be_opened_or_was_replaced_is_opened_again_the_next_time_and_the_trouble_is_logged(
    home, writing
):
    opened, has_tried, logged = [], threading.Semaphore(0), []

    def open_store() -> SqliteStore:
        has_tried.release()
        if len(opened) < 2:
            opened.append(None)
            raise OSError("no room")
        opened.append(SqliteStore(str(home), Funnel(), wait=1.0))
        return opened[-1]

    checkpoints = Checkpoints(open_store)
    checkpoints.log = lambda event, **facts: logged.append((event, *facts.values()))
    checkpoints.start()
    write_project(writing, "web")
    for _ in range(3):
        checkpoints.count(MANY)
        has_tried.acquire(timeout=60)
    until(lambda: copied(home) == ["web"])
    opened[-1]._file = (0, 0)  # as if the path led to another file now
    write_project(writing, "api")
    checkpoints.count(MANY)
    checkpoints.count(MANY)
    until(lambda: copied(home) == ["api", "web"])
    checkpoints.stop(60.0)
    assert len(opened) == 4
    assert [event for event, *_ in logged] == [
        "cannot copy the write-ahead log",
        "copies the write-ahead log again",
    ] * 2
    assert "no room" in logged[0][1]


def test_a_full_disk_is_trouble_and_what_commits_copy_is_kept_for_the_time_after_it(writing):
    writing._is_full = True
    with pytest.raises(errors.WriteFailed):
        writing.checkpoint()
    store = writing._reopen()
    assert store.execute("PRAGMA wal_autocheckpoint").fetchone() == (LAST_RESORT,)
    store.close()


def test_the_writer_of_a_daemon_leaves_the_copying_to_that_thread(home, writing):
    household = Household(str(home), home_record.read(str(home)), Funnel())
    household.serve()
    for number in range(EVERY // 4):
        change = register(name=f"p{number}", path=f"/repositories/p{number}")
        by = Caller(actor="ann", at=1, key=f"p{number}")
        household.writer.commit(change.why, change.work, by, change.request)
    pages = household.writer.store._db.execute("PRAGMA wal_autocheckpoint").fetchone()
    until(lambda: "p0" in copied(home))
    household.end(monotonic() + 60)
    assert pages == (LAST_RESORT,)


def test_without_a_store_in_a_file_there_is_no_such_thread(home):
    household = Household(str(home), None, Funnel())
    household.serve()
    household.end(monotonic() + 60)
    assert household.checkpoints._thread.ident is None

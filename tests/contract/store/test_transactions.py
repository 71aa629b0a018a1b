"""What a transaction promises, in both stores."""

import signal
import threading
from pathlib import Path

import pytest

from fleet.errors.absent import NoSuchTask
from fleet.errors.contested import StoreBusy
from fleet.errors.refused import KeyReused
from fleet.errors.store import EffectInTransaction, InvariantBroken, WriteFailed
from fleet.model.agents.actors import Caller
from fleet.store import queries as q
from fleet.world.files.files import Files
from fleet.world.forge import UserProgram
from fleet.world.git.git import Git
from fleet.world.machine import Machine
from fleet.world.process.programs import Programs

AT = 1_700_000_000_000


def call(key: str) -> Caller:
    return Caller(actor="tester", at=AT, key=key)


def add_tag(tx, tag: str) -> dict[str, object]:
    tx.about("p", "t")
    q.add_tag(tx, project="p", slug="t", tag=tag)
    tx.note(tag=tag)
    return {"tag": tag}


def tags(fleet) -> list[str]:
    return fleet.tasks.show(project="p", slug="t").tags


def operations(store) -> list[dict[str, object]]:
    return store.read(lambda rows: q.operations_after(rows, after=0, until=1 << 60, most=1 << 60))


@pytest.fixture
def task(fleet):
    return fleet.tasks.add(project="p", title="T", slug="t")


@pytest.mark.req("STORE-9", "LOG-1")
def test_a_change_and_its_operation_commit_together(fleet, store, task):
    store.transact("tag it", lambda tx: add_tag(tx, "a"), call("k1"))
    last = operations(store)[-1]
    assert (last.why, last.actor, last.at, last.project, last.slug) == ("tag it", "tester", AT, "p", "t")
    assert last.what == '{"tag": "a"}'
    assert tags(fleet) == ["a"]


@pytest.mark.req("STORE-9", "GRAPH-5")
def test_work_that_raises_changes_nothing_and_has_no_operation(fleet, store, task):
    before = operations(store)

    def work(tx):
        add_tag(tx, "a")
        raise NoSuchTask(project="p", slug="other")

    with pytest.raises(NoSuchTask):
        store.transact("tag it", work, call("k1"))
    assert tags(fleet) == []
    assert operations(store) == before


@pytest.mark.req("STORE-9")
def test_the_store_can_be_used_after_work_that_raised(fleet, store, task):
    with pytest.raises(ZeroDivisionError):
        store.transact("break", lambda _tx: 1 // 0, call("k1"))
    store.transact("tag it", lambda tx: add_tag(tx, "a"), call("k2"))
    assert tags(fleet) == ["a"]


@pytest.mark.req("STORE-16")
def test_the_same_key_again_applies_once_and_answers_as_the_first_time(fleet, store, task):
    first = store.transact("tag it", lambda tx: add_tag(tx, "a"), call("k1"))
    again = store.transact("tag it", lambda tx: add_tag(tx, "b"), call("k1"))
    assert again == first == {"tag": "a"}
    assert tags(fleet) == ["a"]
    assert [each.why for each in operations(store)].count("tag it") == 1


@pytest.mark.req("STORE-16")
def test_a_key_that_was_used_for_another_request_is_refused(store, task):
    store.transact("tag it", lambda tx: add_tag(tx, "a"), call("k1"))
    with pytest.raises(KeyReused):
        store.transact("something else", lambda tx: add_tag(tx, "b"), call("k1"))


@pytest.mark.req("STORE-16")
def test_a_verb_under_one_key_is_applied_once_by_two_fleets(open_fleet, fleet, task):
    other = open_fleet("tester")
    first = fleet.tasks.log(project="p", slug="t", message="hello", key="same")
    assert other.tasks.log(project="p", slug="t", message="hello", key="same") == first
    assert len(fleet.tasks.show(project="p", slug="t").log) == 1


def forge_of(fleet) -> UserProgram:
    return UserProgram(Programs(fleet.funnel), "/", "", "true")


EFFECTS = {
    "git": lambda fleet: Git(Programs(fleet.funnel)).branches("/", "main"),
    "a file": lambda fleet: Files(fleet.home, fleet.funnel).publish("x/y", b""),
    "a program": lambda fleet: Machine(fleet.funnel).version("git", "--version"),
    "a signal": lambda fleet: fleet.world.processes.signal(fleet.world.processes.me(), signal.SIGCONT),
    "tmux": lambda fleet: fleet.world.tmux.listing(),
    "the network": lambda fleet: forge_of(fleet).state("https://forge/1"),
    "another transaction": lambda fleet: fleet.tasks.log(project="p", slug="t", message="nested"),
}


@pytest.mark.req("STORE-14")
def test_the_outside_refuses_to_act_while_a_transaction_is_open(fleet, store, task):
    for name, effect in EFFECTS.items():
        with pytest.raises(EffectInTransaction) as caught:
            store.transact(f"try {name}", lambda _tx, effect=effect: effect(fleet), call(name.replace(" ", "-")))
        assert f"'try {name}'" in str(caught.value)
    assert not Path(fleet.home, "x").exists()


@pytest.mark.req("STORE-14")
def test_the_outside_acts_again_when_the_transaction_is_over(fleet, store, task):
    store.transact("tag it", lambda tx: add_tag(tx, "a"), call("k1"))
    fleet.files.publish("x/y", b"z")
    assert fleet.files.read("x/y") == b"z"


@pytest.mark.req("STORE-10", "GRAPH-5")
def test_a_store_that_became_read_only_is_an_error_and_keeps_what_it_had(
    open_fleet, fleet, store, store_url_kind, task
):
    read_only = {"sqlite": "PRAGMA query_only = ON", "postgres": b"SET default_transaction_read_only = on"}
    store._db.execute(read_only[store_url_kind])
    before = operations(store)
    with pytest.raises(WriteFailed) as caught:
        store.transact("tag it", lambda tx: add_tag(tx, "a"), call("k1"))
    assert "read-only" in str(caught.value)
    other = open_fleet("other")
    assert (tags(other), operations(other.store)) == ([], before)
    other.store.transact("tag it", lambda tx: add_tag(tx, "b"), call("k2"))
    assert tags(fleet) == ["b"], "whoever could not write has let go of the lock"


def test_a_broken_constraint_says_which_and_changes_nothing(store, task):
    with pytest.raises(InvariantBroken) as caught:
        store.transact("wait for itself", lambda tx: q.add_edge(tx, project="p", slug="t", needs="t"), call("k"))
    assert "wait for itself" in str(caught.value)


@pytest.mark.req("GRAPH-9")
def test_a_reader_is_not_held_up_by_a_writer_and_sees_the_state_before(open_fleet, fleet, store, task):
    reader = open_fleet("reader")

    def work(tx):
        add_tag(tx, "a")
        return {"seen": tags(reader)}

    assert store.transact("tag it", work, call("k1")) == {"seen": []}
    assert tags(reader) == ["a"]


@pytest.mark.req("GRAPH-9")
def test_a_writer_is_not_held_up_by_a_reader_whose_snapshot_stays(open_fleet, fleet, store, task):
    reader = open_fleet("reader")

    def look(rows):
        before = q.task_tags(rows, project="p", slug="t")
        store.transact("tag it", lambda tx: add_tag(tx, "a"), call("k1"))
        return before, q.task_tags(rows, project="p", slug="t")

    before, after = reader.store.read(look)
    assert before == after == []
    assert tags(fleet) == ["a"]


@pytest.mark.req("STORE-13", "GRAPH-2")
def test_a_writer_that_does_not_wait_is_refused_while_another_is_at_it(open_fleet, fleet, store, task):
    """The lock really blocks, also when neither has written yet."""
    hasty = open_fleet("hasty").store
    hasty._wait = hasty.patience = 0

    def slow(tx):
        before = q.task_tags(tx, project="p", slug="t")
        with pytest.raises(StoreBusy):
            hasty.transact("second", lambda tx: add_tag(tx, "b"), call("k2"))
        return {**add_tag(tx, "a"), "before": before}

    assert store.transact("first", slow, call("k1"))["before"] == []
    assert tags(fleet) == ["a"]
    hasty.transact("second", lambda tx: add_tag(tx, "b"), call("k2"))
    assert tags(fleet) == ["a", "b"]


@pytest.mark.req("STORE-13")
def test_there_is_one_writer_at_a_time(open_fleet, store, task):
    """The lock really blocks: a second writer gets in only when the first is out."""
    order: list[str] = []
    inside, may_leave = threading.Event(), threading.Event()

    def slow(tx):
        inside.set()
        assert may_leave.wait(60)
        order.append("first")
        return add_tag(tx, "a")

    def second():
        mine = open_fleet("second")
        inside.wait(60)
        may_leave.set()
        mine.store.transact("second", lambda tx: order.append("second") or add_tag(tx, "b"), call("k2"))

    other = threading.Thread(target=second)
    other.start()
    store.transact("first", slow, call("k1"))
    other.join(60)
    assert order == ["first", "second"]

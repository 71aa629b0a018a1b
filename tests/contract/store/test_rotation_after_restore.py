"""After a backup was restored the numbers of operations are given out again: no rotation forgets what is in no file."""

import pytest
from staging.raw import select

from fleet.errors.families import Refused
from fleet.store import queries as q
from fleet.store.row import Query
from fleet.store.transaction import Change
from fleet.verbs.homes.rotate import archived_operations
from fleet.verbs.views.operations import OperationFilter

EMPTY = Query("empty", *["DELETE FROM operations"] * 2)


def operations(fleet):
    return fleet.store.read(lambda rows: select(rows, "SELECT * FROM operations ORDER BY seq"))


def restore(fleet, backup) -> None:
    """Put back what was there; this operation itself gets the number that comes next then."""

    def work(tx):
        tx.write(EMPTY, {})
        tx.many(q.WRITE_OPERATION, backup)
        tx.seq = backup[-1]["seq"] + 1
        return {}

    fleet.commit(Change("restore", work))


def rotated(fleet) -> list[str]:
    fleet.operations.rotate(older_than="0s")
    return fleet.files.names("operations")


@pytest.fixture
def everything(fleet, time_passes):
    """Four operations, that were rotated into two files: the newest of them stays for another step."""
    for slug in "abc":
        fleet.tasks.add(project="p", title=slug, slug=slug)
    whole = operations(fleet)
    assert [name[:25] for name in rotated(fleet)] == ["000000000001-000000000003", "000000000004-000000000004"]
    return whole


@pytest.mark.req("LOG-2")
@pytest.mark.parametrize("kept", [1, 3])
def test_a_file_with_the_numbers_of_other_operations_is_named_and_none_of_them_is_forgotten(fleet, everything, kept):
    restore(fleet, everything[:kept])
    with pytest.raises(Refused, match="000000000001-" if kept == 1 else "000000000004-"):
        fleet.operations.rotate(older_than="0s")
    assert "restore" in [each["why"] for each in operations(fleet)]


@pytest.mark.req("LOG-2")
def test_operations_that_are_in_a_file_already_are_forgotten_and_not_written_twice(fleet, everything):
    restore(fleet, everything)
    rotated(fleet)
    assert [row.why for row in archived_operations(fleet.files)] == [*(row["why"] for row in everything), "restore"]


@pytest.mark.req("LOG-3")
def test_a_message_with_a_line_separator_can_be_read_from_the_archive(fleet, time_passes):
    fleet.tasks.add(project="p", title="T", slug="t")
    fleet.tasks.log(project="p", slug="t", message="one\u2028two")
    whole = operations(fleet)
    rotated(fleet)
    assert [row.why for row in archived_operations(fleet.files)] == [row["why"] for row in whole]


@pytest.mark.req("LOG-3")
def test_archived_operations_are_filtered_like_the_others(fleet, time_passes):
    for slug in "abc":
        fleet.tasks.add(project="p", title=slug, slug=slug)
    whole = operations(fleet)
    rotated(fleet)
    second, third = (row["at"] for row in whole[-3:-1])

    def listed(limit=100, **which):
        return [each.why for each in fleet.operations.with_archived(OperationFilter(**which), limit=limit)]

    assert listed(since=second, before=third) == ["add p/a", "add p/b"]
    assert listed(slug="a", project="p") == ["add p/a"]
    assert listed(actor="nobody") == []
    assert listed(until=1) == [whole[0]["why"]]
    assert listed(limit=1) == listed()[-1:]
    assert listed(limit=0) == []

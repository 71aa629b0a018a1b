"""Many at once: limits hold, nobody is lost, followers miss nothing. Real processes on both stores."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.store import queries as q
from fleet.store.row import Query
from fleet.verbs.views.operations import OperationFilter

CHILD = Path(__file__).with_name("crowd_child.py")


def crowd(home, count: int, *words: str) -> list[dict]:
    """Start so many children at once; each waits until all are there."""
    command = [sys.executable, str(CHILD), str(home), *words]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    for child in children:
        assert child.stdout.readline() == "here\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.close()
    said = [json.loads(child.stdout.read()) for child in children]
    for child in children:
        child.stdout.close()
        assert child.wait(60) == 0
    return said


@pytest.mark.req("STORE-13")
@pytest.mark.slow("a crowd of processes")
def test_sixteen_racers_against_a_limit_of_four_leave_four(fleet, home):
    for number in range(16):
        fleet.tasks.add(project="p", title="T", slug=f"t{number}")
    said = crowd(home, 16, "limited", "4")
    assert sum(each["got_in"] for each in said) == 4
    working = list(fleet.tasks.list(project="p"))
    assert sum(task.status == "in_progress" for task in working) == 4


@pytest.mark.req("STORE-13")
@pytest.mark.slow("a crowd of processes")
def test_the_same_racers_with_a_check_outside_the_transaction_do_not_stop_at_four(fleet, home):
    """The broken twin: read, then write. It shows that the race is real and that the test above can fail."""
    for number in range(16):
        fleet.tasks.add(project="p", title="T", slug=f"t{number}")
    said = crowd(home, 16, "unlimited", "4", "16")
    assert sum(each["got_in"] for each in said) > 4


@pytest.mark.req("GRAPH-2", "LOG-2", "GRAPH-9")
@pytest.mark.slow("a crowd of processes")
def test_twelve_processes_of_thirty_mutations_leave_every_one(fleet, home):
    fleet.tasks.add(project="p", title="T", slug="t")
    said = crowd(home, 12, "log", "30")
    kept = [each.message for each in fleet.tasks.show(project="p", slug="t").log]
    told = [message for each in said for message in each["logged"]]
    assert sorted(kept) == sorted(told)
    assert len(kept) == 360


@pytest.mark.req("LOG-1", "LOG-2")
@pytest.mark.slow("a crowd of processes")
def test_a_follower_by_sequence_sees_each_operation_once_and_in_order_while_many_write(fleet, home):
    fleet.tasks.add(project="p", title="T", slug="t")
    start = fleet.operations.newest()
    command = [sys.executable, str(CHILD), str(home), "follow", str(start), "200"]
    follower = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert follower.stdout.readline() == "here\n"
    follower.stdin.write("go\n")
    follower.stdin.close()
    crowd(home, 8, "log", "25")
    seen = json.loads(follower.stdout.read())["seen"]
    follower.stdout.close()
    assert follower.wait(60) == 0
    assert seen == list(range(start + 1, start + 201))


@pytest.mark.req("LOG-2")
def test_rotation_after_the_clock_was_set_back_takes_the_oldest_without_a_gap(fleet):
    """By time alone it would take 1 and 3, and forget 2, which lies between them, without having kept it."""
    fleet.tasks.add(project="p", title="T", slug="t")
    first = fleet.operations.newest()
    for number in range(3):
        fleet.tasks.log(project="p", slug="t", message=str(number))
    late = Query(
        "late",
        "UPDATE operations SET at = at + 3600000 WHERE seq = :seq",
        "UPDATE operations SET at = at + 3600000 WHERE seq = %(seq)s",
    )
    fleet.store.transact(
        "a clock that was ahead", lambda tx: {"changed": tx.write(late, {"seq": first + 2})}, fleet.caller()
    )
    fleet.operations.rotate(older_than="0s")
    assert [each.seq for each in fleet.operations.with_archived(OperationFilter(), limit=1 << 40)] == list(
        range(1, fleet.operations.newest() + 1)
    )


@pytest.mark.req("LOG-2")
@pytest.mark.slow("a crowd of processes")
def test_rotation_beside_appenders_loses_and_doubles_nothing(fleet, home):
    fleet.tasks.add(project="p", title="T", slug="t")
    command = [sys.executable, str(CHILD), str(home), "rotate", "20"]
    rotator = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert rotator.stdout.readline() == "here\n"
    rotator.stdin.write("go\n")
    rotator.stdin.close()
    crowd(home, 6, "log", "20")
    rotator.stdout.read()
    rotator.stdout.close()
    assert rotator.wait(60) == 0
    seen = [each.seq for each in fleet.operations.with_archived(OperationFilter(), limit=1 << 40)]
    assert seen == list(range(1, fleet.operations.newest() + 1))
    logged = list(fleet.operations.with_archived(OperationFilter(slug="t", project="p"), limit=1 << 40))
    assert sum(each.why == "log on p/t" for each in logged) == 120


@pytest.mark.req("LOG-2")
def test_a_rotation_killed_between_file_and_rows_is_finished_by_the_next(fleet):
    fleet.tasks.add(project="p", title="T", slug="t")
    for number in range(5):
        fleet.tasks.log(project="p", slug="t", message=str(number))

    class Killed(BaseException):
        pass

    class DieAfterPublish:
        def before(self, effect):
            pass

        def during(self, effect, pid):
            pass

        def after(self, effect):
            if effect.startswith("publish"):
                raise Killed

    fleet.funnel.watcher = DieAfterPublish()
    with pytest.raises(Killed):
        fleet.operations.rotate(older_than="0s")
    fleet.funnel.watcher = None
    count = fleet.store.read(q.count_operations).n
    fleet.tasks.log(project="p", slug="t", message="one more, so that the next file is another one")
    fleet.operations.rotate(older_than="0s")
    seen = [each.seq for each in fleet.operations.with_archived(OperationFilter(), limit=1 << 40)]
    assert count > 5
    assert seen == list(range(1, fleet.operations.newest() + 1))

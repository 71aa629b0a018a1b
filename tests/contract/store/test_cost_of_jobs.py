"""What a sweep and a step of a job cost does not grow with the other items of the job."""

import pytest
from contract.conftest import caller
from contract.store.test_cost import steps_of

from fleet.store import queries as q

JOB = "0000000a"
ASKED = {"project": "p", "slug": f"job-{JOB}-i1"}


def add_job(store) -> None:
    told = {
        "project": "p",
        "name": "n",
        "source": "",
        "folder": "/",
        "parameters": "{}",
        "actor": "tester",
        "home": None,
        "at": 1,
    }

    def work(tx):
        q.reserve_id(tx, id=JOB, at=1)
        return {"n": q.add_job(tx, id=JOB, **told)}

    store.transact("a job", work, caller("job"))


def add_items(store, first: int, last: int, *, tasks: bool = False) -> None:
    numbers = range(first, last)

    def work(tx):
        tx.many(q.ADD_ITEM, [{"job": JOB, "id": f"i{n}", "part": "map", "number": n, "data": "1"} for n in numbers])
        for n in numbers if tasks else ():
            place = {"project": "p", "slug": f"job-{JOB}-i{n}", "job": JOB}
            q.add_job_task(tx, **place, title="T", description="", at=1)
        return {}

    store.transact("items", work, caller(f"items-{first}"))


@pytest.mark.parametrize("store_url_kind", ["sqlite"])
@pytest.mark.parametrize(("query", "values"), [(q.JOB_LITTER, {}), (q.ITEM_OF_TASK, ASKED)], ids=["sweep", "step"])
def test_more_items_without_a_task_cost_nothing(fleet, store, query, values):
    add_job(store)
    add_items(store, 0, 20, tasks=True)
    look = lambda: store.read(lambda rows: rows.select_all(query, query.row, values))  # noqa: E731
    look()
    before = steps_of(store, look)
    add_items(store, 20, 220)
    assert steps_of(store, look) < 2 * before


def test_an_item_is_found_by_its_task(fleet, store):
    add_job(store)
    add_items(store, 0, 20, tasks=True)
    found = store.read(lambda rows: q.item_of_task(rows, **ASKED))
    assert (found.job, found.id) == (JOB, "i1")

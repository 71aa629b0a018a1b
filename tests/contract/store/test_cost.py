"""What a mutation costs does not grow with the number of tasks: counted in the database's own steps, not in time."""

import json

import pytest

from fleet.store import queries as q

HOT_QUERIES = (
    (q.TASK_STATE, {"project": "p", "slug": "t1"}),
    (q.CLAIM_TASK, {"project": "p", "slug": "t1", "after": "in_progress", "actor": "a", "at": 1}),
    (q.END_TASK, {"project": "p", "slug": "t1", "status": "done", "assignee": "a", "reason": None, "at": 1,
                  "work": None, "was": "open", "was_assignee": None}),
    (q.SHIFT_BLOCKERS, {"project": "p", "slug": "t1", "change": -1}),
    (q.FREED_BY, {"project": "p", "slug": "t1", "most": 10}),
    (q.ADD_LOG, {"project": "p", "slug": "t1", "seq": 1, "at": 1, "actor": "a", "message": "m"}),
    (q.ADD_ARTIFACT, {"project": "p", "slug": "t1", "path": "x", "at": 1, "actor": "a"}),
    (q.NEXT_OPERATION, {"key": "k"}),
    (q.LAST_SAID, {"dispatch": "0000000a"}),
    (q.WAITING_MESSAGES, {"dispatch": "0000000a"}),
    (q.READY_TASKS, {"project": "p", "now": 1, "most": 10}),
)  # fmt: skip


def fill(fleet, count: int) -> None:
    lines = [
        json.dumps({"slug": f"t{n}", "title": "T", "after": [f"t{n - 1}"] if n % 10 else []}).encode()
        for n in range(count)
    ]
    fleet.graph.ingest(project="p", lines=lines, name="fill")


def steps_of(store, act) -> int:
    """How many virtual machine instructions SQLite runs."""
    counted = 0

    def count():
        nonlocal counted
        counted += 1

    store._db.set_progress_handler(count, 1)
    act()
    store._db.set_progress_handler(None, 1)
    return counted


def sqlite_plan(store, query, values) -> list[str]:
    return [row[3] for row in store._db.execute(f"EXPLAIN QUERY PLAN {query.sqlite}", values).fetchall()]


def postgres_plan(store, query, values) -> list[str]:
    store._db.execute("BEGIN; SET LOCAL enable_seqscan = off")
    rows = store._db.execute(f"EXPLAIN {query.postgres}".encode(), values).fetchall()
    store._db.execute("ROLLBACK")
    return [plan for (plan,) in rows]


@pytest.mark.req("GRAPH-10")
@pytest.mark.parametrize(("query", "values"), HOT_QUERIES, ids=[query.name for query, _ in HOT_QUERIES])
def test_no_hot_query_scans_a_table(fleet, store, store_url_kind, query, values):
    fill(fleet, 50)
    if store_url_kind == "sqlite":
        plan = sqlite_plan(store, query, values)
        assert not [line for line in plan if line.startswith("SCAN") and "CONSTANT ROW" not in line], plan
        assert "SEARCH messages" not in plan, "a MAX without an index reads the whole table"
    else:
        plan = postgres_plan(store, query, values)
        assert not [line for line in plan if "Seq Scan" in line], plan


@pytest.mark.req("GRAPH-10")
@pytest.mark.parametrize("store_url_kind", ["sqlite"], indirect=True)
def test_a_mutation_takes_as_many_steps_among_five_thousand_tasks_as_among_fifty(fleet, store):
    def acts(first: int):
        return {
            "log": lambda: fleet.tasks.log(project="p", slug=f"t{first}", message="m"),
            "claim": lambda: fleet.tasks.claim(project="p", slug=f"t{first}"),
            "done": lambda: fleet.tasks.done(project="p", slug=f"t{first}"),
            "artifact": lambda: fleet.tasks.artifact(project="p", slug=f"t{first}", path="x"),
            "ready": lambda: fleet.tasks.ready(project="p", limit=3),
        }

    fill(fleet, 50)
    few = {name: steps_of(store, act) for name, act in acts(20).items()}
    lines = [
        json.dumps({"slug": f"u{n}", "title": "T", "after": [f"u{n - 1}"] if n % 10 else []}).encode()
        for n in range(5000)
    ]
    fleet.graph.ingest(project="p", lines=lines, name="more")
    many = {name: steps_of(store, act) for name, act in acts(30).items()}
    assert many == few

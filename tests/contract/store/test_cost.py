"""What a mutation costs does not grow with the number of tasks: counted in the database's own steps, not in time."""

import itertools
import json
import re

import pytest

from fleet.store import queries as q
from fleet.verbs.views import next_steps

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

PAGE = {"project": None, "now": 1, "most": 20, "count": 2, "width": 2, "projects": "p p ", "slugs": "t1t2"}
PAGE_QUERIES = (
    q.REVIEW_QUEUE,
    q.FAILED_TASKS,
    q.BLOCKED_TASKS,
    q.EARLY_TASKS,
    q.CLAIMED_TASKS,
    q.TASKS_TO_MERGE,
    q.UNMERGED_TASKS,
    q.TITLES_OF_ATTEMPTS,
    q.TASKS_PARKED_BY_HANDOFFS,
    q.PROJECT_COUNTS,
    q.READY_COUNTS,
    q.PAGE_COUNTS,
    q.PROJECTS_TO_MERGE,
    q.STEP_FACTS,
)
# A search of an index of a table that `fill` has filled: in an empty one, all indexes cost the same.
OF_FILLED = re.compile(r" using \w+ on (tasks|edges)\b")
# PostgreSQL: each index with each of its columns, in order.
COLUMNS = """
    SELECT i.indexrelid::regclass::text, a.attname FROM pg_index i
    JOIN pg_attribute a ON a.attrelid = i.indexrelid ORDER BY i.indexrelid, a.attnum
"""
SORTED = {q.UNMERGED_TASKS, q.TASKS_PARKED_BY_HANDOFFS}


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


def postgres_plan(store, query, values, *, without: tuple[str, ...] = ()) -> list[str]:
    """The plan that is chosen where another one is possible than to read a table, or to do something else."""
    store._db.execute("ANALYZE")  # else all indexes cost the same
    store._db.execute("BEGIN; " + "; ".join(f"SET LOCAL enable_{name} = off" for name in ("seqscan", *without)))
    rows = store._db.execute(f"EXPLAIN {query.postgres}".encode(), values).fetchall()
    store._db.execute("ROLLBACK")
    return [plan for (plan,) in rows]


def whole_indexes(plan: list[str]) -> list[str]:
    """The scans of a plan that go through an index from one end on and look nothing up in it; not the search for its last entry."""
    nodes = [place for place, line in enumerate(plan) if "->" in line or place == 0]
    scans = [
        (plan[start], plan[start:end])
        for start, end in zip(nodes, [*nodes[1:], len(plan)], strict=True)
        if "Index" in plan[start] and not ("Backward" in plan[start] and "Limit" in plan[start - 1])
    ]
    return [scan for scan, lines in scans if not any("Index Cond" in line for line in lines)]


def indexes_searched_from_the_middle(store, plan: list[str]) -> list[str]:
    """The searches of an index without a value for one of its first columns: they read the whole index, or all of a project in it."""
    store._db.execute("BEGIN")
    columns: dict[str, list[str]] = {}
    for index, column in store._db.execute(COLUMNS).fetchall():
        columns.setdefault(index, []).append(column)
    store._db.execute("ROLLBACK")
    searches = [(one, two) for one, two in itertools.pairwise(plan) if "Index Cond:" in two and OF_FILLED.search(one)]
    found = []
    for scan, condition in searches:
        index = scan.split(" using ")[1].split()[0]
        given = set(re.findall(r"\((\w+) [=<>]", condition))
        if given != set(columns[index][: len(given)]):
            found += [scan, condition]
    return found


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
        assert whole_indexes(plan) == [], plan
        assert indexes_searched_from_the_middle(store, plan) == [], plan


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


def values_of(query, values: dict) -> dict:
    return {name: value for name, value in values.items() if f":{name}" in query.sqlite}


@pytest.mark.req("GRAPH-10")
@pytest.mark.parametrize("query", PAGE_QUERIES, ids=[query.name for query in PAGE_QUERIES])
def test_no_query_of_the_status_page_reads_the_whole_table_of_tasks(fleet, store, store_url_kind, query):
    fill(fleet, 50)
    values = values_of(query, PAGE)
    if store_url_kind == "sqlite":
        plan = sqlite_plan(store, query, values)
        assert not [line for line in plan if line.startswith(("SCAN tasks", "SCAN t")) and "INDEX" not in line], plan
        if query is q.PROJECT_COUNTS:
            assert plan == ["SCAN tasks USING COVERING INDEX tasks_by_status"], "counting looks at no task"
        assert ("USE TEMP B-TREE FOR ORDER BY" in plan) == (query in SORTED)
    else:
        plan = postgres_plan(store, query, values)
        assert not [line for line in plan if "Seq Scan on tasks" in line], plan


@pytest.mark.req("GRAPH-10")
@pytest.mark.parametrize("store_url_kind", ["postgres"], indirect=True)
def test_the_lists_of_the_status_page_come_in_the_order_of_an_index_and_counting_looks_at_no_task(fleet, store):
    fill(fleet, 50)
    for query in (q.FAILED_TASKS, q.BLOCKED_TASKS, q.EARLY_TASKS):
        plan = postgres_plan(store, query, values_of(query, PAGE), without=("sort", "bitmapscan"))
        assert not [line for line in plan if "Sort" in line], plan
    plan = postgres_plan(store, q.PROJECT_COUNTS, {}, without=("sort", "bitmapscan"))
    assert [line for line in plan if "Index Only Scan using tasks_by_status" in line], plan


@pytest.mark.req("GRAPH-10")
def test_no_list_of_the_status_page_has_more_tasks_than_was_asked_for(fleet):
    import_mixed(fleet, "a", 100)
    page = fleet.views.status(most=7)
    assert (len(page.failed), len(page.parked), len(page.working)) == (7, 7, 7)
    assert (page.left_out.failed, page.left_out.parked, page.left_out.working) == (3, 13, 3)


def import_mixed(fleet, prefix: str, count: int) -> None:
    """Of a hundred tasks thirty are done, ten each have failed, are blocked and wait for a time, ten are claimed."""
    statuses = ["done"] * 3 + ["failed", "blocked", "in_progress"] + ["open"] * 4
    lines = []
    for number in range(count):
        status = statuses[number % 10]
        node = {"slug": f"{prefix}{number}", "title": "T", "status": status}
        if status == "in_progress":
            node["assignee"] = "somebody"
        if number % 10 == 9:
            node["not_before"] = "2100-01-01T00:00:00Z"
        lines.append(json.dumps(node).encode())
    fleet.graph.ingest(project="p", lines=lines, name=prefix)


@pytest.mark.req("GRAPH-10", "OBS-3")
@pytest.mark.parametrize("store_url_kind", ["sqlite"], indirect=True)
def test_the_status_page_counts_more_tasks_and_does_nothing_else_with_them(fleet, store, monkeypatch):
    import_mixed(fleet, "a", 400)
    asked = []
    monkeypatch.setattr(next_steps.refs, "head_of", asked.append)
    few = steps_of(store, lambda: fleet.views.status(most=20))
    looked = len(asked)
    import_mixed(fleet, "b", 4000)
    many = steps_of(store, lambda: fleet.views.status(most=20))
    assert len(asked) == 2 * looked == 80, "the worktrees of tasks that are listed, and no others"
    assert many - few < 30 * 4000, "what counting in an index takes; a look at each task takes several times as much"
    page = fleet.views.status(most=20)
    assert (len(page.failed), len(page.parked)) == (20, 20)
    assert page.left_out.as_json() == {"review": 0, "failed": 420, "parked": 860, "merging": 0, "working": 420}
    whole = fleet.views.status("p", most=5000)
    assert (len(whole.failed), len(whole.parked), len(whole.working)) == (440, 880, 440)
    assert whole.left_out.as_json() == dict.fromkeys(page.left_out.as_json(), 0)
    assert [task.as_json() for task in whole.parked[:20]] == [task.as_json() for task in page.parked]

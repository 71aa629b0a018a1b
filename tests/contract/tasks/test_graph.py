"""The graph of tasks: readiness as data, cycles, claims, and what a step costs."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.errors.absent import NoSuchTask
from fleet.errors.contested import TaskHeld
from fleet.errors.families import FleetError
from fleet.errors.refused import DependencyCycle, NotReady
from fleet.model.tasks import graph
from fleet.model.tasks.steps import SATISFIED
from fleet.store import queries as q
from fleet.verbs.tasks.edit import Edit
from fleet.verbs.tasks.show import Filters

NUMBERS = itertools.count()


def ready(fleet) -> list[str]:
    return [task.slug for task in fleet.tasks.ready(project="p")]


@pytest.mark.req("GRAPH-6")
def test_a_task_is_ready_when_every_dependency_is_done_or_abandoned(fleet):
    fleet.tasks.add(project="p", title="A", slug="a")
    fleet.tasks.add(project="p", title="B", slug="b")
    fleet.tasks.add(project="p", title="C", slug="c", after=("a", "b"))
    assert ready(fleet) == ["a", "b"]
    assert fleet.tasks.done(project="p", slug="a").ready == []
    assert fleet.tasks.abandon(project="p", slug="b").ready == ["c"]
    assert ready(fleet) == ["c"]


@pytest.mark.req("GRAPH-6")
@pytest.mark.parametrize(("limit", "found"), [(None, ["a", "b"]), (3, ["a", "b"]), (1, ["a"]), (0, [])])
def test_at_most_as_many_tasks_are_listed_as_were_asked_for(fleet, limit, found):
    for slug in "ab":
        fleet.tasks.add(project="p", title=slug, slug=slug)
    assert [task.slug for task in fleet.tasks.ready(project="p", limit=limit)] == found
    assert [task.slug for task in fleet.tasks.list(project="p", filters=Filters(limit=limit))] == found


@pytest.mark.req("GRAPH-6")
def test_a_failed_a_blocked_and_a_reopened_dependency_hold_back(fleet):
    fleet.tasks.add(project="p", title="A", slug="a")
    fleet.tasks.add(project="p", title="B", slug="b", after=("a",))
    fleet.tasks.fail(project="p", slug="a", reason="no")
    assert ready(fleet) == []
    fleet.tasks.done(project="p", slug="a")
    assert ready(fleet) == ["b"]
    fleet.tasks.retry(project="p", slug="a")
    assert ready(fleet) == ["a"]
    fleet.tasks.block(project="p", slug="a", reason="wait")
    assert ready(fleet) == []
    assert fleet.tasks.why(project="p", slug="b").sentences[-1] == "b waits for a, which is blocked: wait"


@pytest.mark.req("GRAPH-6")
def test_a_paused_task_and_one_whose_time_has_not_come_are_not_ready(fleet):
    fleet.tasks.add(project="p", title="A", slug="a")
    fleet.tasks.add(project="p", title="B", slug="b", not_before=fleet.clock.now() + 3_600_000)
    fleet.tasks.add(project="p", title="C", slug="c", not_before=fleet.clock.now() - 1)
    fleet.tasks.pause(project="p", slug="a")
    assert ready(fleet) == ["c"]
    with pytest.raises(NotReady):
        fleet.tasks.claim(project="p", slug="a")
    with pytest.raises(NotReady):
        fleet.tasks.claim(project="p", slug="b")
    fleet.tasks.pause(project="p", slug="a", paused=False)
    assert ready(fleet) == ["a", "c"]


@pytest.mark.req("GRAPH-6")
def test_a_missing_dependency_is_refused_and_nothing_is_added(fleet):
    with pytest.raises(NoSuchTask):
        fleet.tasks.add(project="p", title="A", slug="a", after=("nowhere",))
    assert list(fleet.tasks.list(project="p")) == []


@pytest.mark.req("GRAPH-7")
def test_a_cycle_is_refused_and_named(fleet):
    fleet.tasks.add(project="p", title="A", slug="a")
    fleet.tasks.add(project="p", title="B", slug="b", after=("a",))
    fleet.tasks.add(project="p", title="C", slug="c", after=("b",))
    with pytest.raises(DependencyCycle) as caught:
        fleet.tasks.edit(Edit(project="p", slug="a", add_after=("c",)))
    assert "a → c → b → a" in str(caught.value)
    fleet.tasks.add(project="p", title="D", slug="d", after=("c",))
    with pytest.raises(DependencyCycle, match="a → d → c → b → a"):
        fleet.tasks.edit(Edit(project="p", slug="a", add_after=("d",)))
    assert fleet.tasks.show(project="p", slug="a").after == []
    with pytest.raises(DependencyCycle):
        fleet.tasks.edit(Edit(project="p", slug="a", add_after=("a",)))


@pytest.mark.req("GRAPH-3")
def test_a_claim_is_for_one_and_the_others_are_told_who(open_fleet, fleet):
    fleet.tasks.add(project="p", title="A", slug="a")
    open_fleet("alice").tasks.claim(project="p", slug="a")
    with pytest.raises(TaskHeld) as caught:
        open_fleet("bob").tasks.claim(project="p", slug="a")
    assert "alice" in str(caught.value)
    assert caught.value.code == 12


@pytest.mark.req("GRAPH-1")
def test_the_most_urgent_goes_first_and_among_equals_the_oldest(fleet):
    for slug, priority in (("late", 0), ("urgent", 5), ("low", -1), ("later", 0)):
        fleet.tasks.add(project="p", title=slug, slug=slug, priority=priority)
    assert ready(fleet) == ["urgent", "late", "later", "low"]


@pytest.mark.req("GRAPH-1")
def test_a_slug_is_made_from_the_title_and_made_unique(fleet):
    made = [fleet.tasks.add(project="p", title="Fix the Löwe!").slug for _ in range(3)]
    assert made == ["fix-the-loewe", "fix-the-loewe-2", "fix-the-loewe-3"]
    assert fleet.tasks.add(project="p", title="日本").slug.startswith("task-")


EVENTS = st.lists(
    st.tuples(st.sampled_from(["claim", "unclaim", "done", "fail", "block", "retry", "abandon", "edge", "unedge"]),
              st.integers(0, 5), st.integers(0, 5)),
    max_size=25,
)  # fmt: skip


@pytest.mark.req("GRAPH-6", "GRAPH-7")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=EVENTS)
def test_whatever_happens_the_kept_count_is_the_counted_one_and_there_is_no_cycle(fleet, events):
    project = f"h{next(NUMBERS)}"
    fleet.commit(
        __import__("fleet.verbs.projects.register", fromlist=["register"]).register(name=project, path=f"/{project}")
    )
    for number in range(6):
        fleet.tasks.add(project=project, title="T", slug=f"t{number}")
    for event, one, other in events:
        try:
            _happen(fleet, project, event, f"t{one}", f"t{other}")
        except FleetError:
            continue
    assert fleet.store.read(q.miscounted) == []
    found = fleet.graph.show(project=project)
    needs = graph.needs_of((edge.slug, edge.needs) for edge in found.edges)
    assert graph.find_cycle(needs) is None
    status = {node.slug: node.status for node in found.nodes}
    expected = {
        slug for slug in status
        if status[slug] == "open" and all(status[needed] in SATISFIED for needed in needs.get(slug, []))
    }  # fmt: skip
    assert {task.slug for task in fleet.tasks.ready(project=project)} == expected


def _happen(fleet, project: str, event: str, slug: str, other: str) -> None:
    if event == "edge":
        fleet.tasks.edit(Edit(project=project, slug=slug, add_after=(other,)))
    elif event == "unedge":
        fleet.tasks.edit(Edit(project=project, slug=slug, drop_after=(other,)))
    elif event in {"fail", "block"}:
        getattr(fleet.tasks, event)(project=project, slug=slug, reason="r")
    else:
        getattr(fleet.tasks, event)(project=project, slug=slug)

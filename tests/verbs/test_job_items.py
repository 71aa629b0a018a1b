"""The items of a job in the store: an attempt at a time, waits that grow, and a queue for what failed too often."""

import json

import pytest

from fleet.errors.families import Refused
from fleet.errors.refused import NotMergeable
from fleet.model.jobs.items import slug
from fleet.model.jobs.steps import steps_in, written
from fleet.model.jobs.workflow import read
from fleet.model.text.times import MINUTE, SECOND
from fleet.store import queries as q
from fleet.testing.simulated import SimulatedScene
from fleet.verbs.dispatch.dispatch import dispatch
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.jobs import records
from fleet.verbs.jobs.items import merge_item, run_step
from fleet.verbs.jobs.items.item_outcome import ItemOutcome, failure
from fleet.verbs.jobs.progress import Progress

SOURCE = "name: n\nmap:\n  input: [a, b]\n  steps:\n    - shell: 'true'\n"
WORKFLOW = read(SOURCE, "n.yml")
JOB = "0a0b0c0d"
BAD = ItemOutcome(passed=False, where="map step 1", reason="map step 1: exit status 1")


def begun(scene: SimulatedScene) -> q.Job:
    """A job whose two items wait."""
    home = scene.fleet.context.world.record.id
    new = records.NewJob(id=JOB, project="p", name="n", source=SOURCE, folder="/", parameters={}, home=home)
    scene.fleet.commit(records.create(new, ("setup",)))
    scene.fleet.commit(records.add_items(JOB, ["a", "b"]))
    return scene.fleet.store.read(lambda rows: records.job_of(rows, JOB))


def items(scene: SimulatedScene) -> list[q.Item]:
    return list(
        scene.fleet.store.read(lambda rows: q.items_page(rows, job=JOB, state=None, after=0, after_id="", most=9))
    )


def due(scene: SimulatedScene) -> list[str]:
    """The contents of the items whose time has come, in their order."""
    now = scene.clock.now()
    rows = scene.fleet.store.read(lambda each: q.next_items(each, job=JOB, part="map", now=now, most=9))
    return [json.loads(row.data) for row in rows]


def fails(scene: SimulatedScene, job: q.Job, share: float = 0.0) -> q.Item:
    """The first item is tried, and fails; returns it as it is then."""
    assert scene.fleet.commit(records.start(job, items(scene)[:1], tasks=False)) == [items(scene)[0].id]
    failed = failure(WORKFLOW, items(scene)[0], BAD, now=scene.clock.now(), share=share)
    scene.fleet.commit(records.record_outcomes(job, [], [failed], [], merge=False))
    return items(scene)[0]


@pytest.mark.req("JOB-3")
def test_a_failed_item_waits_and_after_the_next_failure_twice_as_long(scene):
    job = begun(scene)
    assert due(scene) == ["a", "b"]
    assert fails(scene, job).state == "waiting"
    assert due(scene) == ["b"], "the other one need not wait"
    scene.clock.wait(4.9)
    assert due(scene) == ["b"]
    scene.clock.wait(0.2)
    assert due(scene) == ["a", "b"]
    assert fails(scene, job).state == "waiting"
    scene.clock.wait(9.9)
    assert due(scene) == ["b"]
    scene.clock.wait(0.2)
    assert due(scene) == ["a", "b"]


@pytest.mark.req("JOB-3")
def test_the_third_failure_is_the_last_and_the_item_is_dead_with_its_history(scene):
    job = begun(scene)
    for _ in range(3):
        item = fails(scene, job)
        scene.clock.wait(MINUTE / SECOND)
    assert (item.state, item.failures, item.attempts, item.not_before) == ("dead", 3, 3, None)
    assert [each["attempt"] for each in json.loads(item.history)] == [1, 2, 3]
    assert due(scene) == ["b"]
    assert [each.id for each in scene.fleet.jobs.dead_items(JOB)] == [item.id]
    revived = scene.fleet.jobs.retry(JOB, (item.id,))
    assert (revived.items, items(scene)[0].failures, items(scene)[0].state) == ([item.id], 0, "waiting")
    assert due(scene) == ["a", "b"], "at once: a person has asked for it"
    with pytest.raises(Refused, match="not in the dead-letter queue"):
        scene.fleet.jobs.retry(JOB, (item.id,))


@pytest.mark.req("JOB-2", "JOB-5")
def test_an_item_is_started_once_and_its_first_verdict_counts(scene):
    job = begun(scene)
    waiting = items(scene)
    assert scene.fleet.commit(records.start(job, waiting, tasks=False)) == [each.id for each in waiting]
    assert scene.fleet.commit(records.start(job, waiting, tasks=False)) == [], "another runner comes too late"
    assert [each.attempts for each in items(scene)] == [1, 1]
    item = waiting[0].id
    scene.fleet.commit(records.set_dispatch(job, item, "11111111"))
    scene.fleet.commit(records.set_dispatch(job, item, "22222222"))
    assert items(scene)[0].dispatch == "11111111"


@pytest.mark.req("JOB-5")
def test_an_item_that_is_done_stays_done(scene):
    job = begun(scene)
    scene.fleet.commit(records.start(job, items(scene), tasks=False))
    first, second = items(scene)
    scene.fleet.commit(records.finish(job, first.id, "c0ffee"))
    scene.fleet.commit(records.put_back(job, [first.id, second.id], began=True))
    assert [each.state for each in items(scene)] == ["done", "waiting"]
    assert items(scene)[0].merged == "c0ffee"
    scene.fleet.commit(records.add_items(JOB, ["b", "a"]))  # the input is read anew, in another order
    assert [(json.loads(each.data), each.state) for each in items(scene)] == [("b", "waiting"), ("a", "done")]
    scene.fleet.commit(records.add_items(JOB, ["a"]))
    gone = scene.fleet.store.read(lambda rows: q.item_by_id(rows, job=JOB, id=second.id))
    assert (gone.state, gone.reason) == ("skipped", records.GONE)


@pytest.mark.req("JOB-1")
def test_items_are_chosen_in_the_order_of_the_input_and_no_more_than_there_is_room_for(scene):
    begun(scene)
    now = scene.clock.now()
    for most, chosen in ((1, ["a"]), (2, ["a", "b"]), (9, ["a", "b"])):
        rows = scene.fleet.store.read(lambda each, n=most: q.next_items(each, job=JOB, part="map", now=now, most=n))
        assert [json.loads(row.data) for row in rows] == chosen


@pytest.mark.req("JOB-1")
def test_a_document_that_says_nothing_has_the_documented_limits():
    assert (WORKFLOW.map.max_parallel, WORKFLOW.map.isolation, WORKFLOW.map.on_failure) == (5, "worktree", "dlq")
    assert (WORKFLOW.map.breaker, WORKFLOW.map.steps[0].timeout) == (5, 60 * MINUTE)


@pytest.mark.req("JOB-5")
def test_the_map_is_not_over_while_an_item_waits_or_is_at_work(scene):
    job = begun(scene)
    over = records.step_phase(JOB, "map", "reduce")

    def phase() -> str:
        scene.fleet.commit(over)
        return scene.fleet.store.read(lambda rows: records.job_of(rows, JOB)).phase

    first, second = items(scene)
    scene.fleet.commit(records.start(job, [first], tasks=False))
    scene.fleet.commit(records.finish(job, first.id, None))
    assert phase() == "map", "the second waits"
    scene.fleet.commit(records.start(job, [second], tasks=False))
    assert phase() == "map", "the second is at work"
    scene.fleet.commit(records.finish(job, second.id, None))
    assert phase() == "reduce"


@pytest.mark.req("JOB-6")
def test_progress_counts_what_is_done_and_estimates_what_is_left(scene):
    job = begun(scene)
    told = []
    progress = Progress(scene.fleet.context, JOB, told.append)
    progress.tell_counts(now=True)
    scene.fleet.commit(records.start(job, items(scene), tasks=False))
    scene.fleet.commit(records.finish(job, items(scene)[0].id, None))
    scene.clock.wait(10)
    progress.tell_counts(now=True)
    counted = [(each.total, each.done, each.running, each.waiting, each.eta) for each in told]
    assert counted == [(2, 0, 0, 2, None), (2, 1, 1, 0, 10)]


def works(scene: SimulatedScene, job: q.Job, item: q.Item, name: str) -> str:
    """An attempt at an item that commits a file and ends; the slug of its task."""
    scene.fleet.commit(records.start(job, [item], tasks=True))
    task = slug(JOB, item.id)
    wanted = Wanted(project="p", slug=task, engine="shell", command=("sleep", "1000"), onto=f"fleet/job-{JOB}")
    ident = dispatch(scene.fleet.context, wanted).id
    scene.launch(ident)
    scene.commit(task, name)
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    return task


@pytest.mark.req("JOB-4")
def test_items_are_merged_one_on_top_of_the_other(scene):
    job = begun(scene)
    context, branch = scene.fleet.context, f"fleet/job-{JOB}"
    main = scene.git("rev-parse", "main")
    merge_item.ensure_branch(context, job)
    first, second = items(scene)
    works(scene, job, first, "one")
    works(scene, job, second, "two")
    assert merge_item.merge(context, job, first.id) == scene.git("rev-parse", branch)
    assert merge_item.merge(context, job, second.id) == scene.git("rev-parse", branch)
    assert scene.git("ls-tree", "--name-only", branch).split() == ["one", "two"]
    assert (scene.git("rev-parse", "main"), scene.git("status", "--porcelain")) == (main, "")


@pytest.mark.req("JOB-4")
def test_an_items_branch_that_moved_since_its_steps_ended_is_not_merged(scene):
    job = begun(scene)
    merge_item.ensure_branch(scene.fleet.context, job)
    first = items(scene)[0]
    task = works(scene, job, first, "one")
    scene.commit(task, "late")
    with pytest.raises(NotMergeable, match="moved since the item's steps ended"):
        merge_item.merge(scene.fleet.context, job, first.id)
    assert scene.git("ls-tree", "--name-only", f"fleet/job-{JOB}") == ""


@pytest.mark.req("JOB-4")
def test_an_item_that_was_merged_when_its_runner_died_is_not_merged_again_and_keeps_its_commit(scene):
    job, context = begun(scene), scene.fleet.context
    merge_item.ensure_branch(context, job)
    first, second = items(scene)
    works(scene, job, first, "one")
    works(scene, job, second, "two")
    for item in (first, second):
        merged = merge_item.merge(context, job, item.id)
        assert merge_item.merge(context, job, item.id) == merged == scene.git("rev-parse", f"fleet/job-{JOB}")
    assert merge_item.merge(context, job, first.id) == merged, "its work is below the second's"


@pytest.mark.req("JOB-1")
def test_the_steps_that_a_runner_writes_down_are_those_of_its_document_and_of_no_other(scene):
    content = written(WORKFLOW.steps, SOURCE)
    assert steps_in(content, SOURCE) == WORKFLOW.steps
    assert steps_in(content, f"{SOURCE}#") is None
    for damaged in (b"", b"[]", b"{}", content[:-9], content.replace(b"timeout", b"time")):
        assert steps_in(damaged, SOURCE) is None


@pytest.mark.req("JOB-1")
def test_a_session_reads_the_steps_of_its_document_when_those_that_are_written_down_are_old_or_missing(scene):
    job, context = begun(scene), scene.fleet.context
    assert run_step.read_steps(context, job) == WORKFLOW.steps
    other = read(SOURCE.replace("true", "false"), "n.yml").steps
    run_step.write_steps(context, job.replaced(source=SOURCE.replace("true", "false")), other)
    assert run_step.read_steps(context, job) == WORKFLOW.steps
    run_step.write_steps(context, job, WORKFLOW.steps)
    assert run_step.read_steps(context, job) == WORKFLOW.steps

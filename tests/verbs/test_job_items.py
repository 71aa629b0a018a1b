"""The items of a job in the store: an attempt at a time, waits that grow, and a queue for what failed too often."""

import json
import shutil
from pathlib import Path

import pytest

from fleet.errors.families import JobFailed, Refused, StoreError
from fleet.errors.refused import NotMergeable
from fleet.errors.tools import GitRefused
from fleet.model.jobs.items import slug
from fleet.model.jobs.steps import steps_in, written
from fleet.model.jobs.workflow import read
from fleet.model.text.times import MINUTE, SECOND
from fleet.store import queries as q
from fleet.testing.simulated import SimulatedScene
from fleet.verbs.dispatch.dispatch import dispatch
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.jobs import records
from fleet.verbs.jobs.items import attempts, inputs, merge_item, run_step
from fleet.verbs.jobs.items.item_outcome import ItemOutcome, failure
from fleet.verbs.jobs.items.own_processes import OwnProcesses
from fleet.verbs.jobs.progress import ProgressReporter
from fleet.verbs.resume import work_lock

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
    failed = failure(WORKFLOW, items(scene)[0], BAD, now=scene.clock.now(), fraction=share)
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
    progress = ProgressReporter(scene.fleet.context, JOB, told.append)
    progress.tell_counts(now=True)
    scene.fleet.commit(records.start(job, items(scene), tasks=False))
    scene.fleet.commit(records.finish(job, items(scene)[0].id, None))
    scene.clock.wait(10)
    progress.tell_counts(now=True)
    counted = [(each.total, each.done, each.running, each.waiting, each.eta) for each in told]
    assert counted == [(2, 0, 0, 2, None), (2, 1, 1, 0, 10)]


def tried(scene: SimulatedScene, job: q.Job, item: q.Item) -> str:
    """The dispatch of an attempt at an item, which is at work."""
    scene.fleet.commit(records.start(job, [item], tasks=True))
    wanted = Wanted(
        project="p", slug=slug(JOB, item.id), engine="shell", command=("sleep", "1000"), onto=f"fleet/job-{JOB}"
    )
    ident = dispatch(scene.fleet.context, wanted).id
    scene.launch(ident)
    return ident


def works(scene: SimulatedScene, job: q.Job, item: q.Item, name: str) -> str:
    """An attempt at an item that commits a file and ends; the slug of its task."""
    ident, task = tried(scene, job, item), slug(JOB, item.id)
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


def refusal(scene: SimulatedScene, job: q.Job, item: q.Item, error: type[Exception] = GitRefused) -> str:
    """Why an item is not merged. The job's branch stays where it is, if it is there."""
    before = scene.git("branch", "--list", "--format=%(objectname)", f"fleet/job-{JOB}")
    with pytest.raises(error) as refused:
        merge_item.merge(scene.fleet.context, job, item.id)
    assert scene.git("branch", "--list", "--format=%(objectname)", f"fleet/job-{JOB}") == before
    return str(refused.value)


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


@pytest.mark.req("JOB-4")
def test_an_item_without_a_commit_has_nothing_to_merge(scene):
    job, context = begun(scene), scene.fleet.context
    merge_item.ensure_branch(context, job)
    first, second = items(scene)
    ident = tried(scene, job, first)
    works(scene, job, second, "two")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    assert merge_item.merge(context, job, first.id) is None, "the job's branch is where its own began"
    assert merge_item.merge(context, job, second.id)
    assert merge_item.merge(context, job, first.id) is None, "the job's branch has moved on"


@pytest.mark.req("JOB-4")
def test_a_branch_of_the_job_that_cannot_be_made_or_was_deleted_is_named(scene):
    job, branch = begun(scene), f"fleet/job-{JOB}"
    scene.git("branch", f"{branch}/x")
    with pytest.raises(GitRefused) as refused:
        merge_item.ensure_branch(scene.fleet.context, job)
    assert str(refused.value) == (
        f"git did not make the branch {branch}: 'refs/heads/{branch}/x' exists; cannot create 'refs/heads/{branch}'"
    )
    scene.git("branch", "--delete", f"{branch}/x")
    merge_item.ensure_branch(scene.fleet.context, job)
    first = items(scene)[0]
    works(scene, job, first, "one")
    scene.git("branch", "--delete", "--force", branch)
    assert refusal(scene, job, first) == f"git did not find the branch {branch}: somebody has deleted it"


@pytest.mark.req("JOB-4")
def test_a_branch_of_the_job_that_is_checked_out_or_moves_meanwhile_is_not_moved(scene, monkeypatch, tmp_path):
    job, branch = begun(scene), f"fleet/job-{JOB}"
    merge_item.ensure_branch(scene.fleet.context, job)
    first = items(scene)[0]
    works(scene, job, first, "one")
    scene.git("worktree", "add", "--quiet", str(tmp_path / "looked-at"), branch)
    said = refusal(scene, job, first)
    assert said == f"git did not move the branch {branch}: {branch} is checked out in {tmp_path}/looked-at"
    scene.git("worktree", "remove", str(tmp_path / "looked-at"))
    with monkeypatch.context() as patched:
        patched.setattr(scene.fleet.world.git, "set_branch", lambda *_place, **_commits: False)
        assert f"the branch {branch} moved meanwhile; try again" in refusal(scene, job, first, Refused)
    assert merge_item.merge(scene.fleet.context, job, first.id) == scene.git("rev-parse", branch)


@pytest.mark.req("JOB-4")
def test_an_item_that_committed_on_a_branch_of_its_own_is_not_taken_for_one_without_work(scene):
    job = begun(scene)
    merge_item.ensure_branch(scene.fleet.context, job)
    first = items(scene)[0]
    ident, task = tried(scene, job, first), slug(JOB, first.id)
    scene.git("switch", "--quiet", "--create", "own", cwd=f"{scene.home}/projects/p/worktrees/{task}")
    scene.commit(task, "one")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    with pytest.raises(NotMergeable) as refused:
        merge_item.merge(scene.fleet.context, job, first.id)
    why = f"its worktree is on the branch own, with work that worker/{task} does not have"
    assert (refused.value.facts["why"], refused.value.next_step) == (
        why,
        f"bring its work onto worker/{task}, or try the item again",
    )


@pytest.mark.req("JOB-5")
def test_an_item_that_an_agent_still_works_on_is_neither_merged_nor_released(scene):
    job = begun(scene)
    merge_item.ensure_branch(scene.fleet.context, job)
    first = items(scene)[0]
    ident, task = tried(scene, job, first), slug(JOB, first.id)
    scene.commit(task, "one")
    assert f"{ident} is still merging {task}; try again" in refusal(scene, job, first, Refused)
    assert merge_item.release_item(scene.fleet.context, job, first.id) == [f"{ident} still works on {task}"]
    assert not scene.agent(ident).is_zombie
    assert scene.fleet.tasks.show(project="p", slug=task).status == "in_progress"


def test_a_worktree_of_an_ended_item_stays_while_its_work_cannot_be_kept_in_a_ref(scene):
    job = begun(scene)
    merge_item.ensure_branch(scene.fleet.context, job)
    first = items(scene)[0]
    tree = Path(scene.home, "projects/p/worktrees", works(scene, job, first, "one"))
    (tree / "half").touch()
    with work_lock.gate_of_task(scene.open("other").context, "p", tree.name):
        left = merge_item.release_item(scene.fleet.context, job, first.id)
    assert left[0].startswith(f"the bundle of p/{tree.name}: gate '{tree.name}.lock' is held by pid=")
    (tree / "own").mkdir()
    scene.git("init", "--quiet", cwd=str(tree / "own"))
    (tree / "own/file").touch()
    why = f"{tree} has another repository in it, with work that may be nowhere else: own"
    left = merge_item.release_item(scene.fleet.context, job, first.id)
    assert left == [why, f"git did not keep the work of p/{tree.name} in a ref: {why}"]
    assert (tree / "half").exists()
    shutil.rmtree(tree / "own")
    assert merge_item.release_item(scene.fleet.context, job, first.id) == []
    assert not tree.exists()
    assert scene.git("ls-tree", "--name-only", f"refs/fleet/kept/{tree.name}/1") == "half\none"


def starts(scene: SimulatedScene, job: q.Job) -> ItemOutcome | None:
    """The first item is started as a runner starts it."""
    scene.fleet.commit(records.start(job, items(scene)[:1], tasks=True))
    return attempts.start(scene.fleet.context, job, items(scene)[0])


@pytest.mark.req("JOB-3")
def test_an_item_for_which_there_is_no_room_waits_two_seconds_and_has_not_failed(scene):
    config = Path(scene.home, "config.toml")
    config.write_text(f"{config.read_text()}[limits]\nagents = 1\n")
    job = begun(scene)
    merge_item.ensure_branch(scene.fleet.context, job)
    scene.work("other")
    assert starts(scene, job) is None
    item = items(scene)[0]
    assert (item.state, item.attempts, item.failures, item.dispatch) == ("waiting", 0, 0, None)
    scene.clock.wait(1.9)
    assert due(scene) == ["b"]
    scene.clock.wait(0.2)
    assert due(scene) == ["a", "b"]


@pytest.mark.req("JOB-5")
def test_an_item_that_a_dead_runner_has_dispatched_is_not_dispatched_again(scene):
    job = begun(scene)
    merge_item.ensure_branch(scene.fleet.context, job)
    ident = tried(scene, job, items(scene)[0])
    assert attempts.start(scene.fleet.context, job, items(scene)[0]) is None
    assert (items(scene)[0].state, [each.id for each in scene.fleet.agents.list()]) == ("running", [ident])


@pytest.mark.req("JOB-3")
def test_an_item_that_cannot_be_dispatched_has_failed_with_the_reason_but_not_while_the_store_fails(scene, monkeypatch):
    job = begun(scene)
    merge_item.ensure_branch(scene.fleet.context, job)
    task = slug(JOB, items(scene)[0].id)
    Path(scene.home, "projects/p/worktrees", task).mkdir(parents=True)
    Path(scene.home, "projects/p/worktrees", task, "file").touch()
    outcome = starts(scene, job)
    assert (outcome.passed, outcome.where) == (False, "dispatch")
    assert f"worktrees/{task}" in outcome.reason
    assert "it is foreign" in outcome.reason

    def fail(*_words) -> None:
        raise StoreError(what="the database does not answer")

    monkeypatch.setattr(attempts, "dispatch", fail)
    with pytest.raises(StoreError, match="does not answer"):
        attempts.start(scene.fleet.context, job, items(scene)[0])


@pytest.mark.req("JOB-5", "RES-11")
def test_an_attempt_that_the_machine_took_with_it_is_made_again_and_is_no_failure(scene):
    job = begun(scene)
    merge_item.ensure_branch(scene.fleet.context, job)
    tried(scene, job, items(scene)[0])
    assert attempts.check_item(scene.fleet.context, job, items(scene)[0]) is None
    assert items(scene)[0].state == "running"
    scene.reboot()
    assert attempts.check_item(scene.fleet.context, job, items(scene)[0]) is None
    item = items(scene)[0]
    assert (item.state, item.attempts, item.failures, item.dispatch) == ("waiting", 1, 0, None)
    assert due(scene) == ["a", "b"]


@pytest.mark.req("JOB-3")
def test_an_attempt_that_ends_without_a_verdict_has_failed_with_what_is_known_of_it(scene):
    job = begun(scene)
    merge_item.ensure_branch(scene.fleet.context, job)
    scene.exit(tried(scene, job, items(scene)[0]))
    outcome = attempts.check_item(scene.fleet.context, job, items(scene)[0])
    assert outcome == ItemOutcome(passed=False, where="attempt", reason="exited without report")
    assert not attempts.wait_for_exit(scene.fleet.context, job, items(scene)[:1], 60), "there is nothing to wait for"


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


@pytest.mark.req("JOB-1")
def test_a_command_of_the_runner_whose_output_file_cannot_be_opened_has_ended_with_the_reason(scene):
    context, job = scene.fleet.context, begun(scene)
    where = run_step.Where(home=scene.home, job=JOB, project="p", item="input", attempt=1, cwd=scene.repository)
    folder = Path(scene.home, where.file(1, "out")).parent
    folder.parent.mkdir(parents=True)
    folder.symlink_to("nowhere")
    text = "name: n\nmap:\n  input: {command: 'echo a'}\n  steps: [{shell: 'true'}]\n"
    own = OwnProcesses(context, job)
    asked = inputs.InputCommandContext(own, lambda: None)
    with pytest.raises(JobFailed) as failed:
        inputs.items_of(context, read(text, "n.yml"), where, {}, asked)
    assert str(failed.value).startswith(f"job {JOB}: the input's command failed (")
    assert f"({folder}: file exists)" in str(failed.value)
    assert own.release() == []

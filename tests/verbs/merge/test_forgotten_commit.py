"""A forgotten commit, over the simulated world: who is told, and who mends it."""

from pathlib import Path

import pytest

from fleet.api.hooking import Hooking
from fleet.errors.refused import NotMergeable, UncommittedWork
from fleet.model.agents.dialect import Dialect
from fleet.model.dispatch.steps import KINDS
from fleet.model.names import DispatchId
from fleet.model.tasks.pipeline import WORKING
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.funnel import Funnel
from fleet.world.home import paths

TASK = {"project": PROJECT, "slug": "a"}


def tree(scene) -> Path:
    return Path(scene.home, paths.worktree(PROJECT, "a"))


def write(scene, name: str = "new.txt", text: str = "new\n") -> None:
    Path(tree(scene), name).write_text(text)


def ended(scene, ident: str) -> tuple[str, str, str]:
    """Let the agent exit; return the task's status, stage and reason."""
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    task = scene.fleet.tasks.show(**TASK)
    return task.status, task.stage, task.reason or ""


def say_done(scene, ident: str, **given) -> None:
    with scene.speaking(ident) as fleet:
        fleet.tasks.done(**TASK, **given)


def mended(scene, **given) -> str:
    """Start the agent that the task's stage needs; return its id."""
    ident = scene.fleet.dispatches.start(Wanted(**TASK, engine="shell", command=("sleep", "1"), **given)).id
    scene.launch(ident)
    return ident


@pytest.mark.req("MERGE-5")
def test_done_with_uncommitted_changes_is_refused_each_time_and_names_the_files(scene):
    ident = scene.work("a")
    write(scene)
    for _ in range(2):
        with pytest.raises(UncommittedWork, match=r"uncommitted changes: new\.txt$") as refusal:
            say_done(scene, ident)
        assert refusal.value.code == 14
        assert "`fleet done --leave-uncommitted REASON`" in refusal.value.next_step
    assert scene.fleet.dispatches.show(ident).report is None
    scene.commit("a", "new.txt")
    say_done(scene, ident)
    assert ended(scene, ident)[:2] == ("in_progress", "finisher")


def test_a_changed_tracked_file_counts_and_long_lists_are_shortened(scene):
    ident = scene.work("a")
    scene.commit("a", "old.txt")
    for name in ("old.txt", *"123456"):
        write(scene, name, "changed\n")
    with pytest.raises(UncommittedWork, match=r"old\.txt, 1, 2, 3, 4 and 2 more$"):
        say_done(scene, ident)


def test_what_git_ignores_does_not_count(scene):
    ident = scene.work("a")
    scene.commit("a", ".gitignore", "*.log\n")
    write(scene, "build.log")
    say_done(scene, ident)


def test_what_was_untracked_before_the_dispatch_began_does_not_count(scene):
    ident = scene.dispatch("a")
    write(scene, "mine.txt")
    scene.launch(ident)
    write(scene, "its.txt")
    with pytest.raises(UncommittedWork, match=r"changes: its\.txt$"):
        say_done(scene, ident)
    scene.commit("a", "its.txt")
    say_done(scene, ident)


def test_an_agent_that_mends_a_forgotten_commit_answers_for_the_forgotten_files(scene):
    scene.fleet.tasks.add(project=PROJECT, title="a", slug="a")
    first = mended(scene, kind="worker")
    write(scene)
    scene.fleet.dispatches.stop(first)
    scene.fleet.sessions.settle(first)
    scene.fleet.tasks.retry(**TASK)
    ident = mended(scene, kind="fix")
    with pytest.raises(UncommittedWork, match=r"new\.txt"):
        say_done(scene, ident)


def test_a_resumed_agent_answers_for_the_files_of_its_predecessor(scene):
    ident = scene.work("a")
    write(scene)
    scene.fleet.dispatches.stop(ident)
    scene.fleet.sessions.settle(ident)
    resumed = scene.fleet.dispatches.resume("a", project=PROJECT).id
    scene.launch(resumed)
    with pytest.raises(UncommittedWork, match=r"new\.txt"):
        say_done(scene, resumed)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in {"finisher", "coord"}])
def test_only_those_whose_commits_are_the_work_are_asked_to_commit(scene, kind):
    scene.fleet.tasks.add(project=PROJECT, title="a", slug="a")
    ident = mended(scene, kind=kind)
    write(scene)
    if kind in WORKING:
        with pytest.raises(UncommittedWork):
            say_done(scene, ident)
    else:
        say_done(scene, ident)


def test_a_person_may_call_a_task_done_whatever_its_worktree_has(scene):
    ident = scene.work("a")
    write(scene)
    scene.fleet.dispatches.kill(ident, "enough")
    assert scene.fleet.tasks.done(**TASK).status == "done"


def test_a_reason_lets_it_through_and_the_reviewer_reads_it(scene):
    ident = scene.work("a")
    scene.commit("a")
    write(scene)
    say_done(scene, ident, leave_uncommitted="only a scratch file", message="finished")
    ended(scene, ident)
    shown = scene.fleet.reviews.work(**TASK)
    assert shown.left_uncommitted == "only a scratch file"
    assert shown.log[-1].message == "finished\nleft uncommitted (new.txt): only a scratch file"


def test_work_that_is_left_on_purpose_does_not_keep_a_task_from_being_done(scene):
    ident = scene.work("a")
    write(scene)
    say_done(scene, ident, leave_uncommitted="nothing was to be changed")
    assert ended(scene, ident)[:2] == ("in_progress", "finisher")
    assert scene.fleet.merge.task(**TASK).left != []  # the worktree is kept
    assert tree(scene).joinpath("new.txt").exists()


@pytest.mark.req("MERGE-5")
def test_what_gets_through_is_mended_by_an_agent_in_the_same_tree(scene):
    ident = scene.work("a")
    say_done(scene, ident)
    write(scene)  # after its report
    status, stage, reason = ended(scene, ident)
    assert (status, stage) == ("blocked", "fix")
    assert reason == "nothing new is committed on worker/a, but its worktree has uncommitted work: new.txt"
    mender = mended(scene)
    assert scene.fleet.dispatches.show(mender).kind == "fix"
    assert tree(scene).joinpath("new.txt").exists()
    scene.commit("a", "new.txt")
    say_done(scene, mender)
    assert ended(scene, mender)[:2] == ("in_progress", "finisher")
    assert scene.fleet.merge.task(**TASK).changed


def test_what_is_found_only_by_the_merge_is_mended_too(scene):
    ident = scene.work("a")
    say_done(scene, ident)
    assert ended(scene, ident)[:2] == ("in_progress", "finisher")
    write(scene)
    with pytest.raises(NotMergeable, match=r"uncommitted work: new\.txt"):
        scene.fleet.merge.task(**TASK)
    task = scene.fleet.tasks.show(**TASK)
    assert (task.status, task.stage) == ("blocked", "fix")
    assert scene.fleet.dispatches.show(mended(scene)).kind == "fix"


def test_the_stop_hook_names_the_changes_once(scene):
    ident = scene.work("a")
    write(scene)
    dialect = Dialect({"engine": "x", "events": {"Stop": "stopped"}})
    with Hooking(scene.home, DispatchId(ident), scene.open().store, Funnel()) as hooks:
        first, second = (hooks.handle_event(dialect, "Stop", {}, scene.clock.now()).payload for _ in range(2))
    assert first is not None
    assert first["reason"].startswith(
        "Your worktree has uncommitted changes: new.txt. Commit what belongs to the task."
    )
    assert second is None

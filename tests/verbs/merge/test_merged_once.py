"""Merges on each kind of store: in a tree of fleet's own, verified, by compare-and-set, and counted when git says so."""

import os
from pathlib import Path

import pytest

from fleet.errors.families import BadInput, FleetError, Refused
from fleet.errors.refused import IllegalStep, NotMergeable, WorkMoved
from fleet.errors.superseded import VerdictTooLate
from fleet.model.branches import INTEGRATION
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord.stages import advance_tasks
from fleet.verbs.merge.tree import turn

TASK = {"project": PROJECT, "slug": "a"}
ENGINE = """
summary = "a test's"
program = "sh"
start = ["{program}", "-c", "sleep 1000"]
interactive = false
"""


def done(scene: SimulatedScene, slug: str = "a", *, name: str = "", text: str = "work\n") -> str:
    """A task whose agent has committed, reported and ended; its commit."""
    ident = scene.work(slug)
    commit = scene.commit(slug, name or slug, text)
    scene.report(ident, slug)
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    return commit


def settings(scene: SimulatedScene, text: str) -> None:
    Path(scene.repository, "fleet.toml").write_text(text)


def files(scene: SimulatedScene, branch: str = INTEGRATION) -> list[str]:
    return scene.git("ls-tree", "--name-only", branch).splitlines()


@pytest.mark.req("MERGE-1", "MERGE-3")
def test_a_merge_moves_the_integration_branch_and_nothing_of_the_users(scene):
    done(scene)
    main, status = scene.git("rev-parse", "main"), scene.git("status", "--porcelain")
    assert scene.fleet.merge.task(**TASK).changed
    assert files(scene, "fleet/main") == ["a"], "the default name of the integration branch"
    assert (scene.git("rev-parse", "main"), scene.git("status", "--porcelain")) == (main, status)
    assert scene.git("stash", "list") == ""
    assert scene.fleet.files.names("projects/p/merges") == []
    scene.dispatch("next")
    assert os.path.exists(f"{scene.home}/projects/p/worktrees/next/a"), "dispatches start from it"


@pytest.mark.req("IPC-2")
def test_a_merge_that_is_asked_for_again_under_its_key_is_told_as_the_first_time(scene):
    """A command whose daemon went away repeats its request; another one is told that nothing was left to merge."""
    done(scene)
    answers = []
    for key in ("k1", "k1", "k2"):
        with scene.fleet.committer.under(key):
            answers.append(scene.fleet.merge.task(**TASK))
    assert [each.changed for each in answers] == [True, True, False]
    assert len({each.commit for each in answers}) == 1


@pytest.mark.req("MERGE-1")
def test_the_turn_to_merge_is_one_gate_of_the_project(scene, monkeypatch):
    done(scene)
    gate = scene.open().world.project_gate(PROJECT, "merge")
    gate.take()
    monkeypatch.setattr(turn, "_LONGEST", 0.5)
    with pytest.raises(FleetError, match="is held by"):
        scene.fleet.merge.task(**TASK)
    gate.give()
    assert scene.fleet.merge.task(**TASK).changed


@pytest.mark.req("MERGE-2")
def test_verify_sees_the_merged_files_and_red_parks_the_task_with_what_it_said(scene):
    done(scene, "a", name="one")
    done(scene, "b", name="two")
    scene.fleet.merge.task(**TASK)
    settings(scene, "verify = 'echo $((6 * 7)); test -e one && test -e two && test ! -e red'\n")
    done(scene, "c", name="red")
    with pytest.raises(NotMergeable, match="verify is red"):
        scene.fleet.merge.task(project=PROJECT, slug="c")
    task = scene.fleet.tasks.show(project=PROJECT, slug="c")
    assert (task.status, task.stage) == ("blocked", "fix")
    assert "\n42" in task.reason, "its output, not its command alone"
    assert files(scene) == ["one"]
    assert scene.fleet.merge.task(project=PROJECT, slug="b").changed
    assert files(scene) == ["one", "two"]


@pytest.mark.req("MERGE-2")
def test_a_verify_that_changes_the_merged_files_has_tested_something_else(scene):
    done(scene)
    settings(scene, "verify = 'echo more >>a'\n")
    with pytest.raises(NotMergeable, match="changed files that git tracks: a"):
        scene.fleet.merge.task(**TASK)
    assert "a" not in files(scene)


@pytest.mark.req("MERGE-3")
def test_a_branch_that_moved_meanwhile_is_not_overwritten(scene):
    done(scene)
    scene.dispatch("other")  # makes the branch
    tree = scene.git("rev-parse", f"{INTEGRATION}^{{tree}}")
    moved = scene.git("commit-tree", tree, "-p", INTEGRATION, "-m", "meanwhile")
    settings(scene, f"verify = 'git update-ref refs/heads/{INTEGRATION} {moved}'\n")
    with pytest.raises(Refused, match="moved meanwhile"):
        scene.fleet.merge.task(**TASK)
    assert scene.git("rev-parse", INTEGRATION) == moved
    assert not scene.fleet.tasks.show(**TASK).archived
    settings(scene, "")
    assert scene.open().merge.task(**TASK).changed
    assert scene.git("merge-base", moved, INTEGRATION) == moved


@pytest.mark.req("MERGE-4")
def test_a_conflict_parks_the_task_for_a_rebase_and_leaves_nothing_half_merged(scene):
    done(scene, "a", name="same", text="one\n")
    done(scene, "b", name="same", text="two\n")
    scene.fleet.merge.task(**TASK)
    tip = scene.git("rev-parse", INTEGRATION)
    with pytest.raises(NotMergeable, match="conflict in same"):
        scene.fleet.merge.task(project=PROJECT, slug="b")
    task = scene.fleet.tasks.show(project=PROJECT, slug="b")
    assert (task.status, task.stage, "conflict in same" in task.reason) == ("blocked", "rebase", True)
    assert scene.git("rev-parse", INTEGRATION) == tip
    assert scene.fleet.files.names("projects/p/merges") == []
    assert scene.fleet.claims.list(kind="merge_tree") == []


@pytest.mark.req("MERGE-5")
def test_work_that_is_on_the_branch_already_is_recorded_and_not_merged_again(scene):
    work = done(scene)
    scene.dispatch("other")  # makes the branch
    scene.git("update-ref", f"refs/heads/{INTEGRATION}", work)  # a person, or a finisher that died after it
    merged = scene.fleet.merge.task(**TASK)
    assert (merged.changed, scene.git("rev-parse", INTEGRATION)) == (False, work)
    assert scene.fleet.tasks.show(**TASK).status == "done"
    [recorded] = scene.fleet.merge.recorded(project=PROJECT)
    assert (recorded.task, recorded.work, recorded.state) == ("a", work, "contained")


@pytest.mark.req("MERGE-5")
def test_a_task_whose_merge_is_gone_from_git_counts_as_missing(scene):
    done(scene)
    base = scene.git("rev-parse", "main")
    scene.fleet.merge.task(**TASK)
    done(scene, "b")
    scene.git("update-ref", f"refs/heads/{INTEGRATION}", base)
    assert [each.state for each in scene.fleet.merge.recorded(project=PROJECT)] == ["missing"]
    with pytest.raises(FleetError, match="a"):
        scene.open().merge.task(project=PROJECT, slug="b")
    assert not scene.fleet.tasks.show(project=PROJECT, slug="b").archived


@pytest.mark.req("MERGE-5")
def test_what_a_person_decides_before_the_commit_is_announced_counts(scene):
    done(scene)
    settings(scene, "verify = 'true'\n")
    fleet = scene.open()
    run = fleet.world.programs.record

    def abandon(*words: object, **more: object) -> object:
        scene.fleet.tasks.abandon(**TASK, reason="no more", override=True)
        return run(*words, **more)

    fleet.world.programs.record = abandon
    with pytest.raises(Refused, match="was changed meanwhile"):
        fleet.merge.task(**TASK)
    assert scene.fleet.tasks.show(**TASK).status == "abandoned"
    assert files(scene) == []


@pytest.mark.req("PIPE-1", "MERGE-5")
def test_work_that_waits_for_review_is_not_merged_until_its_commit_is_accepted(scene):
    settings(scene, 'review = "person"\n')
    done(scene)
    assert scene.fleet.tasks.show(**TASK).stage == "review"
    with pytest.raises(IllegalStep, match="cannot merge"):
        scene.fleet.merge.task(**TASK)
    scene.fleet.reviews.judge(**TASK, verdict="accept")
    scene.commit("a", "after", "sneaked in\n")
    with pytest.raises(WorkMoved):
        scene.fleet.merge.task(**TASK)
    assert scene.fleet.tasks.show(**TASK).stage == "review"
    assert files(scene) == []


@pytest.mark.req("PIPE-1")
def test_work_is_sent_back_with_comments_and_mended_three_times_at_most(scene):
    Path(scene.home, "engines").mkdir()
    Path(scene.home, "engines", "hand.toml").write_text(ENGINE)
    settings(scene, 'review = "person"\nengine = "hand"\n')
    done(scene)
    for number in range(1, 4):
        scene.fleet.reviews.judge(**TASK, verdict="send back", comments=f"mend it {number}")
        task = scene.fleet.tasks.show(**TASK)
        assert (task.status, task.stage, task.reason) == ("blocked", "fix", f"mend it {number}")
        [line] = advance_tasks(scene.open().context, PROJECT, [])
        assert line.endswith("(fix of a, hand)"), line
        ident = scene.fleet.dispatches.find("a")
        assert f"mend it {number}" in Path(scene.home, "inbox", f"{ident}.md").read_text()
        scene.launch(ident)
        scene.commit("a", f"fix{number}")
        scene.report(ident, "a")
        scene.exit(ident)
        scene.fleet.sessions.settle(ident)
    scene.fleet.reviews.judge(**TASK, verdict="send back", comments="once more")
    assert advance_tasks(scene.open().context, PROJECT, []) == [], "a person has to look at it"


@pytest.mark.req("PIPE-2")
def test_the_first_verdict_counts_and_work_is_not_sent_back_without_a_word(scene):
    settings(scene, 'review = "person"\n')
    work = done(scene)
    with pytest.raises(BadInput, match="say what has to change"):
        scene.fleet.reviews.judge(**TASK, verdict="send back")
    assert scene.fleet.reviews.judge(**TASK, verdict="accept").changed
    with pytest.raises(VerdictTooLate):
        scene.open("ann").reviews.judge(**TASK, verdict="send back", comments="too late")
    task = scene.fleet.tasks.show(**TASK)
    assert (task.status, task.stage) == ("in_progress", "finisher")
    verdicts = scene.fleet.reviews.work(**TASK).verdicts
    assert [(each.verdict, each.work, each.counted) for each in verdicts if each.counted] == [("accept", work, True)]


@pytest.mark.req("PIPE-1")
@pytest.mark.parametrize(("review", "stage"), [("person", "review"), ("agent", "review"), ("none", "finisher")])
def test_the_stage_after_the_work_is_what_the_setting_says(scene, review, stage):
    settings(scene, f'review = "{review}"\n')
    done(scene)
    assert scene.fleet.tasks.show(**TASK).stage == stage

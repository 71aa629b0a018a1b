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
def test_a_merge_moves_the_integration_branch_and_nothing_of_the_users(either):
    done(either)
    main, status = either.git("rev-parse", "main"), either.git("status", "--porcelain")
    assert either.fleet.merge.task(**TASK).changed
    assert files(either, "fleet/main") == ["a"], "the default name of the integration branch"
    assert (either.git("rev-parse", "main"), either.git("status", "--porcelain")) == (main, status)
    assert either.git("stash", "list") == ""
    assert either.fleet.files.names("projects/p/merges") == []
    either.dispatch("next")
    assert os.path.exists(f"{either.home}/projects/p/worktrees/next/a"), "dispatches start from it"


@pytest.mark.req("MERGE-1")
def test_the_turn_to_merge_is_one_gate_of_the_project(either, monkeypatch):
    done(either)
    gate = either.open().world.project_gate(PROJECT, "merge")
    gate.take()
    monkeypatch.setattr(turn, "_LONGEST", 0.5)
    with pytest.raises(FleetError, match="is held by"):
        either.fleet.merge.task(**TASK)
    gate.give()
    assert either.fleet.merge.task(**TASK).changed


@pytest.mark.req("MERGE-2")
def test_verify_sees_the_merged_files_and_red_parks_the_task_with_what_it_said(either):
    done(either, "a", name="one")
    done(either, "b", name="two")
    either.fleet.merge.task(**TASK)
    settings(either, "verify = 'echo $((6 * 7)); test -e one && test -e two && test ! -e red'\n")
    done(either, "c", name="red")
    with pytest.raises(NotMergeable, match="verify is red"):
        either.fleet.merge.task(project=PROJECT, slug="c")
    task = either.fleet.tasks.show(project=PROJECT, slug="c")
    assert (task.status, task.stage) == ("blocked", "fix")
    assert "\n42" in task.reason, "its output, not its command alone"
    assert files(either) == ["one"]
    assert either.fleet.merge.task(project=PROJECT, slug="b").changed
    assert files(either) == ["one", "two"]


@pytest.mark.req("MERGE-2")
def test_a_verify_that_changes_the_merged_files_has_tested_something_else(either):
    done(either)
    settings(either, "verify = 'echo more >>a'\n")
    with pytest.raises(NotMergeable, match="changed files that git tracks: a"):
        either.fleet.merge.task(**TASK)
    assert "a" not in files(either)


@pytest.mark.req("MERGE-3")
def test_a_branch_that_moved_meanwhile_is_not_overwritten(either):
    done(either)
    either.dispatch("other")  # makes the branch
    tree = either.git("rev-parse", f"{INTEGRATION}^{{tree}}")
    moved = either.git("commit-tree", tree, "-p", INTEGRATION, "-m", "meanwhile")
    settings(either, f"verify = 'git update-ref refs/heads/{INTEGRATION} {moved}'\n")
    with pytest.raises(Refused, match="moved meanwhile"):
        either.fleet.merge.task(**TASK)
    assert either.git("rev-parse", INTEGRATION) == moved
    assert not either.fleet.tasks.show(**TASK).archived
    settings(either, "")
    assert either.open().merge.task(**TASK).changed
    assert either.git("merge-base", moved, INTEGRATION) == moved


@pytest.mark.req("MERGE-4")
def test_a_conflict_parks_the_task_for_a_rebase_and_leaves_nothing_half_merged(either):
    done(either, "a", name="same", text="one\n")
    done(either, "b", name="same", text="two\n")
    either.fleet.merge.task(**TASK)
    tip = either.git("rev-parse", INTEGRATION)
    with pytest.raises(NotMergeable, match="conflict in same"):
        either.fleet.merge.task(project=PROJECT, slug="b")
    task = either.fleet.tasks.show(project=PROJECT, slug="b")
    assert (task.status, task.stage, "conflict in same" in task.reason) == ("blocked", "rebase", True)
    assert either.git("rev-parse", INTEGRATION) == tip
    assert either.fleet.files.names("projects/p/merges") == []
    assert either.fleet.claims.list(kind="merge_tree") == []


@pytest.mark.req("MERGE-5")
def test_work_that_is_on_the_branch_already_is_recorded_and_not_merged_again(either):
    work = done(either)
    either.dispatch("other")  # makes the branch
    either.git("update-ref", f"refs/heads/{INTEGRATION}", work)  # a person, or a finisher that died after it
    merged = either.fleet.merge.task(**TASK)
    assert (merged.changed, either.git("rev-parse", INTEGRATION)) == (False, work)
    assert either.fleet.tasks.show(**TASK).status == "done"
    [recorded] = either.fleet.merge.recorded(project=PROJECT)
    assert (recorded.task, recorded.work, recorded.state) == ("a", work, "contained")


@pytest.mark.req("MERGE-5")
def test_a_task_whose_merge_is_gone_from_git_counts_as_missing(either):
    done(either)
    base = either.git("rev-parse", "main")
    either.fleet.merge.task(**TASK)
    done(either, "b")
    either.git("update-ref", f"refs/heads/{INTEGRATION}", base)
    assert [each.state for each in either.fleet.merge.recorded(project=PROJECT)] == ["missing"]
    with pytest.raises(FleetError, match="a"):
        either.open().merge.task(project=PROJECT, slug="b")
    assert not either.fleet.tasks.show(project=PROJECT, slug="b").archived


@pytest.mark.req("MERGE-5")
def test_what_a_person_decides_before_the_commit_is_announced_counts(either):
    done(either)
    settings(either, "verify = 'true'\n")
    fleet = either.open()
    run = fleet.world.programs.record

    def abandon(*words: object, **more: object) -> object:
        either.fleet.tasks.abandon(**TASK, reason="no more", override=True)
        return run(*words, **more)

    fleet.world.programs.record = abandon
    with pytest.raises(Refused, match="was changed meanwhile"):
        fleet.merge.task(**TASK)
    assert either.fleet.tasks.show(**TASK).status == "abandoned"
    assert files(either) == []


@pytest.mark.req("PIPE-1", "MERGE-5")
def test_work_that_waits_for_review_is_not_merged_until_its_commit_is_accepted(either):
    settings(either, 'review = "person"\n')
    done(either)
    assert either.fleet.tasks.show(**TASK).stage == "review"
    with pytest.raises(IllegalStep, match="cannot merge"):
        either.fleet.merge.task(**TASK)
    either.fleet.reviews.judge(**TASK, verdict="accept")
    either.commit("a", "after", "sneaked in\n")
    with pytest.raises(WorkMoved):
        either.fleet.merge.task(**TASK)
    assert either.fleet.tasks.show(**TASK).stage == "review"
    assert files(either) == []


@pytest.mark.req("PIPE-1")
def test_work_is_sent_back_with_comments_and_mended_three_times_at_most(either):
    Path(either.home, "engines").mkdir()
    Path(either.home, "engines", "hand.toml").write_text(ENGINE)
    settings(either, 'review = "person"\nengine = "hand"\n')
    done(either)
    for number in range(1, 4):
        either.fleet.reviews.judge(**TASK, verdict="send back", comments=f"mend it {number}")
        task = either.fleet.tasks.show(**TASK)
        assert (task.status, task.stage, task.reason) == ("blocked", "fix", f"mend it {number}")
        [line] = advance_tasks(either.open().context, PROJECT, [])
        assert line.endswith("(fix of a, hand)"), line
        ident = either.fleet.dispatches.find("a")
        assert f"mend it {number}" in Path(either.home, "inbox", f"{ident}.md").read_text()
        either.launch(ident)
        either.commit("a", f"fix{number}")
        either.report(ident, "a")
        either.exit(ident)
        either.fleet.sessions.settle(ident)
    either.fleet.reviews.judge(**TASK, verdict="send back", comments="once more")
    assert advance_tasks(either.open().context, PROJECT, []) == [], "a person has to look at it"


@pytest.mark.req("PIPE-2")
def test_the_first_verdict_counts_and_work_is_not_sent_back_without_a_word(either):
    settings(either, 'review = "person"\n')
    work = done(either)
    with pytest.raises(BadInput, match="say what has to change"):
        either.fleet.reviews.judge(**TASK, verdict="send back")
    assert either.fleet.reviews.judge(**TASK, verdict="accept").changed
    with pytest.raises(VerdictTooLate):
        either.open("ann").reviews.judge(**TASK, verdict="send back", comments="too late")
    task = either.fleet.tasks.show(**TASK)
    assert (task.status, task.stage) == ("in_progress", "finisher")
    verdicts = either.fleet.reviews.work(**TASK).verdicts
    assert [(each.verdict, each.work, each.counted) for each in verdicts if each.counted] == [("accept", work, True)]


@pytest.mark.req("PIPE-1")
@pytest.mark.parametrize(("review", "stage"), [("person", "review"), ("agent", "review"), ("none", "finisher")])
def test_the_stage_after_the_work_is_what_the_setting_says(either, review, stage):
    settings(either, f'review = "{review}"\n')
    done(either)
    assert either.fleet.tasks.show(**TASK).stage == stage

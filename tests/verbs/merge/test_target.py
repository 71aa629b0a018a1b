"""The branch that finished work lands on: chosen once, kept, and shown while something waits for it."""

import os
from pathlib import Path

import pytest

from fleet.errors.families import BadInput, Refused
from fleet.errors.refused import TargetGone
from fleet.model.results.projects import Chosen
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.merge.branches import keep_target
from fleet.verbs.views.status import status

TASK = {"project": PROJECT, "slug": "a"}


@pytest.fixture
def merged(scene) -> str:
    """Work that is merged and did not land; its commit."""
    assert keep_target(scene.fleet.context, PROJECT, None) == "main"
    ident = scene.work("a")
    commit = scene.commit("a")
    scene.report(ident, "a")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    assert scene.fleet.merge.task(**TASK).changed
    return commit


def test_the_current_branch_is_kept_and_stays_the_target_when_another_is_checked_out(scene, merged):
    scene.git("checkout", "--quiet", "-b", "topic")
    landing = scene.fleet.merge.land(project=PROJECT, here=scene.repository)
    assert (landing.target, landing.moved) == ("main", True)
    assert merged in scene.git("rev-list", "main").split()
    assert merged not in scene.git("rev-list", "topic").split()


def test_the_wanted_branch_is_kept_and_what_is_no_branch_of_yours_is_refused(scene):
    context = scene.fleet.context
    scene.git("branch", "stable")
    assert keep_target(context, PROJECT, "stable") == "stable"
    assert keep_target(context, PROJECT, None) == "stable"
    assert scene.fleet.projects.targets(PROJECT).as_json() == {
        "kept": "stable",
        "current": "main",
        "branches": ["main", "stable"],
    }
    for name, why in (("nowhere", "there is no branch 'nowhere'"), ("worker/a", "there is no branch 'worker/a'")):
        with pytest.raises(BadInput, match=why):
            keep_target(context, PROJECT, name)
    scene.git("branch", "worker/a")
    with pytest.raises(BadInput, match="is a branch of fleet's own"):
        keep_target(context, PROJECT, "worker/a")


def test_the_setting_decides_and_another_wish_is_refused(scene):
    Path(scene.repository, "fleet.toml").write_text('target = "release"\n')
    assert keep_target(scene.fleet.context, PROJECT, None) == "release"
    with pytest.raises(BadInput, match=r"fleet\.toml sets target = 'release'"):
        keep_target(scene.fleet.context, PROJECT, "main")


def test_with_a_detached_head_nothing_is_kept(scene):
    scene.git("checkout", "--quiet", "--detach")
    assert keep_target(scene.fleet.context, PROJECT, None) is None
    assert scene.fleet.projects.targets(PROJECT).kept is None


def test_a_kept_branch_that_is_gone_is_not_replaced_by_the_current_one(scene, merged):
    context, before = scene.fleet.context, scene.git("rev-parse", "main")
    scene.git("branch", "old")
    keep_target(context, PROJECT, "old")
    scene.git("branch", "--delete", "old")
    for act in (
        lambda: keep_target(context, PROJECT, None),
        lambda: scene.fleet.merge.land(project=PROJECT, here=scene.repository),
    ):
        with pytest.raises(TargetGone, match=r"the target old of .* is gone"):
            act()
    assert status(context).to_land == []
    assert scene.fleet.projects.targets(PROJECT).kept is None
    assert scene.git("rev-parse", "main") == before
    assert keep_target(context, PROJECT, "main") == "main"
    assert scene.fleet.merge.land(project=PROJECT, here=scene.repository).moved


def test_no_integration_branch_is_made_from_the_current_branch_when_the_kept_one_is_gone(scene):
    scene.git("branch", "old")
    keep_target(scene.fleet.context, PROJECT, "old")
    scene.git("branch", "--delete", "old")
    with pytest.raises(TargetGone):
        scene.work("a")
    assert scene.git("symbolic-ref", "refs/fleet/target") == "refs/heads/old"


def test_status_says_how_many_commits_wait_to_land(scene, merged):
    waiting = [each.as_json() for each in status(scene.fleet.context).to_land]
    assert waiting == [{"project": PROJECT, "commits": 2, "integration": "fleet/main", "target": "main"}]
    scene.fleet.merge.land(project=PROJECT, here=scene.repository)
    assert status(scene.fleet.context).to_land == []


def test_a_checked_out_target_is_moved_for_a_person_there_and_for_nobody_else(scene, merged):
    ident = scene.work("b")
    with scene.speaking(ident) as agent, pytest.raises(Refused):
        agent.merge.land(project=PROJECT, here=scene.repository)
    elsewhere = scene.fleet.merge.land(project=PROJECT, here=scene.root)
    assert (elsewhere.moved, elsewhere.run) == (False, f"git -C {scene.repository} merge --ff-only fleet/main")
    assert not os.path.exists(f"{scene.repository}/work")
    assert scene.fleet.merge.land(project=PROJECT, here=scene.repository).moved
    assert Path(scene.repository, "work").read_text() == "work\n"


def test_a_file_of_the_persons_that_would_be_overwritten_is_not(scene, merged):
    Path(scene.repository, "work").write_text("mine\n")
    landing = scene.fleet.merge.land(project=PROJECT, here=scene.repository)
    assert (landing.moved, landing.run) == (False, f"git -C {scene.repository} merge --ff-only fleet/main")
    assert Path(scene.repository, "work").read_text() == "mine\n"


def test_up_keeps_the_target_that_was_chosen(scene):
    scene.git("branch", "stable")
    chosen = Chosen(engine="shell", autonomy="full", review="none", target="stable")
    assert scene.fleet.projects.begin(PROJECT, chosen).target == "stable"
    assert scene.git("symbolic-ref", "refs/fleet/target") == "refs/heads/stable"

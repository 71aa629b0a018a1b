"""A home that was moved judges nothing before it is repaired; then everything is where it was."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from staging.stage import claim_of, is_alive, status_of

from fleet.errors.families import Refused
from fleet.errors.refused import HomeCopied, HomeMoved
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT


def worked(stage, fleet, slug: str) -> str:
    """A stopped agent that left uncommitted work."""
    stage.without_hint(fleet)
    ident = stage.dispatch(fleet, slug, "sh", "-c", "echo work > work; exec sleep 1000")
    stage.launched(fleet, ident)
    until(lambda: os.path.exists(path := stage.tree(slug) / "work") and path.read_text() == "work\n")
    assert fleet.dispatches.stop(ident).settled
    subprocess.run(["tmux", "-S", f"{stage.home}/tmux.sock", "kill-server"], check=False, capture_output=True)
    return ident


def moved(stage) -> str:
    """The home, moved; what it was called before."""
    before, stage.home = stage.home, f"{stage.root}/moved"
    os.rename(before, stage.home)
    return before


@pytest.mark.req("SWEEP-1", "DEL-5")
def test_a_moved_home_judges_nothing_before_it_is_repaired_and_then_goes_on(either):
    with either.fleet() as fleet:
        ident = worked(either, fleet, "t")
    before = moved(either)
    with either.fleet() as fleet:
        for act in (
            lambda: fleet.sweep.run(kill=False),
            lambda: fleet.sweep.run(kill=True),
            lambda: fleet.dispatches.resume(ident),
            lambda: fleet.tasks.add(project=PROJECT, title="x"),
            lambda: fleet.merge.task(project=PROJECT, slug="t"),
            lambda: fleet.sessions.settle(ident),
        ):
            with pytest.raises(HomeMoved, match=before):
                act()
        assert [each.slug for each in fleet.tasks.list(project=PROJECT)] == ["t"], "it may be looked at"
    answer = either.program("clean", "--yes")
    assert (answer.code, "fleet home repair" in answer.err) == (14, True)
    answer = either.program("task", "list", "-p", PROJECT)
    assert (answer.code, "warning" in answer.err, "was moved" in answer.err) == (0, True, True)
    planned = either.program("home", "repair")
    assert (planned.code, "--yes" in planned.out, str(either.tree("t")) in planned.out) == (0, True, True)
    assert either.program("home", "repair", "--yes").code == 0
    with either.fleet() as fleet:
        assert claim_of(fleet, "worktree", slug="t").name == str(either.tree("t"))
        fleet.sweep.run(kill=True)
        assert claim_of(fleet, "worktree", slug="t").state == "live"
        assert (either.tree("t") / "work").read_text() == "work\n"
        assert either.git("status", "--short", cwd=str(either.tree("t"))) == "?? work"
        assert status_of(fleet, "t")[0] == "blocked"
        successor = fleet.dispatches.resume(ident).id
        either.launched(fleet, successor)
        assert fleet.dispatches.kill(successor, "a test").settled
        assert fleet.homes.show().path == either.home
        with pytest.raises(Refused, match="nothing is to be repaired"):
            fleet.homes.repair()
    (either.tree("t") / "work").unlink()


@pytest.mark.req("SWEEP-1")
@pytest.mark.parametrize("effect", ["git worktree repair", "commit the home was moved", "publish home.json"])
def test_a_repair_that_was_killed_is_run_again(scene, effect):
    with scene.fleet() as fleet:
        worked(scene, fleet, "t")
    moved(scene)
    child = scene.halted("after", effect, "repair")
    with child:
        child.kill()
    if effect != "publish home.json":
        assert scene.program("home", "repair", "--yes").code == 0
    with scene.fleet() as fleet:
        assert claim_of(fleet, "worktree", slug="t").name == str(scene.tree("t"))
        assert scene.git("status", "--short", cwd=str(scene.tree("t"))) == "?? work"
    (scene.tree("t") / "work").unlink()


@pytest.mark.req("SWEEP-1")
def test_nothing_is_repaired_while_an_agent_of_the_old_place_lives(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
    before = moved(scene)
    with scene.fleet() as fleet, pytest.raises(Refused, match=f"process {who.pid}"):
        fleet.homes.repair()
    answer = scene.program("log", "hello", env={**os.environ, "FLEET_HOME": before, "FLEET_DISPATCH_ID": ident,
                                               "FLEET_PROJECT": PROJECT, "FLEET_TASK": "t"})  # fmt: skip
    assert (answer.code, Path(before).exists()) == (1, False), "an agent makes no new home at the old place"
    os.rename(scene.home, before)
    scene.home = before
    assert is_alive(who.pid)
    with scene.fleet() as fleet:
        assert fleet.dispatches.kill(ident, "a test").settled


@pytest.mark.req("SWEEP-1")
def test_a_copy_of_a_home_is_refused_and_says_of_which(scene):
    copy = f"{scene.root}/copy"
    shutil.copytree(scene.home, copy, ignore=shutil.ignore_patterns("*.sock"))
    was, scene.home = scene.home, copy
    try:
        with scene.fleet() as fleet:
            with pytest.raises(HomeCopied, match=f"a copy of the fleet home {was}"):
                fleet.sweep.run(kill=True)
            with pytest.raises(HomeCopied):
                fleet.homes.repair()
    finally:
        scene.home = was


@pytest.mark.req("SWEEP-1", "AGENT-9")
@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_a_home_whose_record_was_lost_still_knows_its_agents(scene, how):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        agent = scene.launched(fleet, ident)
    record = Path(scene.home, "home.json")
    before = record.read_text()
    if how == "removed":
        record.unlink()
    else:
        record.write_text("")
    killed = scene.program("kill", ident, "--reason", "a test")
    assert killed.code == 0, killed
    assert not is_alive(agent.pid)
    assert record.read_text() == before

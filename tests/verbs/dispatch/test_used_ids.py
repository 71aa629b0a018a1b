"""An id is used once: also after its dispatch was archived, and the archive was pruned."""

import pytest

from fleet.errors.families import Contested, Superseded
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents.prompts import WantedPrompt
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.jobs import records

WANTED = Wanted(project=PROJECT, slug="b", engine="shell", command=("sleep", "1000"))


def forgotten(scene: SimulatedScene) -> str:
    """Return the id of a dispatch of which nothing is left, neither in the tables nor in the archive."""
    ident = scene.work("a")
    scene.fleet.dispatches.kill(ident, "a test")
    scene.fleet.tasks.archive(project=PROJECT, slug="a")
    scene.fleet.sweep.run(kill=True)
    scene.clock.wait(1)
    assert scene.fleet.sweep.prune_archive(older_than="0s").pruned == 1
    assert (scene.fleet.dispatches.list(), scene.fleet.files.names("dispatches/archive")) == ([], [])
    return ident


@pytest.mark.req("STORE-1")
def test_nothing_is_begun_under_an_id_that_was_used_before(scene, monkeypatch):
    """Neither a dispatch, a prompt of a program, a job nor a merge."""
    fleet, used = scene.fleet, forgotten(scene)
    fleet.tasks.add(project=PROJECT, title="B", slug="b")
    again = f"the id {used} was given out before"
    with monkeypatch.context() as patch:
        patch.setattr(fleet.world.ids, "dispatch", lambda: used)
        with pytest.raises(Contested, match=again):
            fleet.dispatches.start(WANTED)
    with pytest.raises(Superseded, match="its id was used before"):
        fleet.claims.acquire_prompt(used, "text\n", WantedPrompt(owner=f"project/{PROJECT}/slug/b"))
    assert (fleet.claims.list(), fleet.files.names("inbox"), fleet.dispatches.list()) == ([], [], [])
    job = records.NewJob(id=used, project=PROJECT, name="j", source="s", folder="f", parameters={}, home="h")
    with pytest.raises(Contested, match=again):
        fleet.commit(records.create(job, []))
    worker = scene.work("b")
    scene.commit("b")
    scene.report(worker, "b")
    scene.exit(worker)
    fleet.sessions.settle(worker)
    monkeypatch.setattr(fleet.world.ids, "dispatch", lambda: used)
    with pytest.raises(Contested, match=again):
        fleet.merge.task(project=PROJECT, slug="b")
    assert fleet.tasks.show(project=PROJECT, slug="b").status == "in_progress"

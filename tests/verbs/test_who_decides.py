"""An agent does not decide for its person, on each kind of store."""

import pytest

from fleet.errors.families import FleetError
from fleet.errors.refused import NotAllowed
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted

TASK = {"project": PROJECT, "slug": "a"}


@pytest.mark.req("SEC-1")
def test_a_worker_decides_nothing_and_speaks_for_its_own_task(scene):
    ident = scene.work("a")
    other = scene.work("b")
    with scene.speaking(ident) as fleet:
        refused = [
            (lambda: fleet.messages.approve("0123abcd"), "messages.approve"),
            (lambda: fleet.merge.land(project=PROJECT), "merge.land"),
            (lambda: fleet.merge.open_pull(**TASK), "merge.open_pull"),
            (lambda: fleet.engines.lift("shell"), "engines.lift"),
            (lambda: fleet.settings.trust(PROJECT, {}), "settings.trust"),
            (lambda: fleet.reviews.judge(**TASK, verdict="accept"), "reviews.judge"),
            (lambda: fleet.tasks.add(project=PROJECT, title="more"), "tasks.add"),
            (lambda: fleet.dispatches.stop(other), "dispatches.stop"),
            (lambda: fleet.coord.hand_off(other, reason="full"), "coord.hand_off"),
        ]
        for act, name in refused:
            with pytest.raises(NotAllowed) as error:
                act()
            assert (error.value.code, error.value.facts["act"], error.value.facts["role"]) == (14, name, "worker")
        with pytest.raises(FleetError):
            fleet.tasks.done(project=PROJECT, slug="b")
        fleet.tasks.log(**TASK, message="hi")
        fleet.tasks.done(**TASK)
    assert scene.fleet.context.dispatch(ident).report == "done"
    assert scene.fleet.context.dispatch(other).report is None


@pytest.mark.req("SEC-1")
def test_a_coordinator_plans_within_its_own_project_and_sets_no_command(scene, tmp_path):
    scene.git("clone", "--quiet", scene.repository, str(tmp_path / "other"))
    scene.fleet.projects.register(str(tmp_path / "other"), "q")
    wanted = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
    ident = scene.fleet.coord.start(wanted).id
    scene.launch(ident)
    with scene.speaking(ident) as fleet:
        fleet.tasks.add(project=PROJECT, title="more", slug="more")
        for project, fields in (("q", {}), (PROJECT, {"verify": "true"}), (PROJECT, {"engine": "shell"})):
            with pytest.raises(NotAllowed) as error:
                fleet.tasks.add(project=project, title="evil", slug="evil", **fields)
            assert error.value.facts["role"] == "coordinator"
        with pytest.raises(NotAllowed):
            fleet.merge.land(project=PROJECT)
    assert scene.fleet.graph.slugs(project=PROJECT, prefix="evil") == []

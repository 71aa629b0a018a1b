"""How many agents may work at once: in all, and in each project."""

import pytest

from fleet.errors.refused import LimitReached
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted

OTHER = "q"


def starts(scene: SimulatedScene, project: str, slug: str) -> str:
    scene.fleet.tasks.add(project=project, title=slug, slug=slug)
    return scene.fleet.dispatches.start(
        Wanted(project=project, slug=slug, engine="shell", command=("sleep", "1000"))
    ).id


@pytest.mark.req("AGENT-6")
def test_a_full_project_takes_no_more_agents_and_another_project_does(on_store, tmp_path):
    with SimulatedScene(settings=f"{on_store}[limits]\nproject_agents = 2\n") as scene:
        scene.git("clone", "--quiet", scene.repository, str(tmp_path / "other"))
        scene.fleet.projects.register(str(tmp_path / "other"), OTHER)
        first = starts(scene, PROJECT, "a")
        starts(scene, PROJECT, "b")
        with pytest.raises(LimitReached, match="too many agents at work in p: 2 of 2") as full:
            starts(scene, PROJECT, "c")
        assert full.value.facts["setting"] == "limits.project_agents"
        assert scene.fleet.tasks.show(project=PROJECT, slug="c").status == "open"
        starts(scene, OTHER, "a")
        scene.fleet.dispatches.kill(first, "a test")
        scene.fleet.dispatches.start(Wanted(project=PROJECT, slug="c", engine="shell", command=("sleep", "1000")))


@pytest.mark.req("AGENT-6")
def test_a_full_fleet_takes_no_more_agents_anywhere(on_store, tmp_path):
    with SimulatedScene(settings=f"{on_store}[limits]\nagents = 2\n") as scene:
        scene.git("clone", "--quiet", scene.repository, str(tmp_path / "other"))
        scene.fleet.projects.register(str(tmp_path / "other"), OTHER)
        starts(scene, PROJECT, "a")
        starts(scene, OTHER, "a")
        for project in (PROJECT, OTHER):
            with pytest.raises(LimitReached, match="too many agents at work: 2 of 2"):
                starts(scene, project, "b")
        coordinator = Wanted(project=OTHER, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
        scene.fleet.coord.start(coordinator)  # coordinators are not counted

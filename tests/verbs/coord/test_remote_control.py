"""Remote control of coordinators is on unless somebody says no: it is said, and one line turns it off for all."""

from pathlib import Path

import pytest

from fleet.errors.store import WriteFailed
from fleet.model.results.projects import Chosen
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.projects import remote_control

ENGINE = """
summary = "a test's"
program = "sh"
start = ["{program}", "-c", "sleep 1000", "x", "{remote}"]
remote = ["--afar"]
interactive = false
"""


def words_of_coordinator(scene: SimulatedScene) -> list[str]:
    """The command line of a coordinator that is started now."""
    folder = Path(scene.home, "engines")
    folder.mkdir(exist_ok=True)
    (folder / "far.toml").write_text(ENGINE)
    ident = scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="far")).id
    return list(scene.launch(ident).words)


def words_of_worker(scene: SimulatedScene) -> list[str]:
    """The command line of a worker that is started now."""
    scene.fleet.tasks.add(project=PROJECT, title="T", slug="t")
    ident = scene.fleet.dispatches.start(Wanted(project=PROJECT, slug="t", engine="far")).id
    return list(scene.launch(ident).words)


@pytest.mark.req("HAND-8")
def test_it_is_on_unasked_and_status_says_so(scene):
    assert scene.fleet.views.status().remote_control == []
    assert "--afar" in words_of_coordinator(scene)
    assert scene.fleet.views.status().remote_control == [PROJECT]
    scene.fleet.projects.remote_control(PROJECT, "down")
    assert scene.fleet.views.status().remote_control == []


@pytest.mark.req("HAND-8")
def test_the_setting_of_the_home_turns_it_off_for_all_whatever_was_said_before():
    with SimulatedScene(settings='remote_control = "down"\n') as scene:
        scene.fleet.projects.remote_control(PROJECT, "up")
        assert "--afar" not in words_of_coordinator(scene)
        assert scene.fleet.views.status().remote_control == []
        control = scene.fleet.projects.remote_control(PROJECT)
        assert (control.remote_control, control.off_for_all) == ("up", True)


def test_with_it_off_for_all_a_coordinator_does_not_turn_it_up():
    with SimulatedScene(settings='remote_control = "down"\n') as scene:
        words_of_coordinator(scene)
        assert scene.fleet.projects.remote_control(PROJECT).remote_control is None


@pytest.mark.parametrize(("home", "on"), [("", True), ('remote_control = "down"\n', False)])
def test_up_says_whether_it_is_on(home, on):
    with SimulatedScene(settings=home) as scene:
        begun = scene.fleet.projects.begin(PROJECT, Chosen(engine="shell", autonomy="ask", review="none"))
        assert begun.remote_control is on


@pytest.mark.req("HAND-8")
def test_a_worker_never_gets_it_and_what_a_person_turned_down_stays_down(scene):
    assert "--afar" in words_of_coordinator(scene)
    assert scene.fleet.projects.remote_control(PROJECT).remote_control == "up"
    assert "--afar" not in words_of_worker(scene)
    scene.fleet.coord.stop(PROJECT, "a test")
    scene.fleet.projects.remote_control(PROJECT, "down")
    assert "--afar" not in words_of_coordinator(scene)
    assert scene.fleet.projects.remote_control(PROJECT).remote_control == "down"


@pytest.mark.req("HAND-9")
def test_a_marker_that_cannot_be_written_is_told_and_the_coordinator_starts_plain(scene, monkeypatch):
    def full(**_facts: str) -> None:
        raise WriteFailed(path="the store", why="no space left on device")

    monkeypatch.setattr(remote_control, "set_remote_control", full)
    Path(scene.home, "engines").mkdir()
    Path(scene.home, "engines", "far.toml").write_text(ENGINE)
    started = scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="far"))
    [warning] = started.warnings
    assert ("no space left on device" in warning, f"`fleet rc up {PROJECT}`" in warning) == (True, True)
    assert "--afar" not in scene.launch(started.id).words
    entry = scene.fleet.coord.hand_off(started.id, reason="enough")
    assert (entry.state, [f"`fleet rc up {PROJECT}`" in each for each in entry.warnings]) == ("queued", [True])
    assert scene.fleet.projects.remote_control(PROJECT).remote_control is None

"""A slug that looks like the beginning of an id is a slug."""

import pytest

from fleet.world.ids import Ids


@pytest.mark.req("CLI-1")
def test_a_slug_means_its_own_task_and_never_the_agent_whose_id_begins_so(scene, monkeypatch):
    left = ["11111111", "add00001"]
    monkeypatch.setattr(Ids, "dispatch", lambda _ids: left.pop(0))
    with scene.fleet() as fleet:
        scene.killed(fleet, "add")
        scene.dispatch(fleet, "other", "sleep", "1000")
        assert fleet.dispatches.find("add") == "11111111", "though it has ended and the other is at work"
        assert fleet.dispatches.find("add0") == "add00001"
        fleet.tasks.archive(project="p", slug="add")
        scene.swept(fleet)
        assert fleet.dispatches.find("add") == "11111111", "though it is in the archive"

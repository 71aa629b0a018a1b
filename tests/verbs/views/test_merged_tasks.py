"""A merged task is archived at once, and still shown for a day: a person sees what was done."""

import pytest

from fleet.model.text.times import DAY, SECOND
from fleet.testing.scene import PROJECT

A_DAY = DAY // SECOND


def shown(fleet) -> dict[str, tuple[str, str]]:
    """The group and the state of each row of a task."""
    return {row.slug: (row.group, row.state) for row in fleet.views.snapshot().rows if row.slug}


@pytest.mark.req("TUI-1")
def test_a_merged_task_is_shown_as_done_for_a_day(scene):
    fleet = scene.fleet
    ident = scene.work("a")
    scene.commit("a")
    scene.report(ident, "a")
    scene.exit(ident)
    fleet.sessions.settle(ident)
    assert fleet.merge.task(project=PROJECT, slug="a").changed
    assert fleet.tasks.show(project=PROJECT, slug="a").archived
    assert shown(fleet) == {"a": ("done", "done")}
    scene.clock.wait(A_DAY - 60)
    assert "a" in shown(fleet)
    scene.clock.wait(120)
    assert shown(fleet) == {}


@pytest.mark.req("TUI-1")
def test_a_task_that_a_person_archived_unmerged_is_not_shown(scene):
    fleet = scene.fleet
    fleet.tasks.add(project=PROJECT, title="B", slug="b")
    fleet.tasks.abandon(project=PROJECT, slug="b", reason="not wanted")
    fleet.tasks.archive(project=PROJECT, slug="b")
    assert shown(fleet) == {}

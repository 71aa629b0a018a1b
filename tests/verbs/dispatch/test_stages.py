"""An agent's `done` ends its stage; the task is done, and its dependents are ready, when its last stage is over."""

from pathlib import Path

import pytest

from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.views.operations import OperationFilter


@pytest.mark.req("GRAPH-13")
def test_done_leads_to_the_review_then_to_the_merge_and_only_the_merge_ends_the_task(scene):
    Path(scene.repository, "fleet.toml").write_text('review = "person"\n')
    fleet, here = scene.open(), {"project": PROJECT, "slug": "a"}
    ident = scene.work("a")
    fleet.tasks.add(project=PROJECT, title="B", slug="b", after=("a",))
    scene.commit("a")
    scene.report(ident, "a")
    assert fleet.tasks.show(**here).status == "in_progress", "the agent still lives"
    scene.exit(ident)
    fleet.sessions.settle(ident)

    def place() -> tuple[str, str, list[str]]:
        task = fleet.tasks.show(**here)
        return task.status, task.stage, [each.slug for each in fleet.tasks.ready(project=PROJECT)]

    assert place() == ("in_progress", "review", [])
    fleet.reviews.judge(**here, verdict="accept")
    assert place() == ("in_progress", "finisher", [])
    merged = fleet.merge.task(**here)
    assert place() == ("done", "finisher", ["b"])
    assert merged.commit == scene.git("rev-parse", "fleet/main")


@pytest.mark.req("GRAPH-13")
def test_a_persons_done_overrides_and_the_operation_says_whom(scene):
    ident, fleet = scene.work("a"), scene.fleet
    fleet.tasks.add(project=PROJECT, title="B", slug="b", after=("a",))
    fleet.tasks.done(project=PROJECT, slug="a", override=True)
    task = fleet.tasks.show(project=PROJECT, slug="a")
    assert (task.status, task.assignee) == ("done", "tester")
    (said,) = fleet.operations.list(OperationFilter(), limit=1)
    assert (said.why, said.what["superseded"], said.what["ready"]) == (f"done {PROJECT}/a", ident, ["b"])

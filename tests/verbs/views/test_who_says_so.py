"""What is shown of agents: coordinators too, with who says it and since when; and what a recap has of a time."""

import pytest

from fleet.model.text.times import HOUR, iso
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted

COORDINATOR = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


@pytest.mark.req("OBS-7", "OBS-8")
def test_every_list_has_coordinators_and_says_who_knows_it_and_since_when(scene):
    fleet, begun = scene.fleet, scene.clock.now()
    coordinator = str(fleet.coord.start(COORDINATOR).id)
    scene.launch(coordinator)
    ident, starting = scene.work("a"), scene.dispatch("b")

    def shown() -> dict[str, tuple[str, str, str | None]]:
        return {each.id: (each.state, each.source, each.state_at) for each in fleet.agents.list()}

    assert {each.id: each.kind for each in fleet.agents.list()} == {
        coordinator: "coord",
        ident: "worker",
        starting: "worker",
    }
    assert {each.id: each.kind for each in fleet.dispatches.list()}[coordinator] == "coord"
    assert {each.who for each in fleet.views.status().working} >= {coordinator, ident}
    assert shown()[starting] == ("starting", "store", iso(begun))
    assert shown()[ident][:2] == ("running", "process")
    scene.agent(ident).is_hidden = True
    assert shown()[ident][:2] == ("unknown", "process"), "unknown is not called running"
    scene.agent(ident).is_hidden = False
    scene.clock.wait(60)
    scene.report(ident, "a")
    scene.clock.wait(60)
    assert shown()[ident] == ("reported done", "report", iso(begun + 60_000))
    scene.exit(ident)
    assert shown()[ident][:2] == ("exited", "process")


@pytest.mark.req("OBS-9")
def test_a_recap_has_what_happened_since_a_time_and_nothing_from_before(scene):
    fleet = scene.fleet
    bad, early = scene.work("bad"), scene.clock.now()
    fleet.dispatches.kill(bad, "a test")
    scene.clock.wait(2 * 3600)
    late, good = scene.clock.now(), scene.work("good")
    scene.commit("good")
    scene.report(good, "good")
    scene.exit(good)
    fleet.sessions.settle(good)
    commit = fleet.merge.task(project=PROJECT, slug="good").commit
    lost = scene.work("lost")
    scene.reboot()
    fleet = scene.fleet
    fleet.sessions.settle(lost)

    def seen(since: int) -> dict[str, list]:
        found = fleet.views.recap(since=since)
        assert (found.since, found.until) == (iso(since), iso(scene.clock.now()))
        return {
            "merged": [(each.slug, each.merged, each.merged_at) for each in found.merged],
            "failed": [(each.slug, each.reason, each.at) for each in found.failed],
            "interrupted": [(each.slug, each.reason) for each in found.interrupted],
            "blocked": [each.slug for each in found.blocked],
        }

    newer = {"merged": [("good", commit, iso(late))], "interrupted": [("lost", "interrupted")], "blocked": []}
    assert seen(early) == {**newer, "failed": [("bad", "killed: a test", iso(early))]}
    assert seen(late) == {**newer, "failed": []}, "an hour ago nothing had failed"
    assert seen(late + HOUR) == {"merged": [], "failed": [], "interrupted": [], "blocked": []}

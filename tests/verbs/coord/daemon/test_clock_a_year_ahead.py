"""The wall clock is set a year ahead and back: no seat is lost, nothing is deleted early, nothing waits for a year."""

import threading
from pathlib import Path

import pytest

from fleet.model.dispatch.seat_steps import may_restart
from fleet.model.text.times import DAY, HOUR, MINUTE, SECOND
from fleet.store.queries import Restarts
from fleet.surfaces.daemon.duties.coordinators import Coordinators
from fleet.surfaces.daemon.duties.notifying import Notifying
from fleet.surfaces.daemon.duties.sweeping import Sweeping
from fleet.surfaces.daemon.duties.ticks import Ticks
from fleet.surfaces.daemon.duties.upkeep import Upkeep
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents import messages
from fleet.verbs.coord import replace
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

from .conftest import OWN_LOOP, set_up

YEAR = 365 * DAY
AGENT = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


def failed_task(scene, slug: str) -> None:
    scene.fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    scene.fleet.tasks.fail(project=PROJECT, slug=slug, reason="no")


def is_archived(scene, slug: str) -> bool:
    return scene.fleet.tasks.show(project=PROJECT, slug=slug).archived


@pytest.mark.req("IPC-6", "GATE-6")
def test_the_duties_of_a_daemon_lose_no_seat_and_no_agent_and_do_not_repeat_themselves(scene, daemon, ready):
    set_up(scene, 'daemon_sweep = "act"\n')
    ident = daemon.coord.start(OWN_LOOP).id
    after = threading.Event()
    after.set()
    seats, ticks, sweeping, upkeep = Coordinators({}.update, after), Ticks(PROJECT, ident), Sweeping(), Upkeep()
    duties = (seats, ticks, sweeping, upkeep, Notifying())
    for duty in duties:
        duty.run(daemon)
    (worker,) = [each.id for each in scene.fleet.agents.list() if each.kind != "coord"]
    scene.launch(worker)
    now = scene.clock.now()
    for to in (now + YEAR, now + MINUTE):
        scene.clock.set(to)
        for duty in duties:
            duty.run(daemon)
        before = scene.fleet.operations.newest()
        for duty in duties:
            assert [line for line in duty.run(daemon) if "the clock may be wrong" not in line] == []
            assert duty.every is None or duty.every >= 1.0, "it does not run without a pause"
        assert scene.fleet.operations.newest() == before, "nothing is written again and again"
        assert (daemon.coord.held(), daemon.coord.unheld()) == ({PROJECT: ident}, {})
        assert scene.fleet.sessions.settle(worker).why == "its process is alive"


@pytest.mark.req("SWEEP-10")
def test_upkeep_removes_nothing_by_a_clock_that_jumped_and_goes_on_after_a_day(scene, daemon):
    set_up(scene, 'keep_operations = "1d"\n')
    assert Upkeep().run(daemon) == []
    failed_task(scene, "a")
    now, first = scene.clock.now(), scene.fleet.operations.newest()
    scene.clock.set(now + YEAR)
    for _ in range(2):
        (line,) = Upkeep().run(daemon)
        assert line.startswith("removed nothing: the clock may be wrong")
    scene.clock.set(now + HOUR)
    assert Upkeep().run(daemon) == [], "it was set right within the day"
    assert scene.fleet.operations.newest() == first
    scene.clock.set(now + YEAR)
    Upkeep().run(daemon)
    scene.clock.wait(DAY / SECOND + 1)
    (line,) = Upkeep().run(daemon)
    assert line.startswith("archived "), "a machine that was off for a year"


@pytest.mark.req("SWEEP-10")
def test_a_sweep_deletes_nothing_by_a_clock_that_jumped_and_says_so(scene):
    failed_task(scene, "a")
    scene.fleet.sweep.run(kill=True)
    now = scene.clock.now()
    scene.clock.set(now + YEAR)
    for _ in range(2):
        found = {each.what: each for each in scene.fleet.sweep.run(kill=True)}
        assert "the clock may be wrong" in found["what is deleted by its age"].why
        assert not is_archived(scene, "a")
    scene.clock.set(now + HOUR)
    assert scene.fleet.sweep.run(kill=True) == []
    scene.clock.set(now + YEAR)
    scene.fleet.sweep.run(kill=True)
    scene.clock.wait(DAY / SECOND + 1)
    scene.fleet.sweep.run(kill=True)
    assert is_archived(scene, "a")


def test_a_damaged_note_of_the_time_stops_nothing(scene):
    scene.fleet.sweep.run(kill=True)
    Path(scene.home, paths.CLOCK).write_text("yesterday")
    assert scene.fleet.sweep.run(kill=True) == []


@pytest.mark.req("MSG-1")
def test_a_message_that_was_handed_out_while_the_clock_was_ahead_is_handed_out_again(scene):
    ident = scene.work("a")
    [sent] = scene.fleet.messages.send("hello", agent=ident)
    now = scene.clock.now()
    scene.clock.set(now + YEAR)
    assert [each.id for each in scene.fleet.commit(messages.mark_handed_out(ident, "hook"))] == [sent.id]
    assert scene.fleet.commit(messages.mark_handed_out(ident, "hook")) == [], "who has it may still acknowledge"
    scene.clock.set(now)
    assert [each.id for each in scene.fleet.commit(messages.mark_handed_out(ident, "hook"))] == [sent.id]


@pytest.mark.req("REP-10")
def test_a_candidate_of_a_year_ahead_does_not_keep_the_seat_for_a_year(scene):
    old = scene.fleet.coord.start(AGENT).id
    scene.launch(old)
    now = scene.clock.now()
    scene.clock.set(now + YEAR)
    new = replace.start_candidate(scene.fleet.context, AGENT).id
    scene.launch(new)
    scene.fleet.sweep.run(kill=True)
    assert scene.fleet.coord.show(PROJECT).candidate == new, "it has its time"
    scene.clock.set(now)
    scene.fleet.sweep.run(kill=True)
    shown = scene.fleet.coord.show(PROJECT)
    assert (shown.holder, shown.candidate, shown.state) == (old, None, "alive")


@pytest.mark.parametrize(
    ("ran", "last_at", "may"), [(-YEAR, 0, True), (HOUR, YEAR, True), (SECOND, 0, False), (HOUR, HOUR, False)]
)
def test_a_dead_loop_is_started_again_although_the_clock_was_set_back(ran, last_at, may):
    last = Restarts(project=PROJECT, holder="a", tries=1, at=last_at)
    assert may_restart(last, holder="b", ran=ran, now=HOUR, most=3) is may

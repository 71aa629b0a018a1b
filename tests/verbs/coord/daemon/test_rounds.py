"""The rounds of duties: isolated, backed off, woken by changes, shown, drained."""

import threading
from collections.abc import Callable

import pytest

from fleet.api.fleet import Fleet
from fleet.surfaces.daemon.duties.duties import Duties
from fleet.surfaces.daemon.duties.duty import Duty, DutyOver
from fleet.surfaces.daemon.duties.schedule import LONGEST_WAIT, Schedule, wait_after_failures

PATIENCE = 20.0


class Told:
    """Collects what is logged."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, object]]] = []

    def __call__(self, event: str, /, **facts: object) -> None:
        self.lines.append((event, facts))


class Does(Duty):
    """Does what the test says, and says when it has."""

    def __init__(self, name: str, act: Callable[[Fleet], list[str]], *, every: float | None = None) -> None:
        self.name, self._act, self.every = name, act, every
        self.on_change, self.apart = True, 0.0
        self.done = threading.Semaphore(0)

    def run(self, fleet: Fleet) -> list[str]:
        try:
            return self._act(fleet)
        finally:
            self.done.release()

    def await_round(self) -> None:
        assert self.done.acquire(timeout=PATIENCE)


@pytest.fixture
def opened(scene) -> Callable[[], Fleet]:
    return lambda: Fleet.open(scene.home, actor="fleet-daemon")


def fail(_fleet: Fleet) -> list[str]:
    raise ValueError("no")


def status(duties: Duties, name: str):
    return next((each for each in duties.status() if each.name == name), None)


def test_a_duty_that_fails_is_logged_once_backed_off_and_shown_and_harms_no_other(opened):
    told, bad, good = Told(), Does("bad", fail, every=0.0), Does("good", lambda _fleet: ["did it"])
    duties = Duties(opened, told, duties=[bad, good])
    duties.start()
    bad.await_round()
    good.await_round()
    for seq in range(1_000_000, 1_000_003):
        duties.changed(seq)
        good.await_round()
    bad.await_round()
    duties.stop(PATIENCE)
    failures = [facts for event, facts in told.lines if event == "duty failed"]
    assert [(each["duty"], each["error"]) for each in failures] == [("bad", "ValueError: no")]
    assert ("duty", {"duty": "good", "did": "did it"}) in told.lines


def test_status_says_how_each_duty_fares(opened):
    hold, begun = threading.Event(), threading.Event()

    def wait(_fleet: Fleet) -> list[str]:
        begun.set()
        assert hold.wait(PATIENCE)
        return []

    bad, slow = Does("bad", fail), Does("slow", wait)
    duties = Duties(opened, Told(), duties=[bad, slow])
    duties.start()
    bad.await_round()
    assert begun.wait(PATIENCE)
    assert status(duties, "slow").state == "running"
    hold.set()
    slow.await_round()
    duties.stop(PATIENCE)
    shown = duties._rounds[1].status()
    assert (shown.name, shown.state, shown.failures, shown.error) == ("bad", "failing", 1, "ValueError: no")
    assert shown.last_run is not None


def test_a_duty_that_is_over_leaves_and_a_stopped_daemon_begins_no_round(opened):
    def end(_fleet: Fleet) -> list[str]:
        raise DutyOver("nothing is left")

    told, over, other = Told(), Does("over", end), Does("other", lambda _fleet: [])
    duties = Duties(opened, told, duties=[over, other])
    duties.start()
    over.await_round()
    other.await_round()
    assert duties._rounds[1].join(PATIENCE)
    assert status(duties, "over") is None
    assert ("duty over", {"duty": "over", "why": "nothing is left"}) in told.lines
    duties.stop(PATIENCE)
    assert all(rounds.is_over for rounds in duties._rounds)
    while other.done.acquire(blocking=False):
        pass
    duties.changed(1_000_000)
    assert not other.done.acquire(blocking=False)


def test_stop_waits_for_a_running_round_and_no_longer_than_it_may(opened):
    hold, begun = threading.Event(), threading.Event()

    def wait(_fleet: Fleet) -> list[str]:
        begun.set()
        assert hold.wait(PATIENCE)
        return []

    slow = Does("slow", wait)
    duties = Duties(opened, Told(), duties=[slow])
    duties.start()
    assert begun.wait(PATIENCE)
    duties.stop(0.01)
    assert not duties._rounds[1].is_over
    hold.set()
    duties.stop(PATIENCE)
    assert duties._rounds[1].is_over


def test_changes_by_other_processes_are_noticed(scene, opened):
    seen: list[int] = []

    def look(fleet: Fleet) -> list[str]:
        seen.append(fleet.operations.newest())
        return []

    watcher = Does("watcher", look)
    duties = Duties(opened, Told(), duties=[watcher])
    duties.start()
    watcher.await_round()
    scene.fleet.tasks.add(project="p", title="a", slug="a")
    newest = scene.fleet.operations.newest()
    while seen[-1] < newest:
        watcher.await_round()
    duties.stop(PATIENCE)


def test_the_wait_doubles_and_is_bounded():
    assert [wait_after_failures(n) for n in (1, 2, 3, 4)] == [1.0, 2.0, 4.0, 8.0]
    assert wait_after_failures(1000) == LONGEST_WAIT


def test_news_during_a_round_begins_another_and_news_does_not_shorten_the_wait_after_a_failure():
    schedule = Schedule(every=None, apart=0.5)
    assert schedule.seconds_left(10.0) == 0.0
    schedule.begin()
    schedule.has_news = True
    schedule.succeed(10.0, None)
    assert schedule.seconds_left(10.0) == 0.5
    schedule.begin()
    schedule.succeed(11.0, None)
    assert schedule.seconds_left(11.0) is None
    schedule.has_news = True
    schedule.begin()
    schedule.fail(12.0)
    schedule.has_news = True
    assert schedule.seconds_left(12.0) == 1.0

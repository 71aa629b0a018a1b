"""fleet's own coordinator: it ticks when something changed, says each thing once, and ends only when it has to."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from fleet import errors
from fleet.api import loop
from fleet.testing.simulated.clock import SimulatedClock


class Coordinated:
    """A home whose ticks answer what a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.newest, self.ticks, self.acknowledged = 1, 0, list[str]()
        self.answer: Any = SimpleNamespace(done=[], troubles=[], messages=[])
        self.said: list[str] = []
        self.operations = SimpleNamespace(newest=lambda: self.newest)
        self.settings = SimpleNamespace(read=lambda: {"tick_every": SimpleNamespace(value="30s")})
        self.coord = SimpleNamespace(tick=self.tick)
        self.messages = SimpleNamespace(acknowledge=self.acknowledged.extend)
        self.clock = SimulatedClock()
        monkeypatch.setattr(loop, "Clock", lambda: self.clock)
        monkeypatch.setattr(loop.Fleet, "open", lambda: nullcontext(self))
        self.loop = loop.Loop("p", self.said.append)

    def tick(self, project: str) -> Any:
        assert project == "p"
        self.ticks += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def go_on(self) -> bool:
        return self.loop._tick_if_due()


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Coordinated:
    return Coordinated(monkeypatch)


@pytest.mark.req("GATE-13")
def test_it_ticks_after_a_change_and_when_the_interval_is_over(home):
    assert home.go_on()
    assert home.go_on()
    assert home.ticks == 1, "nothing has changed"
    home.newest = 2
    assert home.go_on()
    assert home.ticks == 2
    home.clock.wait(29)
    assert home.go_on()
    assert home.ticks == 2
    home.clock.wait(2)
    assert home.go_on()
    assert home.ticks == 3


@pytest.mark.req("GATE-11")
@pytest.mark.parametrize(
    "error",
    [
        errors.NotSeated(project="p", dispatch="0000000a", holder="nobody"),
        errors.HomeMoved(path="/b", was="/a"),
    ],
    ids=["another coordinator", "a moved home"],
)
def test_it_ends_when_it_is_not_in_the_seat_and_when_its_home_was_moved(home, error):
    home.answer = error
    home.loop.run()
    assert home.ticks == 1
    assert [line.endswith("this coordinator ends") for line in home.said] == [True]


@pytest.mark.req("GATE-13")
def test_after_a_failed_tick_it_waits_and_after_another_s_tick_it_does_not(home):
    home.answer = RuntimeError("no")
    assert home.go_on()
    assert home.said == ["this tick failed, the next one tries again: RuntimeError: no"]
    assert home.go_on()
    assert home.ticks == 1
    home.clock.wait(6)
    assert home.go_on()
    assert home.ticks == 2
    home.newest, home.answer = 2, errors.TickInProgress(project="p", holder="pid=1")
    assert home.go_on()
    assert home.go_on()
    assert home.ticks == 4, "it tries again at once"


@pytest.mark.req("MSG-1")
def test_each_thing_is_said_once_and_messages_are_acknowledged(home):
    home.answer = SimpleNamespace(
        done=["settled a"],
        troubles=["b is stuck"],
        messages=[SimpleNamespace(id="m1", sender="ann", text="hello")],
    )
    assert home.go_on()
    assert home.said == ["settled a", "trouble: b is stuck", "message m1 from ann: hello"]
    assert home.acknowledged == ["m1"]
    home.newest, home.answer = 2, SimpleNamespace(done=["settled c"], troubles=["b is stuck"], messages=[])
    home.said.clear()
    assert home.go_on()
    assert home.said == ["settled c"], "the trouble was said before"

"""When a coordinator is woken: for each thing that it was not told, once, and when a tick is due."""

import pytest

from fleet.model.agents.activity.waking import Situation, news, things_to_do, wake_text
from fleet.model.results.coord import AtWork, Briefing, Trouble

NOTHING = {"working": [], "ready": [], "to_review": [], "to_merge": [], "trouble": [], "handoffs": []}
WORKING = [AtWork(id="0a1b2c3d", kind="worker", task="t")]


def situation(*, agent_reviews: bool = True, since: int = 0, **given: object) -> Situation:
    more = {name: given.pop(name) for name in ("to_mend", "reported", "overdue", "questions", "over") if name in given}
    rest = {"to_mend": [], "reported": {}, "overdue": [], "questions": {}, "over": [], "every": 600, **more}
    return Situation(next=Briefing(**{**NOTHING, **given}), agent_reviews=agent_reviews, since=since, **rest)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ready": ["t"]}, "task t is ready"),
        ({"to_merge": ["t"]}, "the work on t waits to be merged"),
        ({"to_review": ["t"]}, "the work on t waits for a review"),
        ({"to_mend": ["t"]}, "task t waits to be mended"),
        ({"trouble": [Trouble(task="t", status="failed", reason="no")]}, "task t is failed"),
        ({"handoffs": ["0a1b2c3d"]}, "agent 0a1b2c3d waits to be handed off"),
        ({"reported": {"0a1b2c3d": "done"}}, "agent 0a1b2c3d has reported done"),
        ({"overdue": ["0a1b2c3d"]}, "agent 0a1b2c3d has not exited yet"),
        ({"questions": {"99999999": "0a1b2c3d"}}, "agent 0a1b2c3d asks its person something"),
        ({"over": ["claude"]}, "claude can be tried again"),
    ],
)
def test_each_thing_is_news_until_the_coordinator_was_told_of_it(given, said):
    found = situation(**given)
    assert said in news(found, [])
    assert news(found, list(things_to_do(found))) == []


def test_a_review_that_a_person_does_is_nothing_for_the_coordinator():
    assert news(situation(to_review=["t"], agent_reviews=False), []) == []


def test_an_agent_that_has_ended_is_news_while_tasks_are_ready_and_only_then():
    before = situation(ready=["t"], working=WORKING)
    told = list(things_to_do(before))
    assert news(situation(ready=["t"]), told) == ["0 agents at work, and tasks are ready"]
    assert news(situation(), told) == []
    assert news(before, []) == ["task t is ready"], "once is enough"


def test_the_same_task_that_fails_for_another_reason_is_news():
    first = situation(trouble=[Trouble(task="t", status="failed", reason="one")])
    again = situation(trouble=[Trouble(task="t", status="failed", reason="two")])
    assert news(again, list(things_to_do(first))) == ["task t is failed"]


def test_a_tick_is_due_after_its_time_while_agents_are_at_work():
    assert news(situation(working=WORKING, since=599), []) == []
    assert news(situation(working=WORKING, since=600), []) == ["agents are at work, and a tick is due"]
    assert news(situation(since=10_000), []) == []


@pytest.mark.parametrize(
    "given",
    [
        {"ready": ["t"]},
        {"to_merge": ["t"]},
        {"to_mend": ["t"]},
        {"to_review": ["t"]},
        {"handoffs": ["0a1b2c3d"]},
        {"reported": {"0a1b2c3d": "done"}},
    ],
)
def test_what_waits_for_a_tick_is_said_again_after_its_time_although_no_agent_works(given):
    told = list(things_to_do(situation(**given)))
    assert news(situation(since=599, **given), told) == []
    assert len(news(situation(since=600, **given), told)) == 1


def test_what_waits_for_a_person_is_not_said_again():
    found = situation(
        since=600, trouble=[Trouble(task="t", status="failed", reason="no")], to_review=["u"], agent_reviews=False
    )
    assert news(found, list(things_to_do(found))) == []


def test_the_message_names_the_command_and_stays_short():
    text = wake_text([f"task t{n} is ready" for n in range(20)])
    assert "`fleet coord tick`" in text
    assert "task t7 is ready; 12 more." in text
    assert "task t8" not in text

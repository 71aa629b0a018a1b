"""The context guard: first asked, then made to; reviewers are only reminded."""

from pathlib import Path

import pytest
from live.coord.seats import asked, seated, ticked, until
from staging.stage import raw

from fleet.verbs.agents import messages
from fleet.verbs.dispatch.plan import Wanted

TASK = {"project": "p", "slug": "t"}
SLEEP = ("sleep", "1000")


def reminders(fleet, ident: str) -> list[str]:
    return [
        row["text"]
        for row in asked(fleet, f"SELECT text FROM messages WHERE dispatch = '{ident}' AND sender = 'fleet'")
    ]


def at_work(stage, fleet) -> tuple[str, str]:
    """A coordinator and a worker."""
    ident, worker = seated(stage, fleet), stage.dispatch(fleet, "t", *SLEEP)
    stage.launched(fleet, worker)
    return ident, worker


@pytest.mark.req("HAND-7")
def test_an_agent_is_asked_once_and_then_handed_off(either):
    below, ask = "context = 10, tokens = 1000", "context = 10, tokens = 200000"
    force = "context = 50, tokens = 1000"
    with either.fleet() as fleet:
        ident, worker = at_work(either, fleet)
        raw(fleet, f"UPDATE agents SET {below} WHERE dispatch = '{worker}'")
        assert ticked(either, ident)["done"] == []
        fleet.commit(messages.send(worker, "0a0a0a0a", "Go on where you were.", kind="reminder"))
        raw(fleet, f"UPDATE agents SET {ask} WHERE dispatch = '{worker}'")
        assert [line.split(": ")[1] for line in ticked(either, ident)["done"]] == ["reminded"], (
            "another reminder is another matter"
        )
        ticked(either, ident)
        [text] = reminders(fleet, worker)
        assert "next milestone" in text
        assert "fleet handoff" in text
        assert fleet.coord.handoffs("p") == []
        raw(fleet, f"UPDATE agents SET {force} WHERE dispatch = '{worker}'")
        until(lambda: ticked(either, ident) and [each.state for each in fleet.coord.handoffs("p")] == ["done"])
        [entry] = fleet.coord.handoffs("p")
        assert (entry.dispatch, entry.asked_by, entry.reason.startswith("context")) == (worker, "fleet", True)
        assert fleet.tasks.show(**TASK).assignee == entry.successor


@pytest.mark.req("HAND-7")
def test_one_that_is_about_to_compact_is_handed_off_and_a_reviewer_is_only_reminded(either):
    with either.fleet() as fleet:
        ident, worker = at_work(either, fleet)
        raw(fleet, f"UPDATE agents SET compacting = 1 WHERE dispatch = '{worker}'")
        until(lambda: ticked(either, ident) and [each.state for each in fleet.coord.handoffs("p")] == ["done"])
        assert "compact" in fleet.coord.handoffs("p")[0].reason
        fleet.dispatches.kill(fleet.dispatches.find("t"), "a test")
        fleet.tasks.retry(**TASK)
        raw(fleet, "UPDATE tasks SET stage = 'review'")
        reviewer = fleet.dispatches.start(Wanted(**TASK, kind="reviewer", engine="shell", command=SLEEP)).id
        either.launched(fleet, reviewer)
        raw(fleet, f"UPDATE agents SET context = 99, compacting = 1 WHERE dispatch = '{reviewer}'")
        for _ in range(2):
            ticked(either, ident)
        [text] = reminders(fleet, reviewer)
        assert "verdict soon" in text
        assert len(fleet.coord.handoffs("p")) == 1


@pytest.mark.req("HAND-7")
def test_the_thresholds_are_settings(either):
    config = Path(either.home, "config.toml")
    config.write_text(
        f"{config.read_text()}[handoff]\nask_percent = 80\nforce_percent = 90\nask_tokens = 800\nforce_tokens = 900\n"
    )
    with either.fleet() as fleet:
        ident, worker = at_work(either, fleet)
        raw(fleet, f"UPDATE agents SET context = 79, tokens = 799 WHERE dispatch = '{worker}'")
        ticked(either, ident)
        assert reminders(fleet, worker) == []
        raw(fleet, f"UPDATE agents SET context = 80 WHERE dispatch = '{worker}'")
        ticked(either, ident)
        assert len(reminders(fleet, worker)) == 1
        raw(fleet, f"UPDATE agents SET tokens = 900 WHERE dispatch = '{worker}'")
        ticked(either, ident)
        assert [each.dispatch for each in fleet.coord.handoffs("p")] == [worker]
        until(lambda: fleet.coord.drain("p") == [])

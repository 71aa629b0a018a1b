"""A night: a graph of tasks, five agents at a time, a coordinator that is replaced twice, and a clean morning."""

import tempfile
from pathlib import Path

import pytest
from plugins import account

from fleet.demo.night import RED, SENT_BACK, Night


@pytest.mark.timeout(1_800)
@pytest.mark.req("REP-12", "GATE-11", "PIPE-1", "GRAPH-13", "HAND-2", "HAND-7", "LIMIT-1")
def test_in_the_morning_every_task_is_merged_once_and_nothing_is_left(store_url):
    tasks = 30 if store_url == "sqlite" else 12
    with tempfile.TemporaryDirectory(prefix="fleet-night-", dir="/tmp") as root:
        night = Night(root, lambda _tasks, _events: None, store=store_url, tasks=tasks)
        morning = night.run()
        assert (morning.merged, morning.faults, morning.leaked) == (tasks, [], [])
        assert [each.rpartition(", ")[2] for each in morning.replacements] == ["alive", "killed"]
        assert len(morning.handed_off) == 1
        assert morning.paused, "the limit held the engine back"
        assert {slug for slug in (RED, SENT_BACK) if any(slug in each for each in morning.mended)} == {RED, SENT_BACK}
        assert account.closed(Path(root, "home")) == []

"""A usage limit in the middle of a job: no item fails for it, and after the reset one item tries before the others follow."""

from pathlib import Path

import pytest
from live.jobs.test_running import raw

from fleet.model.results.jobs import ItemChanged

ENGINE = """
summary = "Says that its limit is reached, until it is told otherwise"
program = "{program}"
start = ["{{program}}", "{{prompt}}"]
limit = '''^Enough for today\\b.*'''
"""
PROGRAM = """#!/bin/sh
test -e {over} && exit 0
echo "thinking"
echo "Enough for today, my friend"
exit 1
"""


@pytest.fixture
def limited(either):
    """An engine of the user's, whose limit is over once there is a file."""
    program, over = Path(either.root, "limited"), Path(either.root, "over")
    program.write_text(PROGRAM.format(over=over))
    program.chmod(0o700)
    engines = Path(either.home, "engines")
    engines.mkdir(exist_ok=True)
    (engines / "limited.toml").write_text(ENGINE.format(program=program))
    return over


@pytest.mark.req("JOB-3", "LIMIT-1")
@pytest.mark.parametrize("isolation", ["none", "worktree"])
def test_a_limit_holds_the_engine_back_and_fails_no_item(either, limited, isolation):
    text = f"name: n\nmap:\n  isolation: {isolation}\n  engine: limited\n  max_parallel: 2\n  input: [a, b, c]\n  steps:\n    - agent: do it\n  retry: {{attempts: 1}}\n"
    events: list[object] = []
    held: list[dict] = []

    with either.jobs() as fleet:

        def wanted() -> bool:
            """The reset comes when all that ran has met the limit."""
            found = fleet.engines.limits().holds
            waiting = {each.item for each in events if getattr(each, "state", "") == "waiting"}
            if found and not held and len(waiting) == 2:
                held.extend(found)
                events.append("reset")
                limited.touch()
                raw(fleet, "UPDATE holds SET until = 1")
            return True

        done = fleet.jobs.run(either.asked(text), events.append, wanted)
        assert fleet.engines.limits().holds == [], "the trial has lifted it"
        assert fleet.jobs.dead_items(done.id) == []
    assert (held[0].engine, held[0].reason) == ("limited", "Enough for today, my friend")
    assert done.items.done == 3, events
    after = [each.state for each in events[events.index("reset") + 1 :] if isinstance(each, ItemChanged)]
    first = next(number for number, state in enumerate(after) if state in {"merging", "done"})
    assert after[:first].count("running") == 1, "one tries, the others follow"
    told = next(each.reason for each in events if getattr(each, "state", "") == "waiting")
    assert told.startswith("limited is held back until "), told

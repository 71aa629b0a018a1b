"""The part of the deaths that a run plays: spread over all, begun anywhere, the same for every worker, and replayed by a number."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.testing.crash.harness import part_of

TESTS = Path(__file__).parents[2]
SHOW = "from crash import deaths; print(deaths.OFFSET, deaths.HEADER)"


def offset(**env: str) -> str:
    around = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
    words = [sys.executable, "-c", SHOW]
    return subprocess.run(words, env=around | env, cwd=TESTS, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(("count", "every"), [(20, 5), (3, 13), (61, 61), (7, 1)])
def test_all_offsets_together_play_every_death_and_each_plays_one_at_least(count, every):
    cases = [(number, "before") for number in range(count)]
    parts = [part_of(cases, every, start) for start in range(every)]
    assert all(parts)
    assert {case for part in parts for case in part} == set(cases)
    assert part_of(cases, every, 7) == part_of(cases, every, 7 + min(every, count))


def test_a_run_is_replayed_by_the_number_that_it_printed():
    assert offset(FLEET_DEATHS_OFFSET="4711") == "4711 deaths: a part, replayed by FLEET_DEATHS_OFFSET=4711"
    assert len({offset() for _ in range(4)}) > 1
    assert offset(FLEET_EVERY_DEATH="1").endswith("deaths: all")

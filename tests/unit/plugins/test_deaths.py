"""The part of the deaths that a run plays: spread over all, begun anywhere, the same for every worker, and replayed by a number."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from crash import deaths

from fleet.testing.crash.catalogue import SCENARIOS
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


def test_a_part_with_fewer_deaths_than_its_floor_fails_and_says_how_many_there_were():
    cases = [{"effect": "git merge", "died": True}, {"effect": "SIGTERM", "died": False}]
    deaths.enough(cases, 1)
    with pytest.raises(AssertionError, match=r"only 1 of 2 deaths happened"):
        deaths.enough(cases, 2)
    assert deaths.floor("merge", 15) == deaths.FEWEST["merge"] // 15 > 1
    assert deaths.floor("launch", 37) == 1


def test_every_scenario_has_a_floor():
    assert set(deaths.FEWEST) == set(SCENARIOS)

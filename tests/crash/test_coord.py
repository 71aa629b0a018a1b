"""Killed before, during and after each effect of a Replace, a proof and a drain: one holder, one successor, nothing left."""

import json
import os
import subprocess
import sys

import pytest

# A part, spread over all effects; `make deaths` is the whole.
EVERY = {"sqlite": 1, "postgres": 1} if "FLEET_EVERY_DEATH" in os.environ else {"sqlite": 5, "postgres": 9}
TIME = 7_200 if "FLEET_EVERY_DEATH" in os.environ else 900


@pytest.mark.timeout(TIME)
@pytest.mark.req("REP-6", "REP-8", "REP-10", "HAND-4", "HAND-2")
@pytest.mark.parametrize("scenario", ["replace", "prove", "drain"])
def test_a_death_at_any_effect_is_carried_on(scenario, store_url_kind, store_url):
    words = [sys.executable, "-m", "fleet.testing.crash", scenario, store_url, "--every", str(EVERY[store_url_kind])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    faulty = [f"{case['effect']} ({case['way']}): {case['faults']}" for case in cases if case["faults"]]
    assert faulty == []
    assert done.returncode == 0, done.stderr
    assert len(cases) >= 2

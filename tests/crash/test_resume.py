"""A resume that is killed before, during and after each of its effects, and then resumed again: exactly one successor."""

import json
import os
import subprocess
import sys

import pytest

# A part, spread over all effects; `make deaths` is the whole.
EVERY = {"sqlite": 1, "postgres": 1} if "FLEET_EVERY_DEATH" in os.environ else {"sqlite": 5, "postgres": 13}
TIME = 7_200 if "FLEET_EVERY_DEATH" in os.environ else 900


@pytest.mark.timeout(TIME)
@pytest.mark.req("RES-5", "RES-7", "RES-10")
def test_a_resume_that_dies_at_any_effect_can_be_resumed_again(store_url_kind, store_url):
    words = [sys.executable, "-m", "fleet.testing.crash", "resume", store_url, "--every", str(EVERY[store_url_kind])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    faulty = [f"{case['effect']} ({case['way']}): {case['faults']}" for case in cases if case["faults"]]
    assert faulty == []
    assert done.returncode == 0, done.stderr
    assert len(cases) * EVERY[store_url_kind] > 20

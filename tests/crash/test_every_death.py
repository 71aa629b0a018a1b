"""Killed before, during and after each effect, then swept: nothing is left, nothing is lost, nothing alive is touched."""

import json
import os
import subprocess
import sys

import pytest

# A part, spread over all effects; `make deaths` is the whole.
EVERY = {"sqlite": 1, "postgres": 1} if "FLEET_EVERY_DEATH" in os.environ else {"sqlite": 5, "postgres": 13}
TIME = 7_200 if "FLEET_EVERY_DEATH" in os.environ else 900


@pytest.mark.timeout(TIME)
@pytest.mark.req("STORE-7", "STORE-8", "SWEEP-4", "SWEEP-8", "DEL-5", "ADO-12", "MERGE-5", "AUD-2")
@pytest.mark.parametrize("scenario", ["dispatch", "launch", "settle", "kill", "merge", "sweep"])
def test_a_death_at_any_effect_is_swept_clean(scenario, store_url_kind, store_url):
    words = [sys.executable, "-m", "fleet.testing.crash", scenario, store_url, "--every", str(EVERY[store_url_kind])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    faulty = [f"{case['effect']} ({case['way']}): {case['faults']}" for case in cases if case["faults"]]
    assert faulty == []
    assert done.returncode == 0, done.stderr
    assert len(cases) >= 1


# A job's runner has hundreds of effects, and a death costs a whole job: a part, spread over all of them.
JOB_DEATHS = {"sqlite": 1, "postgres": 1} if "FLEET_EVERY_DEATH" in os.environ else {"sqlite": 61, "postgres": 61}


@pytest.mark.timeout(TIME)
@pytest.mark.req("JOB-5", "RES-11")
@pytest.mark.parametrize("scenario", ["job", "job-in-place"])
def test_a_job_whose_runner_died_at_any_effect_is_resumed_and_every_item_ends_once(scenario, store_url_kind, store_url):
    words = [
        sys.executable,
        "-m",
        "fleet.testing.crash",
        scenario,
        store_url,
        "--every",
        str(JOB_DEATHS[store_url_kind]),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    faulty = [f"{case['effect']} ({case['way']}): {case['faults']}" for case in cases if case["faults"]]
    assert faulty == []
    assert done.returncode == 0, done.stderr
    assert len(cases) > 1

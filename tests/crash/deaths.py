"""Plays the deaths of a scenario: all of them, or a part that is spread over all effects and begins elsewhere in each run.

The part begins at FLEET_DEATHS_OFFSET, which the controller of a run draws if nobody has set it; `make deaths` plays the whole.
"""

import json
import os
import random
import subprocess
import sys
from typing import Any

from plugins.samples import sampled

VARIABLE = "FLEET_DEATHS_OFFSET"
TIME = 900
_MANY = 1_000_000
_TRIES = 3
# How many deaths a scenario has at least: the harness counts all, also those that a part leaves out. An effect that no longer
# passes the funnel would take its deaths with it.
FEWEST = {
    "dispatch": 34,
    "launch": 10,
    "settle": 28,
    "kill": 14,  # it ends processes one by one, or a whole control group at once
    "merge": 80,
    "sweep": 28,
    "resume": 40,
    "merge-together": 140,
    "job": 250,
    "job-in-turn": 250,
    "job-in-place": 160,
    "replace": 12,
    "prove": 10,
    "drain": 34,
    "take-anew": 18,
    "held-tick": 39,
    "dismiss": 10,
    "notify": 10,
    "upkeep": 14,
    "look-after": 12,
    "after-boot": 30,
}

# Of the running test: how many deaths happened, and how many have to.
COUNTED: list[tuple[int, int]] = []
PROPERTY = "deaths"
FOLDER = "tests/crash/"

# The controller imports this before there are workers: they inherit the variable, so all agree. Read once: tests run without it.
OFFSET = int(os.environ.setdefault(VARIABLE, str(random.randrange(_MANY))))
HEADER = f"deaths: a part, replayed by {VARIABLE}={OFFSET}"


def play(scenario: str, store_url: str, every: int) -> list[dict[str, Any]]:
    """Every n-th death of a scenario. Fails when one of them leaves a fault, and when fewer died than the scenario should have."""
    for _ in range(_TRIES):
        cases = run(scenario, store_url, "--every", str(every))
        if any(case["died"] for case in cases):
            break  # else the program of the only effect had ended before it was killed
    whole = cases[0]["deaths"]
    sampled(f"deaths of {scenario}", ran=len(cases), of=whole)
    assert whole >= FEWEST[scenario], f"{HEADER}: {scenario} has {whole} deaths, and had at least {FEWEST[scenario]}"
    enough(cases, floor(scenario, every))
    return cases


def play_twice(scenario: str, store_url: str, most: int) -> list[dict[str, Any]]:
    """So many deaths of a scenario whose recovery is killed as well."""
    cases = run(scenario, store_url, "--double", "--most", str(most))
    assert all(case["second"] for case in cases), HEADER
    sampled(f"double deaths of {scenario}", ran=len(cases), of=None)
    enough(cases, most)
    return cases


def run(scenario: str, store_url: str, *words: str) -> list[dict[str, Any]]:
    """What the harness found. Fails when a death left a fault."""
    line = ["-m", "fleet.testing.crash", scenario, store_url, *words, "--offset", str(OFFSET)]
    done = subprocess.run([sys.executable, *line], capture_output=True, text=True, check=False)
    cases = [json.loads(each) for each in done.stdout.splitlines()]
    faulty = [case for case in cases if case["faults"]]
    assert faulty == [], f"{HEADER}: {faulty}"
    assert done.returncode == 0, f"{HEADER}: {done.stderr}"
    return cases


def floor(scenario: str, every: int) -> int:
    """How many deaths a part has at least."""
    return max(FEWEST[scenario] // every, 1)


def enough(cases: list[dict[str, Any]], least: int) -> None:
    died = sum(case["died"] for case in cases)
    COUNTED.append((died, least))
    assert died >= least, f"{HEADER}: only {died} of {least} deaths happened: {[case['effect'] for case in cases]}"


def summary(reports) -> list[str]:
    """Say how to repeat the part that a run has played, how many deaths happened, and how many had to; nothing without such tests."""
    played = [report for report in reports if report.nodeid.startswith(FOLDER)]
    counted = [value for report in played for name, value in report.user_properties if name == PROPERTY]
    happened, least = (sum(each[at] for each in counted) for at in (0, 1))
    told = [f"deaths: {happened} happened in {len(counted)} tests, at least {least} have to"] if counted else []
    return [HEADER, *told] if played else []

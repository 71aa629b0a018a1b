"""Plays the deaths of a scenario: all of them, or a part that is spread over all effects and begins elsewhere in each run.

The part begins at FLEET_DEATHS_OFFSET, which the controller of a run draws if nobody has set it; `make deaths` plays the whole.
"""

import json
import os
import random
import subprocess
import sys
from typing import Any

VARIABLE = "FLEET_DEATHS_OFFSET"
WHOLE = "FLEET_EVERY_DEATH" in os.environ
TIME = 7_200 if WHOLE else 900
_MANY = 1_000_000


# The controller imports this before there are workers: they inherit the variable, so all agree. Read once: tests run without it.
OFFSET = int(os.environ.setdefault(VARIABLE, str(random.randrange(_MANY))))
HEADER = "deaths: all" if WHOLE else f"deaths: a part, replayed by {VARIABLE}={OFFSET}"


def play(scenario: str, store_url: str, every: int) -> list[dict[str, Any]]:
    """Every n-th death of a scenario, or all. Fails when one of them leaves a fault."""
    every = 1 if WHOLE else every
    words = ["-m", "fleet.testing.crash", scenario, store_url, "--every", str(every), "--offset", str(OFFSET)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    faulty = [f"{case['effect']} ({case['way']}): {case['faults']}" for case in cases if case["faults"]]
    assert faulty == [], f"{HEADER}: {faulty}"
    assert done.returncode == 0, f"{HEADER}: {done.stderr}"
    assert cases, HEADER
    return cases

"""Run the crash harness.

    python -m fleet.testing.crash SCENARIO [STORE] [--every N] [--offset N]             deaths
    python -m fleet.testing.crash SCENARIO [STORE] --held EFFECT                        during one effect, swept while its program runs
    python -m fleet.testing.crash SCENARIO [STORE] --double [--most N] [--offset N]     deaths, and deaths of the recovery

Prints one JSON object a case. Exits with 1 when a case has faults, and with 2 for a wrong command line.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from fleet.testing.crash.catalogue import SCENARIOS
from fleet.testing.crash.double import double_cases
from fleet.testing.crash.harness import cases, held_cases


def _option(option: str, default: int) -> int:
    """Return the number behind an option of the command line."""
    return int(sys.argv[sys.argv.index(option) + 1]) if option in sys.argv else default


def main() -> int:
    """Play the cases of a scenario, and print them."""
    words = [word for word in sys.argv[1:3] if not word.startswith("--")]
    if not words or words[0] not in SCENARIOS:
        sys.stdout.write(f"{__doc__}\nscenarios: {', '.join(SCENARIOS)}\n")
        return 2
    store = words[1] if len(words) > 1 and not words[1].isdigit() else "sqlite"
    scenario, offset = SCENARIOS[words[0]], _option("--offset", 0)
    if "--double" in sys.argv:
        played = double_cases(scenario, store, offset=offset, most=_option("--most", 0))
    elif "--held" in sys.argv:
        played = held_cases(scenario, store, sys.argv[sys.argv.index("--held") + 1])
    else:
        played = cases(scenario, store, every=_option("--every", 1), offset=offset)
    bad = 0
    for case in played:
        bad += bool(case.faults)
        sys.stdout.write(json.dumps(asdict(case)) + "\n")
        sys.stdout.flush()
    return 1 if bad else 0


sys.exit(main())

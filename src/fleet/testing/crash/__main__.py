"""Run the crash harness.

    python -m fleet.testing.crash SCENARIO [STORE] [--every N] [--offset N]             deaths
    python -m fleet.testing.crash SCENARIO [STORE] --held EFFECT                        during one effect, swept while its program runs
    python -m fleet.testing.crash SCENARIO [STORE] --double [--most N] [--offset N]     deaths, and deaths of the recovery
    python -m fleet.testing.crash faults ACT [--every N] [--offset N]                   calls of the system that fail, by strace

Prints one JSON object a case. Exits with 3 when a case has faults, and with 2 for a wrong command line; 1 is a harness that broke.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from fleet.testing.crash.catalogue import FAULTY, SCENARIOS
from fleet.testing.crash.double import double_cases
from fleet.testing.crash.fault_acts import ACTS
from fleet.testing.crash.faults import fault_cases
from fleet.testing.crash.harness import cases, held_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.testing.crash.faults import FaultCase
    from fleet.testing.crash.harness import Case


def _option(option: str, default: int) -> int:
    """Return the number behind an option of the command line; `default` when the option is missing."""
    return int(sys.argv[sys.argv.index(option) + 1]) if option in sys.argv else default


def _chosen_cases() -> Iterator[Case] | Iterator[FaultCase] | None:
    """Return the cases to play according to the command line; None when it is wrong."""
    words = [word for word in sys.argv[1:3] if not word.startswith("--")]
    every, offset = _option("--every", 1), _option("--offset", 0)
    if words[:1] == ["faults"]:
        return fault_cases(words[1], every=every, offset=offset) if words[1:] and words[1] in ACTS else None
    if not words or words[0] not in SCENARIOS:
        return None
    scenario, store = SCENARIOS[words[0]], words[1] if len(words) > 1 else "sqlite"
    if "--double" in sys.argv:
        return double_cases(scenario, store, offset=offset, most=_option("--most", 0))
    if "--held" in sys.argv:
        return held_cases(scenario, store, sys.argv[sys.argv.index("--held") + 1])
    return cases(scenario, store, every=every, offset=offset)


def main() -> int:
    """Play the cases that the command line names, print each, and return the exit code."""
    played = _chosen_cases()
    if played is None:
        sys.stdout.write(f"{__doc__}\nscenarios: {', '.join(SCENARIOS)}\nacts: {', '.join(ACTS)}\n")
        return 2
    bad = 0
    for case in played:
        bad += bool(case.faults)
        sys.stdout.write(json.dumps(asdict(case)) + "\n")
        sys.stdout.flush()
    return FAULTY if bad else 0


sys.exit(main())

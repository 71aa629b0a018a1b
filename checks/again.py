"""Run the tests that have just failed once more, one after the other, unless more failed than the argument allows.

    python checks/again.py 3

A test that fails beside others and passes alone depends on speed or order, which is a bug of the test or of fleet: it is printed
as FLAKY, so that somebody fixes it, and the run counts as passed. A test that fails again fails the run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

OUTCOMES = Path(".build/conformance.json")


def main() -> int:
    """Run the failed tests once more; return pytest's exit code, or 1 when none or too many failed."""
    failed = failed_tests()
    if not 0 < len(failed) <= int(sys.argv[1]):
        return 1
    print(f"\nagain, alone: {' '.join(failed)}", flush=True)
    words = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses=0", *failed]
    rerun = subprocess.run(words, check=False, env={**os.environ, "FLEET_TESTS_AGAIN": "1"})
    still = failed_tests() if rerun.returncode else []
    print("\n".join(f"{'FAILED AGAIN' if name in still else 'FLAKY'} {name}" for name in failed), flush=True)
    return rerun.returncode


def failed_tests() -> list[str]:
    """Return the tests that failed in the newest run of each, by the outcomes that tests/plugins/recording.py wrote."""
    tests = json.loads(OUTCOMES.read_text(encoding="utf-8")) if OUTCOMES.exists() else []
    return [test["test"] for test in tests if test["outcome"] == "failed"]


if __name__ == "__main__":
    sys.exit(main())

"""All crash scenarios by name, and those whose recovery is killed as well."""

from __future__ import annotations

from fleet.testing.crash.daemon_scenarios import DAEMON_SCENARIOS
from fleet.testing.crash.duty_scenarios import DUTY_SCENARIOS
from fleet.testing.crash.job_scenarios import JOB_SCENARIOS
from fleet.testing.crash.merge_scenarios import MERGE_SCENARIOS
from fleet.testing.crash.scenarios import SCENARIOS as SINGLE
from fleet.testing.crash.seat_scenarios import SEAT_SCENARIOS

SCENARIOS = SINGLE | MERGE_SCENARIOS | JOB_SCENARIOS | SEAT_SCENARIOS | DAEMON_SCENARIOS | DUTY_SCENARIOS
# The exit code of a harness that found faults. A harness that breaks ends with 1, as every Python program that raises.
FAULTY = 3
# The scenarios that are also played with double deaths. The effects of a job whose items run side by side come in
# another order each time, so the job is the one whose items run in turn.
DOUBLE = ("dispatch", "settle", "merge", "replace", "job-in-turn")

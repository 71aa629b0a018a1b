"""The recovery from a death is killed too, at one of its own effects: what comes after it finishes the work all the same."""

import pytest
from crash import deaths

from fleet.testing.crash.catalogue import DOUBLE

ROWS = ("STORE-7", "SWEEP-4", "SWEEP-8", "MERGE-5", "REP-10", "JOB-5")


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req(*ROWS)
@pytest.mark.parametrize("scenario", DOUBLE)
def test_a_recovery_that_dies_at_any_effect_is_recovered_from(tmux, scenario):
    deaths.play_twice(scenario, "sqlite", 1)


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("STORE-7", "SWEEP-4", "SWEEP-8")
def test_a_recovery_on_a_server_that_dies_at_any_effect_is_recovered_from(tmux, postgres_url):
    deaths.play_twice(DOUBLE[deaths.OFFSET % len(DOUBLE)], postgres_url, 1)

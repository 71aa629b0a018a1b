"""Killed before, during and after each effect of a Replace, a proof, a drain and a held seat: one holder, nothing left."""

import pytest
from crash import deaths

EVERY = {"sqlite": 15, "postgres": 29}


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("REP-6", "REP-8", "REP-10", "HAND-4", "HAND-2")
@pytest.mark.parametrize("scenario", ["replace", "prove", "drain"])
def test_a_death_at_any_effect_is_carried_on(scenario, store_url_kind, store_url):
    deaths.play(scenario, store_url, EVERY[store_url_kind])


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("GATE-6", "GATE-7", "IPC-6", "REP-10")
@pytest.mark.parametrize("scenario", ["take-anew", "held-tick", "dismiss"])
def test_a_daemon_that_dies_at_any_effect_of_its_duties_is_followed(scenario, store_url_kind, store_url):
    deaths.play(scenario, store_url, EVERY[store_url_kind])

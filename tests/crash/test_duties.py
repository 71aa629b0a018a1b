"""A daemon killed before, during and after each effect of its duties: the next one tells, removes and resumes the rest, once."""

import pytest
from crash import deaths

EVERY = {"sqlite": 7, "postgres": 11}


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("NOTE-1")
def test_a_sender_that_dies_at_any_effect_tells_nothing_twice(store_url_kind, store_url):
    deaths.play("notify", store_url, EVERY[store_url_kind])


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("LOG-1")
def test_a_removal_of_old_records_that_dies_at_any_effect_is_carried_on(store_url_kind, store_url):
    deaths.play("upkeep", store_url, EVERY[store_url_kind])


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("IPC-6")
def test_a_message_whose_daemon_dies_at_any_effect_reaches_its_agent(store_url_kind, store_url):
    deaths.play("look-after", store_url, EVERY[store_url_kind])


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("RES-12")
def test_a_daemon_that_dies_at_any_effect_of_a_resume_after_a_reboot_is_followed(store_url_kind, store_url):
    deaths.play("after-boot", store_url, EVERY[store_url_kind])

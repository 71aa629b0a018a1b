"""A resume that is killed before, during and after each of its effects, and then resumed again: exactly one successor."""

import pytest
from crash import deaths

EVERY = {"sqlite": 15, "postgres": 37}


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("RES-5", "RES-7", "RES-10")
def test_a_resume_that_dies_at_any_effect_can_be_resumed_again(store_url_kind, store_url):
    deaths.play("resume", store_url, EVERY[store_url_kind])

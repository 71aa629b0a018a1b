"""A call of the system fails while fleet writes: the caller is told, nothing is half-written, and the next try succeeds."""

import pytest
from crash import deaths
from plugins.samples import sampled

from fleet.testing.crash import faults

EVERY = {"store": 29, "inbox": 7, "journal": 47, "settings": 47, "dispatch": 71}


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("STORE-10")
@pytest.mark.parametrize("act", EVERY)
def test_a_write_that_fails_is_an_error_and_the_next_try_succeeds(act):
    reason = faults.why_not()
    if reason:
        pytest.skip(reason)
    found = deaths.run("faults", act, "--every", str(EVERY[act]))
    sampled(f"failing calls of {act}", ran=len(found), of=found[0]["of"])
    injected = sum(case["injected"] for case in found)
    assert injected >= max(len(found) - 1, 1), f"{deaths.HEADER}: only {injected} of {len(found)} calls failed"

"""Killed before, during and after each effect, then swept: nothing is left, nothing is lost, nothing alive is touched."""

import pytest
from crash import deaths

EVERY = {"sqlite": 15, "postgres": 37}
# Merging together has the effects of a merge twice, and needs two agents.
EVERY_OF_A_BATCH = {"sqlite": 41, "postgres": 97}
# A job's runner has hundreds of effects, and a death costs a whole job.
EVERY_OF_A_JOB = 151


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("STORE-7", "STORE-8", "SWEEP-4", "SWEEP-8", "DEL-5", "ADO-12", "MERGE-5", "AUD-2")
@pytest.mark.parametrize("scenario", ["dispatch", "launch", "settle", "kill", "merge", "sweep"])
def test_a_death_at_any_effect_is_swept_clean(scenario, store_url_kind, store_url):
    deaths.play(scenario, store_url, EVERY[store_url_kind])


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("MERGE-5")
def test_a_batch_that_died_at_any_effect_is_finished_and_each_task_is_merged_once(store_url_kind, store_url):
    deaths.play("merge-together", store_url, EVERY_OF_A_BATCH[store_url_kind])


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("JOB-5", "RES-11")
@pytest.mark.parametrize("scenario", ["job", "job-in-place"])
def test_a_job_whose_runner_died_at_any_effect_is_resumed_and_every_item_ends_once(scenario, store_url_kind, store_url):
    deaths.play(scenario, store_url, EVERY_OF_A_JOB)

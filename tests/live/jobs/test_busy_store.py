"""A store that is busy for too long ends the runner and not the job."""

import pytest

from fleet.errors.contested import StoreBusy

TEXT = """
name: short
map:
  isolation: none
  input: [a]
  steps:
    - shell: 'true'
"""


@pytest.mark.req("JOB-5")
def test_a_job_whose_runner_found_the_store_busy_is_resumed(either, monkeypatch):
    with either.jobs() as fleet:
        transact = fleet.store.transact

        def busy(why, *more):
            if why.endswith(": 1 items"):
                raise StoreBusy(holder="another writer", seconds=1)
            return transact(why, *more)

        with monkeypatch.context() as patch:
            patch.setattr(fleet.store, "transact", busy)
            with pytest.raises(StoreBusy):
                fleet.jobs.run(either.asked(TEXT), lambda _event: None)
        (job,) = fleet.jobs.list()
        assert (job.state, job.reason) == ("running", None)
    assert either.resume(job.id).state == "done"

"""Work that waits for a verdict or a merge is in nobody's hands: to change what its task says takes it from nobody."""

import pytest
from contract.conftest import caller

from fleet.errors.refused import NeedsOverride
from fleet.store.row import Query
from fleet.verbs.tasks.edit import Edit

TASK = {"project": "p", "slug": "t"}


def moved_to(store, stage: str) -> None:
    sql = f"UPDATE tasks SET stage = '{stage}' WHERE slug = 't'"
    store.transact(f"move to {stage}", lambda tx: {"n": tx.write(Query("move", sql, sql), {})}, caller(stage))


@pytest.fixture
def task(open_fleet, fleet):
    """A task that somebody else has worked on."""
    fleet.tasks.add(title="T", **TASK)
    open_fleet("worker").tasks.claim(**TASK)


@pytest.mark.parametrize("stage", ["review", "finisher"])
def test_another_title_leaves_finished_work_where_it_waits(fleet, store, task, stage):
    moved_to(store, stage)
    fleet.tasks.edit(Edit(title="Another", **TASK))
    after = fleet.tasks.show(**TASK)
    assert (after.title, after.status, after.stage) == ("Another", "in_progress", stage)


def test_another_title_takes_work_away_from_somebody_only_when_that_is_said(fleet, task):
    with pytest.raises(NeedsOverride):
        fleet.tasks.edit(Edit(title="Another", **TASK))
    fleet.tasks.edit(Edit(title="Another", override=True, **TASK))
    assert fleet.tasks.show(**TASK).status == "open"

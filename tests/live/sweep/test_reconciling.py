"""What the store knows is the measure: what is gone is released, what is derived is computed anew."""

import json
import os
from pathlib import Path

import pytest

from fleet.store import queries as q


@pytest.mark.req("SWEEP-5")
def test_a_live_claim_whose_thing_is_gone_is_released(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", "true")
        either.exited(fleet, ident)
        either.tmux("kill-session", "-t", f"=fleet-{ident}")
        os.unlink(f"{either.home}/inbox/{ident}.md")
        either.swept(fleet)
        rows = fleet.store.read(lambda snapshot: q.claims_of_dispatch(snapshot, dispatch=ident))
        assert {row.state for row in rows} <= {"released"}


@pytest.mark.req("DER-1", "DER-2", "SWEEP-1")
def test_what_is_derived_is_computed_from_the_store_and_the_second_time_nothing_changes(either):
    path = Path(either.home, "projects/p/coord-state.json")
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        path.write_text('{"supervisor": {"old": {"agent_id": "ghost"}}, "worker_agent_ids": {"old": "ghost"}}')
        fleet.sweep.run(kill=True, phases=frozenset({"reconcile-derived"}))
        assert json.loads(path.read_text()) == {
            "coordinator": None,
            "supervisor": {"t": {"agent_id": ident, "kind": "worker"}},
            "worker_agent_ids": {"t": ident},
        }
        before = path.stat().st_mtime_ns
        assert fleet.sweep.run(kill=True, phases=frozenset({"reconcile-derived"})) == []
        assert path.stat().st_mtime_ns == before

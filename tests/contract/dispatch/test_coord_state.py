"""coord-state.json is computed from the store: ghosts go, what is missing comes, and the second time nothing changes. On both stores."""

import json

import pytest
from contract.conftest import add_project
from contract.dispatch.journals import begin, write


@pytest.fixture
def reconcile(fleet):
    def run(*, kill: bool = True) -> list:
        return fleet.sweep.run(kill=kill, phases=frozenset({"reconcile-derived"}))

    return run


@pytest.mark.req("DER-1", "DER-2")
def test_it_has_the_holder_of_the_seat_and_the_agent_of_each_task_at_work(fleet, home, reconcile):
    add_project(fleet, "q")
    begin(fleet, "00000001", "a", state="in_flight")
    begin(fleet, "00000002", "b")
    begin(fleet, "00000003", "c", state="failed")
    begin(fleet, "00000004", "a", project="q")
    begin(fleet, "00000005", None, state="in_flight")
    write(fleet, "INSERT INTO seats (project, holder) VALUES ('p', '00000005')")
    reconcile()
    states = {name: json.loads((home / "projects" / name / "coord-state.json").read_text()) for name in ("p", "q")}
    assert states["p"] == {
        "coordinator": "00000005",
        "supervisor": {
            "a": {"agent_id": "00000001", "kind": "worker"},
            "b": {"agent_id": "00000002", "kind": "worker"},
        },
        "worker_agent_ids": {"a": "00000001", "b": "00000002"},
    }
    assert states["q"] == {
        "coordinator": None,
        "supervisor": {"a": {"agent_id": "00000004", "kind": "worker"}},
        "worker_agent_ids": {"a": "00000004"},
    }


@pytest.mark.req("DER-2")
@pytest.mark.parametrize("old", ['{"worker_agent_ids": {"gone": "ghost"}}', "{}", "half a fi"])
def test_a_ghost_goes_and_the_second_time_nothing_changes(fleet, home, reconcile, old):
    begin(fleet, "00000001", "a")
    path = home / "projects/p/coord-state.json"
    path.parent.mkdir(parents=True)
    path.write_text(old)
    assert len(reconcile(kill=False)) == 1
    assert path.read_text() == old, "a dry run writes nothing"
    assert len(reconcile()) == 1
    assert json.loads(path.read_text())["worker_agent_ids"] == {"a": "00000001"}
    before = path.stat()
    assert reconcile() == []
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.req("DER-2")
def test_a_project_in_which_nobody_works_gets_no_file_and_an_old_one_is_emptied(fleet, home, reconcile):
    path = home / "projects/p/coord-state.json"
    assert reconcile() == []
    assert not path.exists()
    path.parent.mkdir(parents=True)
    path.write_text('{"worker_agent_ids": {"gone": "ghost"}}')
    reconcile()
    assert json.loads(path.read_text())["worker_agent_ids"] == {}

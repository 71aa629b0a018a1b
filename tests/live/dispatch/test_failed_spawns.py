"""A failed start gives the task back; too many within an hour park it."""

from pathlib import Path

import pytest
from staging.stage import claim_of, status_of

from fleet.errors.families import FleetError
from fleet.errors.refused import EngineMissing, NotReady
from fleet.errors.tools import TmuxRefused
from fleet.verbs.dispatch.plan import Wanted

WANTED = Wanted(project="p", slug="t", engine="shell", command=("sleep", "1000"))


@pytest.mark.req("GRAPH-8", "STORE-7", "STORE-8")
def test_a_failed_start_gives_the_task_back_and_the_third_within_an_hour_parks_it(either, monkeypatch):
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        with monkeypatch.context() as patch:
            patch.setenv("PATH", either.shim("tmux", "new-session"))
            for number in range(3):
                with pytest.raises(TmuxRefused, match="refused by the test"):
                    fleet.dispatches.start(WANTED)
                assert status_of(fleet, "t")[0] == ("open" if number < 2 else "blocked")
            assert "3 failed starts within an hour" in status_of(fleet, "t")[1]
            assert "refused by the test" in status_of(fleet, "t")[1]
            with pytest.raises(FleetError):
                fleet.dispatches.start(WANTED)
        assert fleet.agents.list() == []
        assert fleet.files.names("inbox") == []
        fleet.tasks.retry(project="p", slug="t")
        either.launched(fleet, fleet.dispatches.start(WANTED).id)


@pytest.mark.req("GRAPH-8", "STORE-7")
@pytest.mark.parametrize(
    ("program", "when"), [("git", " worktree add "), ("git", " checkout --quiet "), ("tmux", "new-session")]
)
def test_a_start_that_fails_at_one_step_undoes_the_steps_before_it(scene, monkeypatch, program, when):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        fleet.world.tmux.ensure_server()
        with monkeypatch.context() as patch:
            patch.setenv("PATH", scene.shim(program, when))
            with pytest.raises(FleetError, match="refused by the test"):
                fleet.dispatches.start(WANTED)
        assert status_of(fleet, "t")[0] == "open"
        assert fleet.world.tmux.listing().panes == ()
        assert fleet.files.names("inbox") == []
        ident = fleet.dispatches.start(WANTED).id
        assert (scene.tree("t") / "README").exists()
        assert claim_of(fleet, "worktree", slug="t").state == "live"
        scene.launched(fleet, ident)


@pytest.mark.req("GRAPH-8")
def test_an_engine_that_is_missing_is_said_before_anything_is_made_and_counts_as_no_failure(either):
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        before = fleet.operations.newest()
        for _ in range(4):
            with pytest.raises(EngineMissing):
                fleet.dispatches.start(Wanted(project="p", slug="t", engine="shell", command=("no-such-program",)))
        assert fleet.operations.newest() == before
        assert status_of(fleet, "t")[0] == "open"


@pytest.mark.req("GRAPH-8")
def test_a_task_rests_after_a_failed_start_for_as_long_as_the_setting_says(either, monkeypatch):
    config = Path(either.home, "config.toml")
    config.write_text(config.read_text().replace('spawn_cooldown = "0s"', 'spawn_cooldown = "1h"'))
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        with monkeypatch.context() as patch:
            patch.setenv("PATH", either.shim("tmux", "new-session"))
            with pytest.raises(TmuxRefused):
                fleet.dispatches.start(WANTED)
        with pytest.raises(NotReady, match="it waits until"):
            fleet.dispatches.start(WANTED)
        assert fleet.tasks.ready(project="p") == []

"""Letting go: judged at the very moment it happens, and never left to one process that has failed or died."""

import contextlib
import os
import signal
from pathlib import Path

import pytest
from staging.stage import answer, claim_of, is_alive, status_of

from fleet.errors.families import Contested
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.resume import work_lock

TASK = {"project": "p", "slug": "t"}
AGAIN = Wanted(**TASK, engine="shell", command=("sleep", "1000"), wait=0)


@pytest.fixture
def torn_down(either):
    """A store, a home, and a clean tree of an archived task; a command runs in it before it goes."""
    Path(either.repository, "fleet.toml").write_text('[worktree]\nteardown = "true"\n')
    with either.fleet() as fleet:
        either.without_hint(fleet)
        either.killed(fleet, "t")
        fleet.tasks.archive(**TASK)
    return either


@pytest.mark.req("ADO-5", "ADO-9", "SWEEP-8")
@pytest.mark.parametrize("where", ["before", "after"])
def test_whoever_is_dispatched_while_a_sweep_lets_the_tree_go_has_a_tree(torn_down, monkeypatch, where):
    monkeypatch.setattr(work_lock, "WAIT", 0.0)
    with torn_down.fleet() as fleet:
        releaser = torn_down.halted(where, "worktree.teardown", "sweep")
        fleet.tasks.retry(**TASK)
        with contextlib.suppress(Contested):  # it may have to wait until the old one is gone
            fleet.dispatches.start(AGAIN)
        os.kill(releaser.pid, signal.SIGCONT)
        assert answer(releaser).code == 0
        (ident,) = [agent["id"] for agent in fleet.agents.list()] or [fleet.dispatches.start(AGAIN).id]
        who = torn_down.launched(fleet, ident)
        assert (torn_down.tree("t") / "README").exists(), "a live agent's worktree was removed"
        assert torn_down.git("rev-parse", "--abbrev-ref", "HEAD", cwd=str(torn_down.tree("t"))) == "worker/t"
        assert {claim_of(fleet, kind, slug="t").state for kind in ("worktree", "worker_dir")} == {"live"}
        assert is_alive(who.pid)


@pytest.mark.req("ADO-9", "SWEEP-8")
def test_a_tree_whose_task_came_back_while_a_sweep_made_it_ready_to_go_is_kept(torn_down):
    with torn_down.fleet() as fleet:
        releaser = torn_down.halted("after", "worktree.teardown", "sweep")
        fleet.tasks.retry(**TASK)
        os.kill(releaser.pid, signal.SIGCONT)
        assert answer(releaser).code == 0
        assert (torn_down.tree("t") / "README").exists()
        assert claim_of(fleet, "worktree", slug="t").state == "live"


@pytest.mark.req("GRAPH-8", "STORE-7", "SWEEP-4")
@pytest.mark.parametrize("how", ["sweep", "dispatch"])
def test_a_tree_that_could_not_be_made_is_freed_though_its_dispatcher_died_before_it_undid_it(either, how):
    with either.fleet() as fleet:
        fleet.tasks.add(**TASK, title="T")
        broken = either.shim("git", " checkout --quiet ")
        dispatcher = either.halted("after", "commit coord_prompt_inbox", "dispatch", "t", PATH=broken)
        dispatcher.kill()
        dispatcher.wait(60)
        left = [(each.kind, each.state) for each in fleet.claims.list() if each.kind != "worker_dir"]
        assert left == [("worktree", "failed_alloc")], "all else was released by then"
        if how == "sweep":
            either.swept(fleet)
            assert [each for each in fleet.claims.list("adoptable") if each.state == "failed_alloc"] == []
        assert status_of(fleet, "t")[0] == "open"
        either.launched(fleet, fleet.dispatches.start(AGAIN).id)
        assert (either.tree("t") / "README").exists()


@pytest.mark.req("EXC-6", "SWEEP-1", "SWEEP-6")
def test_a_session_that_a_living_process_could_not_release_is_released_by_the_next_sweep_of_another(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", "true")
        either.exited(fleet, ident)
        broken = either.shim("tmux", "kill-pane")
        first = either.halted("end", "", "settle", ident, PATH=broken)
        assert (claim_of(fleet, "tmux_session", ident).state, is_alive(first.pid)) == ("releasing", True)
        fleet.sweep.run(kill=True)
        assert claim_of(fleet, "tmux_session", ident).state == "released"
        assert fleet.world.tmux.listing().pane(f"fleet-{ident}") is None
        assert is_alive(first.pid), "it was released beside it"


@pytest.mark.req("ADO-6", "STORE-6", "STORE-7")
@pytest.mark.parametrize("how", ["sweep", "dispatch"])
def test_a_tree_that_a_living_process_could_not_release_is_released_or_taken_over_by_another(either, how):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.killed(fleet, "t")
        fleet.tasks.archive(**TASK)
        broken = either.shim("git", " worktree remove ")
        first = either.halted("end", "", "settle", ident, PATH=broken)
        assert (claim_of(fleet, "worktree", slug="t").state, is_alive(first.pid)) == ("releasing", True)
        if how == "sweep":
            fleet.sweep.run(kill=True)
            assert (either.tree("t").exists(), fleet.claims.list("adoptable")) == (False, [])
            return
        fleet.tasks.retry(**TASK)
        either.launched(fleet, fleet.dispatches.start(AGAIN).id)
        assert (either.tree("t") / "README").exists()
        assert claim_of(fleet, "worktree", slug="t").state == "live"


@pytest.mark.req("ADO-5", "SWEEP-7")
def test_a_worker_folder_that_was_there_before_its_claim_is_left(either):
    folder = Path(either.home, "projects", "p", "workers", "t")
    folder.mkdir(parents=True)
    (folder / "notes").write_text("of a database that was lost")
    with either.fleet() as fleet:
        either.without_hint(fleet)
        either.killed(fleet, "t")
        (folder / "set-up").write_text("")
        fleet.tasks.archive(**TASK)
        either.swept(fleet)
        assert fleet.claims.list("adoptable") == []
        assert [each.name for each in folder.iterdir()] == ["notes"]
    (folder / "notes").unlink()
    folder.rmdir()

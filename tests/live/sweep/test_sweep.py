"""The sweep: what bears our mark and has ended goes, once; everything else is said and left alone."""

import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest
from plugins.account import command_of
from staging.stage import FLEET, acted, answer, claim_of, is_alive, raw, standing, status_of

from fleet.testing.crash.scenarios import until

SWEEP = (FLEET, "maintenance", "sweep-leaks", "--kill")


def everything(scene, fleet) -> tuple:
    """All that a sweep could change."""
    ops = fleet.operations.newest()
    panes = sorted((pane.session, pane.dead) for pane in fleet.world.tmux.listing().panes)
    trees = sorted(tree.path for tree in fleet.world.git.worktrees(scene.repository) or ())
    return ops, panes, trees, fleet.files.names("inbox"), sorted(each.state for each in fleet.claims.list())


@pytest.mark.req("SWEEP-1", "SWEEP-2", "SWEEP-8")
def test_the_default_is_a_dry_run_that_says_what_and_why_and_touches_nothing(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", "true")
        either.exited(fleet, ident)
        until(lambda: all(pane.dead for pane in either.told_again(fleet).panes))
        before = everything(either, fleet)
        said = either.program("maintenance", "sweep-leaks")
        assert said.code == 0
        assert f"dispatch {ident}" in said.out
        assert "would settle it" in said.out
        assert "its process is dead" in said.out
        assert everything(either, fleet) == before
        assert not os.path.exists(f"{either.home}/projects/p/coord-state.json")
        assert answer(either.start(*SWEEP)).code == 0
        assert fleet.agents.list() == []
        assert acted(fleet.sweep.run(kill=True)) == []


@pytest.mark.req("SWEEP-1")
def test_phases_can_be_chosen(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "true")
        scene.exited(fleet, ident)
        assert answer(scene.start(*SWEEP, "--retry-releases", "--reconcile-derived")).code == 0
        assert [agent.id for agent in fleet.agents.list()] == [ident], "orphans were not asked for"
        assert answer(scene.start(*SWEEP, "--orphans")).code == 0
        assert fleet.agents.list() == []


@pytest.mark.req("SWEEP-3", "EXC-9", "AUD-1")
def test_what_only_looks_like_ours_and_what_is_history_is_listed_or_ignored_and_never_touched(scene):
    scene.forgiven = {"session", "inbox", "worktrees"}
    kept = ["inbox/00000001.md", "projects/p/worktrees/stray/x", "handoffs/h.md", "incidents/i.md", "subagent-wip/s.md",
            "queue/q.json", "agents/archive/a.json", "dispatches/archive/z.json", "inbox/archive/00000002.md",
            "projects/p/subagents/n.md", "locks/any.lock"]  # fmt: skip
    for name in kept:
        path = Path(scene.home, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept")
    with scene.fleet() as fleet:
        fleet.world.tmux.ensure_server()
        scene.tmux("new-session", "-d", "-s", "fleet-00000003", "sleep", "1000")
        found = fleet.sweep.run(kill=True)
        assert acted(found) == []
        for name in ("fleet-00000003", "inbox/00000001.md", "worktrees/stray"):
            assert any(name in line for line in standing(found)), name
        assert len(found) == 3
        assert all(Path(scene.home, name).exists() for name in kept)
        assert fleet.world.tmux.listing().pane("fleet-00000003") is not None


@pytest.mark.req("SWEEP-3", "SWEEP-10")
def test_after_a_restored_backup_what_bears_our_mark_but_is_unknown_is_reported_never_killed(scene):
    scene.forgiven = {"session", "process", "worktree", "inbox", "workers", "lock", "cgroup"}
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
    with sqlite3.connect(f"{scene.home}/fleet.db") as db:
        db.execute("VACUUM INTO ?", (f"{scene.root}/backup.db",))
    db.close()
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        who = scene.launched(fleet, ident)
    for name in os.listdir(scene.home):
        if name.startswith("fleet.db"):
            os.unlink(f"{scene.home}/{name}")
    os.rename(f"{scene.root}/backup.db", f"{scene.home}/fleet.db")
    with scene.fleet() as fleet:
        found = fleet.sweep.run(kill=True)
        assert acted(found) == []
        assert any("neither in the database nor archived" in line for line in standing(found))
        assert fleet.world.tmux.listing().pane(f"fleet-{ident}") is not None
    assert is_alive(who.pid)
    assert (scene.tree("t") / "README").exists()


@pytest.mark.req("SWEEP-10")
@pytest.mark.parametrize("when", ["from the start", "in the middle"])
def test_a_database_that_cannot_be_read_is_an_error_and_nothing_is_killed(either, store_url_kind, when):
    either.forgiven = {"everything"}
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        who = either.launched(fleet, ident)
        until(lambda: command_of(who.pid)[:1] == ["sleep"])  # its launch needs the store no more
    child = either.halted("after", "tmux list", "sweep") if when == "in the middle" else None
    _spoil(either, store_url_kind)
    if child is None:
        said = answer(either.start(*SWEEP))
    else:
        os.kill(child.pid, signal.SIGCONT)
        said = answer(child)
    assert said.code not in {0, None}, said
    assert is_alive(who.pid)
    assert (either.tree("t") / "README").exists()
    assert os.path.exists(f"{either.home}/inbox/{ident}.md")


def _spoil(scene, kind: str) -> None:
    if kind == "sqlite":
        for name in [name for name in ("fleet.db", "fleet.db-wal") if os.path.exists(f"{scene.home}/{name}")]:
            with open(f"{scene.home}/{name}", "r+b") as file:
                file.write(b"not a database at all" * 5_000)
    else:
        scene._database.close()


@pytest.mark.req("SWEEP-8")
@pytest.mark.parametrize(
    "where",
    ["commit dispatch", "mkdir worker_dir", "git worktree add", "git checkout", "publish inbox/", "tmux new-session"],
)
def test_a_sweep_while_a_dispatch_is_starting_changes_nothing(scene, where):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        child = scene.halted("after", where, "dispatch", "t")
        assert acted(fleet.sweep.run(kill=True)) == []
        os.kill(child.pid, signal.SIGCONT)
        said = answer(child)
        assert said.code == 0, said
        scene.launched(fleet, said.out.strip())


@pytest.mark.req("SWEEP-8", "SWEEP-4", "EXC-11")
def test_a_sweep_leaves_an_agent_alone_whose_launch_is_slow_though_its_dispatcher_is_gone(either, slow_fleet):
    program, let_go = slow_fleet
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        ident = either.dispatch_and_leave("t", TEST_FLEET_PROGRAM=program)
        assert acted(fleet.sweep.run(kill=True)) == []
        assert fleet.context.dispatch(ident).exec_state == "pending"
        let_go()
        either.launched(fleet, ident)
        assert status_of(fleet, "t")[0] == "in_progress"


@pytest.mark.req("SWEEP-8")
def test_sweeps_and_dispatches_at_once_lose_nothing(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        for number in range(3):
            either.exited(fleet, either.dispatch(fleet, f"dead{number}", "true"))
        for number in range(3):
            fleet.tasks.add(project="p", title="T", slug=f"new{number}")
    words = ("-p", "p", "--engine", "shell", "--", "sleep", "1000")
    children = [either.start(FLEET, "dispatch", f"new{number}", *words) for number in range(3)]
    children += [either.start(*SWEEP) for _ in range(4)]
    said = [answer(child) for child in children]
    assert [each for each in said if each.code or "Traceback" in each.err] == []
    assert [each.out for each in said if "could not" in each.out] == []
    with either.fleet() as fleet:
        either.swept(fleet)
        assert sorted(agent.task for agent in fleet.agents.list()) == ["new0", "new1", "new2"]
        for agent in fleet.agents.list():
            assert is_alive(either.launched(fleet, agent.id).pid)
        assert {status_of(fleet, f"dead{number}")[0] for number in range(3)} == {"blocked"}
        assert acted(fleet.sweep.run(kill=True)) == []


@pytest.mark.req("SWEEP-8", "EXC-11")
def test_a_dispatcher_that_finishes_while_it_is_judged_has_not_left_its_dispatch(scene, monkeypatch):
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "first", "sleep", "1000")
        fleet.tasks.add(project="p", title="T", slug="t")
        dispatcher = scene.halted("before", "tmux new-session", "dispatch", "t")
        life = fleet.world.processes.life

        def late(who):
            if who is not None and who.pid == dispatcher.pid and dispatcher.poll() is None:
                os.kill(dispatcher.pid, signal.SIGCONT)
                answer(dispatcher)
            return life(who)

        with monkeypatch.context() as patch:
            patch.setattr(fleet.world.processes, "life", late)
            found = fleet.sweep.run(kill=True)
        assert dispatcher.returncode == 0
        assert [each for each in found if "dispatch " in each.what] == []
        assert {agent.task for agent in fleet.agents.list()} == {"first", "t"}


@pytest.mark.req("SWEEP-6", "SWEEP-1", "OBS-3", "STORE-8")
def test_three_failed_releases_block_the_reclamation_visibly_until_it_works(scene, monkeypatch):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "true")
        scene.exited(fleet, ident)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", scene.shim("tmux", "kill-pane"))
            until(
                lambda: (
                    fleet.sweep.run(kill=True) and claim_of(fleet, "tmux_session", ident).state == "releasing_blocked"
                )
            )
            assert claim_of(fleet, "tmux_session", ident).failures >= 3
            assert fleet.dispatches.list()[0].recl_state == "blocked"
            assert any(ident in line for line in standing(fleet.sweep.run(kill=False))), "blocked is a standing finding"
            said = scene.program("status").out
            assert "dispatches: 0 active, 1 blocked-reclaim" in said
        scene.swept(fleet)
        assert claim_of(fleet, "tmux_session", ident).state == "released"


@pytest.mark.req("SWEEP-7", "EXC-10")
def test_claims_of_another_host_are_never_touched(scene):
    scene.forgiven = {"everything"}
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "true")
        scene.exited(fleet, ident)
    with sqlite3.connect(f"{scene.home}/fleet.db") as db:
        db.execute("UPDATE claims SET host = 'elsewhere'")
        db.execute("UPDATE dispatches SET host = 'elsewhere', exec_state = 'failed'")
    db.close()
    with scene.fleet() as fleet:
        found = fleet.sweep.run(kill=True)
        assert acted(found) == []
        assert any("elsewhere" in line for line in standing(found))
        assert fleet.world.tmux.listing().pane(f"fleet-{ident}") is not None
        assert os.path.exists(f"{scene.home}/inbox/{ident}.md")


@pytest.mark.req("SWEEP-12", "SWEEP-3")
def test_processes_that_carry_the_mark_of_an_ended_dispatch_are_listed_and_ended_and_others_are_not(either):
    with either.fleet() as fleet:
        ended = either.killed(fleet, "t")
        mine = subprocess.Popen(["sleep", "1000"], env=either.around(FLEET_DISPATCH_ID=ended))
        foreign = subprocess.Popen(
            ["sleep", "1000"], env={**os.environ, "FLEET_HOME": "/elsewhere", "FLEET_DISPATCH_ID": ended}
        )
        nobody = subprocess.Popen(["sleep", "1000"], env=either.around(FLEET_DISPATCH_ID="00000000"))
        try:
            dry = fleet.sweep.run(kill=False)
            assert any(f"process {mine.pid}" in each.what and "would" in each.action for each in dry)
            assert mine.poll() is None
            fleet.sweep.run(kill=True)
            assert mine.wait(60) == -signal.SIGKILL
            assert nobody.poll() is None, "its dispatch is in neither tables nor archive"
            assert foreign.poll() is None, "it bears another home's mark"
        finally:
            for child in (mine, foreign, nobody):
                child.kill()
                child.wait(60)


@pytest.mark.req("SWEEP-3", "SWEEP-2", "SWEEP-8")
def test_a_session_of_ours_that_no_claim_speaks_of_is_killed_when_its_dispatch_has_ended_and_only_then(either):
    with either.fleet() as fleet:
        ended, at_work = either.killed(fleet, "t"), either.dispatch(fleet, "other", "sleep", "1000")
        who = either.launched(fleet, at_work)
        assert claim_of(fleet, "tmux_session", ended).state == "released"
        raw(fleet, f"UPDATE claims SET state = 'released' WHERE name = 'fleet-{at_work}'")
        either.tmux("new-session", "-d", "-s", f"fleet-{ended}", "sleep", "1000")
        for option, value in {"@fleet_dispatch": ended, "@fleet_home": fleet.world.tmux.home_id}.items():
            either.tmux("set-option", "-t", f"=fleet-{ended}:", option, value)
        dry = fleet.sweep.run(kill=False)
        assert any(f"fleet-{ended}" in each.what and each.action.startswith("would") for each in dry)
        assert fleet.world.tmux.listing().pane(f"fleet-{ended}") is not None
        fleet.sweep.run(kill=True)
        assert fleet.world.tmux.listing().pane(f"fleet-{ended}") is None
        assert is_alive(who.pid)
        assert fleet.world.tmux.listing().pane(f"fleet-{at_work}") is not None
        assert acted(fleet.sweep.run(kill=True)) == []
        raw(fleet, f"UPDATE claims SET state = 'live' WHERE name = 'fleet-{at_work}'")


@pytest.mark.req("SWEEP-1", "SWEEP-8", "STORE-8")
def test_a_sweep_does_not_say_that_it_settled_what_it_could_not(either, once):
    with either.fleet() as fleet, either.fleet("other") as other:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", "true")
        either.exited(fleet, ident)
        late = []

        def come_late() -> None:
            """Somebody of that dispatch appears and reports, when it was thought to be over."""
            late.append(either.start("sleep", "1000", env=either.around(FLEET_DISPATCH_ID=ident)))
            raw(other, f"UPDATE dispatches SET report = 'blocked', reported_at = updated_at WHERE id = '{ident}'")

        fleet.funnel.watcher = once("before", "tmux capture-pane", come_late)
        (found,) = [each for each in fleet.sweep.run(kill=True) if f"dispatch {ident}" in each.what]
        fleet.funnel.watcher = None
        assert (found.done, found.standing) == (False, True)
        assert found.action == f"could not settle it: it left processes behind: {late[0].pid}"
        assert [agent.id for agent in fleet.agents.list()] == [ident]
        late[0].kill()
        late[0].wait(60)
        either.swept(fleet)
        assert fleet.agents.list() == []

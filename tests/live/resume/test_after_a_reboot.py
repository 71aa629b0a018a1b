"""After a reboot: everything that was at work is interrupted, shown so, left alone, and brought back when it is wanted."""

import contextlib
import os
import signal
from pathlib import Path

import pytest
from staging.stage import bundle_of, process_of, raw, status_of

from fleet.errors.refused import NotResumable
from fleet.model.identity import Identity
from fleet.testing.crash.scenarios import until
from fleet.verbs.coord.tick import tick
from fleet.verbs.dispatch.plan import Wanted

SLEEP = ("sleep", "1000")
PLACES = {"dispatches": ("spawner", "process", "server"), "claims": ("actor", "data")}


def at_work(stage, fleet, *slugs: str) -> list[str]:
    found = [stage.dispatch(fleet, slug, *SLEEP) for slug in slugs]
    for ident in found:
        stage.launched(fleet, ident)
    return found


def reboot(stage, fleet, *idents: str) -> None:
    """All processes are gone at one blow, and so is the boot that they were of."""
    whom = [process_of(fleet, ident) for ident in idents]
    server = fleet.world.tmux.listing().server
    for who in (server, *whom):
        with contextlib.suppress(ProcessLookupError):  # it may have died with the server
            os.kill(who.pid, signal.SIGKILL)
    until(lambda: all(fleet.world.processes.life(who) == "dead" for who in (server, *whom)))
    until(lambda: not stage.processes())
    boot = fleet.world.host.boot
    for table, columns in PLACES.items():
        for column in columns:
            raw(fleet, f"UPDATE {table} SET {column} = REPLACE({column}, '{boot}', 'boot-before')")


@pytest.mark.req("RES-12")
def test_what_was_at_work_is_interrupted_and_its_work_is_kept(either):
    with either.fleet() as fleet:
        (ident,) = at_work(either, fleet, "t")
        (either.tree("t") / "half.txt").write_text("work")
        reboot(either, fleet, ident)
        assert [agent.state for agent in fleet.agents.list()] == ["interrupted"]
        fleet.sweep.run(kill=True)
        assert status_of(fleet, "t") == ("blocked", "interrupted")
        journal = fleet.dispatches.show(ident)
        assert (journal.exec_state, journal.blocked_reason) == ("blocked", "interrupted")
        for _ in range(2):
            fleet.sweep.run(kill=True)
        assert bundle_of(fleet, "t").owner == ident
        assert (either.tree("t") / "half.txt").read_text() == "work"
        (either.tree("t") / "half.txt").unlink()
        said = either.program("status").out
    assert "interrupted" in said


@pytest.mark.req("RES-12")
@pytest.mark.parametrize("kind", ["worker", "fix"])
def test_the_tick_neither_retries_nor_discards_what_was_interrupted(either, kind):
    Path(either.repository, "fleet.toml").write_text('engine = "scripted"\n')  # so that a tick could start somebody
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        if kind == "fix":
            raw(fleet, "UPDATE tasks SET stage = 'fix', status = 'blocked', reason = 'red' WHERE slug = 't'")
        done = fleet.dispatches.start(Wanted(project="p", slug="t", kind=kind, engine="shell", command=SLEEP))
        assert done.kind == kind
        either.launched(fleet, done.id)
        reboot(either, fleet, done.id)
        raw(fleet, "INSERT INTO seats (project, holder, epoch) VALUES ('p', '0c00cd00', 1)")
        told = [tick(fleet.context, "p", "0c00cd00") for _ in range(2)]
        assert any(done.id in line for line in told[0].done), "it was settled"
        assert [line for each in told for line in each.done if "started" in line] == []
        assert [each.troubles for each in told] == [[], []]
        assert status_of(fleet, "t") == ("blocked", "interrupted")
        assert bundle_of(fleet, "t").owner == done.id
        (back,) = fleet.dispatches.resume_all().resumed
        assert (back.predecessor, back.kind) == (done.id, kind)
        raw(fleet, "DELETE FROM seats")


@pytest.mark.req("RES-12")
def test_all_brings_everything_back_oldest_first_and_within_the_limits(narrow):
    with narrow.fleet() as fleet:
        first = at_work(narrow, fleet, "a", "b")
        reboot(narrow, fleet, *first)
        fleet.sweep.run(kill=True)
        third = at_work(narrow, fleet, "c")
        reboot(narrow, fleet, *third)
        done = fleet.dispatches.resume_all()
        assert [each.predecessor for each in done.resumed] == first
        assert [each.id for each in done.waiting] == third
        assert "too many agents at work: 2 of 2" in done.waiting[0].why
        assert status_of(fleet, "c") == ("blocked", "interrupted")
        for each in done.resumed:
            narrow.launched(fleet, each.id)
        fleet.dispatches.kill(done.resumed[0].id, "makes room")
        again = fleet.dispatches.resume_all()
        assert [each.predecessor for each in again.resumed] == third
        assert fleet.dispatches.resume_all().as_json() == {"resumed": [], "waiting": [], "jobs": []}
        assert len(fleet.agents.list()) == 2


@pytest.mark.req("RES-12")
def test_what_a_person_stopped_or_that_has_finished_is_not_brought_back_by_all(either):
    with either.fleet() as fleet:
        lost, stopped, killed = at_work(either, fleet, "lost", "stopped", "killed")
        fleet.dispatches.stop(stopped)
        fleet.dispatches.kill(killed, "enough")
        reboot(either, fleet, lost)
        listed = {each.id: each.interrupted for each in fleet.dispatches.resumable("p")}
        assert listed == {lost: True, stopped: False}
        assert fleet.dispatches.resumable("another") == []
        done = fleet.dispatches.resume_all("p")
        assert [each.predecessor for each in done.resumed] == [lost]
        assert status_of(fleet, "stopped") == ("blocked", "stopped")
        assert fleet.dispatches.resume(stopped).predecessor == stopped


@pytest.mark.req("RES-12", "RES-13")
def test_a_boot_that_cannot_be_told_is_no_proof_of_death(scene):
    with scene.fleet() as fleet:
        (ident,) = at_work(scene, fleet, "t")
        who = process_of(fleet, ident)
        blind = Identity(host=who.host, boot="", pid=who.pid, start=who.start)
        raw(fleet, f"UPDATE dispatches SET process = '{blind}' WHERE id = '{ident}'")
        with pytest.raises(NotResumable, match="unknown"):
            fleet.dispatches.resume(ident)
        assert fleet.dispatches.resumable() == []
        raw(fleet, f"UPDATE dispatches SET process = '{who}' WHERE id = '{ident}'")


@pytest.mark.req("RES-12")
def test_the_command_line_brings_back_and_says_what_waits(narrow):
    with narrow.fleet() as fleet:
        first = at_work(narrow, fleet, "a", "b")
        reboot(narrow, fleet, *first)
        fleet.sweep.run(kill=True)
        (third,) = at_work(narrow, fleet, "c")
        reboot(narrow, fleet, third)
    said = narrow.program("resume", "--all")
    assert said.code == 0, said
    assert all(f"after {ident}, " in said.out for ident in first)
    assert f"{third} (p/c) waits: too many agents at work" in said.out
    with narrow.fleet() as fleet:
        for agent in fleet.agents.list():
            narrow.launched(fleet, agent.id)
            fleet.dispatches.kill(agent.id, "enough")
    assert narrow.program("resume", "--all", "-p", "p").code == 0
    assert narrow.program("resume", "--all").out == "nothing was interrupted\n"


@pytest.mark.req("RES-12")
def test_a_coordinator_that_was_lost_comes_back_to_its_seat(either):
    with either.fleet() as fleet:
        old = fleet.coord.start(Wanted(project="p", slug=None, kind="coord", engine="fleet")).id
        either.launched(fleet, old)
        reboot(either, fleet, old)
        (left,) = fleet.dispatches.resumable()
        assert (left.id, left.task, left.interrupted) == (old, None, True)
        (back,) = fleet.dispatches.resume_all().resumed
        assert (back.predecessor, back.kind) == (old, "coord")
        assert [(agent.id, agent.kind) for agent in fleet.agents.list()] == [(back.id, "coord")]
        assert fleet.dispatches.resumable() == []
        with pytest.raises(NotResumable, match=back.id):
            fleet.dispatches.resume(old)

"""Replace: the coordinator is changed with one holder at every moment, by a proof that nobody else has."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest
from live.coord.seats import (
    PROVES,
    SLEEP,
    STUBBORN,
    asked,
    candidate,
    coordinator,
    environment,
    newest,
    nonce_of,
    replaced,
    replacing,
    seat,
    seated,
    speaking,
    ticked,
    until,
)
from staging.stage import FLEET, answer, is_alive, process_of, raw, standing

import fleet.world.tmux as tmux_module
from fleet.errors.absent import NoCoordinator
from fleet.errors.contested import GateHeld, ReplaceInProgress
from fleet.errors.refused import CoordinatorLives, NotProven
from fleet.errors.superseded import NotSeated
from fleet.errors.tools import TmuxRefused
from fleet.model.dispatch.one_time_proof import hash_nonce
from fleet.verbs.coord import replace


def never_proven(stage, fleet) -> str:
    """A candidate that was launched, and whose time is over."""
    waiting = replacing(stage, *SLEEP)
    new = candidate(stage, fleet)
    nonce_of(stage, fleet, new)
    raw(fleet, "UPDATE seats SET deadline = 1")
    assert "NotProven" in answer(waiting).err
    return new


@pytest.mark.req("REP-1", "REP-2", "REP-6", "REP-12")
def test_a_living_coordinator_is_replaced_in_one_transaction(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        before = seat(fleet)
        made = fleet.coord.replace(coordinator())
        new = made.id
        assert (made.replaces, made.epoch) == (old, before.epoch + 1)
        assert (seat(fleet).holder, seat(fleet).epoch) == (new, before.epoch + 1)
        assert (seat(fleet).candidate, seat(fleet).deadline) == (None, None)
        [taken] = [
            row for row in asked(fleet, "SELECT * FROM operations") if row["why"] == f"{new} takes the seat of p"
        ]
        for told in (f'"holder": "{new}"', f'"was": "{old}"', f'"epoch": {before.epoch + 1}'):
            assert told in taken["what"], taken["what"]
        [spent] = asked(fleet, "SELECT * FROM nonces")
        [prompt] = asked(fleet, "SELECT * FROM messages WHERE kind = 'resume'")
        assert (spent["spent_at"], prompt["sent_at"], prompt["dispatch"]) == (taken["at"], taken["at"], new)
        assert fleet.dispatches.show(new).predecessor == old


@pytest.mark.req("REP-3", "REP-4", "REP-8")
def test_the_proof_is_known_to_the_new_one_alone_and_is_presented_once(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        waiting = replacing(either, *SLEEP)
        new = candidate(either, fleet)
        nonce = nonce_of(either, fleet, new)
        told = dict(each.partition("=")[::2] for each in environment(process_of(fleet, new).pid))
        assert (told["FLEET_DISPATCH_ID"], told["FLEET_PROJECT"]) == (new, "p")
        others = [pid for pid in either.processes() if pid != process_of(fleet, new).pid]
        assert not [pid for pid in others if any(nonce in each for each in environment(pid))]
        assert nonce not in either.tmux("show-environment", "-g") + either.tmux(
            "show-environment", "-t", f"fleet-{new}"
        )
        [kept] = asked(fleet, "SELECT * FROM nonces")
        assert (kept["dispatch"], kept["hash"], kept["spent_at"]) == (new, hash_nonce(nonce), None)
        if not either._database:
            assert nonce not in "\n".join(sqlite3.connect(f"{either.home}/fleet.db").iterdump())

        at = newest(fleet)
        for given in ("", "0" * len(nonce)):
            refused = speaking(either, new, "coord", "tick", nonce=given)
            assert (refused.code, f"{old} does" in refused.err) == (13, True), refused
        assert speaking(either, new, "task", "add", "Early", "-p", "p").code == 13
        assert newest(fleet) == at, "until the proof nothing is changed"

        first = ticked(either, new, nonce=nonce)
        assert (seat(fleet).holder, answer(waiting).code) == (new, 0)
        [resume] = first["messages"]
        assert (resume["kind"], f"after {old}" in resume["text"]) == ("resume", True)
        epoch = seat(fleet).epoch
        again = ticked(either, new, nonce=nonce)
        assert [each["id"] for each in again["messages"]] == [resume["id"]], "the same id until it is acknowledged"
        assert seat(fleet).epoch == epoch, "presenting again is a no-op"
        assert ticked(either, new, "--ack", resume["id"])["messages"] == []
        applied = asked(fleet, "SELECT acknowledged_at FROM messages")
        assert ticked(either, new, "--ack", resume["id"], nonce="0" * len(nonce))["messages"] == []
        assert asked(fleet, "SELECT acknowledged_at FROM messages") == applied, "applied once"


@pytest.mark.req("REP-5", "REP-7")
def test_one_that_never_proves_itself_is_withdrawn_and_the_old_one_is_untouched(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        before, who = seat(fleet), process_of(fleet, old)
        with pytest.raises(NotProven) as refused:
            fleet.coord.replace(coordinator(*SLEEP, proof=1.0))
        new = refused.value.facts["dispatch"]
        assert refused.value.code == 14
        assert f"ownership not proven: the new coordinator {new}" in str(refused.value)
        assert "within 1 s" in str(refused.value)
        assert seat(fleet) == before
        assert process_of(fleet, old) == who
        assert is_alive(who.pid)
        assert [agent.id for agent in fleet.agents.list()] == [old]
        assert {claim.dispatch for claim in fleet.claims.list()} == {old}
        assert [pane.session for pane in fleet.world.tmux.listing().panes] == [f"fleet-{old}"]


@pytest.mark.req("REP-5", "REP-7")
def test_a_proof_that_was_never_presented_is_shown_as_evidence(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        assert fleet.coord.show("p").stale_proofs == []
        new = never_proven(either, fleet)
        [evidence] = fleet.coord.show("p").stale_proofs
        assert evidence.dispatch == new
        assert f"never proven: {new}" in either.program("coord", "status", "-p", "p").out
        assert any(
            f"dispatch {new}: " in line and "never proved" in line for line in standing(fleet.sweep.run(kill=True))
        )
        assert seat(fleet).holder == old


@pytest.mark.req("REP-7")
def test_spent_proofs_go_after_a_month_and_unspent_ones_never(either, monkeypatch):
    with either.fleet() as fleet:
        _old, new = replaced(either, fleet)
        never_proven(either, fleet)
        either.swept(fleet)
        assert len(asked(fleet, "SELECT * FROM nonces")) == 2
        month = 30 * 24 * 3_600 * 1_000
        raw(fleet, f"UPDATE nonces SET minted_at = minted_at - {month}, spent_at = spent_at - {month}")
        monkeypatch.setenv("FLEET_REPLACE_NONCE_RETENTION_DAYS", "31")
        fleet.sweep.run(kill=True)
        assert len(asked(fleet, "SELECT * FROM nonces")) == 2
        monkeypatch.delenv("FLEET_REPLACE_NONCE_RETENTION_DAYS")
        fleet.sweep.run(kill=False)
        assert len(asked(fleet, "SELECT * FROM nonces")) == 2, "a dry run forgets nothing"
        fleet.sweep.run(kill=True)
        [left] = asked(fleet, "SELECT * FROM nonces")
        assert (left["dispatch"] == new, left["spent_at"]) == (False, None)


@pytest.mark.req("REP-8")
def test_acknowledged_messages_are_kept_for_a_week(either):
    week = 7 * 24 * 3_600 * 1_000
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        fleet.messages.send("hello", agent=ident)
        fleet.messages.send("and again", agent=ident)
        [first, _second] = ticked(either, ident)["messages"]
        ticked(either, ident, "--ack", first["id"])
        raw(
            fleet, f"UPDATE messages SET sent_at = sent_at - {week}, acknowledged_at = acknowledged_at - {week} + 60000"
        )
        fleet.sweep.run(kill=True)
        assert len(asked(fleet, "SELECT * FROM messages")) == 2
        raw(fleet, "UPDATE messages SET acknowledged_at = acknowledged_at - 60001")
        fleet.sweep.run(kill=True)
        assert [row["text"] for row in asked(fleet, "SELECT * FROM messages")] == ["and again"], (
            "that one was never read"
        )


@pytest.mark.req("REP-1", "REP-2", "REP-12")
def test_a_dead_one_is_replaced_by_coord_start_and_by_coord_replace(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        old = seated(either, fleet)
        os.kill(process_of(fleet, old).pid, signal.SIGKILL)
        either.exited(fleet, old)
        second = fleet.coord.replace(coordinator()).id
        assert seat(fleet).holder == second
        until(lambda: fleet.dispatches.show(old).exec_state == "failed")  # its successor's first tick settles it
        os.kill(process_of(fleet, second).pid, signal.SIGKILL)
        either.exited(fleet, second)
        said = answer(either.start(FLEET, "coord", "start", "-p", "p", "--engine", "proves", "--json"))
        assert (said.code, said.json["replaces"]) == (0, second), said
        assert seat(fleet).holder == said.json["id"]
        whys = [row["why"] for row in asked(fleet, "SELECT why FROM operations")]
        assert f"{said.json['id']} takes the seat of p" in whys


@pytest.mark.req("REP-1", "REP-9")
def test_one_on_another_host_is_replaced_on_request_only_and_never_touched(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        who, here = process_of(fleet, old), fleet.world.host.id
        raw(fleet, f"UPDATE dispatches SET host = 'elsewhere', process = REPLACE(process, '{here}', 'elsewhere')")
        with pytest.raises(CoordinatorLives):
            fleet.coord.start(coordinator())
        new = fleet.coord.replace(coordinator()).id
        assert seat(fleet).holder == new
        for _ in range(2):
            said = [line for line in ticked(either, new)["done"] if line.startswith(f"{old}: left alone")]
            assert ["host elsewhere" in line for line in said] == [True], "said by every tick"
        assert any(
            f"{old} (coord of" in line and "in the seat" in line for line in standing(fleet.sweep.run(kill=True))
        )
        assert fleet.coord.show("p").retiring == [old]
        assert is_alive(who.pid)
        raw(fleet, f"UPDATE dispatches SET host = '{here}', process = REPLACE(process, 'elsewhere', '{here}')")


@pytest.mark.req("REP-1", "REP-5")
def test_behind_a_stopped_server_nothing_is_replaced_and_nothing_is_left(either, monkeypatch):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        before, server = seat(fleet), either.server(fleet)
        monkeypatch.setattr(tmux_module, "LIMIT", 1.0)
        os.kill(server, signal.SIGSTOP)
        with pytest.raises(TmuxRefused):
            fleet.coord.replace(coordinator())
        os.kill(server, signal.SIGCONT)
        monkeypatch.setattr(tmux_module, "LIMIT", 5.0)
        assert seat(fleet) == before
        assert is_alive(process_of(fleet, old).pid)
        either.swept(fleet)
        assert [agent.id for agent in fleet.agents.list()] == [old]


@pytest.mark.req("REP-2", "REP-10")
def test_a_replacer_that_comes_late_finds_the_new_one_in_the_seat_and_goes_on(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        child = either.halted("after", "tmux new-session", "replace", *PROVES)
        until(lambda: seat(fleet).holder != old)
        new = seat(fleet).holder
        os.kill(child.pid, signal.SIGCONT)
        said = answer(child)
        assert (said.code, said.out.strip()) == (0, new), said
        assert seat(fleet).holder == new


@pytest.mark.req("REP-2")
def test_an_empty_seat_is_taken_by_proof_and_a_third_in_it_refuses(either):
    with either.fleet() as fleet:
        with pytest.raises(NoCoordinator):
            fleet.coord.replace(coordinator())
        first = replace.replace(fleet.context, coordinator()).id
        assert (seat(fleet).holder, seat(fleet).epoch) == (first, 1)
        before = seat(fleet)
        with pytest.raises(NotSeated, match=first):
            fleet.dispatches.start(coordinator(predecessor="0a1b2c3d", proof=5.0))
        assert (seat(fleet), [each.id for each in fleet.dispatches.list()]) == (before, [first])
        assert [agent.id for agent in fleet.agents.list()] == [first]


@pytest.mark.req("REP-1")
def test_the_swap_gate_is_taken_without_waiting_and_a_second_replace_is_refused(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        gate = fleet.world.project_gate("p", "swap")
        gate.take()
        with pytest.raises(GateHeld):
            fleet.coord.replace(coordinator())
        gate.give()
        replacing(either, *SLEEP)
        new = candidate(either, fleet)
        refused = answer(replacing(either, *SLEEP))
        assert (refused.code, "in progress" in refused.err) == (1, True)
        with pytest.raises(ReplaceInProgress, match=new):
            replace.start_candidate(fleet.context, coordinator())
        assert (seat(fleet).holder, seat(fleet).candidate) == (old, new)


@pytest.mark.req("REP-5", "REP-10")
def test_a_candidate_that_dies_is_withdrawn_at_once_and_its_remains_prove_nothing(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        waiting = replacing(either, "sh", "-c", "sleep 1000 & exec sleep 2000")
        new = candidate(either, fleet)
        nonce = nonce_of(either, fleet, new)
        os.kill(waiting.pid, signal.SIGSTOP)
        either.without_hint(fleet)
        os.kill(process_of(fleet, new).pid, signal.SIGKILL)
        until(lambda: fleet.world.processes.life(process_of(fleet, new)) == "dead")
        at = newest(fleet)
        assert speaking(either, new, "coord", "tick", nonce=nonce).code == 13
        assert newest(fleet) == at
        os.kill(waiting.pid, signal.SIGCONT)
        said = answer(waiting)
        assert "NotProven" in said.err, said
        assert (seat(fleet).holder, seat(fleet).candidate) == (old, None)
        assert [agent.id for agent in fleet.agents.list()] == [old]


@pytest.mark.req("REP-2", "REP-10")
def test_an_old_one_that_dies_in_the_middle_changes_nothing_for_the_new_one(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        waiting = replacing(either, *SLEEP)
        new = candidate(either, fleet)
        nonce = nonce_of(either, fleet, new)
        who = process_of(fleet, old)
        os.kill(who.pid, signal.SIGKILL)
        until(lambda: fleet.world.processes.life(who) == "dead")
        assert seat(fleet).holder == old, "never none"
        ticked(either, new, nonce=nonce)
        assert (seat(fleet).holder, answer(waiting).code) == (new, 0)


@pytest.mark.req("REP-9", "REP-11")
def test_the_old_one_is_asked_given_grace_killed_and_its_claims_are_reclaimed(either):
    config = Path(either.home, "config.toml")
    impatient = config.read_text()
    config.write_text(impatient.replace('exit_grace = "1s"', 'exit_grace = "1h"'))
    with either.fleet() as fleet:
        old = seated(either, fleet, *STUBBORN)
        who = process_of(fleet, old)
        waiting = replacing(either, *SLEEP)
        new = candidate(either, fleet)
        assert is_alive(who.pid)
        assert fleet.context.dispatch(old).asked_for is None, "nothing is asked of it before the commit"
        told = ticked(either, new, nonce=nonce_of(either, fleet, new))["done"]
        assert f"{old}: asked to exit" in told
        assert answer(waiting).code == 0
        assert fleet.coord.show("p").retiring == [old]
        assert f"{old}: given time to exit" in ticked(either, new)["done"]
        assert is_alive(who.pid)
        config.write_text(impatient)
        until(lambda: ticked(either, new) and not is_alive(who.pid))
        until(lambda: ticked(either, new) and not fleet.coord.show("p").retiring)
        assert (fleet.dispatches.show(old).exec_state, fleet.dispatches.show(old).asked_for) == (
            "done",
            "replaced",
        )
        assert old not in {claim.dispatch for claim in fleet.claims.list()}
        assert seat(fleet).holder == new, "the seat is not among what is reclaimed"


@pytest.mark.req("REP-10")
def test_a_sweep_carries_on_a_replace_that_nobody_waits_for(either):
    with either.fleet() as fleet:
        old = seated(either, fleet, *STUBBORN)
        waiting = replacing(either, *SLEEP)
        new = candidate(either, fleet)
        os.kill(waiting.pid, signal.SIGKILL)
        waiting.wait(60)
        fleet.sweep.run(kill=True)
        assert (seat(fleet).holder, seat(fleet).candidate) == (old, new), "it may still prove itself"
        raw(fleet, "UPDATE seats SET deadline = 1")
        assert "would withdraw it" in {each.action for each in fleet.sweep.run(kill=False)}
        either.swept(fleet)
        assert (seat(fleet).holder, seat(fleet).candidate) == (old, None)
        assert [agent.id for agent in fleet.agents.list()] == [old]

        third = fleet.coord.replace(coordinator()).id
        either.swept(fleet)
        assert [agent.id for agent in fleet.agents.list()] == [third], "the sweep retires who is out of the seat"


@pytest.mark.req("REP-10")
def test_coord_stop_in_the_middle_leaves_nobody(either):
    with either.fleet() as fleet:
        seated(either, fleet)
        waiting = replacing(either, *SLEEP)
        candidate(either, fleet)
        done = fleet.coord.stop("p", "enough")
        assert done.stopped is True
        assert (seat(fleet).holder, seat(fleet).candidate) == (None, None)
        assert "NotProven" in answer(waiting).err
        assert fleet.agents.list() == []
        with pytest.raises(NoCoordinator):
            fleet.coord.stop("p", "again")

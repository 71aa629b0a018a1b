"""Replace on a simulated machine: the proof of the new coordinator, its time, its one commit, and the end of the old one."""

import signal
from dataclasses import replace as changed

import pytest

from fleet.engines.reader import engine as read_engine
from fleet.errors.families import BadInput
from fleet.errors.refused import NotProven
from fleet.errors.superseded import NotSeated
from fleet.model.dispatch.one_time_proof import VARIABLE, hash_nonce
from fleet.model.text.times import DAY, SECOND
from fleet.store import queries as q
from fleet.store import seats
from fleet.store.transaction import Change
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents import messages
from fleet.verbs.coord import replace
from fleet.verbs.coord.tick import tick
from fleet.verbs.dispatch.apply_remedy import withdraw
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.sweep.coordinators import RETENTION

COORDINATOR = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
WRONG = "0" * 32


def seat(scene: SimulatedScene) -> q.Seat:
    return scene.fleet.store.read(lambda rows: seats.seat(rows, PROJECT))


def seated(scene: SimulatedScene) -> str:
    """A coordinator in the seat, at work."""
    ident = scene.fleet.coord.start(COORDINATOR).id
    scene.launch(ident)
    return ident


def candidate(scene: SimulatedScene) -> tuple[str, str]:
    """A candidate at work, and the nonce that it was given."""
    ident = replace.start_candidate(scene.fleet.context, COORDINATOR).id
    return ident, scene.launch(ident).environment[VARIABLE]


def ticks(scene: SimulatedScene, ident: str, nonce: str | None = None) -> list[str]:
    """A tick of a coordinator; what was done."""
    with scene.speaking(ident) as fleet:
        return tick(fleet.context, PROJECT, ident, nonce=nonce).done


def proof(scene: SimulatedScene, ident: str) -> q.Nonce | None:
    return scene.fleet.store.read(lambda rows: q.nonce_of(rows, dispatch=ident))


@pytest.mark.req("REP-3", "REP-4", "REP-6")
def test_the_candidate_alone_has_a_proof_and_takes_the_seat_with_it(scene):
    old = seated(scene)
    scene.agent(old).ignores.add(signal.SIGTERM)
    assert VARIABLE not in scene.agent(old).environment, "it has nothing to prove"
    new, nonce = candidate(scene)
    kept = proof(scene, new)
    assert (proof(scene, old), kept.hash, kept.spent_at) == (None, hash_nonce(nonce), None)
    assert nonce not in kept.hash
    before = scene.fleet.operations.newest()
    for given in (None, WRONG):
        with pytest.raises(NotSeated):
            ticks(scene, new, given)
    assert (seat(scene).holder, seat(scene).candidate) == (old, new)
    assert scene.fleet.operations.newest() == before, "until the proof nothing is changed"
    ticks(scene, new, nonce)
    assert (seat(scene).holder, seat(scene).candidate, seat(scene).epoch) == (new, None, 2)
    assert proof(scene, new).spent_at is not None
    with pytest.raises(NotSeated):
        ticks(scene, old)


@pytest.mark.req("REP-4")
def test_what_a_dead_candidate_left_takes_no_seat(scene):
    old = seated(scene)
    new, nonce = candidate(scene)
    with scene.speaking(new) as fleet:  # a child, which goes on
        scene.exit(new, 1)
        with pytest.raises(NotSeated):
            tick(fleet.context, PROJECT, new, nonce=nonce)
    assert seat(scene).holder == old


@pytest.mark.parametrize("after", [0, 5])
def test_one_that_another_process_has_withdrawn_is_told_its_own_time_and_not_that_of_the_next_one(scene, after):
    seated(scene)
    new, _nonce = candidate(scene)

    def next_one() -> None:
        withdraw(scene.fleet.context, PROJECT, new, "a test")
        replace.start_candidate(scene.fleet.context, changed(COORDINATOR, proof=300.0))

    scene.clock.wait(3)
    scene.clock.later(after, next_one) if after else next_one()
    with pytest.raises(NotProven, match=f"coordinator {new} .* within {30 if after else 3} s"):
        replace.await_proof(scene.fleet.context, PROJECT, new)


@pytest.mark.req("REP-5")
def test_a_candidate_has_thirty_seconds_and_is_then_withdrawn_with_all_it_held(scene):
    old = seated(scene)
    before = seat(scene)
    assert read_engine(scene.home, "shell").proof_timeout == 30.0
    new, _nonce = candidate(scene)
    assert seat(scene).deadline == scene.fleet.context.dispatch(new).created_at + 30 * SECOND
    with pytest.raises(NotProven, match="within 30 s"):
        replace.await_proof(scene.fleet.context, PROJECT, new)
    assert seat(scene) == before
    assert [agent.id for agent in scene.fleet.agents.list()] == [old]
    assert {claim.dispatch for claim in scene.fleet.claims.list()} == {old}
    assert proof(scene, new).spent_at is None, "the evidence stays"


@pytest.mark.req("REP-5", "HAND-2")
def test_a_drain_ends_each_candidate_that_did_not_prove_itself(scene):
    old = seated(scene)
    scene.fleet.coord.hand_off(old, reason="full")
    for _ in range(scene.fleet.context.settings().limits_failed_spawns):
        scene.fleet.coord.drain(PROJECT)
        new = seat(scene).candidate
        scene.launch(new)
        scene.agent(new).ignores.add(signal.SIGTERM)
        scene.clock.wait(31)
    for _ in range(3):  # it is asked to exit, given time, and killed
        [entry] = scene.fleet.coord.drain(PROJECT)
        scene.clock.wait(11)
    assert "new coordinators did not prove themselves" in entry.deferred
    assert (seat(scene).holder, seat(scene).candidate) == (old, None)
    assert [agent.id for agent in scene.fleet.agents.list()] == [old], "the coordinator alone is left"
    assert {claim.dispatch for claim in scene.fleet.claims.list()} == {old}


@pytest.mark.req("REP-10")
def test_a_sweep_leaves_a_candidate_its_time_and_withdraws_it_after_that(scene):
    old = seated(scene)
    new, _nonce = candidate(scene)
    scene.clock.wait(29)
    scene.fleet.sweep.run(kill=True)
    assert (seat(scene).holder, seat(scene).candidate) == (old, new)
    scene.clock.wait(2)
    scene.fleet.sweep.run(kill=True)
    assert (seat(scene).holder, seat(scene).candidate) == (old, None)
    assert [agent.id for agent in scene.fleet.agents.list()] == [old]


@pytest.mark.req("REP-9", "REP-11")
def test_the_old_one_is_asked_given_its_grace_and_then_killed(scene):
    old = seated(scene)
    scene.agent(old).ignores.add(signal.SIGTERM)
    new, nonce = candidate(scene)
    assert scene.fleet.context.dispatch(old).asked_for is None, "nothing is asked of it before the commit"
    assert f"{old}: asked to exit" in ticks(scene, new, nonce)
    assert f"{old}: given time to exit" in ticks(scene, new)
    scene.clock.wait(1.1)
    assert f"{old}: ended" in ticks(scene, new)
    assert old not in {claim.dispatch for claim in scene.fleet.claims.list()}
    assert (seat(scene).holder, seat(scene).epoch) == (new, 2), "the seat is not among what is reclaimed"


def test_a_person_reads_who_is_to_follow_until_when_and_who_is_being_ended(scene, line):
    old = seated(scene)
    scene.agent(old).ignores.add(signal.SIGTERM)
    new, nonce = candidate(scene)
    assert line("coord", "status").ok().out.splitlines() == [
        f"{PROJECT}: {old} is alive (epoch 1)",
        f"  next: {new} has to prove itself by 2026-01-01 00:00:30 UTC",
    ]
    ticks(scene, new, nonce)
    assert line("coord", "status").ok().out.splitlines() == [
        f"{PROJECT}: {new} is alive (epoch 2)",
        f"  retiring: {old} is still alive and is being ended",
    ]


@pytest.mark.req("REP-11")
def test_a_seat_is_emptied_of_its_own_holder_alone(scene):
    old = seated(scene)
    new, nonce = candidate(scene)
    ticks(scene, new, nonce)
    emptied = Change("a late stop of the old one", lambda tx: seats.vacate_seat(tx, PROJECT, old))
    assert scene.fleet.commit(emptied) is False
    assert seat(scene).holder == new


@pytest.mark.req("REP-12", "REP-1")
def test_a_start_over_a_dead_coordinator_is_a_replace(scene):
    old = seated(scene)
    scene.exit(old, 1)
    with pytest.raises(NotProven):  # the new one never proves itself, and so it does not get the seat
        scene.fleet.coord.start(COORDINATOR)
    assert (seat(scene).holder, seat(scene).epoch) == (old, 1)


@pytest.mark.req("REP-7")
def test_spent_proofs_are_forgotten_after_thirty_days_and_unspent_ones_never(scene):
    seated(scene)
    new, nonce = candidate(scene)
    ticks(scene, new, nonce)
    lost, _nonce = candidate(scene)
    for days, kept in ((29, {new, lost}), (2, {lost}), (400, {lost})):
        scene.clock.wait(days * DAY / SECOND)
        scene.fleet.sweep.run(kill=True)
        assert {each for each in (new, lost) if proof(scene, each)} == kept, days


@pytest.mark.parametrize(
    ("days", "why"),
    [
        ("x", "is not a number of days"),
        ("-1", "is not a number of days"),
        ("²", "is not a number of days"),
        ("1000000", "is more than 999999 days"),
        ("9" * 5_000, "is more than 999999 days"),
    ],
    ids=["word", "negative", "superscript", "many", "thousands-of-digits"],
)
def test_days_that_are_no_number_or_too_many_are_refused(scene, monkeypatch, days, why):
    monkeypatch.setenv(RETENTION, days)
    with pytest.raises(BadInput, match=why):
        scene.fleet.sweep.run(kill=True)


@pytest.mark.req("REP-8")
def test_a_message_is_applied_once_and_its_id_is_kept_for_seven_days(scene):
    ident = seated(scene)
    [sent] = scene.fleet.messages.send("hello", agent=ident)

    def row() -> q.Message | None:
        return scene.fleet.store.read(lambda rows: q.message_by_id(rows, id=sent.id))

    assert scene.fleet.commit(messages.acknowledge(ident, [sent.id])) == [sent.id]
    applied = row().acknowledged_at
    scene.clock.wait(5)
    assert scene.fleet.commit(messages.acknowledge(ident, [sent.id])) == []
    assert row().acknowledged_at == applied
    scene.clock.wait(7 * DAY / SECOND - 60)
    scene.fleet.sweep.run(kill=True)
    assert row() is not None
    scene.clock.wait(120)
    scene.fleet.sweep.run(kill=True)
    assert row() is None

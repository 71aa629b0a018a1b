"""Replace on a simulated machine: the proof of the new coordinator, its time, its one commit, and the end of the old one."""

import signal

import pytest

from fleet.engines.reader import engine as read_engine
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
from fleet.verbs.dispatch.plan import Wanted

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
def test_the_candidate_alone_has_a_proof_and_takes_the_seat_with_it(either):
    old = seated(either)
    either.agent(old).ignores.add(signal.SIGTERM)
    assert VARIABLE not in either.agent(old).environment, "it has nothing to prove"
    new, nonce = candidate(either)
    kept = proof(either, new)
    assert (proof(either, old), kept.hash, kept.spent_at) == (None, hash_nonce(nonce), None)
    assert nonce not in kept.hash
    before = either.fleet.operations.newest()
    for given in (None, WRONG):
        with pytest.raises(NotSeated):
            ticks(either, new, given)
    assert (seat(either).holder, seat(either).candidate) == (old, new)
    assert either.fleet.operations.newest() == before, "until the proof nothing is changed"
    ticks(either, new, nonce)
    assert (seat(either).holder, seat(either).candidate, seat(either).epoch) == (new, None, 2)
    assert proof(either, new).spent_at is not None
    with pytest.raises(NotSeated):
        ticks(either, old)


@pytest.mark.req("REP-4")
def test_what_a_dead_candidate_left_takes_no_seat(either):
    old = seated(either)
    new, nonce = candidate(either)
    with either.speaking(new) as fleet:  # a child, which goes on
        either.exit(new, 1)
        with pytest.raises(NotSeated):
            tick(fleet.context, PROJECT, new, nonce=nonce)
    assert seat(either).holder == old


@pytest.mark.req("REP-5")
def test_a_candidate_has_thirty_seconds_and_is_then_withdrawn_with_all_it_held(either):
    old = seated(either)
    before = seat(either)
    assert read_engine(either.home, "shell").proof_timeout == 30.0
    new, _nonce = candidate(either)
    assert seat(either).deadline == either.fleet.context.dispatch(new).created_at + 30 * SECOND
    with pytest.raises(NotProven, match="within 30 s"):
        replace.await_proof(either.fleet.context, PROJECT, new)
    assert seat(either) == before
    assert [agent.id for agent in either.fleet.agents.list()] == [old]
    assert {claim.dispatch for claim in either.fleet.claims.list()} == {old}
    assert proof(either, new).spent_at is None, "the evidence stays"


@pytest.mark.req("REP-10")
def test_a_sweep_leaves_a_candidate_its_time_and_withdraws_it_after_that(either):
    old = seated(either)
    new, _nonce = candidate(either)
    either.clock.wait(29)
    either.fleet.sweep.run(kill=True)
    assert (seat(either).holder, seat(either).candidate) == (old, new)
    either.clock.wait(2)
    either.fleet.sweep.run(kill=True)
    assert (seat(either).holder, seat(either).candidate) == (old, None)
    assert [agent.id for agent in either.fleet.agents.list()] == [old]


@pytest.mark.req("REP-9", "REP-11")
def test_the_old_one_is_asked_given_its_grace_and_then_killed(either):
    old = seated(either)
    either.agent(old).ignores.add(signal.SIGTERM)
    new, nonce = candidate(either)
    assert either.fleet.context.dispatch(old).asked_for is None, "nothing is asked of it before the commit"
    assert f"{old}: asked to exit" in ticks(either, new, nonce)
    assert f"{old}: given time to exit" in ticks(either, new)
    either.clock.wait(1.1)
    assert f"{old}: ended" in ticks(either, new)
    assert old not in {claim.dispatch for claim in either.fleet.claims.list()}
    assert (seat(either).holder, seat(either).epoch) == (new, 2), "the seat is not among what is reclaimed"


@pytest.mark.req("REP-11")
def test_a_seat_is_emptied_of_its_own_holder_alone(either):
    old = seated(either)
    new, nonce = candidate(either)
    ticks(either, new, nonce)
    emptied = Change("a late stop of the old one", lambda tx: seats.vacate(tx, PROJECT, old))
    assert either.fleet.commit(emptied) is False
    assert seat(either).holder == new


@pytest.mark.req("REP-12", "REP-1")
def test_a_start_over_a_dead_coordinator_is_a_replace(either):
    old = seated(either)
    either.exit(old, 1)
    with pytest.raises(NotProven):  # the new one never proves itself, and so it does not get the seat
        either.fleet.coord.start(COORDINATOR)
    assert (seat(either).holder, seat(either).epoch) == (old, 1)


@pytest.mark.req("REP-7")
def test_spent_proofs_are_forgotten_after_thirty_days_and_unspent_ones_never(either):
    seated(either)
    new, nonce = candidate(either)
    ticks(either, new, nonce)
    lost, _nonce = candidate(either)
    for days, kept in ((29, {new, lost}), (2, {lost}), (400, {lost})):
        either.clock.wait(days * DAY / SECOND)
        either.fleet.sweep.run(kill=True)
        assert {each for each in (new, lost) if proof(either, each)} == kept, days


@pytest.mark.req("REP-8")
def test_a_message_is_applied_once_and_its_id_is_kept_for_seven_days(either):
    ident = seated(either)
    [sent] = either.fleet.messages.send("hello", agent=ident)

    def row() -> q.Message | None:
        return either.fleet.store.read(lambda rows: q.message_by_id(rows, id=sent.id))

    assert either.fleet.commit(messages.acknowledge(ident, [sent.id])) == [sent.id]
    applied = row().acknowledged_at
    either.clock.wait(5)
    assert either.fleet.commit(messages.acknowledge(ident, [sent.id])) == []
    assert row().acknowledged_at == applied
    either.clock.wait(7 * DAY / SECOND - 60)
    either.fleet.sweep.run(kill=True)
    assert row() is not None
    either.clock.wait(120)
    either.fleet.sweep.run(kill=True)
    assert row() is None

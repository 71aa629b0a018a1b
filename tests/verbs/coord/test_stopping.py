"""`coord stop` while another coordinator is being started: nobody coordinates afterwards, and nobody is left running."""

import signal

import pytest

from fleet.errors import NoCoordinator
from fleet.errors.refused import CoordinatorLives
from fleet.store import queries as q
from fleet.surfaces.cli.commands.coord import coord
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord import seat
from fleet.verbs.coord.prove import prove
from fleet.verbs.coord.replace import start_candidate
from fleet.verbs.dispatch.plan import Wanted

WANTED = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"), proof=300)
SEATED = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


def seated(scene: SimulatedScene) -> str:
    ident = scene.fleet.coord.start(SEATED).id
    scene.launch(ident)
    return ident


def nominate(scene: SimulatedScene, *, proven: bool) -> str:
    """Another process nominates a candidate, which may have taken the seat at once."""
    context = scene.open().context
    ident = start_candidate(context, WANTED).id
    scene.launch(ident)
    if proven:
        nonce = scene.agent(ident).environment["FLEET_REPLACE_NONCE"]
        ids = context.world.ids
        prove(context.store, scene.home, project=PROJECT, ident=ident, nonce=nonce, clock=scene.clock, ids=ids)
    return ident


@pytest.mark.req("EXC-4")
@pytest.mark.parametrize("proven", [False, True])
@pytest.mark.parametrize("when", ["before the holder ends", "after the holder has ended"])
def test_one_that_is_nominated_while_the_holder_is_being_stopped_does_not_outlive_the_stop(
    scene, monkeypatch, when, proven
):
    old, new = seated(scene), []
    end = seat.end

    def ending(context, ident, **given):
        late = when.startswith("after") and end(context, ident, **given)
        if not new:
            new.append(nominate(scene, proven=proven))
        return late or end(context, ident, **given)

    monkeypatch.setattr(seat, "end", ending)
    assert scene.fleet.coord.stop(PROJECT, "enough").stopped
    now = scene.fleet.store.read(lambda rows: q.seat_of(rows, project=PROJECT))
    assert (now.holder, now.candidate) == (None, None)
    for ident in (old, *new):
        assert scene.fleet.dispatches.show(ident).exec_state not in {"pending", "in_flight"}
    assert scene.fleet.agents.list() == []


@pytest.mark.req("DER-1")
def test_after_a_stop_a_sweep_finds_nothing_to_do(scene):
    seated(scene)
    scene.fleet.sweep.run(kill=True)
    assert scene.fleet.coord.stop(PROJECT, "enough").stopped
    assert scene.fleet.sweep.run(kill=False) == []


@pytest.mark.req("DER-1")
def test_after_down_a_sweep_finds_nothing_to_do(scene):
    seated(scene)
    ident = scene.work("a")
    scene.fleet.sweep.run(kill=True)
    while scene.fleet.projects.down(PROJECT).left:
        scene.clock.wait(60)
    assert scene.fleet.dispatches.show(ident).exec_state not in {"pending", "in_flight"}
    assert scene.fleet.sweep.run(kill=False) == []


@pytest.mark.req("EXC-4", "AGENT-7")
def test_the_command_that_ends_what_a_dead_coordinator_left_is_named_and_frees_the_seat(scene):
    ident = seated(scene)
    holder = scene.agent(ident)
    left = scene.machine.table.spawn(holder.pid, ["server"], environment=dict(holder.environment))
    left.ignores.add(signal.SIGHUP)
    scene.exit(ident)
    with pytest.raises(CoordinatorLives) as refusal:
        scene.fleet.coord.start(WANTED)
    assert f"it left processes behind: {left.pid}; `fleet coord stop -p {PROJECT}`" in refusal.value.next_step
    assert scene.fleet.coord.stop(PROJECT, "enough").stopped
    assert left.pid not in scene.machine.table.living
    assert seated(scene) != ident


@pytest.mark.req("EXC-4", "GATE-1")
def test_beside_a_coordinator_that_is_being_started_only_attaching_is_advised_though_its_starter_has_exited(scene):
    other = scene.open()
    other.coord.start(SEATED)
    scene.machine.table.exit(scene.process_of(other))
    with pytest.raises(CoordinatorLives) as refusal:
        scene.fleet.coord.start(SEATED)
    assert "fleet attach" in refusal.value.next_step
    assert "coord stop" not in refusal.value.next_step


@pytest.mark.req("EXC-4")
def test_a_stop_that_did_not_end_the_coordinator_fails_and_says_why_and_the_next_one_empties_the_seat(scene, line):
    ident = seated(scene)
    holder = scene.agent(ident)
    holder.is_unkillable = True
    holder.ignores.add(signal.SIGTERM)
    refused = line("coord", "stop")
    assert (refused.code, refused.err) == (1, "")
    assert refused.out == f"{ident} was asked to exit and is still there: its process is alive\n"
    assert line("coord", "stop", "--json").json["stopped"] is False
    assert scene.fleet.coord.show(PROJECT).holder == ident, "a seat is never emptied of a coordinator that lives"
    holder.is_unkillable = False
    assert line("coord", "stop").ok().out == f"{ident} no longer coordinates {PROJECT}; the seat is empty\n"


def test_a_person_joins_the_coordinator_in_its_session_and_is_told_when_there_is_none(scene, line, monkeypatch):
    became = []
    monkeypatch.setattr(coord, "become", lambda _funnel, words: became.append(words))
    line("coord", "attach").refused(NoCoordinator.code, f"project '{PROJECT}' has no coordinator")
    ident = seated(scene)
    line("coord", "attach").ok()
    assert became == [scene.fleet.agents.attach_words(ident)]
    assert f"={scene.pane(ident).session}" in " ".join(became[0])

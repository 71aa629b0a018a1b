"""The seat and its gate: one coordinator a project, and no guess ever ends one."""

import pytest
from staging.stage import acted

from fleet.errors.contested import CoordSpawnInProgress
from fleet.errors.families import Superseded
from fleet.errors.refused import CoordinatorLives
from fleet.model.dispatch.remedies import remedy_for
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord.tick import tick
from fleet.verbs.dispatch.facts import gather_facts
from fleet.verbs.dispatch.plan import Wanted

YEAR = 365 * 24 * 3600.0


def coordinator(project: str = PROJECT, engine: str = "shell") -> Wanted:
    return Wanted(project=project, slug=None, kind="coord", engine=engine, command=("sleep", "1000"))


class At:
    """Asks something before each effect that begins so."""

    def __init__(self, effect: str, ask) -> None:
        self._effect, self._ask, self.answers = effect, ask, []

    def before(self, effect: str) -> None:
        if effect.startswith(self._effect):
            self.answers.append(self._ask())

    def during(self, effect: str, pid: int) -> None:
        pass

    def after(self, effect: str) -> None:
        pass


@pytest.mark.req("GATE-1", "GATE-2", "GATE-4", "GATE-6")
def test_the_gate_is_taken_first_without_waiting_and_held_until_the_spawn_returns(scene):
    other = scene.open("other")
    repository = f"{scene.root}/other"
    scene.git("clone", "--quiet", scene.repository, repository, cwd=scene.root)
    scene.fleet.projects.register(repository, "q")
    gate = scene.fleet.world.project_gate(PROJECT, "coord-spawn")
    gate.take()
    before = scene.clock.ticks()
    for engine in ("shell", "nonsense"):
        with pytest.raises(CoordSpawnInProgress, match=r"lock holder: pid=\d+"):
            other.coord.start(coordinator(engine=engine))
    assert scene.clock.ticks() == before
    other.coord.start(coordinator("q"))
    gate.give()

    def ask() -> tuple[bool, str]:
        with pytest.raises(CoordSpawnInProgress):
            other.coord.start(coordinator())
        return other.world.project_gate(PROJECT, "coord-spawn").is_free(), other.coord.show(PROJECT).holder or ""

    scene.fleet.funnel.watcher = watcher = At("tmux new-session", ask)
    ident = scene.fleet.coord.start(coordinator()).id
    assert watcher.answers == [(False, ident)], "the pending coordinator is durable inside the gate"
    assert gate.is_free()


@pytest.mark.req("GATE-6", "GATE-7", "GATE-12")
def test_a_coordinator_that_starts_lives_or_is_unknown_vetoes_however_long_it_is_silent(scene):
    ident = scene.fleet.coord.start(coordinator()).id
    world = scene.fleet.world

    def vetoed() -> str:
        with pytest.raises(CoordinatorLives) as caught:
            scene.fleet.coord.start(coordinator())
        assert caught.value.code == 14
        said = caught.value.spoken
        for word in (ident, world.tmux.socket, world.host.id, f"fleet attach {ident}"):
            assert word in said
        assert acted(scene.fleet.sweep.run(kill=True)) == []
        assert scene.fleet.coord.show(PROJECT).holder == ident
        return str(caught.value)

    assert "starting" in vetoed()
    scene.launch(ident)
    agent = scene.agent(ident)
    for agent.is_hidden in (False, True):
        scene.clock.wait(YEAR)
        assert ("unknown" if agent.is_hidden else "alive") in vetoed()
        assert not agent.is_zombie
    agent.is_hidden = False
    scene.machine.table.exit(agent)
    assert scene.fleet.sessions.settle(ident).settled
    assert scene.fleet.coord.show(PROJECT).holder == ident


@pytest.mark.req("GATE-6")
def test_a_pending_coordinator_whose_spawner_died_is_followed(scene):
    doomed = scene.open("doomed")
    first = doomed.coord.start(coordinator()).id
    scene.machine.table.exit(scene.process_of(doomed))
    with pytest.raises(CoordinatorLives):
        scene.fleet.coord.start(coordinator())
    seen = gather_facts(scene.fleet.context, scene.fleet.context.dispatch(first), "dispatch")
    assert remedy_for("dispatch", seen).why == "its session is starting"
    scene.server.close(scene.pane(first))
    new = scene.fleet.coord.start(coordinator()).id
    assert (scene.fleet.coord.show(PROJECT).holder, new != first) == (new, True)
    assert [each.id for each in scene.fleet.agents.list()] == [new]


@pytest.mark.req("GATE-11", "GATE-13")
def test_only_the_holder_ticks_and_one_at_a_time(scene):
    ident = scene.fleet.coord.start(coordinator()).id
    scene.launch(ident)
    with pytest.raises(Superseded):
        tick(scene.fleet.context, PROJECT, "00000000")
    before, clock = scene.fleet.operations.newest(), scene.fleet.world.clock
    at = clock.ticks()
    gate = scene.fleet.world.project_gate(PROJECT, "coordinator")
    with gate, pytest.raises(Exception, match="tick") as caught:
        tick(scene.fleet.context, PROJECT, ident)
    assert getattr(caught.value, "code", None) == 12
    assert (scene.fleet.operations.newest(), clock.ticks()) == (before, at)
    assert tick(scene.fleet.context, PROJECT, ident).holder == ident
    assert gate.is_free()

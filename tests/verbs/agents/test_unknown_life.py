"""Agents of whom it cannot be told whether they live, and processes that they leave behind."""

import signal

import pytest

from fleet.errors.contested import WorktreeBusy
from fleet.errors.refused import CoordinatorLives
from fleet.testing.simulated import Process, SimulatedScene
from fleet.testing.simulated.processes import FIRST
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted


def actions(scene: SimulatedScene) -> list[str]:
    """What a sweep says and does, but for what is derived and rewritten whenever it is stale."""
    found = [each for each in scene.fleet.sweep.run(kill=True) if "coord-state.json" not in each.what]
    return [f"{each.why}: {each.action}" for each in found]


def child(scene: SimulatedScene, ident: str, **how: object) -> Process:
    """What an agent starts; it ignores the hangup of its terminal."""
    made = scene.machine.table.spawn(scene.agent(ident).pid, ["server"], **how)
    made.ignores.add(signal.SIGHUP)
    return made


def state(scene: SimulatedScene, ident: str) -> str:
    found = [each.exec_state for each in scene.fleet.dispatches.list() if each.id == ident]
    return found[0] if found else str(scene.fleet.dispatches.show(ident)["exec_state"])


def test_an_agent_that_cannot_be_read_is_left_alone_until_it_can(scene):
    ident = scene.work("a")
    agent = scene.agent(ident)
    agent.is_hidden = True
    assert scene.fleet.sessions.settle(ident).why == "its process is unknown"
    assert actions(scene) == ["its process cannot be judged: left alone"]
    agent.is_hidden = False
    scene.exit(ident, 1)
    assert scene.fleet.sessions.settle(ident).exec_state == "failed"


def test_an_unknown_agent_is_not_killed_by_a_person_either(scene):
    ident = scene.work("a")
    agent = scene.agent(ident)
    agent.is_hidden = True
    assert not scene.fleet.dispatches.kill(ident, "a test").settled
    assert scene.machine.table.living[agent.pid] is agent


def test_a_pid_that_was_given_out_again_is_another_process_and_lives(scene):
    ident = scene.work("a")
    pid = scene.agent(ident).pid
    scene.exit(ident)
    other = scene.machine.table.spawn(scene.machine.shell.pid, ["vim"], pid=pid)
    assert "it has ended without being settled: did: settle it" in actions(scene)
    assert scene.machine.table.living[pid] is other
    assert state(scene, ident) == "blocked"


def test_a_reboot_ends_every_agent_as_interrupted(scene):
    ident = scene.work("a")
    scene.reboot()
    assert scene.fleet.sessions.settle(ident).exec_state == "blocked"
    assert "interrupted" in scene.fleet.tasks.show(project=PROJECT, slug="a").reason


def test_another_boot_and_yet_the_same_process_is_a_contradiction_and_touches_nothing(scene):
    ident = scene.work("a")
    was = scene.agent(ident)
    scene.reboot()
    again = scene.machine.table.spawn(FIRST, was.words, pid=was.pid)
    again.start = was.start
    assert scene.fleet.sessions.settle(ident).why == "its process is unknown"
    assert "its process cannot be judged: left alone" in actions(scene)
    assert scene.machine.table.living[was.pid] is again


def test_an_agent_of_another_machine_is_unknown_and_a_way_out_is_said(scene):
    ident = scene.work("a")
    scene.machine.ident = "another"
    fleet = scene.open()
    assert "its process is unknown" in fleet.sessions.settle(ident).why
    assert "and this is simulated (host another)" in fleet.sessions.settle(ident).why


@pytest.mark.parametrize("leads_session", [False, True])
def test_a_child_with_the_mark_is_killed_with_its_dead_agent(scene, leads_session):
    ident = scene.work("a")
    left = child(scene, ident, leads_session=leads_session)
    scene.exit(ident)
    assert scene.fleet.sessions.settle(ident).why == f"it left processes behind: {left.pid}"
    assert "its agent is dead but left processes behind: did: kill them and settle it" in actions(scene)
    assert left.pid not in scene.machine.table.living


def test_a_child_without_the_mark_is_known_by_its_session(scene):
    ident = scene.work("a")
    left = child(scene, ident, environment={"PATH": "/bin"})
    scene.exit(ident)
    assert scene.fleet.sessions.settle(ident).why == f"it left processes behind: {left.pid}"


def test_a_child_without_mark_and_session_is_known_when_it_was_seen_below_its_agent(scene):
    ident = scene.work("a")
    left = child(scene, ident, environment={"PATH": "/bin"}, leads_session=True)
    assert actions(scene) == []
    scene.exit(ident)
    assert left.parent == FIRST
    assert scene.fleet.sessions.settle(ident).why == f"it left processes behind: {left.pid}"


def test_a_child_without_mark_and_session_is_known_by_its_control_group():
    with SimulatedScene(cgroups=True) as scene:
        ident = scene.work("a")
        left = child(scene, ident, environment={"PATH": "/bin"}, leads_session=True)
        scene.exit(ident)
        assert scene.fleet.sessions.settle(ident).why == f"it left processes behind: {left.pid}"
        actions(scene)
        assert left.pid not in scene.machine.table.living
        assert scene.fleet.world.cgroups.all_of_home(FIRST) == []


def test_a_stranger_in_the_worktree_blocks_it_and_is_not_killed(scene):
    ident = scene.work("a")
    cwd = scene.agent(ident).cwd
    stranger = scene.machine.table.spawn(FIRST, ["indexer"], environment={"PATH": "/bin"}, cwd=cwd, leads_session=True)
    scene.exit(ident)
    assert scene.fleet.sessions.settle(ident).strangers == f"process {stranger.pid} (indexer)"
    assert "its agent is dead, and its worktree is not handed on: left alone" in actions(scene)
    assert scene.machine.table.living[stranger.pid] is stranger
    scene.machine.table.exit(stranger)
    assert scene.fleet.sessions.settle(ident).settled


def test_a_persons_editor_in_the_worktree_blocks_nothing(scene):
    ident = scene.work("a")
    editor = scene.machine.table.spawn(scene.machine.shell.pid, ["vim"], cwd=scene.agent(ident).cwd)
    scene.exit(ident)
    assert scene.fleet.sessions.settle(ident).settled
    assert scene.machine.table.living[editor.pid] is editor


def test_a_process_that_may_not_be_looked_into_is_named_and_blocks_nothing(scene):
    ident = scene.work("a")
    closed = scene.machine.table.spawn(FIRST, ["agentd"], environment={"PATH": "/bin"}, leads_session=True)
    closed.is_closed = True
    scene.exit(ident)
    (found,) = [each for each in scene.fleet.sweep.run(kill=True) if each.action == "did: settle it"]
    assert f"cannot be looked into: process {closed.pid} (agentd)" in found.proof
    assert state(scene, ident) == "blocked"


def test_a_child_that_does_not_die_keeps_its_dispatch_open_and_costs_seconds_of_the_clock_alone(scene):
    ident = scene.work("a")
    stuck = child(scene, ident)
    stuck.is_unkillable = True
    scene.exit(ident)
    before = scene.clock.ticks()
    actions(scene)
    assert scene.clock.ticks() - before >= 5
    assert state(scene, ident) == "in_flight"
    stuck.is_unkillable = False
    actions(scene)
    assert state(scene, ident) == "blocked"


def test_a_dispatcher_that_died_before_its_session_began_leaves_a_task_that_is_open_again(scene):
    other = scene.open()
    ident = scene.dispatch("a", other)
    scene.machine.table.exit(scene.process_of(other))
    assert actions(scene) == []  # its session is starting
    scene.machine.table.exit(scene.pane(ident).process, 1)
    assert "it has ended without being settled: did: settle it" in actions(scene)
    assert scene.fleet.tasks.show(project=PROJECT, slug="a").status == "open"


class Killed(BaseException):
    """What nobody catches."""


class KilledBefore:
    """A watcher that ends whoever is about to do something."""

    def __init__(self, effect: str) -> None:
        self.effect = effect

    def before(self, effect: str) -> None:
        if effect.startswith(self.effect):
            raise Killed

    def during(self, effect: str, pid: int) -> None:
        """Not here."""

    def after(self, effect: str) -> None:
        """Not here."""


def test_a_dispatcher_that_cannot_be_read_may_still_be_at_it_and_one_that_is_dead_is_not(scene):
    other = scene.open()
    other.funnel.watcher = KilledBefore("tmux new-session")
    with pytest.raises(Killed):
        scene.dispatch("a", other)
    (ident,) = [each.id for each in scene.fleet.dispatches.list()]
    dispatcher = scene.process_of(other)
    dispatcher.is_hidden = True
    assert f"process {dispatcher.pid} is starting it" in scene.fleet.sessions.settle(ident).why
    assert not [each for each in actions(scene) if "settle" in each]
    assert state(scene, ident) == "pending"
    dispatcher.is_hidden = False
    scene.machine.table.exit(dispatcher)
    assert "it has ended without being settled: did: settle it" in actions(scene)
    assert scene.fleet.tasks.show(project=PROJECT, slug="a").status == "open"


@pytest.mark.req("AGENT-7", "ADO-5")
@pytest.mark.parametrize("home", ["/elsewhere", None], ids=["another home", "no home"])
@pytest.mark.parametrize("cgroups", [False, True], ids=["no group", "a group"])
def test_whoever_carries_the_id_keeps_the_dispatch_whatever_home_it_names_and_is_not_killed(on_store, home, cgroups):
    with SimulatedScene(cgroups=cgroups, settings=on_store) as scene:
        ident = scene.work("a")
        named = {"FLEET_DISPATCH_ID": ident, **({"FLEET_HOME": home} if home else {})}
        bearer = scene.machine.table.spawn(FIRST, ["server"], environment=named, leads_session=True)
        other = scene.machine.table.spawn(FIRST, ["server"], environment={**named, "FLEET_DISPATCH_ID": "0" * 8})
        scene.exit(ident)
        told = scene.fleet.sessions.settle(ident)
        assert not told.settled
        why = told.why
        assert f"process {bearer.pid} (server) carries its FLEET_DISPATCH_ID, but not this home" in why
        assert f"--not-ours {bearer.pid}" in why
        with pytest.raises(WorktreeBusy, match=f"process {bearer.pid}"):
            scene.dispatch("a")
        assert not scene.fleet.dispatches.kill(ident, "a test").settled
        assert actions(scene) == ["its agent is dead, and its worktree is not handed on: left alone"]
        assert scene.machine.table.living[bearer.pid] is bearer, "nobody is killed by a guess"
        scene.machine.table.exit(bearer)
        assert scene.fleet.sessions.settle(ident).settled
        assert scene.machine.table.living[other.pid] is other


@pytest.mark.req("AGENT-7")
def test_a_person_can_say_that_a_bearer_of_the_id_is_not_the_agents(scene):
    ident = scene.work("a")
    named = {"FLEET_DISPATCH_ID": ident, "FLEET_HOME": "/elsewhere"}
    bearer = scene.machine.table.spawn(FIRST, ["server"], environment=named, leads_session=True)
    scene.exit(ident)
    (excused,) = scene.fleet.dispatches.excuse(ident, (bearer.pid,)).not_ours
    assert f"/{bearer.pid}/" in excused
    assert scene.fleet.sessions.settle(ident).settled
    assert scene.machine.table.living[bearer.pid] is bearer


@pytest.mark.req("AGENT-7")
def test_a_coordinator_is_not_ended_while_another_carries_its_id(scene):
    wanted = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
    ident = scene.fleet.coord.start(wanted).id
    scene.launch(ident)
    bearer = scene.machine.table.spawn(FIRST, ["server"], environment={"FLEET_DISPATCH_ID": ident})
    scene.exit(ident)
    assert not scene.fleet.sessions.settle(ident).settled
    with pytest.raises(CoordinatorLives) as refusal:
        scene.fleet.coord.start(wanted)
    way = f"`fleet dispatches settle {ident} --not-ours {bearer.pid}`"
    assert way in refusal.value.next_step
    assert f"process {bearer.pid} (server) carries its FLEET_DISPATCH_ID" in refusal.value.next_step
    assert "fleet attach" not in refusal.value.next_step, "it is dead"
    assert way in scene.fleet.coord.stop(PROJECT, "a test").why, "the same as `coord stop` names"
    scene.machine.table.exit(bearer)
    assert scene.fleet.sessions.settle(ident).settled

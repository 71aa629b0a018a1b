"""Agents that a program starts with a prompt from `fleet claims acquire-prompt`: fleet did not launch them, and they live on."""

import pytest

from fleet.testing.simulated import Process, SimulatedScene
from fleet.testing.simulated.processes import FIRST
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents.prompts import WantedPrompt

A = "aaaaaaaa"
OWNERS = pytest.mark.parametrize("owner", [f"project/{PROJECT}/slug/t", f"coord/{PROJECT}"], ids=["worker", "coord"])


@pytest.fixture
def scene(scene: SimulatedScene) -> SimulatedScene:
    scene.fleet.tasks.add(project=PROJECT, title="T", slug="t")
    return scene


def acquire(scene: SimulatedScene, owner: str) -> Process:
    """Publish a prompt, as a program; return the program's process."""
    with scene.called_by_program() as (fleet, program):
        fleet.claims.acquire_prompt(A, "the prompt\n", WantedPrompt(owner=owner))
    return program


def start_agent(scene: SimulatedScene, *, names_home: bool) -> Process:
    environment = {"FLEET_DISPATCH_ID": A, **({"FLEET_HOME": scene.home} if names_home else {})}
    return scene.machine.table.spawn(FIRST, ["agent"], environment=environment, leads_session=True)


def state(scene: SimulatedScene) -> str:
    return scene.fleet.dispatches.show(A).exec_state


def sweep(scene: SimulatedScene) -> dict[str, tuple[str, str, bool]]:
    found = scene.fleet.sweep.run(kill=True)
    return {each.what: (each.why, each.action, each.done) for each in found if "coord-state.json" not in each.what}


@pytest.mark.req("SWEEP-3", "AGENT-3", "CLAIMS-4")
@pytest.mark.parametrize("names_home", [True, False], ids=["with FLEET_HOME", "without FLEET_HOME"])
@OWNERS
def test_an_agent_whose_program_has_exited_keeps_its_pending_dispatch_and_is_not_killed(scene, owner, names_home):
    program = acquire(scene, owner)
    agent = start_agent(scene, names_home=names_home)
    scene.machine.table.exit(program)
    assert sweep(scene) == {}
    assert (state(scene), scene.machine.table.living.get(agent.pid)) == ("pending", agent)
    told = scene.fleet.sessions.settle(A)
    assert not told.settled
    assert f"process {agent.pid} (agent) carries its FLEET_DISPATCH_ID" in told.why
    assert f"{A}.md" in scene.fleet.files.names("inbox")
    scene.machine.table.exit(agent)
    assert ("it has ended without being settled", "did: settle it", True) in sweep(scene).values()
    assert (state(scene), scene.fleet.files.names("inbox")) == ("failed", [])


@pytest.mark.req("GATE-12", "SWEEP-3")
def test_a_coordinator_of_a_program_that_lives_is_not_retired_by_a_sweep(scene):
    acquire(scene, f"coord/{PROJECT}")
    agent = start_agent(scene, names_home=True)
    assert sweep(scene) == {}
    assert (state(scene), scene.machine.table.living.get(agent.pid)) == ("pending", agent)


@pytest.mark.req("SWEEP-3", "AGENT-3")
@OWNERS
def test_an_agent_that_starts_after_its_dispatch_was_given_up_is_listed_and_never_killed(scene, owner):
    scene.machine.table.exit(acquire(scene, owner))
    sweep(scene)
    assert state(scene) == "failed"
    agent = start_agent(scene, names_home=True)
    why = f"its dispatch {A} has ended, and fleet never launched it"
    for _ in range(2):  # also when it is archived
        assert sweep(scene) == {f"process {agent.pid}": (why, "listed only", False)}
        assert scene.machine.table.living.get(agent.pid) is agent


@pytest.mark.req("AGENT-9")
def test_a_person_ends_the_agent_of_a_program_that_names_this_home(scene):
    scene.machine.table.exit(acquire(scene, f"project/{PROJECT}/slug/t"))
    agent = start_agent(scene, names_home=True)
    assert scene.fleet.dispatches.kill(A, "a test").settled
    assert (state(scene), agent.pid in scene.machine.table.living) == ("failed", False)


@pytest.mark.req("AGENT-7")
def test_a_person_says_that_who_carries_the_id_is_not_the_agent_of_the_program(scene):
    scene.machine.table.exit(acquire(scene, f"project/{PROJECT}/slug/t"))
    bearer = start_agent(scene, names_home=False)
    assert f"--not-ours {bearer.pid}" in scene.fleet.sessions.settle(A).why
    scene.fleet.dispatches.excuse(A, (bearer.pid,))
    assert scene.fleet.sessions.settle(A).settled
    assert scene.machine.table.living[bearer.pid] is bearer

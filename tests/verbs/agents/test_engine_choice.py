"""Which engine and model an agent starts with, and the ports of its worktree."""

from pathlib import Path

import pytest

from fleet.errors.given import BadInput, BadName
from fleet.errors.refused import EngineHeld, NoPortsLeft
from fleet.model.text.times import HOUR, SECOND
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.tasks.edit import Edit

ENGINE = """\
summary = "sleeps"
program = "sleep"
start = ["{program}", "{model}", "1000"]
model = ["--model", "{model}"]
interactive = false
"""


@pytest.fixture
def two(scene: SimulatedScene) -> SimulatedScene:
    """A project whose agents run on `one`, or else on `two`."""
    folder = Path(scene.home, "engines")
    folder.mkdir()
    for name in ("one", "two"):
        Path(folder, f"{name}.toml").write_text(ENGINE)
    Path(scene.repository, "fleet.toml").write_text('engine = ["one", "two"]\n')
    return scene


def hold(scene: SimulatedScene, engine: str, *, kind: str = "limit", until: int | None = None) -> None:
    facts = {"engine": engine, "reason": "no more today", "until": until}
    scene.fleet.commit(Change("a limit", lambda tx: q.hold_engine(tx, kind=kind, **facts, at=tx.at)))


def start(scene: SimulatedScene, slug: str, *, engine: str | None = None, model: str | None = None) -> str:
    if not scene.fleet.graph.slugs(project=PROJECT, prefix=slug):
        scene.fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    return scene.fleet.dispatches.start(Wanted(project=PROJECT, slug=slug, engine=engine, model=model)).id


def why(scene: SimulatedScene, slug: str) -> str:
    return "\n".join(scene.fleet.tasks.why(project=PROJECT, slug=slug).sentences)


def test_an_agent_starts_on_the_first_engine_of_the_list(two):
    row = two.fleet.context.dispatch(start(two, "a"))
    assert (row.engine, row.instead_of) == ("one", None)
    assert "instead of" not in why(two, "a")


def test_the_next_engine_takes_the_place_of_one_that_is_held_back_and_it_is_said(two):
    hold(two, "one", until=two.clock.now() + HOUR)
    ident = start(two, "a")
    two.launch(ident)
    (agent,) = two.fleet.agents.list()
    assert (agent.engine, agent.instead_of) == ("two", "one")
    assert f"its agent {ident} runs on two instead of one: engine 'one' is held back: no more today" in why(two, "a")
    (held,) = two.fleet.views.status().holds
    assert (held.engine, held.instead) == ("one", ["two"])


def test_a_failed_login_is_passed_over_too(two):
    hold(two, "one", kind="login")
    assert two.fleet.context.dispatch(start(two, "a")).engine == "two"


def test_the_first_engine_is_tried_again_after_its_reset_and_the_others_do_not_wait_for_the_trial(two):
    hold(two, "one", until=two.clock.now() + HOUR)
    two.clock.wait(HOUR / SECOND)
    trial = start(two, "a")
    two.launch(trial)
    assert two.fleet.context.dispatch(trial).engine == "one"
    assert two.fleet.context.dispatch(start(two, "b")).engine == "two"


def test_when_all_are_held_back_nothing_starts_and_the_first_says_until_when(two):
    hold(two, "one", until=two.clock.now() + HOUR)
    hold(two, "two", kind="login")
    with pytest.raises(EngineHeld, match="'one'"):
        start(two, "a")


def test_an_engine_that_was_asked_for_by_name_is_not_replaced(two):
    hold(two, "one", until=two.clock.now() + HOUR)
    with pytest.raises(EngineHeld):
        start(two, "a", engine="one")


def test_a_tasks_model_is_recorded_and_becomes_words_of_the_command(two):
    two.fleet.tasks.add(project=PROJECT, title="a", slug="a", model="small")
    ident = start(two, "a")
    assert two.launch(ident).words[-3:] == ("--model", "small", "1000")
    assert two.fleet.dispatches.show(ident).model == "small"
    two.fleet.tasks.edit(Edit(project=PROJECT, slug="a", clear=frozenset({"model"}), override=True))
    assert two.fleet.tasks.show(project=PROJECT, slug="a").model is None


def test_the_model_of_the_request_comes_before_that_of_the_task(two):
    two.fleet.tasks.add(project=PROJECT, title="a", slug="a", model="small")
    assert two.fleet.context.dispatch(start(two, "a", model="large")).model == "large"


def test_a_tasks_model_belongs_to_its_usual_engine_and_another_engine_uses_its_own(two):
    for slug in ("a", "b"):
        two.fleet.tasks.add(project=PROJECT, title=slug, slug=slug, model="small")
    assert two.fleet.context.dispatch(start(two, "a", engine="two")).model is None
    hold(two, "one", kind="login")
    row = two.fleet.context.dispatch(start(two, "b"))
    assert (row.engine, row.model) == ("two", None)


def test_where_no_engine_is_set_a_tasks_model_belongs_to_the_engine_that_is_asked_for(two):
    Path(two.repository, "fleet.toml").unlink()
    two.fleet.context.forget()
    two.fleet.tasks.add(project=PROJECT, title="a", slug="a", model="small")
    assert two.fleet.context.dispatch(start(two, "a", engine="two")).model == "small"


def test_a_model_that_would_be_an_option_is_refused(two):
    with pytest.raises(BadName):
        two.fleet.tasks.add(project=PROJECT, title="a", slug="a", model="--yolo")
    with pytest.raises(BadName):
        start(two, "a", model="--yolo")


def test_an_engine_that_takes_no_model_says_so(scene):
    with pytest.raises(BadInput, match="shell cannot be given a model"):
        start(scene, "a", engine="shell", model="small")


def ports(scene: SimulatedScene, ident: str) -> tuple[str, str]:
    env = scene.agent(ident).environment
    return env["FLEET_PORT_BASE"], env["FLEET_PORT_COUNT"]


def test_each_worktree_has_ports_of_its_own_and_keeps_them(scene):
    first, second = scene.work("a"), scene.work("b")
    assert (ports(scene, first), ports(scene, second)) == (("20000", "20"), ("20020", "20"))
    scene.exit(first, 1)
    scene.fleet.sessions.settle(first)
    scene.fleet.tasks.retry(project=PROJECT, slug="a")
    assert ports(scene, scene.work("a")) == ("20000", "20")


def test_the_ports_of_a_removed_worktree_go_to_the_next(scene):
    ident = scene.work("a")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    scene.fleet.tasks.abandon(project=PROJECT, slug="a")
    scene.fleet.tasks.archive(project=PROJECT, slug="a")
    scene.fleet.sweep.run(kill=True)
    assert ports(scene, scene.work("b")) == ("20000", "20")


def test_without_a_free_block_nothing_starts():
    with SimulatedScene(settings="[ports]\nfirst = 65000\nblock = 500\n") as scene:
        scene.work("a")
        with pytest.raises(NoPortsLeft, match="500 ports"):
            scene.dispatch("b")

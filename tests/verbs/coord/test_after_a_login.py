"""A person says that an engine works again: what its hold stopped continues, one agent first, then the others."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from fleet.api import hooking
from fleet.errors.refused import EngineHeld
from fleet.model.agents.dialect import Dialect
from fleet.model.names import DispatchId
from fleet.store import queries as q
from fleet.surfaces.cli.commands.agents import hooks as hooks_command
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

HOOKED = """
summary = "a test's agent with hooks"
program = "sh"
start = ["{program}", "-c", "sleep 1000"]
interactive = true
[hooks]
wakes = ["Stop"]
[hooks.events]
Stop = "stopped"
"""
DIALECT = {
    "engine": "hooked",
    "events": {"Failed": "failed", "Worked": "worked", "Prompt": "prompted"},
    "errors": {"login": "login", "limit": "limit"},
    "fields": {"error": "error"},
}


@pytest.fixture
def scene() -> Iterator[SimulatedScene]:
    with SimulatedScene() as made:
        Path(made.home, "engines").mkdir()
        Path(made.home, "engines", "hooked.toml").write_text(HOOKED)
        yield made


def works(scene: SimulatedScene, slug: str) -> str:
    scene.clock.wait(1)
    scene.fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    ident = scene.fleet.dispatches.start(Wanted(project=PROJECT, slug=slug, engine="hooked")).id
    scene.launch(ident)
    return ident


def hears(scene: SimulatedScene, ident: str, event: str, **payload: str) -> None:
    """An event of the agent's hook, a second after the one before."""
    scene.clock.wait(1)
    at, store = scene.clock.now(), scene.fleet.store
    hook = hooking.Hooking(scene.home, DispatchId(ident), store, scene.fleet.funnel)
    hook._committer.clock = scene.clock
    hook.handle_event(Dialect(DIALECT), event, payload, at)


def told(scene: SimulatedScene, ident: str) -> list[str]:
    return [row.text for row in scene.fleet.store.read(lambda rows: q.waiting_messages(rows, dispatch=ident))]


def failed(scene: SimulatedScene, *slugs: str, error: str = "login") -> list[str]:
    idents = [works(scene, slug) for slug in slugs]
    for ident in idents:
        hears(scene, ident, "Failed", error=error)
    return idents


@pytest.mark.req("ENG-7", "LIMIT-1")
def test_after_a_repaired_login_one_agent_continues_and_the_others_when_its_model_has_answered(scene):
    first, second, third = failed(scene, "a", "b", "c")
    scene.fleet.agents.tend(PROJECT)
    assert [told(scene, each) for each in (first, second, third)] == [[], [], []], "a person has to mend it"
    lifted = scene.fleet.engines.lift("hooked")
    assert (lifted.lifted, lifted.continued, lifted.waiting) == (True, [first], [second, third])
    assert told(scene, first) == ["The login works again. Go on where you were."]
    scene.fleet.agents.tend(PROJECT)
    assert [told(scene, each) for each in (second, third)] == [[], []], "not before the first has an answer"
    hears(scene, first, "Prompt")
    hears(scene, first, "Worked")
    assert scene.fleet.engines.limits().holds == []
    scene.fleet.agents.tend(PROJECT)
    assert [len(told(scene, each)) for each in (second, third)] == [1, 1]
    scene.fleet.agents.tend(PROJECT)
    assert [len(told(scene, each)) for each in (second, third)] == [1, 1], "once"


@pytest.mark.req("LIMIT-1")
def test_a_login_that_still_fails_holds_the_engine_back_again_and_nobody_else_tries(scene):
    first, second = failed(scene, "a", "b")
    scene.fleet.engines.lift("hooked")
    hears(scene, first, "Failed", error="login")
    (hold,) = scene.fleet.engines.limits().holds
    assert (hold.kind, hold.until, hold.trial) == ("login", None, None)
    scene.fleet.agents.tend(PROJECT)
    assert told(scene, second) == []
    with pytest.raises(EngineHeld) as refused:
        works(scene, "c")
    assert "fleet limits lift hooked" in refused.value.next_step


@pytest.mark.req("LIMIT-1")
def test_a_limit_that_a_person_lifts_early_is_tried_by_one_agent_too(scene):
    first, second = failed(scene, "a", "b", error="limit")
    lifted = scene.fleet.engines.lift("hooked")
    assert (lifted.continued, lifted.waiting) == ([first], [second])
    assert told(scene, first) == ["The usage limit has been reset. Go on where you were."]


@pytest.mark.req("LIMIT-1")
def test_without_a_stopped_agent_the_next_dispatch_is_the_trial(scene):
    (ident,) = failed(scene, "a")
    scene.fleet.dispatches.kill(ident, "a test")
    lifted = scene.fleet.engines.lift("hooked")
    assert (lifted.lifted, lifted.continued, lifted.waiting) == (True, [], [])
    trial = works(scene, "b")
    assert scene.fleet.engines.limits().holds[0].trial == trial
    with pytest.raises(EngineHeld) as refused:
        works(scene, "c")
    assert f"{trial} tries whether it is over" in refused.value.next_step


def test_lifting_what_is_not_held_changes_nothing(scene):
    lifted = scene.fleet.engines.lift("hooked")
    assert (lifted.lifted, lifted.continued, lifted.waiting) == (False, [], [])


def give_away(scene: SimulatedScene, ident: str) -> None:
    """Make a dispatch one of another home that uses the same store."""
    with closing(sqlite3.connect(f"{scene.home}/{paths.DATABASE}")) as database, database:
        database.execute("UPDATE dispatches SET home = 'other' WHERE id = ?", [ident])


@pytest.mark.req("LIMIT-1")
def test_an_agent_of_another_home_is_neither_reminded_nor_made_the_trial(scene):
    foreign, own = failed(scene, "a", "b", error="limit")
    give_away(scene, foreign)
    lifted = scene.fleet.engines.lift("hooked")
    assert (lifted.continued, lifted.waiting) == ([own], [])
    assert [len(told(scene, each)) for each in (foreign, own)] == [0, 1]
    assert scene.fleet.engines.limits().holds[0].trial == own


@pytest.mark.req("LIMIT-1")
def test_agents_that_a_coordinator_of_another_home_does_not_tend_are_looked_after_in_their_own(scene):
    wanted = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
    coordinator = scene.fleet.coord.start(wanted).id
    scene.launch(coordinator)
    first, second = failed(scene, "a", "b", error="limit")
    assert scene.fleet.agents.unattended() == []
    give_away(scene, coordinator)
    assert scene.fleet.agents.unattended() == [PROJECT]
    assert scene.fleet.engines.lift("hooked").unattended == [second]
    hears(scene, first, "Prompt")
    hears(scene, first, "Worked")
    scene.fleet.agents.look_after(PROJECT)
    assert [len(told(scene, each)) for each in (first, second)] == [1, 1]


@pytest.mark.req("LIMIT-1")
def test_where_nobody_coordinates_the_others_continue_at_the_second_lift(scene):
    first, second = failed(scene, "a", "b")
    lifted = scene.fleet.engines.lift("hooked")
    assert (lifted.continued, lifted.waiting, lifted.unattended) == ([first], [second], [second])
    hears(scene, first, "Prompt")
    hears(scene, first, "Worked")
    again = scene.fleet.engines.lift("hooked")
    assert (again.continued, again.unattended) == ([second], [])
    assert len(told(scene, second)) == 1


@pytest.mark.req("LIMIT-1")
def test_where_somebody_coordinates_nobody_has_to_lift_it_again_until_the_coordinator_is_dead(scene):
    wanted = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
    coordinator = scene.fleet.coord.start(wanted).id
    scene.launch(coordinator)
    _first, second = failed(scene, "a", "b")
    lifted = scene.fleet.engines.lift("hooked")
    assert (lifted.waiting, lifted.unattended) == ([second], [])
    scene.exit(coordinator)
    assert scene.fleet.engines.lift("hooked").unattended == [second]


def test_the_command_says_how_those_continue_that_nobody_coordinates(scene):
    _first, second = failed(scene, "a", "b")
    with patch.object(hooks_command.Fleet, "open", lambda **_given: nullcontext(scene.fleet)):
        said = CliRunner().invoke(hooks_command.lift, ["hooked"], catch_exceptions=False).output
    assert f"nobody in this home coordinates their project: {second}" in said
    assert "run `fleet limits lift hooked` again" in said
    assert "next tick" not in said

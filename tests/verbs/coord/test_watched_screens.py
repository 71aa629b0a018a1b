"""Trouble that only an agent's screen shows: recorded once, again after something was said, and cleared when the agent goes on."""

from pathlib import Path

import pytest

from fleet.store import queries as q
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents import screens
from fleet.verbs.dispatch.plan import Wanted

ENGINE = """\
summary = "asks and fails"
program = "sleep"
start = ["{program}", "1000"]
interactive = true

[[screen]]
state = "limit"
match = '(?P<question>usage limit: .*)'

[[screen]]
state = "failed_turn"
match = '(?P<question>API error .*)'

[[screen]]
state = "working"
match = "working"

[[screen]]
state = "idle"
match = "ready>"
"""


@pytest.fixture
def watched(scene: SimulatedScene) -> tuple[SimulatedScene, str]:
    """An agent whose engine has no hooks."""
    Path(scene.home, "engines").mkdir()
    Path(scene.home, "engines", "seen.toml").write_text(ENGINE)
    scene.fleet.tasks.add(project=PROJECT, title="a", slug="a")
    ident = scene.fleet.dispatches.start(Wanted(project=PROJECT, slug="a", engine="seen")).id
    scene.launch(ident)
    return scene, ident


def show(scene: SimulatedScene, ident: str, text: str) -> list[str]:
    scene.pane(ident).screen = text
    return screens.watch(scene.fleet.context, PROJECT)


def agent(scene: SimulatedScene, ident: str):
    return scene.fleet.store.read(lambda rows: q.heard_agent(rows, dispatch=ident))


@pytest.mark.req("ENG-7")
def test_a_failed_turn_on_the_screen_counts_once_and_not_while_it_stays_there(watched):
    scene, ident = watched
    assert show(scene, ident, "working") == []
    assert show(scene, ident, "API error 529") == [f"{ident}: failed turn, API error 529"]
    assert show(scene, ident, "API error 529") == []
    known = agent(scene, ident)
    assert (known.state, known.detail, known.failed_turns) == ("failed_turn", "API error 529", 1)
    assert show(scene, ident, "working") == []
    assert (agent(scene, ident).state, agent(scene, ident).failed_turns) == (None, 1), "the turn is not over"
    assert show(scene, ident, "API error 529") != []
    assert agent(scene, ident).failed_turns == 2
    show(scene, ident, "ready>")
    assert (agent(scene, ident).state, agent(scene, ident).failed_turns) == (None, 0)


@pytest.mark.req("LIMIT-1")
def test_a_limit_on_the_screen_holds_the_engine_back(watched):
    scene, ident = watched
    assert show(scene, ident, "usage limit: try later") == [f"{ident}: limit, usage limit: try later"]
    (hold,) = scene.fleet.views.status().holds
    assert (hold.engine, hold.kind) == ("seen", "limit")
    assert "usage limit" in hold.reason
    scene.clock.wait(60)
    assert show(scene, ident, "what is this?") == [], "what is not recognised says nothing"
    assert agent(scene, ident).state == "limit"


@pytest.mark.req("ENG-7")
def test_the_screens_of_agents_that_reported_or_have_hooks_are_not_watched(watched):
    scene, ident = watched
    scene.report(ident, "a")
    assert show(scene, ident, "API error 529") == []
    other = scene.work("b")  # its engine has no screens
    assert show(scene, other, "API error 529") == []

"""What people read all day asks no more of the outside for many agents than for two: counted, not timed."""

from pathlib import Path

import pytest

from fleet.engines.reader import BUILT_IN


class Counting:
    """Counts the commands that are started, by their names."""

    def __init__(self) -> None:
        self.effects: list[str] = []

    def before(self, effect: str) -> None:
        self.effects.append(effect)

    def during(self, effect: str, pid: int) -> None: ...

    def after(self, effect: str) -> None: ...


def effects_of(scene, name: str) -> list[str]:
    fleet = scene.open()
    fleet.funnel.watcher = counting = Counting()
    {"ps": fleet.agents.list, "status": fleet.views.status}[name]()
    return counting.effects


def with_screen_rule(scene) -> None:
    """Let the home's engine `shell` recognise a question on an agent's screen."""
    Path(scene.home, "engines").mkdir()
    rule = "[[screen]]\nstate = 'asks'\nmatch = '''(?P<question>Which .*)\\Z'''\n"
    built_in = BUILT_IN / "shell.toml"
    Path(scene.home, "engines/shell.toml").write_text(built_in.read_text(encoding="utf-8") + rule, encoding="utf-8")


@pytest.mark.req("OBS-3", "OBS-8")
@pytest.mark.parametrize("name", ["ps", "status"])
def test_the_server_is_asked_as_often_about_six_agents_as_about_two(scene, name):
    with_screen_rule(scene)
    idents = [scene.work("a"), scene.work("b")]
    few = effects_of(scene, name)
    assert few.count("tmux capture-pane") == 1, "the screens of agents without hooks, in one call"
    idents += [scene.work(slug) for slug in ("c", "d", "e", "f")]
    assert effects_of(scene, name) == few
    assert {agent.id for agent in scene.fleet.agents.list()} == set(idents)


@pytest.mark.req("OBS-8")
@pytest.mark.parametrize("name", ["ps", "status"])
def test_screens_are_not_read_when_the_engine_has_no_rules_for_them(scene, name):
    scene.work("a")
    assert effects_of(scene, name) == ["tmux list"]


@pytest.mark.req("OBS-8")
def test_each_of_many_agents_is_judged_by_its_own_screen(scene):
    with_screen_rule(scene)
    idents = [scene.work(slug) for slug in ("a", "b", "c")]
    for ident, text in zip(idents, ("Which port?", "", "Which name?"), strict=True):
        scene.pane(ident).screen = text
    seen = {agent.id: (agent.state, agent.source, agent.detail) for agent in scene.fleet.agents.list()}
    assert [seen[ident] for ident in idents] == [
        ("asks", "screen", "Which port?"),
        ("running", "process", ""),
        ("asks", "screen", "Which name?"),
    ]

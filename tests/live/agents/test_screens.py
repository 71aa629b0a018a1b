"""Trouble that only a screen shows: a limit holds its engine back and is gone on from, a failed turn is continued, five times."""

from pathlib import Path

import pytest
from staging.speaking import agent
from staging.stage import raw

from fleet.errors.refused import EngineHeld
from fleet.model.agents.activity.hook_events import MOST_FAILED_TURNS
from fleet.testing.crash.scenarios import until
from fleet.verbs.agents import failed_turns
from fleet.verbs.agents.failed_turns import GO_ON, RESET
from fleet.verbs.agents.screens import watch
from fleet.verbs.dispatch.plan import Wanted

ENGINE = """
summary = "Shows what it is told to show, and writes down what is typed"
program = "{program}"
start = ["{{program}}"]
interactive = true

[[screen]]
state = "limit"
box = true
match = '''^! (?P<question>.*)\\n>\\Z'''

[[screen]]
state = "failed_turn"
match = '''^x (?P<question>.*)\\n>\\Z'''

[[screen]]
state = "finished"
match = '''^ok .*\\n>\\Z'''
"""
PROGRAM = """#!/bin/sh
show() {{ clear; cat {root}/screen; printf '> '; }}
show
while read -r line; do printf '%s\\n' "$line" >> {root}/heard; show; done
"""
HOUR = 3_600_000


class Teller:
    """An agent that shows whatever is in a file, each time something is said to it."""

    def __init__(self, scene, fleet, first: str) -> None:
        self.fleet, self.scene = fleet, scene
        self.screen, self.heard = Path(scene.root, "screen"), Path(scene.root, "heard")
        program = Path(scene.root, "teller")
        program.write_text(PROGRAM.format(root=scene.root))
        program.chmod(0o700)
        engines = Path(scene.home, "engines")
        engines.mkdir()
        (engines / "teller.toml").write_text(ENGINE.format(program=program))
        self.screen.write_text(first)
        fleet.tasks.add(project="p", title="T", slug="t")
        self.ident = fleet.dispatches.start(Wanted(project="p", slug="t", engine="teller")).id
        scene.launched(fleet, self.ident)
        self.shows(first)

    def shows(self, text: str) -> None:
        until(lambda: text.strip() in self._screen() and self._screen().endswith("\n>"))

    def _screen(self) -> str:
        return self.fleet.agents.screen(self.ident).rstrip()

    def long_ago(self) -> None:
        """Whatever was seen or said was so an hour ago, in the same order."""
        raw(self.fleet, f"UPDATE agents SET state_at = state_at - {HOUR}")
        raw(self.fleet, f"UPDATE messages SET delivered_at = delivered_at - {HOUR // 2}")
        raw(self.fleet, f"UPDATE holds SET since = since - {HOUR}, until = until - {HOUR}")

    def told(self) -> list[str]:
        return self.heard.read_text().splitlines() if self.heard.exists() else []


@pytest.mark.req("LIMIT-1", "AGENT-1")
def test_a_limit_on_the_screen_holds_the_engine_back_until_the_agent_has_gone_on(either):
    with either.fleet() as fleet:
        teller = Teller(either, fleet, "! You have had enough, resets in a while\n")
        (line,) = watch(fleet.context, "p")
        assert (teller.ident in line, "You have had enough" in line) == (True, True)
        assert watch(fleet.context, "p") == [], "it is known"
        found = agent(fleet, teller.ident)
        assert (found.state, found.source) == ("limit", "screen")
        assert [each.engine for each in fleet.engines.limits().holds] == ["teller"]
        fleet.tasks.add(project="p", title="U", slug="u")
        with pytest.raises(EngineHeld, match="You have had enough"):
            fleet.dispatches.start(Wanted(project="p", slug="u", engine="teller"))
        assert failed_turns.continue_agents(fleet.context, "p") == [], "not before the reset"
        teller.long_ago()
        teller.screen.write_text("ok that went well\n")
        (said,) = failed_turns.continue_agents(fleet.context, "p")
        assert RESET in said
        teller.shows("ok that went well")
        assert any(RESET in each for each in teller.told())
        assert watch(fleet.context, "p") == []
        assert (fleet.engines.limits().holds, agent(fleet, teller.ident).state) == ([], "finished")


@pytest.mark.req("LIMIT-1", "AGENT-1")
def test_a_turn_that_failed_on_the_screen_is_continued_a_bounded_number_of_times(either):
    with either.fleet() as fleet:
        teller = Teller(either, fleet, "x the model is overloaded\n")
        for number in range(1, MOST_FAILED_TURNS + 1):
            assert len(watch(fleet.context, "p")) == 1, "it failed again"
            assert failed_turns.continue_agents(fleet.context, "p") == [], "it rests first"
            assert watch(fleet.context, "p") == [], "one failure counts once"
            teller.long_ago()
            (said,) = failed_turns.continue_agents(fleet.context, "p")
            assert GO_ON.partition("(")[0] in said
            until(lambda: len(teller.told()) == number)  # noqa: B023
            teller.shows("x the model is overloaded")
            teller.long_ago()
        assert len(watch(fleet.context, "p")) == 1
        teller.long_ago()
        assert failed_turns.continue_agents(fleet.context, "p") == [], "enough"
        assert (agent(fleet, teller.ident).state, fleet.engines.limits().holds) == ("failed_turn", [])

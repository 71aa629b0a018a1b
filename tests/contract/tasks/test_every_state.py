"""Every reachable state of a task has one next step, which all views and refusals name, and which works."""

import os
import random
from pathlib import Path

import pytest
from contract.tasks.walking import Walk, every_scenario, some_scenario
from plugins.samples import sampled

from fleet.api.fleet import Fleet
from fleet.surfaces.cli import entry
from fleet.testing.simulated import SimulatedScene

SEED = os.environ.get("FLEET_WALK_SEED") or str(random.randrange(1_000_000))
WHOLE = bool(os.environ.get("FLEET_EVERY_STATE"))
SOME = 8
SCENARIOS = list(every_scenario()) if WHOLE else []
ALL = sum(1 for _ in every_scenario())


@pytest.fixture
def walk(monkeypatch, capsys):
    """A task in a home whose people review, and the command line over the same simulated world."""
    own = Fleet.open
    with SimulatedScene() as scene:
        Path(scene.repository, "fleet.toml").write_text('review = "person"\n')

        def run(words: list[str]) -> tuple[int, str]:
            with monkeypatch.context() as patched:
                patched.setattr(Fleet, "open", lambda *home, **more: own(*home, **more) if home else scene.open())
                code = entry.run(words)
            said = capsys.readouterr()
            return code, said.out + said.err

        yield Walk(scene, run)


@pytest.mark.slow("plays the whole way of a task, with git")
@pytest.mark.parametrize("number", range(len(SCENARIOS) if WHOLE else SOME))
def test_the_named_step_of_any_state_leads_on(walk, number):
    scenario = SCENARIOS[number] if WHOLE else some_scenario(random.Random(f"{SEED}/{number}"))
    print(f"FLEET_WALK_SEED={SEED} number {number}: {scenario}")
    walk.reach(scenario)
    walk.try_other(scenario.other)
    walk.follow()
    sampled("states of a task", ran=1, of=ALL)

"""A step whose engine refuses its own tool has not done its work, even if it exits with 0."""

import os
from pathlib import Path

import pytest

from fleet.engines.reader import BUILT_IN, read
from fleet.model.jobs.workflow import Step
from fleet.testing.crash.scenarios import until
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.jobs.items.run_step import StepRun, Where
from fleet.world.home import paths
from fleet.world.process.job_commands import CommandEnd

REFUSED = "\x1b[93m\x1b[1m! \x1b[0mpermission requested: bash (git push *); auto-rejecting\n"
ENGINE = "summary = 'x'\nprogram = 'true'\nstart = ['{{program}}']\nrefused = '''{pattern}'''\n"


@pytest.mark.req("JOB-4")
@pytest.mark.parametrize(
    ("shown", "ok"),
    [
        pytest.param(f"I try it.\n{REFUSED}{'more output' * 2000}\n", False, id="refused"),
        pytest.param("! permission requested: edit (a.txt); auto-rejecting\n", False, id="without colours"),
        pytest.param("The text `permission requested: bash (x); auto-rejecting` is in a file.\n", True, id="quoted"),
        pytest.param("Done.\n", True, id="done"),
    ],
)
def test_a_step_that_was_refused_its_own_tool_and_exits_with_0_has_failed(scene, shown, ok):
    os.mkdir(f"{scene.home}/engines")
    pattern = read(BUILT_IN / "opencode.toml").refused
    assert pattern is not None
    Path(scene.home, "engines/refusing.toml").write_text(ENGINE.format(pattern=pattern.text))
    unset = {"name": None, "commit_required": False, "autonomy": None, "model": None}
    step = Step(kind="agent", text="do it", engine="refusing", timeout=60_000, **unset)
    where = Where(home=scene.home, job="0a0b0c0d", project=PROJECT, item="i", attempt=1, cwd=scene.repository)
    run = StepRun(scene.fleet.context, step, 1, where, {})
    child = run.start()
    assert not isinstance(child, CommandEnd), child
    ends: list[CommandEnd] = []
    until(lambda: ends.extend(filter(None, [child.look()])) or ends)
    (ended,) = ends
    Path(scene.home, paths.job_step("0a0b0c0d", "i.1.1.log")).write_text(shown)
    result, row = run.conclude(ended)
    assert (ended.status, result.ok, row.status) == (0, ok, 0)
    assert ok or ("it refused a tool of its own" in result.reason and "permission requested: " in result.reason)
    assert "\x1b" not in result.reason

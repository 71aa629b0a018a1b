"""The real Claude Code as an agent step of a job: without a terminal, in the item's worktree, its commit merged."""

import json
from pathlib import Path

import pytest

from fleet.testing.scene import PROJECT

JOB = """
name: real
map:
  engine: claude
  autonomy: {autonomy}
  input: [out]
  steps:
    - agent: "Write {{item}}.txt and commit."
      commit_required: true
    - shell: "grep -q hello {{item}}.txt"
  retry: {{attempts: 1}}
"""
WRITE = {"run": 'echo hello > out.txt && git add out.txt && git commit --quiet --message "Add out"'}


@pytest.mark.req("JOB-1", "JOB-4")
def test_an_agent_step_commits_and_is_merged(stage):
    stage.play(WRITE, {"say": "Done."})
    path = Path(stage.scene.root, "job.yml")
    path.write_text(JOB.format(autonomy="full"))
    said = stage.program("job", "run", str(path), "-p", PROJECT, "--json")
    end = json.loads(said.out.splitlines()[-1])
    assert (said.code, end["items"]["done"]) == (0, 1), said
    assert stage.scene.git("show", f"{end['branch']}:out.txt") == "hello"
    assert "Done." in stage.program("job", "logs", end["id"]).out


@pytest.mark.req("JOB-3")
def test_an_agent_step_that_is_refused_its_tool_has_failed(stage):
    stage.play(WRITE, {"say": "I may not."})
    path = Path(stage.scene.root, "job.yml")
    path.write_text(JOB.format(autonomy="ask"))
    said = stage.program("job", "run", str(path), "-p", PROJECT, "--json")
    end = json.loads(said.out.splitlines()[-1])
    assert (said.code, end["items"]["dead"]) == (1, 1), said
    assert "it made no commit" in stage.program("job", "dlq", "list", end["id"]).out
    assert stage.program("job", "dlq", "drop", end["id"], "--all").code == 0

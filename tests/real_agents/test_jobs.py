"""The real Claude Code as an agent step of a job: without a terminal, in the item's worktree, its commit merged."""

import json
from pathlib import Path

import pytest
from real_agents.staging.stage import until

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


@pytest.mark.req("JOB-6", "LIMIT-1")
def test_a_job_that_reaches_a_limit_waits_says_until_when_and_goes_on_when_it_is_lifted(stage):
    stage.prefer({"env": {"CLAUDE_CODE_MAX_RETRIES": "0"}})
    stage.play({"error": 429, "headers": {"x-should-retry": "false"}})
    path = Path(stage.scene.root, "job.yml")
    path.write_text(JOB.format(autonomy="full"))
    running = stage.program.start("job", "run", str(path), "-p", PROJECT, "--json")
    said = stage.program
    until(lambda: said("job", "list", "--json").json, lambda: str(running.poll()))
    (job,) = said("job", "list", "--json").ok().json
    until(lambda: said("job", "show", job["id"], "--json").json["waits"], lambda: str(said("job", "logs", job["id"])))
    assert "claude is held back until " in said("job", "show", job["id"]).ok().out
    assert said("job", "show", job["id"], "--json").json["items"]["dead"] == 0, "no item fails for it"
    stage.play(WRITE, {"say": "Done."})
    said("limits", "lift", "claude").ok()
    until(lambda: running.poll() is not None, lambda: str(said("job", "show", job["id"])))
    assert said("job", "show", job["id"], "--json").json["items"]["done"] == 1

"""The real Codex, Gemini CLI and OpenCode as the agent step of a job: without a terminal, in the item's worktree, its commit merged."""

import json
from pathlib import Path

import pytest
from real_agents.staging.others import OTHERS, Others
from real_agents.staging.stage import needs

from fleet.testing.scene import PROJECT

JOB = """
name: real
map:
  engine: {engine}
  autonomy: full
  input: [out]
  steps:
    - agent: "Write {{item}}.txt and commit."
      commit_required: true
    - shell: "grep -q hello {{item}}.txt"
  retry: {{attempts: 1}}
"""
WRITE = 'echo hello > out.txt && git add out.txt && git commit --quiet --message "Add out"'


@pytest.mark.req("JOB-1", "JOB-4")
@pytest.mark.parametrize("name", OTHERS)
def test_an_agent_step_commits_and_is_merged(name, monkeypatch):
    needs(name)
    others = Others(monkeypatch, name, [WRITE])
    try:
        path = Path(others.scene.root, "job.yml")
        path.write_text(JOB.format(engine=name))
        said = others.program("job", "run", str(path), "-p", PROJECT, "--json")
        end = json.loads(said.out.splitlines()[-1])
        assert (said.code, end["items"]["done"]) == (0, 1), said
        assert others.scene.git("show", f"{end['branch']}:out.txt") == "hello"
        assert "Done." in others.program("job", "logs", end["id"]).out
        assert any("Write out.txt and commit." in each for each in others.model.heard)
    finally:
        others.close()

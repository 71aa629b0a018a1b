"""The real Codex, Gemini CLI and OpenCode as the agent step of a job: without a terminal, in the item's worktree, its commit merged.

And what Codex and Gemini CLI write down of their tokens, counted and priced.
"""

import json
from pathlib import Path

import pytest
from real_agents.staging.others import OTHERS, Others
from real_agents.staging.stage import needs, until

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


@pytest.mark.req("AGENT-1")
@pytest.mark.parametrize("name", ["codex", "gemini"])
def test_their_tokens_are_counted_and_priced(name, monkeypatch):
    """Each answer of the stub is 600 new tokens, 400 from the cache, and 20 of output: a thousandth of a dollar."""
    needs(name)
    others = Others(monkeypatch, name, ["true", "fleet done"])
    prices = "[stub]\ninput = 1.0\noutput = 10.0\ncache_read = 0.5\ncache_write = 0\n"
    Path(others.scene.home, "prices.toml").write_text(prices)
    try:
        ident = others.starts("t", "full")
        until(lambda: len(others.model.heard) == 3, lambda: others.screen(ident))
        others.until_state(ident, "reported done")
        with others.scene.fleet() as fleet:
            until(
                lambda: fleet.sweep.run(kill=True) is not None and not fleet.agents.list(), lambda: others.screen(ident)
            )
            used = fleet.tasks.show(project=PROJECT, slug="t").used
        assert (used.tokens, used.unpriced, round(used.dollars, 6)) == (3 * 1020, 0, 0.003)
    finally:
        others.close()

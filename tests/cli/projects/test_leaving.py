"""docs/how-to/leaving.md, played: afterwards nothing of fleet is in the repository, nor in the home's place."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs/how-to/leaving.md"
PLAYED = re.compile(r"<!-- played -->\n +```sh\n(.*?)\n +```", re.DOTALL)


def test_the_page_on_leaving_takes_fleet_out_without_a_trace(fleet, repository, home, tmp_path):
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    git = lambda *words: subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True, text=True)  # noqa: E731
    git(*who, "commit", "--quiet", "--allow-empty", "--message=one")
    before = git("for-each-ref").stdout, git("config", "--local", "--list").stdout
    # What a life with agents leaves behind.
    fleet.add("a")
    fleet("task", "claim", "a").ok()
    for ref in ("refs/heads/fleet/main", "refs/heads/worker/a", "refs/fleet/kept/a/1"):
        git("update-ref", ref, "HEAD")
    git("symbolic-ref", "refs/fleet/target", "refs/heads/main")
    git("config", "branch.worker/a.fleet", "mark")
    Path(repository, "fleet.toml").write_text('verify = "true"\n')
    blocks = PLAYED.findall(PAGE.read_text())
    assert len(blocks) == 4
    env = {**os.environ, "HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for number, block in enumerate(blocks):
        done = subprocess.run(["sh", "-c", block], cwd=repository, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
        if number == 0:
            assert fleet.ask("project", "list") == []
    assert not home.exists()
    assert [path.name for path in repository.iterdir()] == [".git"]
    assert (git("for-each-ref").stdout, git("config", "--local", "--list").stdout) == before
    assert not Path(repository, ".git/refs/fleet/target").exists()

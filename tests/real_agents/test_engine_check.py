"""`fleet engine check` with the real programs: what their sandboxes and permissions let through, proven from inside."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from cli.commandline import FLEET
from real_agents.staging.stage import BIN, needs

from fleet.engines.reader import BUILT_IN
from fleet.testing.engine_trial import clear


@pytest.fixture
def trial(home, tmp_path, monkeypatch):
    """What came of one autonomy of an engine; and that nothing is left."""
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)
    monkeypatch.setenv("IS_SANDBOX", "1")

    def check(name: str, autonomy: str) -> dict:
        words = [FLEET, "engine", "check", name, "--autonomy", autonomy, "--json"]
        env = os.environ | {"FLEET_HOME": str(home)}
        said = subprocess.run(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, check=False).stdout
        assert not (home / "check").exists()
        (found,) = json.loads(said)["trials"]
        return found

    yield check
    clear(str(home / "check"))


def without(home: Path, word: str) -> str:
    """An engine like Codex whose sandbox is not opened for something."""
    text = (BUILT_IN / "codex.toml").read_text(encoding="utf-8")
    path = home / "engines" / "narrow.toml"
    path.parent.mkdir(parents=True)
    assert text.count(word) > 1
    path.write_text(text.replace(word, ""), encoding="utf-8")
    return path.stem


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize(
    ("autonomy", "verdict"), [("ask", "asks"), ("edits", "asks"), ("allowlist", "proven"), ("full", "proven")]
)
def test_claude_code_asks_or_works(trial, autonomy, verdict):
    needs("claude")
    found = trial("claude", autonomy)
    assert found["verdict"] == verdict, found
    assert ("git mv" in found["detail"]) == (verdict == "asks")


@pytest.mark.req("ENG-4")
@pytest.mark.parametrize(
    ("autonomy", "verdict"), [("ask", "asks"), ("edits", "proven"), ("allowlist", "proven"), ("full", "proven")]
)
def test_codex_asks_or_works_inside_its_sandbox(trial, autonomy, verdict):
    needs("codex")
    found = trial("codex", autonomy)
    assert found["verdict"] == verdict, found
    assert ("git mv" in found["detail"]) == (verdict == "asks")


@pytest.mark.req("ENG-4", "ENG-2")
@pytest.mark.parametrize("name", ["gemini", "opencode"])
@pytest.mark.parametrize(("autonomy", "verdict"), [("ask", "asks"), ("full", "proven")])
def test_gemini_and_opencode_ask_or_work(trial, name, autonomy, verdict):
    needs(name)
    found = trial(name, autonomy)
    assert found["verdict"] == verdict, found
    assert ("git mv" in found["detail"]) == (verdict == "asks")


@pytest.mark.req("ENG-4")
def test_codex_could_not_commit_if_gits_directories_were_not_opened(trial, home):
    """The twin: without them the sandbox is really in the way."""
    needs("codex")
    found = trial(without(home, ', "--add-dir={git_dir}"'), "allowlist")
    assert (found["verdict"], found["committed"]) == ("broken", False)
    assert "Read-only file system" in found["detail"]


@pytest.mark.req("ENG-4")
def test_codex_could_not_call_fleet_if_its_home_were_not_opened(trial, home):
    needs("codex")
    found = trial(without(home, ', "--add-dir={fleet_home}"'), "allowlist")
    arrived = {name: found[name] for name in ("committed", "logged", "reported")}
    assert (found["verdict"], arrived) == ("broken", {"committed": True, "logged": False, "reported": False})

"""What the sandboxes and permissions of the real programs let through: by `fleet engine check`, and with allowed commands."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cli.commandline import FLEET
from plugins import account
from real_agents.staging.others import OTHERS, Others, private_folder
from real_agents.staging.stage import BIN, needs, until

from fleet.engines.reader import BUILT_IN
from fleet.model.agents.allow import Allowed
from fleet.testing.engine_trial import clear
from fleet.testing.scene import PROJECT
from fleet.verbs.projects import allow


@pytest.fixture
def home():
    """The fleet home: the trials of engines are below it."""
    folder = private_folder(prefix="fleet-check-")
    where = Path(folder, "home")
    yield where
    left = account.closed(where)
    shutil.rmtree(folder, ignore_errors=True)
    assert left == [], left


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


# allowed commands ---------------------------------------------------------------------------------------------------------
COMMANDS = [
    'git add . && git commit --quiet --allow-empty --message "Add out"',
    'fleet log "half way"',
    "mkdir -p one",
    "touch one/a",
    "mkdir -p two",
    "fleet done",
]
REACHED = {"asks", "reported done", "stopped, no report", "exited"}


@pytest.fixture(params=OTHERS)
def others(request, monkeypatch):
    needs(request.param)
    made = Others(monkeypatch, request.param, COMMANDS)
    yield made
    made.close()


@pytest.mark.req("ASK-1", "ENG-5")
def test_what_is_allowed_is_not_asked_for_and_everything_else_is(others):
    with others.scene.fleet() as fleet:
        allow.remember_rule(fleet.context, PROJECT, Allowed(exact=("mkdir -p one",), prefixes=("touch",)))
    ident = others.starts("t", "ask")
    until(lambda: others.agent(ident).get("state") in REACHED, lambda: others.screen(ident))
    assert others.agent(ident)["state"] == "asks", others.screen(ident)
    until(lambda: "mkdir -p two" in others.screen(ident), lambda: others.screen(ident))
    tree = others.worktree("t")
    assert (tree / "one" / "a").exists()
    assert not (tree / "two").exists()
    assert others.scene.git("log", "--format=%s", "fleet/main..worker/t") == "Add out"
    assert any("half way" in entry.message for entry in others.task("t")["log"])

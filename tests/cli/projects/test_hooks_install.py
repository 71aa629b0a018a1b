"""fleet hooks install: in the person's own settings, marked, reversible, and nothing else is touched."""

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

MINE = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "audit"}]}],
        "Empty": [],
    },
    "statusLine": {"type": "command", "command": "my-line"},
    "päth": "ünïcode",
}


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with settings of their own."""
    home = tmp_path / "person"
    (home / ".claude").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home


def settings(person: Path) -> Path:
    return person / ".claude" / "settings.json"


@pytest.mark.req("HOOK-1")
def test_they_are_marked_and_gone_again_and_what_was_there_stays(fleet, person):
    settings(person).write_text(json.dumps(MINE, ensure_ascii=False), encoding="utf-8")
    settings(person).chmod(0o640)
    fleet("hooks", "install").ok()
    now = json.loads(settings(person).read_text(encoding="utf-8"))
    assert {key: now[key] for key in MINE if key != "hooks"} == {key: MINE[key] for key in MINE if key != "hooks"}
    assert now["hooks"]["Stop"][0] == MINE["hooks"]["Stop"][0]
    ours = [
        entry
        for groups in now["hooks"].values()
        for group in groups
        for entry in group["hooks"]
        if "fleet" in str(entry)
    ]
    assert all("# by fleet hooks install" in entry["command"] for entry in ours)
    assert len(ours) == 9
    assert stat.S_IMODE(settings(person).stat().st_mode) == 0o640
    again = fleet("hooks", "install", "--json").ok()
    assert json.loads(settings(person).read_text(encoding="utf-8")) == now, again
    assert json.loads(again.out)["changed"] is False
    fleet("hooks", "uninstall").ok()
    assert json.loads(settings(person).read_text(encoding="utf-8")) == MINE
    assert fleet("hooks", "uninstall", "--json").ok().json["changed"] is False


@pytest.mark.req("HOOK-1")
def test_without_settings_they_are_made_and_status_says_so(fleet, person):
    by_engine = {each["engine"]: each for each in fleet("hooks", "status", "--json").ok().json}
    assert by_engine["claude"]["installed"] is False
    assert not settings(person).exists()
    fleet("hooks", "install").ok()
    by_engine = {each["engine"]: each for each in fleet("hooks", "status", "--json").ok().json}
    assert (by_engine["claude"]["installed"], by_engine["claude"]["current"]) == (True, True)
    settings(person).write_text(settings(person).read_text().replace("/fleet hook", "/elsewhere/fleet hook"))
    assert "install them again" in fleet("hooks", "status").ok().out
    fleet("hooks", "uninstall").ok()
    assert json.loads(settings(person).read_text()) == {}


@pytest.mark.req("HOOK-1")
@pytest.mark.parametrize("text", ["{ // comment\n}", "[1]", '{"hooks": 5}'])
def test_settings_that_are_not_understood_are_left_alone(fleet, person, text):
    settings(person).write_text(text)
    for verb in ("install", "uninstall"):
        fleet("hooks", verb).refused(14, "was not changed")
    assert settings(person).read_text() == text


@pytest.mark.req("HOOK-1", "HOOK-2")
def test_an_installed_hook_starts_nothing_outside_fleet_nor_beside_injected_ones(fleet, person):
    fleet("hooks", "install").ok()
    told = json.loads(settings(person).read_text())["hooks"]
    command = told["Stop"][0]["hooks"][0]["command"]
    traced = command.replace("exec ", "echo started ")
    bare = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
    inside = {"FLEET_DISPATCH_ID": "0a1b2c3d"}
    for more, said in (({}, ""), (inside | {"FLEET_HOOKS": "claude"}, ""), (inside, "started")):
        done = subprocess.run(["/bin/sh", "-c", traced], env=bare | more, capture_output=True, text=True, check=False)
        assert done.stdout.startswith(said), (more, done)
        assert bool(done.stdout) == bool(said)
        assert done.returncode == 0


@pytest.mark.req("HOOK-1")
def test_an_engine_without_such_settings_is_refused(fleet, person):
    assert person.exists()
    fleet("hooks", "install", "--engine", "scripted").refused(14, "scripted")
    fleet("hooks", "install", "--engine", "shell").refused(14, "shell")


@pytest.mark.req("HOOK-2")
@pytest.mark.parametrize(
    "words",
    [
        "hook Stop --engine claude",
        "hook --engine claude Stop",
        "hook Stop --engine=claude",
        "hook --engine=claude Stop",
    ],
)
def test_a_hook_does_its_work_however_its_words_are_written(fleet, tmp_path, monkeypatch, words):
    monkeypatch.setenv("FLEET_HOME", str(tmp_path))
    trace = tmp_path / "hooks" / "last-error"
    trace.parent.mkdir()
    broken = b"{"  # an event that leaves a trace
    answers = [fleet(*words.split(), stdin=broken)]
    assert not trace.exists(), "outside an agent of fleet it does nothing"
    answers.append(fleet(*words.split(), stdin=broken, env={"FLEET_DISPATCH_ID": "0a1b2c3d"}))
    assert "Stop of claude (0a1b2c3d)" in trace.read_text(encoding="utf-8")
    assert [(answer.code, answer.out, answer.err) for answer in answers] == [(0, "", "")] * 2


@pytest.mark.req("HOOK-2")
@pytest.mark.parametrize(
    "words",
    ["hook", "hook Stop", "hook --engine claude", "hook Stop extra --engine claude", "hook Stop --enigne claude"],
)
def test_a_hook_that_is_called_wrongly_blocks_no_agent(fleet, words):
    """To engines the exit code 2 means that the agent may not go on, or that it is woken."""
    answer = fleet(*words.split(), stdin=b"{}", env={"FLEET_DISPATCH_ID": "0a1b2c3d"})
    assert (answer.code, answer.out) == (1, "")
    assert "fleet hook --help" in answer.err


@pytest.mark.req("HOOK-2")
def test_a_hook_says_nothing_about_a_home_that_was_moved(fleet, person, tmp_path):
    away = tmp_path / "away"
    shutil.copytree(person / ".fleet", away)
    answer = fleet("hook", "--engine", "claude", "Stop", stdin=b"{", env={"FLEET_HOME": str(away)})
    assert (answer.code, answer.out, answer.err) == (0, "", "")

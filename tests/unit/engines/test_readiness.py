"""What an engine needs before it is started: a program, a chosen freedom, no dialog that nobody would answer."""

import json
import os
from pathlib import Path

import pytest

from fleet.engines import readiness
from fleet.engines.reader import BUILT_IN, Before, Engine, read
from fleet.errors.refused import AutonomyRefused, EngineMissing, EngineNotReady

ENGINE = Engine(
    name="e",
    source="e.toml",
    summary="e",
    program="no-such-program",
    start=("{program}",),
    install="get it somewhere",
    autonomy={"ask": (), "full": ("--all",)},
    root_sandbox="E_SANDBOX",
)


def with_before(path: Path) -> Engine:
    trust = Before(
        file=str(path), path=("trust", "{repository}"), equals=True, why="no trust for {repository}", advice="say yes"
    )
    return Engine(name="e", source="e", summary="e", program="e", start=("e",), before=(trust,))


@pytest.mark.req("ENG-1")
def test_a_missing_program_is_said_with_how_to_get_it():
    with pytest.raises(EngineMissing) as caught:
        readiness.program_of(ENGINE, ())
    assert caught.value.code == 14
    assert "get it somewhere" in caught.value.next_step


@pytest.mark.req("ENG-5")
def test_autonomy_is_never_chosen_silently():
    with pytest.raises(AutonomyRefused) as caught:
        readiness.check(ENGINE, autonomy=None, repository="/r")
    assert "ask, full" in caught.value.next_step


@pytest.mark.req("ENG-5")
@pytest.mark.parametrize("declared", [None, "", "0", "yes"])
def test_full_as_root_is_refused_unless_a_sandbox_is_declared(monkeypatch, declared):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("E_SANDBOX", raising=False)
    if declared is not None:
        monkeypatch.setenv("E_SANDBOX", declared)
    with pytest.raises(AutonomyRefused):
        readiness.check(ENGINE, autonomy="full", repository="/r")
    monkeypatch.setenv("E_SANDBOX", "1")
    readiness.check(ENGINE, autonomy="full", repository="/r")


@pytest.mark.req("ENG-5")
def test_full_is_given_to_anybody_else(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(AutonomyRefused):
        readiness.check(ENGINE, autonomy="full", repository="/r")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    readiness.check(ENGINE, autonomy="full", repository="/r")


# The first words of each level, from ask to full: the engine's own.
FLAGS = {
    "claude": (
        ("--permission-mode", "default"),
        ("--permission-mode", "acceptEdits"),
        ("--permission-mode", "dontAsk"),
        ("--dangerously-skip-permissions",),
    ),
    "codex": (
        ("--sandbox", "read-only", "--ask-for-approval", "on-request"),
        ("--sandbox", "workspace-write", "--ask-for-approval", "on-request"),
        ("--sandbox", "workspace-write", "--ask-for-approval", "never"),
        ("--dangerously-bypass-approvals-and-sandbox",),
    ),
    "gemini": (
        ("--approval-mode", "default"),
        ("--approval-mode", "auto_edit"),
        ("--approval-mode", "auto_edit", "--allowed-tools"),
        ("--approval-mode", "yolo"),
    ),
}


@pytest.mark.req("ENG-5")
@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_every_freedom_is_mapped_to_the_engines_own_flags(name):
    engine = read(BUILT_IN / f"{name}.toml")
    wanted = dict(zip(("ask", "edits", "allowlist", "full"), FLAGS[name], strict=True))
    assert {level: tuple(words)[: len(wanted[level])] for level, words in engine.autonomy.items()} == wanted
    assert len({tuple(words) for words in engine.autonomy.values()}) == 4


@pytest.mark.req("ENG-6")
@pytest.mark.parametrize("text", [None, "garbage", "{}", '{"trust": {"/other": true}}', '{"trust": {"/r/x": false}}'])
def test_a_dialog_that_would_come_is_refused_with_what_to_do(tmp_path, text):
    path = tmp_path / "state.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(EngineNotReady) as caught:
        readiness.check(with_before(path), autonomy=None, repository="/r/x")
    assert caught.value.code == 14
    assert "/r/x" in str(caught.value)
    assert caught.value.next_step == "say yes"


@pytest.mark.req("ENG-6")
def test_codex_is_refused_where_it_is_not_trusted_wherever_its_settings_are(tmp_path, monkeypatch):
    codex = read(BUILT_IN / "codex.toml")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    for moved in (tmp_path / ".codex", tmp_path / "elsewhere"):
        with pytest.raises(EngineNotReady, match="Codex has not been told to trust /r"):
            readiness.check(codex, autonomy="ask", repository="/r")
        moved.mkdir()
        (moved / "config.toml").write_text('[projects."/r"]\ntrust_level = "trusted"\n', encoding="utf-8")
        readiness.check(codex, autonomy="ask", repository="/r")
        monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))


@pytest.mark.req("ENG-6")
@pytest.mark.parametrize("trusted", ["/r/x", "/r", "/"])
def test_trust_given_to_the_repository_or_above_it_is_enough(tmp_path, trusted):
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"trust": {"/r/y": True, "/r/x/z": True}}))
    with pytest.raises(EngineNotReady):
        readiness.check(with_before(path), autonomy=None, repository="/r/x")
    path.write_text(json.dumps({"trust": {trusted: True}}))
    readiness.check(with_before(path), autonomy=None, repository="/r/x")

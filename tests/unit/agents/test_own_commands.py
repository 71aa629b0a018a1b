"""Fleet's own commands that a role needs: what its prompt names, nothing that it may not do, and asked about by no engine."""

import re
from pathlib import Path

import pytest

from fleet.engines import prompt
from fleet.engines.command import Filling, headless, words
from fleet.engines.reader import BUILT_IN, read
from fleet.model.agents import roles
from fleet.model.agents.allow import Allowed
from fleet.model.agents.own_commands import NEEDS, commands_of
from fleet.surfaces.cli.entry import run

PROMPTS = Path(prompt.__file__).parent / "prompts"
ROLE_OF_PROMPT = {
    "coord": roles.COORDINATOR, "reviewer": roles.REVIEWER, "worker": roles.WORKER, "fix": roles.WORKER,
    "rebase": roles.WORKER, "resume": roles.WORKER, "job": roles.JOB_STEP,
}  # fmt: skip
ASKING = ("ask", "edits", "allowlist")


def named_in(path: Path) -> list[str]:
    """The commands of fleet that a prompt names, with their arguments."""
    return re.findall(r"`(fleet [^`]+)`", path.read_text(encoding="utf-8"))


def allowed_words(engine: str, autonomy: str, role: str) -> list[str]:
    filling = Filling(
        program="/bin/agent",
        prompt="go",
        prompt_file="/p.md",
        autonomy=autonomy,
        allow=Allowed(prefixes=commands_of(role)),
    )
    return words(read(BUILT_IN / f"{engine}.toml"), filling)


@pytest.mark.parametrize("path", sorted(PROMPTS.glob("*.md")), ids=lambda path: path.stem)
def test_every_command_that_a_prompt_names_is_allowed_for_its_role(path):
    allowed = commands_of(ROLE_OF_PROMPT[path.stem])
    missing = [said for said in named_in(path) if not any(f"{said} ".startswith(f"{name} ") for name in allowed)]
    assert missing == []


def test_no_role_is_let_run_what_the_table_of_acts_refuses():
    for name, act, needing in NEEDS:
        assert set(needing) <= set(roles.AGENTS), name
        assert not act or set(needing) <= set(roles.ACTS[act].roles), name


def test_what_a_person_decides_is_allowed_for_nobody():
    allowed = {name for role in roles.AGENTS for name in commands_of(role)}
    for name in (
        "land",
        "approve",
        "answer",
        "trust",
        "config",
        "dispatch",
        "kill",
        "coord start",
        "coord stop",
        "merge",
    ):
        assert f"fleet {name}" not in allowed
    assert "fleet" not in allowed


@pytest.mark.parametrize("name", [name for name, _act, _roles in NEEDS])
def test_every_allowed_command_is_one_that_fleet_has(name, capsys):
    assert run([*name.split(), "--help"]) == 0
    assert f"Usage: fleet {name} " in capsys.readouterr().out


@pytest.mark.parametrize("autonomy", ASKING)
@pytest.mark.parametrize("role", roles.AGENTS)
def test_claude_and_gemini_are_told_each_command_by_name(role, autonomy):
    claude, gemini = allowed_words("claude", autonomy, role), allowed_words("gemini", autonomy, role)
    for name in commands_of(role):
        assert f"Bash({name}:*)" in claude
        if autonomy == "allowlist":  # with a list Gemini refuses all others without a question
            at = gemini.index(f"run_shell_command({name})")
            assert gemini[at - 1] == "--allowed-tools"
    assert "{allow}" not in [*claude, *gemini]


def test_a_coordinators_tick_and_a_reviewers_verdict_are_asked_about_at_no_autonomy():
    for autonomy in ASKING:
        assert "Bash(fleet coord tick:*)" in allowed_words("claude", autonomy, roles.COORDINATOR)
        assert "Bash(fleet review:*)" in allowed_words("claude", autonomy, roles.REVIEWER)
        assert "Bash(fleet review:*)" not in allowed_words("claude", autonomy, roles.WORKER)


def test_a_step_without_a_terminal_gets_them_too():
    allow = Allowed(prefixes=commands_of(roles.JOB_STEP))
    filling = Filling(program="a", prompt="go", prompt_file="/p", autonomy="edits", allow=allow)
    made = headless(read(BUILT_IN / "claude.toml"), filling)
    assert made[made.index("--allowedTools") + 1] == "Bash(fleet log:*)"

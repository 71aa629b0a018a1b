"""Allowed commands: what becomes a rule, what fits one, and how engines are told."""

import json

import pytest

from fleet.engines import permissions
from fleet.engines.command import Filling, words
from fleet.engines.reader import BUILT_IN, read
from fleet.errors.families import BadInput
from fleet.model.agents.allow import Allowed, is_rule, new_rule
from fleet.model.settings.table import SettingValue, merged
from fleet.model.settings.trust import settings_in_force

COMPOUND = (
    "make docs && rm -rf /",
    "make docs; rm -rf /",
    "make docs | sh",
    "make $(rm -rf /)",
    "make `rm`",
    "make docs > /etc/passwd",
    "make\nrm",
    "make 'docs'",
    "make), Bash(rm",
    "make *",
    "make & rm",
    "make docs # x",
    "~/bin/make",
    "",
)


@pytest.mark.parametrize("command", COMPOUND)
def test_a_compound_command_neither_becomes_a_rule_nor_fits_one(command):
    assert not is_rule(command)
    with pytest.raises(BadInput):
        new_rule(command, None)
    assert not Allowed(prefixes=("make",), exact=(command,)).permits(command)


def test_a_rule_is_exactly_this_command_or_its_first_words():
    exact, prefix = new_rule("rm  -rf build", None), new_rule("uv run pytest -q", "uv run pytest")
    assert (exact.exact, exact.prefixes, prefix.exact, prefix.prefixes) == (
        ("rm -rf build",),
        (),
        (),
        ("uv run pytest",),
    )
    assert exact.permits("rm -rf build")
    assert not exact.permits("rm -rf build /")
    assert prefix.permits("uv run pytest tests/a.py")
    assert not prefix.permits("uv run pytest-evil")
    both = exact.joined(prefix).joined(exact)
    assert (both.exact, both.prefixes) == (exact.exact, prefix.prefixes)


@pytest.mark.parametrize(
    ("command", "prefix"), [(None, None), ("make docs", "npm"), ("bash x", "bash"), ("make", "make 'x")]
)
def test_what_cannot_be_allowed_is_refused(command, prefix):
    with pytest.raises(BadInput):
        new_rule(command, prefix)


ALLOWED = Allowed(prefixes=("git commit", "uv run pytest"), exact=("make docs",))


def line(engine: str, autonomy: str) -> list[str]:
    filling = Filling(program="/a", prompt="go", prompt_file="/p", autonomy=autonomy, allow=ALLOWED)
    return words(read(BUILT_IN / f"{engine}.toml"), filling)


@pytest.mark.parametrize("autonomy", ["ask", "edits", "allowlist"])
def test_claude_and_gemini_are_told_by_words(autonomy):
    assert {"Bash(git commit:*)", "Bash(uv run pytest:*)", "Bash(make docs)"} <= set(line("claude", autonomy))
    told = "run_shell_command(uv run pytest)" in line("gemini", autonomy)
    assert told == (autonomy == "allowlist"), "with a list it refuses all others without a question"
    assert not any("make docs" in word for word in line("gemini", autonomy)), "it would allow more than was allowed"


def test_opencode_is_told_by_a_variable_that_still_asks_for_everything_else():
    opencode = read(BUILT_IN / "opencode.toml")
    told = json.loads(permissions.variables(opencode, ALLOWED)["OPENCODE_PERMISSION"])
    assert (told["edit"], next(iter(told["bash"])), told["bash"]["*"]) == ("ask", "*", "ask")
    assert {name for name, value in told["bash"].items() if value == "allow"} == {
        "git commit", "git commit *", "uv run pytest", "uv run pytest *", "make docs",
    }  # fmt: skip
    assert permissions.variables(read(BUILT_IN / "claude.toml"), ALLOWED) == {}


def in_force(written: list[str], trusted: list[str]) -> object:
    values = settings_in_force(every(written), {"allow": trusted})
    return values["allow"].value


def every(written: list[str]) -> dict[str, SettingValue]:
    return merged({"allow": SettingValue(name="allow", value=written, source="fleet.toml:1", help="")})


def test_a_repository_frees_nothing_more_before_a_person_trusts_it_and_takes_away_at_once():
    assert in_force(["make"], []) == []
    assert in_force(["make", "npm test"], ["make"]) == ["make"]
    assert in_force(["make"], ["make", "npm test"]) == ["make"]


@pytest.mark.parametrize(
    "command", ["/bin/bash", "./sh x", "CI=1", "FOO=1 bash", "timeout 5", "busybox sh", "command x"]
)
def test_a_program_that_runs_any_other_is_no_rule_under_another_name(command):
    assert not is_rule(command)
    assert is_rule("npm run ci=1")

"""Allowed commands: what becomes a rule, what fits one, and how engines are told."""

import json
import re
import tomllib

import pytest

from fleet.engines import permissions
from fleet.engines.command import Filling, words
from fleet.engines.reader import BUILT_IN, read
from fleet.errors.families import BadInput
from fleet.model.agents.allow import ALLOWED_VARIABLE, Allowed, is_rule, new_rule
from fleet.model.settings.table import SettingValue, merged
from fleet.model.settings.trust import settings_in_force
from fleet.world.home import allowed

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


LINES = Allowed(prefixes=("git commit", "git add", "fleet log"), exact=("make docs",))


@pytest.mark.parametrize(
    "line",
    [
        "git commit -m 'a $b `c` d'",
        'git add . && git commit --message "two\nlines; rm -rf /"',
        "fleet log 'half way' ; make docs",
        "make  docs | git add a||git add b",
    ],
)
def test_a_line_is_permitted_when_each_of_its_commands_is(line):
    assert LINES.permits_line(line)


@pytest.mark.parametrize(
    "line",
    [
        *(each for each in COMPOUND if each != "make 'docs'"),
        "",
        "git add . && make",
        "git add . && rm -rf /",
        "git add .; ",
        "&& git add .",
        "git add . & rm -rf /",
        "git add .\nrm -rf /",
        'git commit -m "$(rm -rf /)"',
        'git commit -m "`rm`"',
        'git commit -m "a\\" && rm',
        "git commit -m 'open",
        "git add > x",
        "git add $HOME",
        "git add *",
        "X=1 git add .",
        "git addition",
        "'git add' .",
        "make 'docs x'",
        "'make docs'",
        "make docs all",
        "(git add .)",
        "git add . |& rm",
        "if true",
    ],
)
def test_a_line_with_anything_else_in_it_is_not(line):
    assert not LINES.permits_line(line)


def test_gemini_is_told_by_a_file_where_it_is_to_ask():
    rules = read(BUILT_IN / "gemini.toml").rules
    told = tomllib.loads(permissions.rules_text(rules, Allowed(prefixes=("uv run pytest",), exact=("make a.b+c",))))
    prefix, exact = told["rule"]
    assert (prefix["commandPrefix"], prefix["decision"], prefix["priority"]) == ("uv run pytest", "allow", 0)
    pattern = re.compile('"command":"' + exact["commandRegex"])
    assert pattern.search('{"command":"make a.b+c","description":"x"}')
    assert not pattern.search('{"command":"make a.b+c d"}')
    assert not pattern.search('{"command":"make axb+c"}')


def test_codex_is_told_by_the_variable_that_its_hook_reads():
    told = permissions.variables(read(BUILT_IN / "codex.toml"), ALLOWED)[ALLOWED_VARIABLE]
    rules = allowed.rules_in_variable(told)
    assert (rules.exact, rules.prefixes) == (ALLOWED.exact, ALLOWED.prefixes)
    for broken in ("", "{", "[]", '{"exact": 1}', '{"prefixes": ["bash"]}'):
        rules = allowed.rules_in_variable(broken)
        assert (rules.exact, rules.prefixes) == ((), ())

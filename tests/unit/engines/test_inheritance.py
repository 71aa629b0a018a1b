"""Which variables an agent gets, and from whom."""

import fnmatch

import pytest

from fleet.engines import command, inheritance, reader

BUILT_IN = {path.stem: reader.read(path) for path in sorted(reader.BUILT_IN.glob("*.toml"))}
NAMING = {name: engine for name, engine in BUILT_IN.items() if engine.passes is not None}
ASKED = {
    "PATH": "/bin",
    "HTTPS_PROXY": "http://proxy",
    "ANTHROPIC_API_KEY": "key",
    "CLAUDE_CODE_OAUTH_TOKEN": "token",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "DATABASE_PASSWORD": "secret",
    "TERM": "dumb",
    "FLEET_HOME": "/elsewhere",
    "GIT_DIR": "/elsewhere/.git",
}


def test_only_what_is_named_is_inherited_and_a_full_name_wins_over_what_is_unset():
    claude = BUILT_IN["claude"]
    passed = inheritance.inherited(ASKED, inheritance.patterns(claude))
    assert set(passed) == {"PATH", "HTTPS_PROXY", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}
    assert command.environment(claude, ASKED, {}).get("CLAUDE_CODE_OAUTH_TOKEN") == "token"
    assert "CLAUDE_CODE_ENTRYPOINT" not in command.environment(claude, ASKED, {})


def test_a_file_that_names_nothing_takes_all_but_what_belongs_to_the_terminal_of_whoever_asked():
    passed = inheritance.inherited(ASKED, inheritance.patterns(BUILT_IN["shell"]))
    assert set(ASKED) - set(passed) == {"TERM", "FLEET_HOME", "GIT_DIR"}


def test_a_persons_own_names_count_too_and_required_are_only_names():
    more = ["GIT_DIR", "DATABASE_*"]
    passed = inheritance.inherited(ASKED, inheritance.patterns(BUILT_IN["claude"], more))
    assert {"GIT_DIR", "DATABASE_PASSWORD"} <= set(passed)
    assert inheritance.lacking({}, more) == ["GIT_DIR"]


def test_at_the_launch_only_the_terminal_comes_from_the_pane():
    pane = {"TERM": "screen", "TMUX_PANE": "%1", "FLEET_HOME": "/home", "OLD_KEY": "of the server", "PATH": "/old"}
    assert inheritance.at_launch(pane, {"PATH": "/new", "TERM": "x"}) == {
        "PATH": "/new",
        "TERM": "screen",
        "TMUX_PANE": "%1",
        "FLEET_HOME": "/home",
    }


def test_without_a_person_what_was_kept_counts_and_a_variable_that_is_gone_from_there_is_gone():
    own = {"ANTHROPIC_API_KEY": "old", "MINE": "1"}
    assert inheritance.unattended({"PATH": "/p"}, own, ("PATH", "ANTHROPIC_*", "*")) == {"PATH": "/p", "MINE": "1"}


@pytest.mark.parametrize("name", NAMING)
def test_what_an_engines_check_and_files_need_is_passed_on(name):
    engine = NAMING[name]
    needed = set(engine.check.env) if engine.check else set()
    named = inheritance.patterns(engine)
    assert [each for each in needed if not inheritance.is_named(each, named)] == []
    assert all(not fnmatch.fnmatchcase(each, "FLEET_*") for each in named)


def test_every_engine_with_an_account_names_what_it_gets():
    assert {"claude", "codex", "gemini", "opencode", "aider"} <= set(NAMING)

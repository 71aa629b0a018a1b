"""The real Codex and Gemini CLI, two at work in one repository, killed in the middle: each resumed in its own conversation.

OpenCode cannot be given a conversation and a prompt at once: it starts again, and fleet says so.
"""

import os
import signal

import pytest
from real_agents.staging.others import OTHERS, Others
from real_agents.staging.stage import needs, until

# At allowlist the sandbox of Codex is there too.
FREEDOM = {"codex": "allowlist", "gemini": "full", "opencode": "full"}
# Its result is in the conversation alone: no prompt has it.
FIRST = "echo remembered-$FLEET_TASK | tr a-z A-Z"
COMMIT = 'echo hello > out.txt && git add out.txt && git commit --quiet --message "Add out"'


def result_of(slug: str) -> str:
    return f"REMEMBERED-{slug.upper()}"


@pytest.fixture(params=OTHERS)
def others(request, monkeypatch):
    needs(request.param)
    made = Others(monkeypatch, request.param, [FIRST, COMMIT, "fleet done"])
    yield made
    made.close()


def killed(others: Others, ident: str, slug: str) -> None:
    os.kill(others.pid(ident), signal.SIGKILL)
    assert others.until_settled(slug) in {"failed", "blocked"}


def finished(others: Others, ident: str, slug: str) -> list[str]:
    """Wait for the report and let the sweep end whoever made it; what was committed."""
    with others.scene.fleet() as fleet:
        until(lambda: fleet.sweep.run(kill=True) is not None and not fleet.agents.list(), lambda: others.screen(ident))
    return others.scene.git("log", "--format=%s", f"fleet/main..worker/{slug}").splitlines()


@pytest.mark.req("RES-10")
@pytest.mark.parametrize("others", ["codex", "gemini"], indirect=True)
def test_killed_in_the_middle_each_goes_on_in_its_own_conversation_and_finishes(others):
    others.model.hold_at = "remembered-"
    old = {slug: others.starts(slug, FREEDOM[others.engine.name]) for slug in ("t", "u")}
    for slug, ident in old.items():
        until(lambda: others.has_kept(result_of(slug)), lambda: others.screen(ident))  # noqa: B023
    for slug, ident in old.items():
        killed(others, ident, slug)
    others.model.hold_at = ""
    others.model.go_on.set()

    for slug, ident in old.items():
        others.model.heard.clear()
        (listed,) = [each for each in others.program("resume", "--list", "--json").ok().json if each["id"] == ident]
        done = others.program("resume", ident, "--json").ok().json
        assert (listed["conversation"], done["conversation"], done["predecessor"]) == (True, True, ident)
        assert others.journal(done["id"])["resumes"] == "conversation"
        assert finished(others, done["id"], slug) == ["Add out"]
        first, other = others.model.heard[0], result_of("u" if slug == "t" else "t")
        assert result_of(slug) in first, "it remembers what it did before it was killed"
        assert ident in first, "it is told what happened"
        assert not any(other in said for said in others.model.heard)
        assert others.journal(done["id"])["exec_state"] == "done"


@pytest.mark.req("RES-10")
def test_killed_before_its_first_turn_it_starts_again_and_finishes(others):
    with others.scene.fleet() as fleet:
        old = others.starts("t", FREEDOM[others.engine.name])
        until(lambda: fleet.context.dispatch(old).process)
    killed(others, old, "t")
    done = others.program("resume", old, "--json").ok().json
    assert others.journal(done["id"])["resumes"] == ("conversation" if done["conversation"] else "again")
    assert finished(others, done["id"], "t") == ["Add out"]


@pytest.mark.req("RES-10")
@pytest.mark.parametrize("others", ["opencode"], indirect=True)
def test_one_that_cannot_take_up_its_conversation_starts_again_and_says_so(others):
    others.model.hold_at = "remembered-"
    old = others.starts("t", FREEDOM["opencode"])
    until(lambda: others.has_kept(result_of("t")), lambda: others.screen(old))
    killed(others, old, "t")
    others.model.hold_at = ""
    others.model.go_on.set()
    others.model.heard.clear()
    done = others.program("resume", old, "--json").ok().json
    assert (done["conversation"], others.journal(done["id"])["resumes"]) == (False, "again")
    assert finished(others, done["id"], "t") == ["Add out"]
    assert result_of("t") not in others.model.heard[0]
    assert "Its conversation is not available" in others.model.heard[0]

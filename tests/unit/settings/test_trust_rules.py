"""Which settings of a repository wait for a person's trust, and what counts meanwhile."""

import pytest

from fleet.model.settings.document import read
from fleet.model.settings.table import PROJECT_FILE, SETTINGS, merged
from fleet.model.settings.trust import differences, fingerprint, guarded_values, settings_in_force

GUARDED = {
    "allow",
    "engine", "autonomy", "target", "integration", "verify", "review", "merge", "pr.command", "pr.remote", "worktree.setup",
    "worktree.teardown", "worktree.disposable", "task.verify", "task.engine",
}  # fmt: skip


def values(text: str):
    return merged(read("fleet.toml", text, PROJECT_FILE))


@pytest.mark.req("SEC-1")
def test_what_runs_something_or_raises_a_freedom_is_guarded():
    assert {each.name for each in SETTINGS if each.guard} == GUARDED
    assert all(each.file == PROJECT_FILE for each in SETTINGS if each.guard)
    commands = {each.name for each in SETTINGS if each.kind.expects.startswith("a command on one line")}
    assert commands == {each.name for each in SETTINGS if each.guard == "runs"}


@pytest.mark.req("SEC-1")
def test_nothing_guarded_counts_before_it_is_trusted():
    told = settings_in_force(values('verify = "make"\nautonomy = "full"\nverify_limit = "2h"\n'), {})
    assert (told["verify"].value, told["verify"].untrusted, told["verify"].written) == (None, "runs", "make")
    assert (told["autonomy"].value, told["autonomy"].untrusted) == (None, "frees")
    assert (told["verify_limit"].value, told["verify_limit"].untrusted) == ("2h", "")


@pytest.mark.req("SEC-1")
def test_what_was_trusted_before_counts_meanwhile():
    told = settings_in_force(values('autonomy = "full"\nreview = "none"\n'), {"autonomy": "edits", "review": "person"})
    assert (told["autonomy"].value, told["review"].value) == ("edits", "person")
    assert "trusted" in told["autonomy"].source


@pytest.mark.req("SEC-1")
def test_trust_is_in_the_values_not_in_how_they_are_written():
    one, other = values('verify = "make"\n'), values("# new\n\n  verify   = 'make'\n[task]\npriority = 3\n")
    assert fingerprint(guarded_values(one)) == fingerprint(guarded_values(other))
    assert differences(guarded_values(other), guarded_values(one)) == []
    assert fingerprint(guarded_values(one)) != fingerprint(guarded_values(values('verify = "make x"\n')))


@pytest.mark.parametrize(
    ("was", "now", "waits"),
    [
        ({"verify": "make"}, {}, ["verify"]),
        ({"task.verify": "make"}, {}, ["task.verify"]),
        ({"worktree.setup": "make", "worktree.teardown": "x", "engine": "e"}, {}, []),
        ({"autonomy": "full"}, {"autonomy": "ask"}, []),
        ({"autonomy": "full"}, {}, []),
        ({"autonomy": "ask"}, {"autonomy": "full"}, ["autonomy"]),
        ({}, {"autonomy": "ask"}, ["autonomy"]),
        ({"review": "none"}, {"review": "person"}, []),
        ({"review": "person"}, {"review": "agent"}, ["review"]),
        ({"review": "person"}, {}, ["review"]),
        ({}, {"review": "person"}, []),
        ({"review": "robot"}, {"review": "person"}, []),
        ({"review": "robot"}, {"review": "agent"}, ["review"]),
        ({"autonomy": "boundless"}, {"autonomy": "ask"}, ["autonomy"]),
        ({"autonomy": ["full"]}, {"autonomy": "ask"}, ["autonomy"]),
        ({"autonomy": "boundless"}, {}, []),
        ({}, {"merge": "pr", "pr.command": "x"}, ["merge", "pr.command"]),
    ],
)
def test_a_check_that_goes_waits_and_a_freedom_that_goes_does_not(was, now, waits):
    assert [each.name for each in differences(now, was)] == waits

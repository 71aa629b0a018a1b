"""The next step of a task, decided from facts alone."""

import itertools
import shlex

import pytest

from fleet.model.tasks.next_step import TaskFacts, next_step, quoted
from fleet.model.tasks.pipeline import KIND_AT, MOST_FIXES
from fleet.model.tasks.steps import STATUSES, STEPS

FACTS = TaskFacts(
    project="web",
    slug="api",
    status="blocked",
    stage="worker",
    paused=False,
    archived=False,
    attempted=False,
    blockers=0,
    is_early=False,
    fixes=0,
    job=None,
    work=None,
    is_merged=False,
    is_pulled=False,
    has_bundle=True,
    holder="3f2a9c01",
    is_agents=True,
    is_handed=False,
    is_resumable=False,
    repository="/src/my web",
    worktree="/home/worktrees/api",
    integration="fleet/main",
    branch="there",
    tree="there",
)
BRANCHES, TREES = ("there", "gone", "unknown"), ("there", "other branch", "no branch", "gone", "unknown")


def command(**facts) -> str | None:
    return next_step(FACTS.replaced(**facts)).command


@pytest.mark.parametrize("status", ["blocked", "failed"])
def test_whatever_has_stopped_has_a_command_that_the_shell_can_read(status):
    flags = itertools.product(KIND_AT, BRANCHES, TREES, (False, True), (None, "0123456789abcdef"), (0, MOST_FIXES))
    for stage, branch, tree, resumable, work, fixes in flags:
        facts = {
            "stage": stage,
            "branch": branch,
            "tree": tree,
            "is_resumable": resumable,
            "work": work,
            "fixes": fixes,
        }
        named = command(status=status, **facts)
        assert named is not None, facts
        words = shlex.split(named)
        assert words[:3] == ["git", "-C", words[2]] or (words[0] == "fleet" and "web" in words), facts


@pytest.mark.parametrize("status", STATUSES)
def test_a_retry_is_named_only_where_the_table_of_steps_has_it(status):
    for stage, branch, tree in itertools.product(KIND_AT, BRANCHES, TREES):
        named = command(status=status, stage=stage, branch=branch, tree=tree) or ""
        assert not named.startswith("fleet task retry") or (status, "retry") in STEPS


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"is_resumable": True}, "fleet resume api -p web"),
        ({}, "fleet task retry api -p web"),
        ({"paused": True}, "fleet task unpause api -p web"),
        ({"stage": "fix"}, "fleet dispatch api -p web"),
        ({"stage": "rebase", "fixes": MOST_FIXES}, "fleet task retry api -p web"),
        ({"stage": "review"}, "fleet review api -p web"),
        ({"stage": "finisher"}, "fleet task retry api -p web"),
        ({"stage": "finisher", "status": "open"}, "fleet merge api -p web"),
        ({"stage": "finisher", "status": "in_progress", "is_pulled": True}, None),
        ({"status": "open"}, "fleet dispatch api -p web"),
        ({"status": "open", "blockers": 2}, None),
        ({"status": "open", "is_early": True}, None),
        ({"status": "in_progress", "is_agents": False}, None),
        ({"status": "in_progress", "is_handed": True}, None),
        ({"status": "in_progress"}, "fleet task unclaim api -p web --override"),
        ({"status": "done"}, "fleet merge api -p web"),
        ({"status": "done", "has_bundle": False}, None),
        ({"status": "abandoned"}, None),
        ({"attempted": True}, None),
        ({"job": "0a1b"}, None),
        (
            {"stage": "finisher", "branch": "gone", "work": "0" * 40},
            f"git -C '/src/my web' branch worker/api {'0' * 12}",
        ),
        ({"branch": "gone"}, "git -C '/src/my web' branch worker/api fleet/main"),
        ({"branch": "gone", "tree": "gone"}, "fleet task retry api -p web"),
        ({"stage": "finisher", "branch": "gone", "tree": "gone"}, "fleet task retry api -p web --anew"),
        (
            {"stage": "review", "status": "in_progress", "branch": "gone", "tree": "gone"},
            "fleet task fail api -p web --reason 'its branch is lost'",
        ),
        ({"tree": "other branch"}, "git -C /home/worktrees/api checkout worker/api"),
        (
            {"stage": "review", "status": "failed", "is_resumable": True, "branch": "gone", "tree": "other branch"},
            "git -C /home/worktrees/api checkout -B worker/api",
        ),
        ({"stage": "review", "status": "blocked", "tree": "other branch"}, "fleet review api -p web"),
        ({"tree": "no branch", "is_ahead": True}, "git -C /home/worktrees/api checkout -B worker/api"),
        ({"tree": "no branch"}, "git -C /home/worktrees/api switch --create rescued/api"),
    ],
)
def test_each_state_has_the_step_that_works_there(facts, named):
    assert command(**facts) == named


@pytest.mark.parametrize("word", ["plain/path-1.txt", "two words", "it's", "", "$HOME", "a;b", "größe"])
def test_a_quoted_word_is_read_whole(word):
    assert shlex.split(quoted(word)) == [word]

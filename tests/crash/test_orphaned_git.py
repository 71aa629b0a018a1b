"""A git that outlives its killed fleet holds the effect's lock: a sweep leaves alone what it works on, and ends it later."""

import pytest
from crash import deaths


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("ADO-12", "SWEEP-4")
def test_a_sweep_leaves_the_worktree_alone_that_an_orphaned_git_still_makes(tmux, store_url):
    [case] = deaths.run("dispatch", store_url, "--held", "git worktree add")
    assert (case["died"], case["held"]) == (True, ["worktree allocating"])


@pytest.mark.timeout(deaths.TIME)
@pytest.mark.req("MERGE-5", "SWEEP-4")
def test_a_sweep_leaves_the_trees_alone_that_an_orphaned_git_still_removes(tmux):
    cases = deaths.run("merge", "sqlite", "--held", "git worktree remove")
    assert [case["held"] for case in cases] == [["merge_tree releasing"], ["worktree releasing"]]
    assert all(case["swept"] for case in cases)

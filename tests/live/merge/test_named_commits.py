"""A commit is named from report to branch: what was not reported, reviewed and verified is not merged, and what was merged stays."""

import subprocess
from pathlib import Path

import pytest
from staging.stage import is_alive, raw, status_of

from fleet.errors.families import Refused
from fleet.errors.refused import MergesMissing, NotMergeable, WorkMoved, WorktreeRefused
from fleet.testing.crash.scenarios import until

SCRIPT = "write {slug}.txt {slug}\ncommit Add {slug}\ndone\n"


def finish(scene, fleet, slug: str) -> None:
    """Let a scripted agent commit a file, and say done."""
    scene.dispatch(fleet, slug, engine="scripted", script=SCRIPT.format(slug=slug))
    scene.ended(fleet)
    scene.swept(fleet)


def merge_two(scene, fleet) -> list[str]:
    """Two tasks, merged one after the other: the tips of the integration branch."""
    tips = []
    for slug in ("a", "b"):
        finish(scene, fleet, slug)
        tips.append(fleet.merge.task(project="p", slug=slug).commit)
    return tips


def settings(scene, text: str) -> None:
    Path(scene.repository, "fleet.toml").write_text(text)


def files_on(scene, branch: str) -> list[str]:
    return sorted(scene.git("ls-tree", "--name-only", branch).split())


# the merged tree ----------------------------------------------------------------------------------------------------------
@pytest.mark.req("MERGE-2", "MERGE-3")
def test_a_verify_command_that_moves_head_merges_nothing_and_rewinds_nothing(either):
    with either.fleet() as fleet:
        merge_two(either, fleet)
        settings(either, "verify = 'git checkout --quiet --detach main'\n")
        finish(either, fleet, "c")
        before = either.git("rev-parse", "fleet/main")
        with pytest.raises(NotMergeable, match="moved HEAD of the merged tree"):
            fleet.merge.task(project="p", slug="c")
        assert either.git("rev-parse", "fleet/main") == before
        assert files_on(either, "fleet/main") == ["README", "a.txt", "b.txt"]
        status, reason = status_of(fleet, "c")
        assert status == "blocked"
        assert "moved HEAD" in (reason or "")
        settings(either, "verify = 'true'\n")
        fleet.tasks.retry(project="p", slug="c")
        fleet.merge.task(project="p", slug="c")
        assert files_on(either, "fleet/main") == ["README", "a.txt", "b.txt", "c.txt"]


@pytest.mark.req("MERGE-2")
@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("echo other > a.txt", "a.txt"),
        ("echo other > README; git add README", "README"),
        ("git rm -q README", "README"),
        ("git update-index --assume-unchanged README; echo other > README", "README"),
        ("git update-index --skip-worktree a.txt; echo other > a.txt", "a.txt"),
    ],
)
def test_a_verify_command_that_changes_tracked_files_is_refused_and_names_them(scene, command, named):
    settings(scene, f"verify = '''{command}'''\n")
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        with pytest.raises(NotMergeable, match=rf"changed files that git tracks: {named}"):
            fleet.merge.task(project="p", slug="a")
        assert files_on(scene, "fleet/main") == ["README"]


@pytest.mark.req("MERGE-2")
def test_a_verify_command_may_write_files_that_git_does_not_track(scene):
    settings(scene, "verify = 'touch report.html a.txt'\n")
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        fleet.merge.task(project="p", slug="a")
        assert files_on(scene, "fleet/main") == ["README", "a.txt"]


@pytest.mark.req("MERGE-3")
def test_a_verify_command_that_commits_does_not_put_its_commit_on_the_branch(scene):
    settings(scene, "verify = 'echo x > x.txt; git add x.txt; git commit --quiet -m x'\n")
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        with pytest.raises(NotMergeable, match="moved HEAD"):
            fleet.merge.task(project="p", slug="a")
        assert files_on(scene, "fleet/main") == ["README"]


# a branch that moved ------------------------------------------------------------------------------------------------------
def move_branch(scene, slug: str, path: str) -> str:
    """Somebody else commits on a task's branch, from nowhere: the new tip."""
    tip = scene.git("rev-parse", f"worker/{slug}")
    blob = scene.git("hash-object", "-w", "--path", path, f"{scene.repository}/README")
    tree = make_tree(scene, scene.git("ls-tree", tip) + f"\n100644 blob {blob}\t{path}")
    made = scene.git("commit-tree", tree, "-p", tip, "-m", "Sneak in")
    scene.git("update-ref", f"refs/heads/worker/{slug}", made)
    scene.git("reset", "--hard", "--quiet", cwd=str(scene.tree(slug)))  # the tree shows what the branch has
    return made


def make_tree(scene, listing: str) -> str:
    pipes = {"input": f"{listing}\n", "capture_output": True, "text": True}
    return subprocess.run(["git", "mktree"], cwd=scene.repository, check=True, **pipes).stdout.strip()


@pytest.mark.req("PIPE-1", "PIPE-2", "MERGE-3")
def test_a_branch_that_moved_since_its_review_is_not_merged_and_goes_back_to_review(either):
    settings(either, "review = 'person'\n")
    with either.fleet() as fleet:
        finish(either, fleet, "a")
        accepted = either.git("rev-parse", "worker/a")
        fleet.reviews.judge(project="p", slug="a", verdict="accept")
        sneaked = move_branch(either, "a", "evil.txt")
        with pytest.raises(WorkMoved, match=f"moved since it was reviewed: it was at {accepted[:12]}"):
            fleet.merge.task(project="p", slug="a")
        assert files_on(either, "fleet/main") == ["README"]
        task = fleet.tasks.show(project="p", slug="a")
        assert (task.status, task.stage) == ("blocked", "review")
        assert [each.slug for each in fleet.reviews.waiting()] == ["a"]
        shown = fleet.reviews.work(project="p", slug="a")
        assert (shown.moved, shown.reported, shown.commit) == (True, accepted, sneaked)
        assert "evil.txt" in shown.since.diff
        assert "a.txt" not in shown.since.diff.replace("evil.txt", "")
        # Accepted without having looked: refused, with the way that works.
        with pytest.raises(WorkMoved) as refused:
            fleet.reviews.judge(project="p", slug="a", verdict="accept")
        assert f"--accept --commit {sneaked[:12]}" in refused.value.next_step
        fleet.reviews.judge(project="p", slug="a", verdict="accept", commit=sneaked[:12])
        fleet.merge.task(project="p", slug="a")
        assert files_on(either, "fleet/main") == ["README", "a.txt", "evil.txt"]


@pytest.mark.req("PIPE-1", "MERGE-3")
def test_a_branch_that_was_reset_after_its_report_is_not_called_merged(scene):
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        reported = scene.git("rev-parse", "worker/a")
        scene.git("update-ref", "refs/heads/worker/a", scene.git("rev-parse", "main"))
        with pytest.raises(WorkMoved, match="moved since it was reported"):
            fleet.merge.task(project="p", slug="a")
        assert not fleet.tasks.show(project="p", slug="a").archived
        scene.git("update-ref", "refs/heads/worker/a", reported)  # a person puts it back
        fleet.reviews.judge(project="p", slug="a", verdict="accept")
        fleet.merge.task(project="p", slug="a")
        assert files_on(scene, "fleet/main") == ["README", "a.txt"]


@pytest.mark.req("PIPE-2")
def test_a_verdict_on_a_commit_that_is_not_the_branchs_is_refused(scene):
    settings(scene, "review = 'person'\n")
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        seen = scene.git("rev-parse", "worker/a")
        move_branch(scene, "a", "late.txt")
        with pytest.raises(WorkMoved, match="moved since it was looked at"):
            fleet.reviews.judge(project="p", slug="a", verdict="accept", commit=seen)
        assert fleet.tasks.show(project="p", slug="a").stage == "review"


@pytest.mark.req("PIPE-1", "PIPE-2")
def test_what_was_mended_after_an_acceptance_is_reviewed_again_and_shows_the_difference_alone(scene):
    settings(scene, "review = 'person'\nverify = 'test ! -e a.txt || test -e MENDED'\n")
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        fleet.reviews.judge(project="p", slug="a", verdict="accept")
        with pytest.raises(NotMergeable, match="verify is red"):
            fleet.merge.task(project="p", slug="a")
        scene.dispatch(fleet, "a", engine="scripted")  # whoever mends writes MENDED
        scene.ended(fleet)
        assert fleet.tasks.show(project="p", slug="a").stage == "review"
        since = fleet.reviews.work(project="p", slug="a").since
        assert "MENDED" in since.diff
        assert "a/a.txt" not in since.diff


@pytest.mark.req("STORE-3")
def test_a_report_and_a_settlement_record_the_commit(either):
    with either.fleet() as fleet:
        either.dispatch(
            fleet, "a", engine="scripted", script="write a.txt x\ncommit Add a\ndone\nwrite b.txt y\ncommit Add b\n"
        )
        ident = fleet.dispatches.find("a")
        either.ended(fleet)
        journal = fleet.dispatches.show(ident)
        first, second = either.git("rev-list", "--reverse", "main..worker/a").split()
        assert (journal.reported_commit, journal.settled_commit) == (first, second)


# recorded merges ----------------------------------------------------------------------------------------------------------
@pytest.mark.req("MERGE-3", "MERGE-5")
def test_a_deleted_integration_branch_is_not_made_anew_without_the_work_that_was_merged(either):
    with either.fleet() as fleet:
        _first, tip = merge_two(either, fleet)
        either.git("update-ref", "-d", "refs/heads/fleet/main")
        fleet.tasks.add(project="p", title="c", slug="c", description=SCRIPT.format(slug="c"))
        for act in (
            lambda: either.dispatch(fleet, "c", engine="scripted"),
            lambda: fleet.merge.land(project="p"),
            lambda: fleet.merge.task(project="p", slug="a"),
        ):
            with pytest.raises(MergesMissing, match=r"fleet/main of p has lost work .*: a, b"):
                act()
        assert either.git("for-each-ref", "refs/heads/fleet") == ""
        assert any("a, b" in each.text for each in fleet.views.status().in_the_way)
        assert any("a, b" in each.says for each in fleet.views.doctor())
        assert fleet.merge.restore(project="p").as_json() == {
            "project": "p", "restored": ["a", "b"], "commit": tip, "changed": True,
        }  # fmt: skip
        assert either.git("rev-parse", "fleet/main") == tip
        assert fleet.views.status().in_the_way == []
        finish(either, fleet, "c")
        fleet.merge.task(project="p", slug="c")
        assert files_on(either, "fleet/main") == ["README", "a.txt", "b.txt", "c.txt"]


@pytest.mark.req("MERGE-3")
def test_merged_work_outlives_gits_gc_on_a_branch_that_was_rewound_and_went_on(scene):
    with scene.fleet() as fleet:
        merge_two(scene, fleet)
        base = scene.git("rev-parse", "main")
        own = scene.git("commit-tree", f"{base}^{{tree}}", "-p", base, "-m", "Go on")
        scene.git("update-ref", "refs/heads/fleet/main", own)
        scene.git("reflog", "expire", "--expire=now", "--all")
        scene.git("gc", "--quiet", "--prune=now")
        with pytest.raises(MergesMissing):
            fleet.merge.land(project="p")
        fleet.merge.restore(project="p")
        assert files_on(scene, "fleet/main") == ["README", "a.txt", "b.txt"]
        assert scene.git("merge-base", "--is-ancestor", own, "fleet/main") == ""
        assert fleet.merge.restore(project="p").changed is False


@pytest.mark.req("MERGE-3", "LOG-1")
def test_a_squash_is_acknowledged_once_and_recorded(either):
    with either.fleet() as fleet:
        merge_two(either, fleet)
        tree = either.git("rev-parse", "fleet/main^{tree}")
        squashed = either.git("commit-tree", tree, "-p", "main", "-m", "Squash")
        either.git("update-ref", "refs/heads/fleet/main", squashed)
        with pytest.raises(MergesMissing):
            fleet.merge.land(project="p")
        assert {each.state for each in fleet.merge.recorded(project="p")} == {"missing"}
        done = fleet.merge.acknowledge(project="p", reason="squashed")
        assert done.acknowledged == ["a", "b"]
        assert fleet.merge.land(project="p", dry=True).commits == 1
        said = fleet.merge.recorded(project="p")
        assert [(each.task, each.state, each.reason) for each in said] == [
            ("b", "acknowledged", "squashed"),
            ("a", "acknowledged", "squashed"),
        ]


@pytest.mark.req("MERGE-3")
def test_merges_that_landed_are_not_missing_when_the_integration_branch_goes(scene):
    with scene.fleet() as fleet:
        _first, tip = merge_two(scene, fleet)
        scene.git("merge", "--quiet", "--ff-only", "fleet/main")
        scene.git("branch", "-D", "fleet/main")
        assert fleet.merge.land(project="p").commits == 0
        assert scene.git("rev-parse", "fleet/main") == tip


@pytest.mark.req("MERGE-3")
def test_a_restore_that_would_conflict_is_refused_and_says_what_to_do(scene):
    with scene.fleet() as fleet:
        merge_two(scene, fleet)
        base = scene.git("rev-parse", "main")
        other = make_tree(
            scene, scene.git("ls-tree", base) + "\n100644 blob " + scene.git("rev-parse", f"{base}:README") + "\ta.txt"
        )
        scene.git("update-ref", "refs/heads/fleet/main", scene.git("commit-tree", other, "-p", base, "-m", "Other a"))
        with pytest.raises(Refused, match=r"conflict in a.txt; check out fleet/main, run `git merge"):
            fleet.merge.restore(project="p")


# whose a branch is --------------------------------------------------------------------------------------------------------
@pytest.mark.req("ADO-10")
def test_a_persons_own_branch_is_never_adopted_after_a_retry(either):
    with either.fleet() as fleet:
        finish(either, fleet, "a")
        fleet.merge.task(project="p", slug="a")
        assert either.git("for-each-ref", "refs/heads/worker") == ""
        either.git("branch", "worker/a", "main")  # a person's own, of the same name
        fleet.tasks.retry(project="p", slug="a")
        with pytest.raises(
            WorktreeRefused, match="branch worker/a exists and is not provably of this project's agents"
        ):
            either.dispatch(fleet, "a", engine="scripted")
        assert either.git("rev-parse", "worker/a") == either.git("rev-parse", "main")
        either.git("branch", "-m", "worker/a", "mine")
        raw(fleet, "UPDATE tasks SET not_before = NULL WHERE slug = 'a'")
        either.dispatch(fleet, "a", engine="scripted")
        either.ended(fleet)
        assert either.git("rev-parse", "mine") == either.git("rev-parse", "main")


@pytest.mark.req("ADO-10")
def test_a_branch_of_a_project_that_was_removed_is_not_adopted_by_its_namesake(scene):
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        fleet.tasks.abandon(project="p", slug="a", override=True)
        fleet.tasks.archive(project="p", slug="a")
        scene.swept(fleet)
        until(lambda: not fleet.dispatches.list())
        left = scene.git("rev-parse", "worker/a")
        fleet.projects.remove("p", with_tasks=True)
        fleet.projects.register(scene.repository, "p")
        with pytest.raises(WorktreeRefused, match="not provably of this project's agents"):
            scene.dispatch(fleet, "a", engine="scripted", script=SCRIPT.format(slug="a"))
        assert scene.git("rev-parse", "worker/a") == left


@pytest.mark.req("ADO-2", "ADO-10")
def test_fleets_own_branch_is_adopted_again_when_its_worktree_was_removed(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "a", engine="scripted", script="write a.txt a\ncommit Add a\nfail no\n")
        scene.ended(fleet)
        assert fleet.dispatches.show(ident).exec_state == "failed"
        fleet.tasks.archive(project="p", slug="a")
        scene.swept(fleet)
        assert not scene.tree("a").exists()
        raw(fleet, "UPDATE tasks SET description = 'write b.txt b\ncommit Add b\ndone\n' WHERE slug = 'a'")
        fleet.tasks.retry(project="p", slug="a")
        scene.dispatch(fleet, "a", engine="scripted")
        scene.ended(fleet)
        assert files_on(scene, "worker/a") == ["README", "a.txt", "b.txt"]


@pytest.mark.req("ADO-10", "ADO-12")
def test_a_persons_branch_made_while_the_worktree_is_being_made_is_not_adopted(scene, once):
    with scene.fleet() as fleet:
        fleet.world.funnel.watcher = once("before", "git checkout", lambda: scene.git("branch", "worker/a", "main"))
        with pytest.raises((WorktreeRefused, Refused)):
            scene.dispatch(fleet, "a", engine="scripted", script=SCRIPT.format(slug="a"))
        fleet.world.funnel.watcher = None
        assert scene.git("rev-parse", "worker/a") == scene.git("rev-parse", "main")


@pytest.mark.req("ADO-10")
def test_a_leftover_mark_does_not_make_a_persons_new_branch_fleets(scene):
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        mark = scene.git("config", "branch.worker/a.fleet")
        fleet.merge.task(project="p", slug="a")
        assert "worker" not in Path(scene.repository, ".git", "config").read_text()
        scene.git("branch", "worker/a", "fleet/main")
        scene.git("config", "branch.worker/a.fleet", mark)  # as a release that was killed behind the branch leaves it
        fleet.tasks.retry(project="p", slug="a")
        with pytest.raises(WorktreeRefused, match="not provably of this project's agents"):
            scene.dispatch(fleet, "a", engine="scripted")


@pytest.mark.req("ADO-10", "ADO-12")
def test_a_dispatch_that_dies_before_its_branch_is_marked_is_made_again(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="a", slug="a", description=SCRIPT.format(slug="a"))
    dispatcher = scene.halted("before", "git config", "dispatch", "a")
    dispatcher.kill()
    dispatcher.wait(60)
    with scene.fleet() as fleet:
        scene.swept(fleet)
        raw(fleet, "UPDATE tasks SET not_before = NULL WHERE slug = 'a'")
        scene.dispatch(fleet, "a", engine="scripted")
        scene.ended(fleet)
        assert fleet.merge.task(project="p", slug="a").changed
        assert scene.git("show", "fleet/main:a.txt") == "a"
        assert scene.git("log", "--format=%s", "main..fleet/main").splitlines() == ["Merge a", "Add a"]


# merges that died, and ways out ----------------------------------------------------------------------------------------------------
@pytest.mark.req("MERGE-5")
@pytest.mark.parametrize(("where", "effect"), [("after", "git update-ref"), ("before", "commit p/a is merged")])
def test_a_merge_that_died_before_it_was_recorded_is_recorded_by_the_next(scene, where, effect):
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
    finisher = scene.halted(where, effect, "merge", "a")
    finisher.kill()
    finisher.wait(60)
    with scene.fleet() as fleet:
        fleet.merge.task(project="p", slug="a")
        assert [each.task for each in fleet.merge.recorded(project="p")] == ["a"]
        scene.git("update-ref", "-d", "refs/heads/fleet/main")
        with pytest.raises(MergesMissing):
            fleet.merge.land(project="p")
        fleet.merge.restore(project="p")
        assert files_on(scene, "fleet/main") == ["README", "a.txt"]


@pytest.mark.req("MERGE-3")
def test_what_a_person_merged_by_hand_is_recorded_too(scene):
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        tip = scene.git("rev-parse", "worker/a")
        scene.git("update-ref", "refs/heads/fleet/main", tip)
        fleet.merge.task(project="p", slug="a")
        assert [(each.task, each.made) for each in fleet.merge.recorded(project="p")] == [("a", tip)]


@pytest.mark.req("MERGE-2")
def test_a_tree_that_is_never_clean_is_merged(scene):
    Path(scene.repository, "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    scene.git("add", "dos.txt")
    scene.git("commit", "--quiet", "-m", "Add dos")
    Path(scene.repository, ".gitattributes").write_text("*.txt text eol=lf\n")
    scene.git("add", ".gitattributes")
    scene.git("commit", "--quiet", "-m", "Normalise nothing")
    settings(scene, "verify = 'true'\n")
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "a", "sh", "-c", "echo a >a.md; git add a.md; git commit --quiet -m a; fleet done")
        scene.ended(fleet)
        fleet.merge.task(project="p", slug="a")
        assert "a.md" in files_on(scene, "fleet/main")
    scene.forgiven = {
        "worktree",
        "claim",
        "journal",
        "lock",
        "workers",
    }  # its own tree is never clean either, and is kept


@pytest.mark.req("MERGE-3")
def test_no_agent_is_started_on_a_branch_that_has_lost_merged_work(scene):
    with scene.fleet() as fleet:
        merge_two(scene, fleet)
        scene.git("update-ref", "refs/heads/fleet/main", scene.git("rev-parse", "main"))
        fleet.tasks.add(project="p", title="c", slug="c", description=SCRIPT.format(slug="c"))
        with pytest.raises(MergesMissing):
            scene.dispatch(fleet, "c", engine="scripted")
        assert fleet.dispatches.list() == []


@pytest.mark.req("MERGE-3")
def test_a_deleted_integration_branch_is_made_from_the_target_it_had(scene):
    with scene.fleet() as fleet:
        merge_two(scene, fleet)
        scene.git("merge", "--quiet", "--ff-only", "fleet/main")
        scene.git("checkout", "--quiet", "-b", "old", "HEAD~1")
        scene.git("branch", "-D", "fleet/main")
        finish(scene, fleet, "c")
        fleet.merge.task(project="p", slug="c")
        assert files_on(scene, "fleet/main") == ["README", "a.txt", "b.txt", "c.txt"]


@pytest.mark.req("PIPE-2")
def test_a_task_that_moved_and_was_opened_again_can_still_be_accepted(either):
    with either.fleet() as fleet:
        finish(either, fleet, "a")
        moved = move_branch(either, "a", "late.txt")
        with pytest.raises(WorkMoved):
            fleet.merge.task(project="p", slug="a")
        fleet.tasks.retry(project="p", slug="a")
        assert [each.slug for each in fleet.reviews.waiting()] == ["a"]
        fleet.reviews.judge(project="p", slug="a", verdict="accept", commit=moved)
        fleet.merge.task(project="p", slug="a")
        assert files_on(either, "fleet/main") == ["README", "a.txt", "late.txt"]


@pytest.mark.req("MERGE-5")
def test_a_deleted_task_branch_is_named_with_the_command_that_puts_it_back(scene):
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        work = scene.git("rev-parse", "worker/a")
        scene.git("update-ref", "-d", "refs/heads/worker/a")
        with pytest.raises(NotMergeable, match=rf"worker/a is gone; .*`git branch worker/a {work[:12]}`"):
            fleet.merge.task(project="p", slug="a")
        scene.git("branch", "worker/a", work)
        fleet.tasks.retry(project="p", slug="a")
        fleet.merge.task(project="p", slug="a")
        assert files_on(scene, "fleet/main") == ["README", "a.txt"]


@pytest.mark.req("MERGE-2")
def test_what_verify_leaves_in_the_background_ends_with_the_merge(scene):
    settings(scene, f"verify = 'sleep 1000 >/dev/null 2>&1 & echo $! >{scene.root}/pid'\n")
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        fleet.merge.task(project="p", slug="a")
        assert not is_alive(int(Path(scene.root, "pid").read_text()))

"""Merging: in a tree of fleet's own, one at a time, by compare-and-set; the user's checkout is nobody's business."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from plugins.account import command_of
from staging.stage import FLEET, answer, is_alive, status_of

from fleet.errors.families import FleetError, Refused
from fleet.errors.refused import NotMergeable
from fleet.testing.crash.scenarios import until


def done_task(scene, fleet, slug: str = "t", *, path: str = "a.txt", text: str = "hello") -> None:
    """A task whose agent committed a file and said done."""
    scene.dispatch(fleet, slug, engine="scripted", script=f"write {path} {text}\ncommit Add {slug}\ndone\n")
    scene.ended(fleet)
    assert status_of(fleet, slug)[0] == "to merge"
    scene.swept(fleet)


def checkout(scene) -> tuple:
    """Everything of the user's that a merge could touch."""
    index = Path(scene.repository, ".git", "index")
    files = {p.name: p.read_bytes() for p in Path(scene.repository).iterdir() if p.is_file()}
    return (
        scene.git("rev-parse", "HEAD", "main"),
        scene.git("rev-parse", "--abbrev-ref", "HEAD"),
        scene.git("stash", "list"),
        index.read_bytes(),
        files,
    )


def verify(scene, command: str) -> None:
    Path(scene.repository, "fleet.toml").write_text(f"verify = '{command}'\n")


@pytest.mark.req("MERGE-1", "MERGE-3", "ADO-9")
def test_a_merge_leaves_the_users_checkout_index_stash_and_hooks_alone(either):
    hooks = Path(either.repository, ".git", "hooks")
    for name in (
        "post-checkout",
        "pre-merge-commit",
        "post-merge",
        "commit-msg",
        "pre-commit",
        "reference-transaction",
    ):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {either.root}/hooked-$(basename $0)\nexit 1\n")
    Path(either.repository, "README").write_text("stashed\n")
    either.git("-c", "core.hooksPath=/dev/null", "stash")
    Path(either.repository, "README").write_text("staged\n")
    either.git("add", ".")
    Path(either.repository, "README").write_text("changed\n")
    Path(either.repository, "untracked").write_text("mine\n")
    for hook in hooks.iterdir():
        hook.chmod(0o700)
    with either.fleet() as fleet:
        either.dispatch(fleet, "t", engine="scripted", script="write a.txt hello\nhang\n")
        file = either.tree("t") / "a.txt"
        until(lambda: file.exists() and file.read_text() == "hello\n")
        either.git("-c", "core.hooksPath=/dev/null", "add", ".", cwd=str(either.tree("t")))
        either.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "Add a", cwd=str(either.tree("t")))
        fleet.dispatches.stop(fleet.dispatches.find("t"))
        fleet.tasks.retry(project="p", slug="t")
        fleet.tasks.claim(project="p", slug="t")
        fleet.tasks.done(project="p", slug="t")
        before = checkout(either)
        fleet.merge.task(project="p", slug="t")
        assert checkout(either) == before
        assert either.git("show", "fleet/main:a.txt") == "hello"
        assert [name for name in os.listdir(either.root) if name.startswith("hooked")] == []
        either.swept(fleet)
        assert not either.tree("t").exists()
        assert fleet.tasks.show(project="p", slug="t").archived


@pytest.mark.req("MERGE-4", "MERGE-1")
def test_a_conflict_parks_the_task_with_the_files_named_and_nothing_half_merged(either):
    with either.fleet() as fleet:
        done_task(either, fleet, "one", path="README", text="one")
        done_task(either, fleet, "two", path="README", text="two")
        fleet.merge.task(project="p", slug="one")
        tip = either.git("rev-parse", "fleet/main")
        with pytest.raises(NotMergeable, match="conflict in README"):
            fleet.merge.task(project="p", slug="two")
        status, reason = status_of(fleet, "two")
        assert status == "blocked"
        assert "conflict in README" in reason
        assert either.git("rev-parse", "fleet/main") == tip
        assert fleet.files.names("projects/p/merges") == []
        assert either.git("show", "worker/two:README") == "two"
        assert either.git("status", "--porcelain") == ""


@pytest.mark.req("MERGE-2")
@pytest.mark.parametrize("green", [True, False])
def test_verify_runs_on_the_merged_tree_and_red_parks_the_task_with_its_output(either, green):
    with either.fleet() as fleet:
        done_task(either, fleet, "one", path="one.txt", text="1")
        done_task(either, fleet, "two", path="two.txt", text="2")
        fleet.merge.task(project="p", slug="one")
        verify(either, f"echo looking; cat one.txt two.txt && {'true' if green else 'exit 3'}")
        if green:
            fleet.merge.task(project="p", slug="two")
            assert either.git("show", "fleet/main:two.txt") == "2"
            return
        with pytest.raises(NotMergeable, match="looking"):
            fleet.merge.task(project="p", slug="two")
        status, reason = status_of(fleet, "two")
        assert status == "blocked"
        assert "looking\n1\n2" in reason, "its output, on the merged tree"
        assert fleet.files.names("projects/p/merges") == []
        assert "two.txt" not in either.git("ls-tree", "--name-only", "fleet/main")


@pytest.mark.req("MERGE-3")
def test_an_integration_branch_that_moved_meanwhile_is_not_overwritten(either, once):
    with either.fleet() as fleet:
        done_task(either, fleet)
        tree = either.git("rev-parse", "fleet/main^{tree}")
        moved = either.git("commit-tree", tree, "-p", "fleet/main", "-m", "meanwhile")
        fleet.funnel.watcher = once(
            "before", "git update-ref", lambda: either.git("update-ref", "refs/heads/fleet/main", moved)
        )
        with pytest.raises(Refused, match="moved meanwhile"):
            fleet.merge.task(project="p", slug="t")
        fleet.funnel.watcher = None
        assert either.git("rev-parse", "fleet/main") == moved
        assert status_of(fleet, "t")[0] == "to merge", "it can be tried again"
        fleet.merge.task(project="p", slug="t")
        assert either.git("merge-base", moved, "fleet/main") == moved


@pytest.mark.req("MERGE-3")
def test_dispatches_start_from_the_integration_branch(scene):
    with scene.fleet() as fleet:
        done_task(scene, fleet)
        fleet.merge.task(project="p", slug="t")
        scene.dispatch(fleet, "next", "sleep", "1000")
        assert (scene.tree("next") / "a.txt").read_text() == "hello\n"


@pytest.mark.req("MERGE-1")
def test_one_merge_at_a_time_and_the_second_waits_and_is_told_for_whom(either):
    with either.fleet() as fleet:
        done_task(either, fleet, "one", path="one.txt")
        done_task(either, fleet, "two", path="two.txt")
        child = either.halted("before", "git merge", "merge", "one")
        second = either.start(FLEET, "merge", "two", "-p", "p")
        line = second.stderr.readline()
        assert line.startswith(f"waiting for another merge: one (pid={child.pid} on ")
        assert not fleet.tasks.show(project="p", slug="two").archived
        os.kill(child.pid, signal.SIGCONT)
        assert answer(child).code == 0
        assert answer(second).code == 0
        merges = either.git("log", "--first-parent", "--merges", "--format=%s", "fleet/main").splitlines()
        assert merges == ["Merge two", "Merge one"]


@pytest.mark.req("MERGE-5")
@pytest.mark.parametrize(
    ("where", "effect"), [("before", "git update-ref"), ("after", "git update-ref"), ("after", "git merge")]
)
def test_a_merge_that_was_killed_is_continued_and_counts_only_when_git_says_so(either, where, effect):
    with either.fleet() as fleet:
        done_task(either, fleet)
        child = either.halted(where, effect, "merge", "t")
        os.kill(child.pid, signal.SIGKILL)
        child.wait(60)
        either.swept(fleet)
        merged = "a.txt" in either.git("ls-tree", "--name-only", "fleet/main")
        assert merged == ((where, effect) == ("after", "git update-ref"))
        assert bool(fleet.tasks.show(project="p", slug="t").archived) == merged
        if not merged:
            fleet.merge.task(project="p", slug="t")
        assert either.git("log", "--merges", "--format=%s", "fleet/main").splitlines() == ["Merge t"]


@pytest.mark.req("MERGE-6")
def test_land_prints_the_command_for_a_target_that_is_checked_out_and_moves_one_that_is_not(scene):
    with scene.fleet() as fleet:
        done_task(scene, fleet)
        fleet.merge.task(project="p", slug="t")
        before = checkout(scene)
        said = answer(scene.start(FLEET, "land", "-p", "p", cwd=scene.root))
        assert f"git -C {scene.repository} merge --ff-only fleet/main" in said.out
        assert said.code == 14, "not touched"
        assert checkout(scene) == before
        scene.git("checkout", "--quiet", "-b", "elsewhere")
        Path(scene.repository, "fleet.toml").write_text('target = "main"\n')
        dry = scene.program("land", "-p", "p", "--dry-run")
        assert "Add t" in dry.out
        assert scene.git("rev-parse", "main") != scene.git("rev-parse", "fleet/main")
        assert scene.program("land", "-p", "p").code == 0
        assert scene.git("rev-parse", "main") == scene.git("rev-parse", "fleet/main")


@pytest.mark.req("MERGE-6")
def test_land_never_moves_a_target_that_is_no_ancestor(scene):
    with scene.fleet() as fleet:
        done_task(scene, fleet)
        fleet.merge.task(project="p", slug="t")
        Path(scene.repository, "own").write_text("own")
        scene.git("add", "own")
        scene.git("commit", "--quiet", "-m", "own")
        own = scene.git("rev-parse", "main")
        scene.git("checkout", "--quiet", "-b", "elsewhere")
        Path(scene.repository, "fleet.toml").write_text('target = "main"\n')
        with pytest.raises(FleetError):
            fleet.merge.land(project="p")
        assert scene.git("rev-parse", "main") == own


@pytest.mark.req("MERGE-1", "MERGE-6")
def test_land_moves_nothing_while_git_does_not_say_what_is_checked_out(scene):
    entry = Path(scene.repository, ".git/worktrees/broken")
    with scene.fleet() as fleet:
        done_task(scene, fleet)
        fleet.merge.task(project="p", slug="t")
        before = checkout(scene)
        entry.mkdir(parents=True)
        for name, text in {"locked": "x", "gitdir": "/nowhere/.git\n", "commondir": ""}.items():
            (entry / name).write_text(text)  # a disk was full when git wrote the last one
        assert fleet.world.git.worktrees(scene.repository) is None
        with pytest.raises(Refused):
            fleet.merge.land(project="p")
        shutil.rmtree(entry)
        assert checkout(scene) == before
        assert fleet.merge.land(project="p").run, "the target is checked out, after all"


@pytest.mark.req("MERGE-5")
@pytest.mark.parametrize("status", ["failed", "in_progress"])
def test_a_branch_without_commits_of_a_task_that_is_not_done_is_no_merge(scene, status):
    with scene.fleet() as fleet:
        if status == "failed":
            scene.killed(fleet, "t")
        else:
            scene.launched(fleet, scene.dispatch(fleet, "t", "sleep", "1000"))
        with pytest.raises(FleetError):
            fleet.merge.task(project="p", slug="t")
        assert not fleet.tasks.show(project="p", slug="t").archived
        assert status_of(fleet, "t")[0] == status


@pytest.mark.req("MERGE-2", "MERGE-5", "GRAPH-13")
@pytest.mark.parametrize("green", [True, False])
def test_what_a_person_decides_while_verify_runs_counts_and_nothing_is_merged(either, once, green):
    with either.fleet() as fleet, either.fleet("ann") as ann:
        done_task(either, fleet)
        tip = either.git("rev-parse", "fleet/main")
        verify(either, "true" if green else "false")
        fleet.funnel.watcher = once(
            "during", "verify", lambda _pid: ann.tasks.abandon(project="p", slug="t", reason="no more", override=True)
        )
        with pytest.raises(FleetError):
            fleet.merge.task(project="p", slug="t")
        fleet.funnel.watcher = None
        assert status_of(fleet, "t") == ("abandoned", "no more")
        assert not fleet.tasks.show(project="p", slug="t").archived
        assert either.git("rev-parse", "fleet/main") == tip
        either.swept(fleet)
        assert status_of(fleet, "t") == ("abandoned", "no more")
        assert fleet.files.names("projects/p/merges") == []


@pytest.mark.req("MERGE-5", "SWEEP-12")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_verify_of_a_merge_that_is_gone_is_known_as_its_own_and_ended_by_the_sweep(scene, how):
    begun = Path(scene.root, "begun")
    verify(scene, f"echo $$ >{begun}; exec sleep 1000")
    with scene.fleet() as fleet:
        done_task(scene, fleet)
        merger = scene.start(FLEET, "merge", "t", "-p", "p")
        until(lambda: begun.exists() and begun.read_text().endswith("\n"))
        pid = int(begun.read_text())
        until(lambda: command_of(pid)[:1] == ["sleep"])
        (claim,) = fleet.claims.list(kind="merge_tree")
        assert [each.pid for each in fleet.world.processes.marked(claim.dispatch)] == [pid]
        os.kill(merger.pid, how)
        assert answer(merger).code != 0
        assert not fleet.sessions.settle(claim.dispatch).settled or not is_alive(pid), "it is at work in that tree"
        scene.swept(fleet)
        assert not is_alive(pid)
        assert fleet.claims.list(kind="merge_tree") == []
        assert status_of(fleet, "t")[0] == "to merge"


@pytest.mark.req("MERGE-5", "GRAPH-5")
def test_work_whose_branch_is_gone_is_parked_and_merged_when_it_is_back(either):
    with either.fleet() as fleet:
        done_task(either, fleet, "one", path="one.txt")
        done_task(either, fleet, "two", path="two.txt")
        tip = either.git("rev-parse", "worker/one")
        either.git("branch", "-m", "worker/one", "saved")
        with pytest.raises(NotMergeable, match="worker/one"):
            fleet.merge.task(project="p", slug="one")
        task = fleet.tasks.show(project="p", slug="one")
        assert (task.status, task.stage, task.archived) == ("blocked", "finisher", False)
        assert "worker/one" in task.reason
        assert either.git("rev-parse", "saved") == tip
        assert fleet.merge.mergeable(project="p") == ["two"], "it is in nobody's way"
        fleet.merge.task(project="p", slug="two")
        either.git("branch", "-m", "saved", "worker/one")
        fleet.tasks.retry(project="p", slug="one")
        fleet.merge.task(project="p", slug="one")
        assert either.git("show", "fleet/main:one.txt") == "hello"


@pytest.mark.req("MERGE-5", "GRAPH-5", "GRAPH-13")
@pytest.mark.parametrize(
    ("went", "named"), [("-b feature/x", "feature/x"), ("--detach", "on no branch")], ids=["branch", "detached"]
)
def test_work_that_was_committed_elsewhere_is_not_taken_for_merged_and_stays(either, went, named):
    either.git("config", "user.name", "scene")
    either.git("config", "user.email", "scene@localhost")
    works = f"git checkout -q {went} && echo hello >a.txt && git add . && git commit -qm 'Add a' && fleet done"
    tree = str(either.tree("t"))
    with either.fleet() as fleet:
        either.dispatch(fleet, "t", "sh", "-c", works)
        either.ended(fleet)
        made, base = either.git("rev-parse", "HEAD", cwd=tree), either.git("rev-parse", "fleet/main")
        assert either.git("show", f"{made}:a.txt") == "hello"
        assert either.git("rev-parse", "worker/t") == base, "nothing is where it is looked for"
        with pytest.raises(NotMergeable, match=named):
            fleet.merge.task(project="p", slug="t")
        either.swept(fleet)
        task = fleet.tasks.show(project="p", slug="t")
        assert (task.status, task.archived) == ("blocked", False)
        assert named in task.reason
        assert either.git("rev-parse", "fleet/main") == base
        assert either.git("rev-parse", "HEAD", cwd=tree) == made
        assert (either.tree("t") / "a.txt").read_text() == "hello\n"
        either.git("checkout", "--quiet", "-B", "worker/t", made, cwd=tree)  # as a person brings it home
        fleet.tasks.retry(project="p", slug="t")
        fleet.tasks.claim(project="p", slug="t")
        fleet.tasks.done(project="p", slug="t")
        fleet.merge.task(project="p", slug="t")
        assert either.git("show", "fleet/main:a.txt") == "hello"

"""Bundles: one owner, one generation, never deleted dirty, never split, never used half-made."""

import contextlib
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import pytest
from plugins.account import command_of
from staging.stage import FLEET, HALTING, acted, answer, bundle_of, claim_of, is_alive, raw, standing, status_of

from fleet.errors.families import Contested, FleetError
from fleet.errors.refused import WorktreeRefused
from fleet.errors.tools import GitRefused
from fleet.store import queries as q
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.acquire import release
from fleet.verbs.dispatch.plan import Wanted

SLEEP = ("sleep", "1000")
WHOLE = {"README": "a repository\n"}


def wanted(slug: str = "t", **how) -> Wanted:
    return Wanted(project="p", slug=slug, engine="shell", command=SLEEP, **how)


def content(scene, slug: str = "t") -> dict[str, str]:
    """The files of a worktree that is on its own branch and has no changes."""
    tree = scene.tree(slug)
    assert scene.git("symbolic-ref", "--short", "HEAD", cwd=str(tree)) == f"worker/{slug}"
    assert scene.git("status", "--porcelain", cwd=str(tree)) == ""
    return {path.name: path.read_text() for path in tree.iterdir() if path.name != ".git"}


def adoptions(fleet, slug: str) -> list[tuple]:
    rows = fleet.store.read(lambda snapshot: q.adoptions_of(snapshot, project="p", slug=slug))
    return [(row.generation, row.dispatch, row.kind, row.released_at is not None) for row in rows]


@pytest.mark.req("ADO-2", "ADO-3", "ADO-4", "ADO-7")
def test_the_next_dispatch_adopts_the_bundle_and_the_generation_never_resets(either):
    with either.fleet() as fleet:
        first = either.dispatch(fleet, "t", *SLEEP)
        either.launched(fleet, first)
        (either.tree("t") / "half.txt").write_text("work in progress")
        fleet.dispatches.stop(first)
        fleet.tasks.retry(project="p", slug="t")
        second = fleet.dispatches.start(wanted(kind="fix")).id
        assert (either.tree("t") / "half.txt").exists(), "the same tree, with what was in it"
        assert (bundle_of(fleet, "t").owner, bundle_of(fleet, "t").generation) == (second, 2)
        assert adoptions(fleet, "t") == [(1, first, "worker", True), (2, second, "fix", False)]
        (either.tree("t") / "half.txt").unlink()
        either.launched(fleet, second)
        fleet.dispatches.kill(second, "enough")
        fleet.tasks.archive(project="p", slug="t")
        either.swept(fleet)
        assert not either.tree("t").exists()
        fleet.tasks.retry(project="p", slug="t")
        third = fleet.dispatches.start(wanted()).id
        assert (bundle_of(fleet, "t").owner, bundle_of(fleet, "t").generation) == (third, 3)


@pytest.mark.req("ADO-7", "OBS-1")
def test_the_history_of_adoptions_is_shown(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", *SLEEP)
        (adoption,) = fleet.dispatches.show(ident).adoptions
    assert (adoption.dispatch, adoption.kind) == (ident, "worker")


@pytest.mark.req("ADO-2", "ADO-3", "ADO-5", "ADO-8", "GRAPH-8")
def test_of_many_dispatches_of_one_task_at_once_one_gets_the_bundle_and_the_others_are_told_who(either):
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
    words = (FLEET, "dispatch", "t", "-p", "p", "--wait", "0", "--engine", "shell", "--", *SLEEP)
    said = [answer(child) for child in [either.start(*words) for _ in range(6)]]
    assert sorted(each.code for each in said) == [0, 12, 12, 12, 12, 12], said
    with either.fleet() as fleet:
        (agent,) = fleet.agents.list()
        bundle = bundle_of(fleet, "t")
        assert (bundle.owner, bundle.generation) == (agent.id, 1)
        assert all(agent.id in each.err for each in said if each.code)


@pytest.mark.req("ADO-5", "ADO-6")
def test_a_live_owner_is_never_dispossessed_and_is_named_at_once_when_waiting_is_zero(either):
    with either.fleet() as fleet:
        first = either.dispatch(fleet, "t", *SLEEP)
        who = either.launched(fleet, first)
        fleet.tasks.unclaim(project="p", slug="t", override=True)
        with pytest.raises(Contested, match=first):
            fleet.dispatches.start(wanted(wait=0))
        assert is_alive(who.pid)
        assert bundle_of(fleet, "t").owner == first
        assert status_of(fleet, "t")[0] == "open"


@pytest.mark.req("ADO-6", "STORE-7")
def test_a_bundle_that_somebody_is_letting_go_of_is_waited_for_and_then_contested_by_whom(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        either.killed(fleet, "t")
        fleet.tasks.archive(project="p", slug="t")
        releaser = either.halted("before", "git worktree remove", "sweep")
        fleet.tasks.retry(project="p", slug="t")
        with pytest.raises(Contested, match=str(releaser.pid)):
            fleet.dispatches.start(wanted(wait=0))
        os.kill(releaser.pid, signal.SIGCONT)
        assert answer(releaser).code == 0
        fleet.dispatches.start(wanted())
        assert (either.tree("t") / "README").exists()


@pytest.mark.req("ADO-5", "EXC-5", "SWEEP-8")
def test_a_releaser_with_an_old_memory_does_not_take_the_new_owners_tree_away(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        either.killed(fleet, "t")
        fleet.tasks.archive(project="p", slug="t")
        remembered = claim_of(fleet, "worktree", slug="t")
        fleet.sweep.run(kill=True)
        fleet.tasks.retry(project="p", slug="t")
        fleet.dispatches.start(wanted())
        release(fleet.context, remembered)
        assert content(either) == WHOLE, "a live agent's worktree was removed"


@pytest.mark.req("ADO-9", "ADO-11")
def test_a_tree_is_released_only_when_its_task_is_terminal_and_archived(either):
    with either.fleet() as fleet:
        either.killed(fleet, "t")
        either.swept(fleet)
        assert either.tree("t").exists(), "a dispatch ending alone releases nothing"
        fleet.tasks.archive(project="p", slug="t")
        either.swept(fleet)
        assert not either.tree("t").exists()
        assert fleet.claims.list("adoptable") == []
        assert acted(fleet.sweep.run(kill=True)) == [], "the second sweep takes no action"
        assert either.git("branch", "--list", "worker/t") == "", "it had nothing that is not merged"


@pytest.mark.req("ADO-11", "SWEEP-7", "SWEEP-8")
@pytest.mark.parametrize("how", ["untracked", "changed", "staged"])
def test_a_dirty_worktree_is_kept_and_listed_every_time(scene, how):
    scene.forgiven = {"worktree", "claim work", "journal", "workers", "lock"}
    with scene.fleet() as fleet:
        scene.killed(fleet, "t")
        work = scene.tree("t") / ("new.txt" if how == "untracked" else "README")
        work.write_text("precious")
        if how == "staged":
            scene.git("add", ".", cwd=str(scene.tree("t")))
        fleet.tasks.archive(project="p", slug="t")
        for _ in range(2):
            found = fleet.sweep.run(kill=True)
            assert any("uncommitted work" in line for line in standing(found))
        assert work.read_text() == "precious"
        assert acted(found) == []


@pytest.mark.req("ADO-11")
def test_a_branch_with_unmerged_commits_outlives_its_tree(scene):
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", engine="scripted", script="write a.txt hello\ncommit Add a\nfail on purpose\n")
        scene.ended(fleet)
        fleet.tasks.archive(project="p", slug="t")
        until(lambda: fleet.sweep.run(kill=True) == [])
        assert not scene.tree("t").exists()
        assert scene.git("show", "worker/t:a.txt") == "hello"


@pytest.mark.req("ADO-10", "ADO-12", "STORE-7")
@pytest.mark.parametrize("where", ["git worktree add", "git checkout"])
def test_a_worktree_half_made_when_fleet_and_git_were_killed_is_completed(scene, where):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        child = scene.start(sys.executable, HALTING, "during", where, "dispatch", "t")
        git = int(child.stdout.readline().split()[1])
        for pid in (child.pid, git):
            with contextlib.suppress(ProcessLookupError):  # git may have been faster
                os.kill(pid, signal.SIGKILL)
        child.wait(60)
        until(lambda: not fleet.sweep.run(kill=True) and status_of(fleet, "t")[0] == "open")
        fleet.dispatches.start(wanted())
        assert (scene.tree("t") / "README").exists()
        assert scene.git("status", "--porcelain", cwd=str(scene.tree("t"))) == ""


@pytest.fixture
def slow_checkout(scene):
    """A repository whose files take as long to check out as there is a file: when one is under way, and that file."""
    begun, hold = Path(scene.root, "begun"), Path(scene.root, "hold")
    hold.touch()
    scene.git("config", "filter.slow.smudge", f"touch {begun}; while [ -e {hold} ]; do sleep 0.02; done; cat")
    Path(scene.repository, ".gitattributes").write_text("second filter=slow\n")
    Path(scene.repository, "second").write_text("two\n")
    scene.git("add", ".")
    scene.git("commit", "--quiet", "--message=second")
    yield begun, hold
    hold.unlink(missing_ok=True)


@pytest.mark.req("ADO-10", "ADO-12")
def test_a_checkout_killed_with_its_fleet_is_completed_and_left_alone_while_it_is_still_under_way(scene, slow_checkout):
    begun, hold = slow_checkout
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        child = scene.start(FLEET, "dispatch", "t", "-p", "p", "--engine", "shell", "--", *SLEEP)
        until(begun.exists)
        (git,) = [pid for pid in scene.processes() if command_of(pid)[:1] == ["git"] and "checkout" in command_of(pid)]
        for pid in (child.pid, git):
            os.kill(pid, signal.SIGKILL)
        child.wait(60)
        for _ in range(2):
            found = fleet.sweep.run(kill=True)
            assert scene.tree("t").exists(), "what git started is still at it"
        assert acted(found) == []
        hold.unlink()
        until(lambda: not fleet.sweep.run(kill=True) and status_of(fleet, "t")[0] == "open")
        fleet.dispatches.start(wanted())
        assert (scene.tree("t") / "second").read_text() == "two\n"
        assert scene.git("status", "--porcelain", cwd=str(scene.tree("t"))) == ""


@pytest.mark.req("ADO-10", "ADO-12")
@pytest.mark.parametrize("where", ["git worktree add", "git checkout"])
def test_a_worktree_half_made_when_only_git_was_killed_is_completed_by_the_next_dispatch(scene, once, where):
    with scene.fleet() as fleet:
        fleet.funnel.watcher = once("during", where, lambda pid: os.kill(pid, signal.SIGKILL))
        with contextlib.suppress(GitRefused, WorktreeRefused):  # it may try again by itself
            scene.dispatch(fleet, "t", *SLEEP)
        fleet.funnel.watcher = None
        if not fleet.agents.list():
            fleet.dispatches.start(wanted())
        assert content(scene) == WHOLE


@pytest.mark.req("ADO-12", "SWEEP-2")
@pytest.mark.parametrize("where", ["git worktree add", "git checkout"])
def test_whenever_git_is_killed_the_next_dispatch_works_and_the_repository_lists_no_scrap(scene, once, where):
    moments = [number / 1000 for number in range(0, 16, 2)]  # a whole `git worktree add` takes about ten of them

    def killed_after(moment: float):
        return lambda pid: threading.Timer(moment, kill_group, (pid,)).start()

    with scene.fleet() as fleet:
        for number, moment in enumerate(moments):
            fleet.funnel.watcher = once("during", where, killed_after(moment))
            with contextlib.suppress(GitRefused, WorktreeRefused):
                scene.dispatch(fleet, f"t{number}", *SLEEP)
            fleet.funnel.watcher = None
            if f"t{number}" not in {agent.task for agent in fleet.agents.list()}:
                fleet.dispatches.start(wanted(f"t{number}"))
            assert scene.git("status", "--porcelain", cwd=str(scene.tree(f"t{number}"))) == ""
        entries = Path(scene.repository, ".git/worktrees").iterdir()
        assert sorted(entry.name for entry in entries) == [f"t{number}" for number in range(len(moments))]


def kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


@pytest.mark.req("ADO-10")
def test_a_branch_that_already_exists_is_refused_every_time_and_stays_as_it_was(scene):
    scene.git("branch", "worker/t")
    before = scene.git("rev-parse", "worker/t")
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        for _ in range(2):
            with pytest.raises(WorktreeRefused, match="not provably of this project's agents"):
                fleet.dispatches.start(wanted())
            assert status_of(fleet, "t")[0] == "open"
        fleet.tasks.abandon(project="p", slug="t")
        fleet.tasks.archive(project="p", slug="t")
        fleet.sweep.run(kill=True)
    assert scene.git("rev-parse", "worker/t") == before


@pytest.mark.req("ADO-10")
@pytest.mark.parametrize("what", ["a directory", "another branch"])
def test_a_tree_that_is_not_what_the_journal_says_is_never_silently_used(scene, what):
    scene.forgiven = {"worktree", "claim work", "journal", "workers", "lock"}
    with scene.fleet() as fleet:
        if what == "a directory":
            scene.tree("t").mkdir(parents=True)
            (scene.tree("t") / "mine.txt").write_text("mine")
            fleet.tasks.add(project="p", title="T", slug="t")
        else:
            scene.killed(fleet, "t")
            fleet.tasks.retry(project="p", slug="t")
        if what == "another branch":
            scene.git("checkout", "--quiet", "-b", "elsewhere", cwd=str(scene.tree("t")))
        with pytest.raises(FleetError):
            fleet.dispatches.start(wanted())
        assert fleet.agents.list() == []
        assert what != "a directory" or (scene.tree("t") / "mine.txt").read_text() == "mine"


@pytest.mark.req("ADO-10", "ADO-11")
@pytest.mark.parametrize(
    "forget",
    [
        "DELETE FROM claims WHERE kind = 'worktree'",
        "UPDATE claims SET state = 'allocating' WHERE kind = 'worktree'",
    ],
)
def test_work_in_a_tree_that_the_database_has_forgotten_is_refused_and_kept(scene, forget):
    scene.forgiven = {"worktree", "claim work", "journal", "workers", "lock"}
    with scene.fleet() as fleet:
        scene.killed(fleet, "t")
        (scene.tree("t") / "half.txt").write_text("precious")
        (scene.tree("t") / "README").write_text("changed")
        raw(fleet, forget)  # as after a backup was restored
        fleet.tasks.retry(project="p", slug="t")
        with pytest.raises(FleetError, match="its database knows of no work in it"):
            fleet.dispatches.start(wanted())
        fleet.sweep.run(kill=True)
    assert (scene.tree("t") / "half.txt").read_text() == "precious"
    assert (scene.tree("t") / "README").read_text() == "changed"


@pytest.mark.req("ADO-2", "STORE-7")
def test_what_a_killed_dispatcher_has_made_is_written_down_by_the_launch(either):
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        dispatcher = either.halted("after", "tmux new-session", "dispatch", "t")
        first = fleet.dispatches.list()[0].id
        either.launched(fleet, first)
        dispatcher.kill()
        dispatcher.wait(60)
        assert {claim.state for claim in fleet.claims.list()} == {"live"}, "nobody works in what is said to be unmade"
        (either.tree("t") / "half.txt").write_text("work in progress")
        fleet.dispatches.stop(first)
        fleet.tasks.retry(project="p", slug="t")
        either.launched(fleet, fleet.dispatches.start(wanted()).id)
        assert (either.tree("t") / "half.txt").read_text() == "work in progress"
        (either.tree("t") / "half.txt").unlink()


@pytest.mark.req("ADO-2", "ADO-10")
def test_a_tree_that_somebody_removed_is_made_anew_from_its_branch(scene):
    with scene.fleet() as fleet:
        scene.killed(fleet, "t")
        fleet.tasks.retry(project="p", slug="t")
        (scene.tree("t") / "kept.txt").write_text("of the branch")
        scene.git("add", "kept.txt", cwd=str(scene.tree("t")))
        scene.git("commit", "--quiet", "--message=Keep", cwd=str(scene.tree("t")))
        shutil.rmtree(scene.tree("t"))
        fleet.dispatches.start(wanted())
        assert content(scene) == {**WHOLE, "kept.txt": "of the branch"}


@pytest.mark.req("ADO-10", "ADO-12")
def test_of_a_tree_that_somebody_removed_only_its_own_entry_goes_not_that_of_a_disk_that_is_away(scene):
    own, away = Path(scene.root, "own"), Path(scene.root, "unmounted")
    scene.git("worktree", "add", "--quiet", "--detach", str(own))
    (own / "mine.txt").write_text("mine")
    scene.git("add", ".", cwd=str(own))
    scene.git("commit", "--quiet", "--message=on no branch", cwd=str(own))
    commit = scene.git("rev-parse", "HEAD", cwd=str(own))
    with scene.fleet() as fleet:
        scene.killed(fleet, "t")
        fleet.tasks.retry(project="p", slug="t")
        own.rename(away)
        shutil.rmtree(scene.tree("t"))
        fleet.dispatches.start(wanted())
    away.rename(own)
    assert sorted(entry.name for entry in Path(scene.repository, ".git/worktrees").iterdir()) == ["own", "t"]
    assert scene.git("rev-parse", "HEAD", cwd=str(own)) == commit
    assert scene.git("rev-parse", "--abbrev-ref", "HEAD", cwd=str(scene.tree("t"))) == "worker/t"


@pytest.mark.timeout(600)
@pytest.mark.req("ADO-13", "ADO-8", "AGENT-2")
def test_twenty_dispatches_at_once_in_one_repository_all_get_their_worktrees(scene):
    slugs = [f"t{number:02d}" for number in range(20)]
    wrong: list[str] = []

    def one(slug: str) -> None:
        try:
            with scene.fleet() as mine:
                mine.dispatches.start(wanted(slug))
        except (FleetError, OSError) as error:
            wrong.append(f"{slug}: {error!r}")

    with scene.fleet() as fleet:
        for slug in slugs:
            fleet.tasks.add(project="p", title=slug, slug=slug)
        threads = [threading.Thread(target=one, args=(slug,)) for slug in slugs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(90)
        assert wrong == []
        assert [agent.task for agent in sorted(fleet.agents.list(), key=lambda each: each.task)] == slugs
        assert all((scene.tree(slug) / "README").exists() for slug in slugs)
        for agent in fleet.agents.list():
            scene.launched(fleet, agent.id)

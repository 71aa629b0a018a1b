"""Whose a branch is: copies, branches whose reflog is gone, and branches from before there were marks."""

import json
import re
from pathlib import Path

import pytest
from staging.stage import raw

from fleet.errors.refused import WorktreeRefused
from fleet.store import queries as q

SCRIPT = "write {slug}.txt {slug}\ncommit Add {slug}\ndone\n"


def finish(scene, fleet, slug: str) -> None:
    """Let a scripted agent commit a file, and say done."""
    scene.dispatch(fleet, slug, engine="scripted", script=SCRIPT.format(slug=slug))
    scene.ended(fleet)
    scene.swept(fleet)


def files_on(scene, branch: str) -> list[str]:
    return sorted(scene.git("ls-tree", "--name-only", branch).split())


@pytest.mark.req("ADO-10")
def test_a_copy_of_fleets_branch_is_not_adopted_although_it_has_the_mark(scene):
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        scene.git("branch", "-c", "worker/a", "worker/b")  # copies mark and reflog
        left = scene.git("rev-parse", "worker/b")
        assert scene.git("config", "branch.worker/b.fleet") == scene.git("config", "branch.worker/a.fleet")
        with pytest.raises(
            WorktreeRefused, match="branch worker/b exists and is not provably of this project's agents"
        ):
            scene.dispatch(fleet, "b", engine="scripted", script=SCRIPT.format(slug="b"))
        fleet.merge.task(project="p", slug="a")
        assert scene.git("rev-parse", "worker/b") == left


def left_unmerged(scene, fleet) -> None:
    """A branch of a failed attempt whose worktree was released."""
    scene.dispatch(fleet, "a", engine="scripted", script="write a.txt a\ncommit Add a\nfail no\n")
    scene.ended(fleet)
    fleet.tasks.archive(project="p", slug="a")
    scene.swept(fleet)
    assert not scene.tree("a").exists()
    raw(fleet, "UPDATE tasks SET description = 'write b.txt b\ncommit Add b\ndone\n' WHERE slug = 'a'")


@pytest.mark.req("ADO-10")
@pytest.mark.parametrize("moved", [False, True])
def test_without_a_reflog_a_marked_branch_is_adopted_only_where_fleet_left_it(scene, moved):
    with scene.fleet() as fleet:
        left_unmerged(scene, fleet)
        Path(scene.repository, ".git/logs/refs/heads/worker/a").unlink()  # as it expires after some months
        if moved:
            scene.git("update-ref", "refs/heads/worker/a", scene.git("rev-parse", "main"))
            Path(scene.repository, ".git/logs/refs/heads/worker/a").unlink(missing_ok=True)
        fleet.tasks.retry(project="p", slug="a")
        if moved:
            with pytest.raises(WorktreeRefused, match="not provably of this project's agents"):
                scene.dispatch(fleet, "a", engine="scripted")
        else:
            scene.dispatch(fleet, "a", engine="scripted")
            scene.ended(fleet)
            assert files_on(scene, "worker/a") == ["README", "a.txt", "b.txt"]


def age(scene, fleet) -> None:
    """Make the worktree of a task what it was before there were marks."""
    rows = fleet.store.read(lambda snapshot: q.claims_of_bundle(snapshot, project="p", slug="a"))
    [data] = [json.loads(row.data) for row in rows if row.kind == "worktree"]
    old = {name: value for name, value in data.items() if not name.startswith("branch_")}
    raw(fleet, f"UPDATE claims SET data = '{json.dumps(old)}' WHERE kind = 'worktree'")
    scene.git("config", "--unset", "branch.worker/a.fleet")
    log = Path(scene.repository, ".git/logs/refs/heads/worker/a")
    log.write_text(re.sub(r"fleet \S+ <fleet@localhost>", "A Person <a@b>", log.read_text()))


@pytest.mark.req("ADO-10", "ADO-11")
def test_a_branch_from_before_there_were_marks_goes_with_its_worktree_when_it_is_merged(scene):
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        age(scene, fleet)
        fleet.merge.task(project="p", slug="a")
        assert scene.git("for-each-ref", "refs/heads/worker") == ""


@pytest.mark.req("ADO-2", "ADO-10")
@pytest.mark.parametrize("released", [True, False])
def test_a_branch_from_before_there_were_marks_is_marked_when_its_worktree_goes_or_is_taken_up(scene, released):
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "a", engine="scripted", script="write a.txt a\ncommit Add a\nfail no\n")
        scene.ended(fleet)
        age(scene, fleet)
        if released:
            fleet.tasks.archive(project="p", slug="a")
            scene.swept(fleet)
            assert not scene.tree("a").exists()
        raw(fleet, "UPDATE tasks SET description = 'write b.txt b\ncommit Add b\ndone\n' WHERE slug = 'a'")
        fleet.tasks.retry(project="p", slug="a")
        scene.dispatch(fleet, "a", engine="scripted")
        scene.ended(fleet)
        assert " worker/a " in scene.git("config", "branch.worker/a.fleet")
        assert files_on(scene, "worker/a") == ["README", "a.txt", "b.txt"]
        fleet.merge.task(project="p", slug="a")
        assert scene.git("for-each-ref", "refs/heads/worker") == ""


@pytest.mark.req("ADO-10")
def test_a_tree_that_is_not_under_fleets_lock_proves_nothing(scene):
    with scene.fleet() as fleet:
        finish(scene, fleet, "a")
        age(scene, fleet)
        scene.git("worktree", "unlock", str(scene.tree("a")))
        fleet.merge.task(project="p", slug="a")
        assert "worker/a" in scene.git("for-each-ref", "refs/heads/worker")

"""What a person's first days bring: long prompts, commits of their own, an agent that forgot to commit, Ctrl-C, two projects."""

import os
import signal
from pathlib import Path

import pytest
from staging.stage import FLEET, answer, status_of

from fleet.errors.families import Refused
from fleet.errors.refused import NotMergeable
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import make_repository

TASK = {"project": "p", "slug": "t"}
SLEEP = ("sleep", "1000")


def committed(scene, name: str) -> None:
    """A person's own commit on the branch that is checked out."""
    Path(scene.repository, name).write_text(f"{name}\n")
    scene.git("add", name)
    scene.git("commit", "--quiet", f"--message=Add {name}")


def finished(scene, fleet, slug: str, script: str = "write a.txt a\ncommit Add a\ndone\n") -> None:
    scene.dispatch(fleet, slug, engine="scripted", script=script)
    scene.ended(fleet)


@pytest.mark.req("AGENT-1")
def test_agents_are_listed_while_something_is_merged(scene):
    with scene.fleet() as fleet:
        finished(scene, fleet, "t")
        merger = scene.halted("after", "git worktree add", "merge", "t")
        assert [agent.kind for agent in fleet.agents.list()] == ["finisher"]
        working = fleet.views.status().working
        assert [(each.slug, each.kind) for each in working] == [("t", "finisher")]
        os.kill(merger.pid, signal.SIGCONT)
        assert answer(merger).code == 0


def test_a_long_prompt_of_one_line_reaches_the_agent_whole(scene):
    text = " ".join(f"word{number}" for number in range(200))
    words = ("run", text, "--slug", "t", "-p", "p", "--engine", "shell", "--", "sleep", "1000")
    scene.program(*words).ok()
    with scene.fleet() as fleet:
        task = fleet.tasks.show(**TASK)
        assert (len(task.title) <= 120, task.description) == (True, text)
        assert text in Path(scene.home, "inbox", f"{fleet.agents.list()[0].id}.md").read_text()


def test_a_slug_is_first_of_all_that_of_the_project_one_is_in(scene, monkeypatch):
    other = f"{scene.root}/other"
    make_repository(other)
    with scene.fleet() as fleet:
        fleet.projects.register(other, "q")
        ended = scene.killed(fleet, "t")
        fleet.tasks.add(project="q", title="T", slug="t")
        words = ("dispatch", "t", "-p", "q", "--engine", "shell", "--json", "--", *SLEEP)
        living = scene.program(*words).ok().json["id"]
        monkeypatch.chdir(scene.repository)
        assert fleet.dispatches.find("t") == ended
        monkeypatch.chdir(other)
        assert fleet.dispatches.find("t") == living
        monkeypatch.chdir("/")
        assert fleet.dispatches.find("t") == living, "the one that is at work"


@pytest.mark.req("MERGE-3", "MERGE-6")
def test_agents_start_from_what_people_have_put_on_their_branch(scene):
    with scene.fleet() as fleet:
        finished(scene, fleet, "t")
        fleet.merge.task(**TASK)
        scene.git("merge", "--quiet", "--ff-only", "fleet/main")
        committed(scene, "mine")
        scene.dispatch(fleet, "next", *SLEEP)
        assert (scene.tree("next") / "mine").exists()
        assert scene.git("rev-parse", "fleet/main") == scene.git("rev-parse", "main")


@pytest.mark.req("MERGE-3", "MERGE-6")
def test_work_of_both_sides_is_landed_by_one_merge_and_followed_then(scene):
    with scene.fleet() as fleet:
        finished(scene, fleet, "t")
        fleet.merge.task(**TASK)
        committed(scene, "mine")
        assert fleet.merge.land(project="p", dry=True).diverged is True
        done = fleet.merge.land(project="p")
        assert (done.moved, done.run) == (False, f"git -C {scene.repository} merge fleet/main")
        scene.git("merge", "--quiet", "--no-edit", "fleet/main")
        assert fleet.merge.land(project="p").commits == 0
        scene.dispatch(fleet, "next", *SLEEP)
        assert all((scene.tree("next") / name).exists() for name in ("mine", "a.txt"))


@pytest.mark.req("MERGE-3")
def test_the_integration_branch_follows_no_other_branch_and_none_under_somebodys_feet(scene):
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", *SLEEP)
        scene.git("checkout", "--quiet", "-b", "feature")
        committed(scene, "wip")
        scene.dispatch(fleet, "next", *SLEEP)
        assert not (scene.tree("next") / "wip").exists()
        scene.git("checkout", "--quiet", "main")
        committed(scene, "mine")
        scene.git("checkout", "--quiet", "fleet/main")
        at = scene.git("rev-parse", "fleet/main")
        scene.dispatch(fleet, "third", *SLEEP)
        assert scene.git("rev-parse", "fleet/main") == at


@pytest.mark.req("MERGE-5")
def test_work_that_was_never_committed_is_not_called_merged(scene):
    scene.forgiven = {"worktree", "claim work", "journal", "workers", "lock"}
    with scene.fleet() as fleet:
        finished(scene, fleet, "t", "done\n")
        (scene.tree("t") / "precious.txt").write_text("hello\n")
        with pytest.raises(NotMergeable, match=r"uncommitted work: precious\.txt"):
            fleet.merge.task(**TASK)
        assert status_of(fleet, "t")[0] == "blocked"


@pytest.mark.req("MERGE-1")
def test_a_branch_that_somebody_has_checked_out_is_not_moved(scene):
    with scene.fleet() as fleet:
        finished(scene, fleet, "t")
        scene.git("checkout", "--quiet", "fleet/main")
        with pytest.raises(Refused, match="is checked out in"):
            fleet.merge.task(**TASK)
        assert scene.git("status", "--porcelain") == ""
        scene.git("checkout", "--quiet", "main")
        fleet.merge.task(**TASK)


@pytest.mark.req("ADO-12")
def test_a_dispatch_follows_at_once_on_one_whose_dispatcher_was_killed(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(**TASK, title="T")
        dead = scene.halted("before", "tmux new-session", "dispatch", "t")
        dead.kill()
        dead.wait(60)
    words = ("dispatch", "t", "-p", "p", "--engine", "shell", "--", *SLEEP)
    assert "works on p/t" in scene.program(*words).ok().out


@pytest.mark.req("MERGE-5")
def test_a_merge_that_is_interrupted_ends_its_verify_and_can_be_begun_again(scene):
    toml = Path(scene.repository, "fleet.toml")
    toml.write_text("verify = 'sleep 1000'\n")
    with scene.fleet() as fleet:
        finished(scene, fleet, "t")
        merging = scene.start(FLEET, "merge", "t", "-p", "p")

        def verifying() -> list:
            found = [agent.id for agent in fleet.agents.list() if agent.kind == "finisher"]
            return [who for ident in found for who in fleet.world.processes.marked(ident)]

        until(verifying)
        [*whom] = verifying()
        os.kill(merging.pid, signal.SIGINT)
        assert answer(merging).code == 130
        until(lambda: all(fleet.world.processes.life(who) == "dead" for who in whom))
        assert (fleet.agents.list(), status_of(fleet, "t")[0]) == ([], "to merge")
        toml.write_text("verify = 'true'\n")
        assert fleet.merge.task(**TASK).changed is True


def test_work_that_waits_to_be_merged_is_said_to(scene):
    with scene.fleet() as fleet:
        finished(scene, fleet, "t")
        said = fleet.tasks.why(**TASK).sentences
        assert said == ["t is finished and waits to be merged: `fleet merge t -p p`"]
        fleet.tasks.done(**TASK, override=True)
        assert [each.slug for each in fleet.views.status().merging] == ["t"], "called done by a person, and unmerged"


def test_a_linked_worktree_of_ones_own_belongs_to_the_project(scene):
    place = f"{scene.root}/linked"
    scene.git("worktree", "add", "--quiet", place, "-b", "mine")
    said = answer(scene.start(FLEET, "task", "add", "T", "--slug", "t", cwd=place))
    assert (said.code, said.err) == (0, ""), said
    scene.git("worktree", "remove", place)


def test_a_diff_of_nothing_that_is_known_is_no_empty_diff(scene):
    assert scene.program("diff", "nonsense", "-p", "p").code == 11


def test_cleaning_up_asks_nobody_who_is_not_there(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        scene.exited(fleet, scene.dispatch(fleet, "t", "true"))
    said = scene.program("clean")
    assert (said.code, "use --yes" in said.err) == (2, True), said


def test_a_set_up_that_fails_is_what_the_task_failed_of(scene):
    Path(scene.repository, "fleet.toml").write_text("[worktree]\nsetup = 'echo no npm here >&2; exit 4'\n")
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", *SLEEP)
        scene.ended(fleet)
        assert status_of(fleet, "t") == ("failed", "worktree.setup failed (4): no npm here")


@pytest.mark.req("MERGE-5")
def test_work_of_which_git_says_nothing_is_not_called_merged_and_waits_for_a_person(scene):
    scene.forgiven = {"worktree", "claim work", "journal", "workers", "lock"}
    with scene.fleet() as fleet:
        finished(scene, fleet, "t", "done\n")
        (scene.tree("t") / "precious.txt").write_text("hello\n")
        (scene.tree("t") / ".git").unlink()
        with pytest.raises(NotMergeable, match="git does not say whether"):
            fleet.merge.task(**TASK)
        assert status_of(fleet, "t")[0] == "blocked", "so that the next one can be merged"
        assert (scene.tree("t") / "precious.txt").exists()

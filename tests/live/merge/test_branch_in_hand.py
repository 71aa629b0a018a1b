"""A branch that somebody has in hand is not moved: during a rebase or a bisect, where core.bare is wrong, in another worktree."""

import subprocess
from pathlib import Path

import pytest
from staging.stage import FLEET, answer

from fleet.errors.families import Refused
from fleet.world.git.branch_in_use import why_branch_in_use

WORK = "write a.txt hello\ncommit Add t\ndone\n"


@pytest.fixture
def merged(scene):
    """A task was merged: fleet/main has what main has not."""
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", engine="scripted", script=WORK)
        scene.ended(fleet)
        fleet.merge.task(project="p", slug="t")
        yield fleet
    for name in ("rebase", "bisect", "merge"):
        words = ["reset"] if name == "bisect" else ["--abort"]
        subprocess.run(["git", name, *words], cwd=scene.repository, capture_output=True, check=False)


def diverge(scene) -> None:
    """A branch side with another README than main's, which main does not know of yet."""
    scene.git("checkout", "--quiet", "-b", "side")
    commit(scene, "README", "side\n")
    scene.git("checkout", "--quiet", "main")


def commit(scene, name: str, text: str) -> None:
    Path(scene.repository, name).write_text(text)
    scene.git("add", name)
    scene.git("commit", "--quiet", "-m", name)


def rebase(scene) -> None:
    """A rebase of the branch that is checked out, stopped half-way."""
    (Path(scene.repository) / ".git/info/exclude").write_text("fleet.toml\n")
    Path(scene.repository, "fleet.toml").write_text('target = "main"\n')
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    words = ["git", *who, "rebase", "--force-rebase", "--exec", "false", "--root"]
    done = subprocess.run(words, cwd=scene.repository, capture_output=True, text=True, check=False)
    assert done.returncode != 0, done
    assert "(no branch" in scene.git("branch"), "git itself calls HEAD detached"


@pytest.mark.req("MERGE-6")
def test_land_leaves_a_target_alone_that_is_being_rebased(scene, merged):
    before = scene.git("rev-parse", "main")
    rebase(scene)
    assert merged.merge.land(project="p", dry=True).commits > 0, "there is something to land"
    said = scene.program("land", "-p", "p")
    assert (said.code, scene.git("rev-parse", "main")) == (14, before)
    assert "a rebase is in progress" in said.out
    scene.git("rebase", "--abort")
    assert scene.program("land", "-p", "p").code == 0


@pytest.mark.req("MERGE-6")
def test_land_leaves_a_target_alone_that_is_being_bisected(scene, merged):
    Path(scene.repository, "fleet.toml").write_text('target = "main"\n')
    before = scene.git("rev-parse", "main")
    scene.git("bisect", "start")
    scene.git("checkout", "--quiet", "--detach")
    done = merged.merge.land(project="p", here=scene.repository)
    assert (done.moved, scene.git("rev-parse", "main")) == (False, before)
    assert "bisect" in done.why


@pytest.mark.req("MERGE-6")
def test_land_leaves_a_checked_out_target_alone_whose_repository_is_wrongly_called_bare(scene, merged):
    before = scene.git("rev-parse", "main")
    scene.git("config", "core.bare", "true")
    said = scene.program("land", "-p", "p")
    scene.git("config", "core.bare", "false")
    assert (said.code, scene.git("rev-parse", "main"), scene.git("status", "--porcelain")) == (14, before, "")
    assert "core.bare" in said.out


@pytest.mark.req("MERGE-6")
def test_a_repository_that_really_is_bare_has_no_checkout(scene, merged, tmp_path):
    scene.git("clone", "--quiet", "--bare", scene.repository, str(tmp_path / "bare"))
    assert why_branch_in_use(merged.world.git, str(tmp_path / "bare"), "main") == ""


@pytest.mark.req("MERGE-6")
def test_land_in_the_persons_own_checkout_moves_it_with_its_files(scene, merged):
    Path(scene.repository, "mine").write_text("mine")
    said = scene.program("land", "-p", "p")
    assert said.code == 0, said
    assert scene.git("rev-parse", "main") == scene.git("rev-parse", "fleet/main")
    assert (Path(scene.repository, "a.txt").read_text(), Path(scene.repository, "mine").read_text()) == (
        "hello\n",
        "mine",
    )
    assert scene.git("status", "--porcelain") == "?? mine"


@pytest.mark.req("MERGE-6")
@pytest.mark.parametrize("how", ["untracked", "ignored", "staged"])
def test_land_overwrites_nothing_of_the_persons(scene, merged, how):
    before, mine = scene.git("rev-parse", "main"), Path(scene.repository, "a.txt")
    mine.write_text("mine")
    if how == "ignored":
        Path(scene.repository, ".git/info/exclude").write_text("a.txt\n")
    if how == "staged":
        scene.git("add", "a.txt")
    said = scene.program("land", "-p", "p")
    assert (said.code, scene.git("rev-parse", "main"), mine.read_text()) == (14, before, "mine")
    assert f"git -C {scene.repository} merge --ff-only fleet/main" in said.out


@pytest.mark.req("MERGE-6")
def test_land_leaves_a_checkout_alone_in_which_a_merge_waits(scene, merged):
    diverge(scene)
    scene.git("merge", "--quiet", "--no-commit", "--no-ff", "side")
    before = scene.git("rev-parse", "main")
    said = scene.program("land", "-p", "p")
    assert (said.code, scene.git("rev-parse", "main")) == (14, before)
    assert "a merge is in progress" in said.out


@pytest.mark.req("MERGE-6")
def test_land_from_elsewhere_or_by_an_agent_does_not_touch_a_checkout(scene, merged):
    before = scene.git("rev-parse", "main")
    elsewhere = answer(scene.start(FLEET, "land", "-p", "p", cwd=scene.root))
    agent = answer(scene.start(FLEET, "land", "-p", "p", env=scene.around(FLEET_DISPATCH_ID="0a0b0c0d")))
    assert (elsewhere.code, agent.code) == (14, 14)
    assert f"git -C {scene.repository} merge --ff-only fleet/main" in elsewhere.out
    assert (scene.git("rev-parse", "main"), scene.git("status", "--porcelain")) == (before, "")


@pytest.mark.req("MERGE-6")
def test_the_command_to_run_names_the_worktree_that_has_the_target(scene, merged, tmp_path):
    scene.git("checkout", "--quiet", "-b", "elsewhere")
    Path(scene.repository, "fleet.toml").write_text('target = "main"\n')
    scene.git("worktree", "add", "--quiet", str(tmp_path / "second"), "main")
    assert (
        merged.merge.land(project="p", here=scene.repository).run
        == f"git -C {tmp_path}/second merge --ff-only fleet/main"
    )
    assert merged.merge.land(project="p", here=str(tmp_path / "second")).moved
    assert (tmp_path / "second/a.txt").read_text() == "hello\n"


@pytest.mark.req("MERGE-1", "MERGE-3")
def test_nothing_is_merged_while_somebody_rebases_the_integration_branch(scene, merged):
    scene.git("checkout", "--quiet", "fleet/main")
    rebase(scene)
    before = scene.git("rev-parse", "fleet/main")
    scene.dispatch(merged, "next", engine="scripted", script="write b.txt b\ncommit Add b\ndone\n")
    scene.ended(merged)
    with pytest.raises(Refused, match="a rebase is in progress"):
        merged.merge.task(project="p", slug="next")
    assert scene.git("rev-parse", "fleet/main") == before
    scene.git("rebase", "--abort")
    scene.git("checkout", "--quiet", "main")
    merged.merge.task(project="p", slug="next")

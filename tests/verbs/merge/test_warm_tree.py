"""The warm merge tree, over the simulated world: prepared like an agent's worktree, kept, reset, and made anew."""

import os
from pathlib import Path

import pytest

from fleet.errors.refused import NotMergeable, NotVerified, ProjectInUse
from fleet.errors.tools import SetupFailed
from fleet.resources.warm_tree import fingerprint, reset
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.merge.finisher import begin_finisher, order_for
from fleet.verbs.projects import register
from fleet.world.home import paths


class Prepared:
    """A project that is verified only in a prepared tree. Its setup command counts its runs."""

    def __init__(self, scene) -> None:
        self.scene = scene
        self.log = Path(scene.root, "setups")
        self.tree = f"{scene.home}/{paths.warm_tree(PROJECT)}"
        self.write(".gitignore", ".env\nmade\nfleet.toml\n.worktreeinclude\ncache\nconfig/local.env\nshared\n")
        self.write("package.json", "1\n")
        scene.git("add", ".gitignore", "package.json")
        scene.git("commit", "--quiet", "--message=ground")
        self.write(".worktreeinclude", ".env\n")
        self.write(".env", "key\n")
        self.settings("grep -q key .env && test -f made && test ! -e red")

    def write(self, name: str, text: str) -> None:
        Path(self.scene.repository, name).write_text(text, encoding="utf-8")

    def settings(self, verify: str, setup: str = "") -> None:
        command = setup or f"echo run >>{self.log} && touch made"
        self.write("fleet.toml", f'verify = "{verify}"\n[worktree]\nsetup = "{command}"\n')
        self.scene.fleet = self.scene.open()

    def task(self, slug: str, name: str = "", text: str = "work\n") -> None:
        """Leave a task whose work waits to be merged."""
        ident = self.scene.work(slug)
        self.scene.commit(slug, name or slug, text)
        self.scene.report(ident, slug)
        self.scene.exit(ident)
        self.scene.fleet.sessions.settle(ident)
        self.log.unlink(missing_ok=True)  # the agent's own worktree was set up too

    def merge(self, slug: str):
        return self.scene.open().merge.task(project=PROJECT, slug=slug)

    @property
    def setups(self) -> int:
        """How often setup ran since the last task was left."""
        return len(self.log.read_text(encoding="utf-8").splitlines()) if self.log.exists() else 0

    def leave_dead_merge(self, slug: str):
        """Leave a finisher whose process died; return its verify command's process, which still runs in the tree."""
        fleet, table = self.scene.open(), self.scene.machine.table
        base, work = self.scene.git("rev-parse", "fleet/main", f"worker/{slug}").split()
        order = order_for(fleet.context, PROJECT, slug, integration="fleet/main", base=base, work=work)
        begin_finisher(fleet.context, order)
        merger = self.scene.process_of(fleet)
        marks = {"FLEET_DISPATCH_ID": order.dispatch, "FLEET_HOME": self.scene.home}
        verify = table.spawn(merger.pid, ["verify"], environment=marks, cwd=self.tree)
        table.exit(merger)
        return verify

    def claims(self) -> list[str]:
        return [claim.state for claim in self.scene.fleet.claims.list(kind="warm_tree")]


@pytest.fixture
def project(scene) -> Prepared:
    return Prepared(scene)


def test_verify_finds_what_an_agent_finds_and_the_tree_stays_for_the_next_merge(project):
    project.task("a")
    assert project.merge("a").changed
    assert (project.setups, project.claims()) == (1, ["live"])
    project.task("b")
    assert project.merge("b").changed
    assert project.setups == 0
    assert os.path.exists(f"{project.tree}/made")


@pytest.mark.parametrize("verb", ["merge", "rehearse"])
def test_setup_and_verify_get_the_ports_of_the_work_that_is_merged(project, verb):
    seen = Path(project.scene.root, "ports")
    note = f"echo $FLEET_PORT_BASE:$FLEET_PORT_COUNT >>{seen} && touch made"
    project.settings(note, setup=note)
    project.task("a")
    project.task("b")
    seen.unlink()
    fleet = project.scene.open()
    act = fleet.merge.task if verb == "merge" else fleet.reviews.rehearse
    act(project=PROJECT, slug="b")
    assert seen.read_text(encoding="utf-8").split() == ["20020:20", "20020:20"]


def test_the_trial_of_a_review_uses_the_same_prepared_tree(project):
    project.task("a")
    tried = project.scene.open().reviews.rehearse(project=PROJECT, slug="a")
    assert (tried.ok, project.setups, project.claims()) == (True, 1, ["live"])


@pytest.mark.parametrize("verb", ["merge", "rehearse"])
@pytest.mark.parametrize("dies", [True, False])
def test_nobody_verifies_in_the_tree_where_a_dead_merges_verify_still_runs(project, verb, dies):
    project.task("a")
    project.merge("a")
    project.task("b")
    project.task("c")
    verify = project.leave_dead_merge("b")
    verify.is_unkillable = not dies
    fleet = project.scene.open()
    act = fleet.merge.task if verb == "merge" else fleet.reviews.rehearse
    act(project=PROJECT, slug="c")
    is_running = verify in project.scene.machine.table.entries()
    assert (is_running, project.setups) == ((False, 0) if dies else (True, 1))  # another tree is set up


def test_setup_runs_again_when_a_file_that_it_depends_on_changed(project):
    project.task("a")
    project.merge("a")
    project.task("b", "package.json", "2\n")
    project.merge("b")
    assert project.setups == 1


def test_a_changed_copy_of_the_checkout_is_copied_again_without_another_setup(project):
    project.task("a")
    project.merge("a")
    project.write(".env", "another key\n")
    project.task("b")
    project.merge("b")
    assert Path(project.tree, ".env").read_text(encoding="utf-8") == "another key\n"
    assert project.setups == 0


class Linking:
    """A project that copies config/local.env, with a task that makes config/ a link to a folder elsewhere."""

    def __init__(self, project: Prepared) -> None:
        self.project, self.scene = project, project.scene
        self.elsewhere = Path(self.scene.root, "elsewhere")
        self.elsewhere.mkdir()
        self.file = self.elsewhere / "local.env"
        self.file.write_text("theirs\n", encoding="utf-8")
        project.settings("test -f made")
        project.write(".worktreeinclude", "config/local.env\n")
        Path(self.scene.repository, "config").mkdir()
        project.write("config/local.env", "mine\n")

    def task(self, slug: str) -> None:
        ident = self.scene.work(slug)
        tree = f"{self.scene.home}/{paths.worktree(PROJECT, slug)}"
        os.unlink(f"{tree}/config/local.env")
        os.rmdir(f"{tree}/config")
        os.symlink(self.elsewhere, f"{tree}/config")
        self.scene.git("add", "config", cwd=tree)
        self.scene.commit(slug)
        self.scene.report(ident, slug)
        self.scene.exit(ident)
        self.scene.fleet.sessions.settle(ident)


def test_a_copy_never_follows_a_link_of_the_merged_work_out_of_the_tree(project):
    linking = Linking(project)
    linking.task("a")
    project.merge("a")
    assert os.path.islink(f"{project.tree}/config")
    assert linking.file.read_text(encoding="utf-8") == "theirs\n"
    os.unlink(f"{project.scene.repository}/config/local.env")
    project.task("b")
    project.merge("b")
    assert linking.file.read_text(encoding="utf-8") == "theirs\n"
    assert os.listdir(linking.elsewhere) == ["local.env"]


def test_an_included_link_to_a_folder_is_copied_again_as_a_link(project):
    linking = Linking(project)
    project.write(".worktreeinclude", "shared\n")
    os.symlink(linking.elsewhere, f"{project.scene.repository}/shared")
    project.task("a")
    project.merge("a")
    os.unlink(f"{project.scene.repository}/shared")
    os.symlink(f"{linking.elsewhere}/.", f"{project.scene.repository}/shared")
    project.task("b")
    assert project.merge("b").changed
    assert os.readlink(f"{project.tree}/shared") == f"{linking.elsewhere}/."
    assert os.listdir(linking.elsewhere) == ["local.env"]


@pytest.mark.parametrize("used", [True, False])
def test_verify_sees_the_file_that_the_work_tracks_and_not_the_checkouts_copy(project, used):
    project.settings("grep -q key .env")
    if used:
        project.task("a")
        project.merge("a")
    ident = project.scene.work("b")
    tree = f"{project.scene.home}/{paths.worktree(PROJECT, 'b')}"
    Path(tree, ".env").write_text("broken\n", encoding="utf-8")
    project.scene.git("add", "--force", ".env", cwd=tree)
    project.scene.commit("b")
    project.scene.report(ident, "b")
    project.scene.exit(ident)
    project.scene.fleet.sessions.settle(ident)
    with pytest.raises(NotVerified, match="verify is red"):
        project.merge("b")
    assert Path(project.tree, ".env").read_text(encoding="utf-8") == "broken\n"
    project.task("c")
    assert project.merge("c").changed
    assert Path(project.tree, ".env").read_text(encoding="utf-8") == "key\n"


def test_what_the_last_verify_left_is_reset_but_for_ignored_and_copied_files(project):
    project.settings("test -f made && test ! -e litter && touch litter cache")
    project.task("a")
    project.merge("a")
    assert os.path.exists(f"{project.tree}/litter")
    project.task("b")
    assert project.merge("b").changed
    assert project.setups == 0
    assert os.path.exists(f"{project.tree}/cache")


def test_red_in_a_used_tree_is_tried_once_more_in_a_new_one(project):
    project.settings("test ! -e cache && touch cache")  # an ignored file of the last merge makes it red
    project.task("a")
    project.merge("a")
    project.task("b")
    assert project.merge("b").changed
    assert project.setups == 1


def test_red_in_a_new_tree_parks_the_task_and_keeps_the_tree(project):
    project.task("a", "red")
    with pytest.raises(NotVerified, match="verify is red"):
        project.merge("a")
    task = project.scene.fleet.tasks.show(project=PROJECT, slug="a")
    assert (task.status, task.stage, project.setups, project.claims()) == ("blocked", "fix", 1, ["live"])


def test_work_that_commits_a_file_that_setup_made_is_merged_in_a_new_tree(project):
    project.settings("test -f lock", setup=f"echo run >>{project.log}; test -f lock || echo made >lock")
    project.task("a")
    project.merge("a")
    assert Path(project.tree, "lock").read_text(encoding="utf-8") == "made\n"
    project.task("b", "lock", "committed\n")
    assert project.merge("b").changed
    assert (Path(project.tree, "lock").read_text(encoding="utf-8"), project.setups) == ("committed\n", 1)


def test_a_setup_that_fails_without_the_work_having_changed_it_is_not_blamed_on_the_work(project):
    project.task("a")
    project.settings("true", setup="exit 3")
    with pytest.raises(SetupFailed, match=r"worktree\.setup failed \(3\)"):
        project.merge("a")
    assert project.scene.fleet.tasks.show(project=PROJECT, slug="a").status == "in_progress"


def test_work_that_breaks_the_setup_goes_to_an_agent_that_fixes_it(project):
    project.task("a", "package.json", "broken\n")
    project.settings("true", setup="! grep -q broken package.json")
    with pytest.raises(NotVerified, match=r"worktree\.setup failed"):
        project.merge("a")
    assert project.scene.fleet.tasks.show(project=PROJECT, slug="a").stage == "fix"


def test_a_setup_command_that_nobody_trusts_is_not_run(project):
    project.task("a")
    config = Path(project.scene.home, "config.toml")
    config.write_text(config.read_text(encoding="utf-8").replace('trust = "always"', 'trust = "ask"'), encoding="utf-8")
    with pytest.raises(NotMergeable, match="not trusted"):
        project.merge("a")
    assert project.setups == 0


def test_a_branch_that_verify_checked_out_is_not_moved_by_the_next_merge(project):
    project.settings("git checkout -q -b astray")
    project.task("a")
    with pytest.raises(NotMergeable, match="HEAD"):
        project.merge("a")
    before = project.scene.git("rev-parse", "astray")
    project.settings("true")
    project.task("b")
    assert project.merge("b").changed
    assert project.scene.git("rev-parse", "astray") == before


def test_a_tree_that_somebody_removed_is_made_anew(project):
    project.task("a")
    project.merge("a")
    project.scene.git("worktree", "unlock", project.tree)
    project.scene.git("worktree", "remove", "--force", project.tree)
    project.task("b")
    assert project.merge("b").changed
    assert (project.setups, project.claims()) == (1, ["live"])


@pytest.mark.parametrize("way", ["clean", "remove"])
def test_cleaning_up_and_removing_the_project_remove_the_tree(project, way):
    project.task("a")
    project.merge("a")
    fleet = project.scene.open()
    assert [each.what for each in fleet.sweep.run(kill=True) if "warm_tree" in each.what] == []
    if way == "clean":
        from fleet.api.homes.sweep import CLEAN  # noqa: PLC0415

        assert [each.done for each in fleet.sweep.run(kill=True, phases=CLEAN) if "warm_tree" in each.what] == [True]
    else:
        fleet.projects.remove(PROJECT, with_tasks=True)
    assert (project.claims(), os.path.exists(project.tree)) == ([], False)
    assert project.tree not in project.scene.git("worktree", "list")


def test_a_project_is_not_removed_while_a_merge_uses_its_tree(project):
    project.task("a")
    project.merge("a")
    with project.scene.fleet.world.project_gate(PROJECT, "merge"), pytest.raises(ProjectInUse, match="merge tree"):
        project.scene.open().projects.remove(PROJECT, with_tasks=True)
    assert project.claims() == ["live"]


def test_a_tree_whose_project_is_gone_is_swept(project):
    project.task("a")
    project.merge("a")
    fleet = project.scene.open()
    fleet.commit(register.remove(name=PROJECT, with_tasks=True, seen=fleet.operations.newest()))
    assert project.claims() == ["live"]
    swept = [each for each in project.scene.open().sweep.run(kill=True) if "warm_tree" in each.what]
    assert [(each.why, each.done) for each in swept] == [("its project was removed", True)]
    assert (project.claims(), os.path.exists(project.tree)) == ([], False)


def test_a_tree_is_reset_at_its_exact_names(project):
    project.task("a")
    project.merge("a")
    world, base = project.scene.fleet.world, project.scene.git("rev-parse", "main")
    for name in ("odd [name]!", "odd n"):
        Path(project.tree, name).write_text("kept\n", encoding="utf-8")
    assert reset(world, project.tree, base, keep=["odd [name]!"], lock=-1)
    assert [os.path.exists(f"{project.tree}/{name}") for name in ("odd [name]!", "odd n", ".env")] == [
        True,
        False,
        True,
    ]


def test_only_the_files_that_the_patterns_name_decide_whether_setup_runs_again():
    files = {"package.json": "1", "src/a.py": "1", "web/package.json": "1"}
    before = fingerprint("npm ci", files, ["package.json"])
    assert fingerprint("npm ci", files | {"src/a.py": "2"}, ["package.json"]) == before
    assert fingerprint("npm ci", files | {"web/package.json": "2"}, ["package.json"]) != before
    assert fingerprint("npm i", files, ["package.json"]) != before

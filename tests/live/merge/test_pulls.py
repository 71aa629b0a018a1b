"""Pull requests: pushed, opened once, followed to their end; nothing of the user's is touched."""

import os
import subprocess
from pathlib import Path

import pytest

from fleet.errors.families import FleetError
from fleet.errors.refused import IllegalStep, NotPulled, WorkMoved
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.merge import pull_requests

TASK = {"project": "p", "slug": "t"}
ADDRESS = "https://forge.example/pull/1"
# What stands in for gh, glab and a program of the user's: it writes down its words, and says the state that a file holds.
STAND_IN = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word" >> {root}/asked; done
printf -- '--\\n' >> {root}/asked
case "$(basename $0) $*" in
*"--state open"*|*"mr list"*) if [ -e {root}/there ]; then echo '[{{"url": "{address}", "web_url": "{address}", "isCrossRepository": false, "source_project_id": 1, "target_project_id": 1}}]'; else echo '[]'; fi;;
*"pr view"*|*"mr view"*) printf '{{"state": "%s"}}' "$(cat {root}/state)";;
*" --state "*) cat {root}/state;;
*) touch {root}/there; echo "Creating it"; echo {address};;
esac
"""


class Forge:
    """A bare repository as the remote, and a program that knows its pull requests."""

    def __init__(self, scene, name: str = "mine") -> None:
        self.scene = scene
        self.bare = f"{scene.root}/remote.git"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", self.bare], check=True)
        scene.git("remote", "add", "origin", self.bare)
        scene.git("push", "--quiet", "origin", "main")
        self.program = Path(scene.root, "programs", name)
        self.program.parent.mkdir()
        self.program.write_text(STAND_IN.format(root=scene.root, address=ADDRESS))
        self.program.chmod(0o700)
        self.says("OPEN" if name == "gh" else "opened" if name == "glab" else "open")
        own = f'[pr]\ncommand = "{self.program}"\n' if name == "mine" else ""
        Path(scene.repository, "fleet.toml").write_text(f'merge = "pr"\n{own}')

    def says(self, state: str) -> None:
        Path(self.scene.root, "state").write_text(state)

    def asked(self) -> list[list[str]]:
        """The words of each call."""
        text = Path(self.scene.root, "asked").read_text()
        return [call.splitlines() for call in text.split("--\n") if call]

    def branch(self, name: str) -> str:
        done = subprocess.run(["git", "-C", self.bare, "rev-parse", name], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    def merges(self, *, squash: bool = False) -> None:
        """Somebody presses the button over there."""
        clone = f"{self.scene.root}/clone"
        git = ["git", "-C", clone, "-c", "user.name=x", "-c", "user.email=x@localhost"]
        subprocess.run(["git", "clone", "--quiet", self.bare, clone], check=True)
        how = ["--squash"] if squash else ["--no-ff", "--no-edit"]
        subprocess.run([*git, "merge", "--quiet", *how, "origin/worker/t"], check=True, capture_output=True)
        if squash:
            subprocess.run([*git, "commit", "--quiet", "--message=squashed"], check=True)
        subprocess.run([*git, "push", "--quiet", "origin", "main"], check=True)


def worked(scene, fleet, title: str = "t") -> None:
    """A task that is done and has no review before it."""
    fleet.tasks.add(project="p", title=title, slug="t", description="Do 'all' of it; $(rm -rf /)")
    command = ("sh", "-c", "echo hello > a.txt; git add .; git commit -qm 'Add a'; fleet done")
    scene.git("config", "user.name", "scene")
    scene.git("config", "user.email", "scene@localhost")
    fleet.dispatches.start(Wanted(**TASK, engine="shell", command=command))
    scene.ended(fleet)
    assert fleet.tasks.show(**TASK).stage == "finisher"


def ours(scene) -> tuple:
    """All that is the user's: branches, tracking refs of their own, checkout, stash."""
    refs = scene.git(
        "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/remotes/origin/main", "refs/tags"
    )
    return (
        refs,
        scene.git("rev-parse", "--abbrev-ref", "HEAD"),
        scene.git("status", "--porcelain"),
        scene.git("stash", "list"),
    )


def amend(scene, fleet, message: str) -> None:
    """A person rewrites the commit, is told that nobody has reviewed that, and accepts it."""
    scene.git("commit", "--quiet", "--amend", f"--message={message}", cwd=str(scene.tree("t")))
    with pytest.raises(WorkMoved):
        fleet.merge.open_pull(**TASK)
    fleet.reviews.judge(**TASK, verdict="accept", commit=scene.git("rev-parse", "worker/t"))


@pytest.mark.req("MERGE-7")
def test_the_branch_is_pushed_the_request_opened_once_and_the_task_done_when_it_is_merged(either):
    with either.fleet() as fleet:
        forge = Forge(either)
        worked(either, fleet, title='Say "hello" & `more`')
        before = ours(either)
        tip = either.git("rev-parse", "worker/t")
        done = fleet.merge.open_pull(**TASK)
        assert (done.address, done.changed) == (ADDRESS, True)
        assert forge.branch("worker/t") == tip
        body = "Do 'all' of it; $(rm -rf /)"
        words = ["--branch", "worker/t", "--target", "main", "--title", 'Say "hello" & `more`', "--body", body]
        assert forge.asked() == [words]
        assert fleet.merge.open_pull(**TASK).changed is False
        assert forge.asked() == [words], "it is opened once"
        assert fleet.merge.check_pull(**TASK).state == "open"
        assert fleet.tasks.show(**TASK).status == "in_progress"
        forge.says("merged")
        forge.merges()
        assert fleet.merge.check_pull(**TASK).state == "merged"
        task = fleet.tasks.show(**TASK)
        assert (task.status, task.archived) == ("done", True)
        assert either.git("rev-parse", "fleet/main") == forge.branch("main"), "dependents build on what is merged"
        assert ours(either) == before
        assert not either.tree("t").exists()
        assert fleet.merge.check_pull(**TASK).changed is False
        assert either.git("for-each-ref", "refs/fleet/remote/origin/worker") == ""


@pytest.mark.req("MERGE-7")
def test_a_merge_over_there_is_seen_by_git_when_nobody_says_so(either):
    with either.fleet() as fleet:
        forge = Forge(either)
        worked(either, fleet)
        fleet.merge.open_pull(**TASK)
        forge.says("nonsense")
        assert fleet.merge.check_pull(**TASK).state == "unknown"
        forge.merges()
        assert fleet.merge.check_pull(**TASK).state == "merged"
        assert fleet.tasks.show(**TASK).status == "done"


@pytest.mark.req("MERGE-7")
def test_a_squashed_merge_is_believed_when_the_forge_says_so_and_the_branch_is_kept(scene):
    with scene.fleet() as fleet:
        forge = Forge(scene)
        worked(scene, fleet)
        fleet.merge.open_pull(**TASK)
        forge.says("merged")
        forge.merges(squash=True)
        assert fleet.merge.check_pull(**TASK).state == "merged"
        assert scene.git("rev-parse", "fleet/main") == forge.branch("main")
        assert scene.git("show", "worker/t:a.txt") == "hello", "git does not know it as merged, so it stays"


@pytest.mark.req("MERGE-7")
@pytest.mark.parametrize("name", ["gh", "glab"])
def test_gh_and_glab_are_asked_in_their_own_words(scene, name, monkeypatch):
    with scene.fleet() as fleet:
        forge = Forge(scene, name)
        monkeypatch.setenv("PATH", f"{forge.program.parent}:{os.environ['PATH']}")
        worked(scene, fleet)
        assert fleet.merge.open_pull(**TASK).address == ADDRESS
        created = next(call for call in forge.asked() if "create" in call)
        assert {"worker/t", "main", "t"} <= set(created)
        assert fleet.merge.check_pull(**TASK).state == "open"
        forge.says("MERGED" if name == "gh" else "merged")
        assert fleet.merge.check_pull(**TASK).state == "merged"


@pytest.mark.req("MERGE-7")
def test_a_request_that_was_opened_by_a_process_that_died_is_found_again(scene, monkeypatch, once):
    with scene.fleet() as fleet:
        forge = Forge(scene, "gh")
        monkeypatch.setenv("PATH", f"{forge.program.parent}:{os.environ['PATH']}")
        worked(scene, fleet)

        def die() -> None:
            raise KeyboardInterrupt

        fleet.funnel.watcher = once("before", f"commit open {ADDRESS}", die)
        with pytest.raises(KeyboardInterrupt):
            fleet.merge.open_pull(**TASK)
        fleet.funnel.watcher = None
        assert fleet.merge.open_pull(**TASK).address == ADDRESS
        assert len([call for call in forge.asked() if "create" in call]) == 1


@pytest.mark.req("MERGE-7")
def test_a_request_that_is_closed_parks_the_task_and_the_next_one_is_new(either):
    with either.fleet() as fleet:
        forge = Forge(either)
        worked(either, fleet)
        fleet.merge.open_pull(**TASK)
        forge.says("closed")
        assert fleet.merge.check_pull(**TASK).changed is True
        task = fleet.tasks.show(**TASK)
        assert (task.status, task.stage) == ("blocked", "fix")
        assert ADDRESS in task.reason
        with pytest.raises(IllegalStep, match="open a pull request"):
            fleet.merge.open_pull(**TASK)
        with pytest.raises(NotPulled, match="not opened"):
            fleet.merge.check_pull(**TASK)


@pytest.mark.req("MERGE-7")
def test_what_somebody_else_pushed_onto_the_branch_is_not_overwritten(either):
    with either.fleet() as fleet:
        forge = Forge(either)
        worked(either, fleet)
        either.git("push", "--quiet", "origin", "main:refs/heads/worker/t")
        fleet.merge.open_pull(**TASK)  # a branch that has nothing of its own is simply moved forward
        amend(either, fleet, "rewritten")
        assert fleet.merge.open_pull(**TASK).changed is False
        assert forge.branch("worker/t") == either.git("rev-parse", "worker/t"), (
            "what fleet put there, fleet may replace"
        )
        theirs = either.git("commit-tree", "main^{tree}", "-p", "main", "-m", "theirs")
        either.git("push", "--quiet", "--force", "origin", f"{theirs}:refs/heads/worker/t")
        amend(either, fleet, "again")
        with pytest.raises(NotPulled, match="not fleet's"):
            fleet.merge.open_pull(**TASK)
        assert forge.branch("worker/t") == theirs


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ("no remote", "no remote 'origin'"),
        ("no answer", "does not answer"),
        ("no program", "neither gh nor glab"),
        ("no address", "did not open it"),
    ],
)
def test_what_is_in_the_way_is_told_and_nothing_is_changed(scene, trouble, says, monkeypatch):
    with scene.fleet() as fleet:
        forge = Forge(scene)
        worked(scene, fleet)
        toml = Path(scene.repository, "fleet.toml")
        if trouble == "no remote":
            scene.git("remote", "remove", "origin")
        elif trouble == "no answer":
            scene.git("remote", "set-url", "origin", f"{scene.root}/nowhere")
        elif trouble == "no program":
            toml.write_text('merge = "pr"\n')
            tools = Path(scene.root, "tools")
            tools.mkdir()
            for name in ("git", "tmux", "sh"):
                found = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
                (tools / name).symlink_to(found)
            monkeypatch.setenv("PATH", str(tools))
        else:
            forge.program.write_text("#!/bin/sh\necho no rights >&2\nexit 1\n")
        with pytest.raises(NotPulled, match=says):
            fleet.merge.open_pull(**TASK)
        assert fleet.tasks.show(**TASK).status == "in_progress"
        assert [each.why is not None for each in fleet.merge.tend_pulls(project="p")] == [True]


@pytest.mark.req("MERGE-7")
def test_tending_opens_follows_and_asks_at_most_once_a_minute(either, monkeypatch):
    with either.fleet() as fleet:
        forge = Forge(either)
        worked(either, fleet)
        assert [each.state for each in fleet.merge.tend_pulls(project="p")] == ["open"]
        calls = len(forge.asked())
        assert fleet.merge.tend_pulls(project="p") == []
        assert pull_requests.start_pull_request_check(fleet.context, "p") == []
        assert len(forge.asked()) == calls, "nobody is asked twice within a minute"
        forge.says("merged")
        forge.merges()
        monkeypatch.setattr(pull_requests, "CHECK_INTERVAL", 0)
        assert [each.state for each in fleet.merge.tend_pulls(project="p")] == ["merged"]
        assert fleet.merge.tend_pulls(project="p") == []


@pytest.mark.req("MERGE-7")
def test_a_tick_lets_a_process_of_its_own_do_it_and_does_not_wait(either):
    with either.fleet() as fleet:
        Forge(either)
        worked(either, fleet)
        assert pull_requests.start_pull_request_check(fleet.context, "p") == ["looking at the pull requests of t"]
        until(lambda: fleet.views.status().merging[0].pull_request == ADDRESS)


@pytest.mark.req("MERGE-7")
def test_what_has_a_pull_request_is_not_merged_by_the_coordinator_too(either):
    with either.fleet() as fleet:
        Forge(either)
        worked(either, fleet)
        assert fleet.merge.mergeable(project="p") == ["t"]
        fleet.merge.open_pull(**TASK)
        assert fleet.merge.mergeable(project="p") == []


@pytest.mark.req("MERGE-7", "MERGE-5")
def test_a_merged_task_that_is_tried_again_gets_a_request_of_its_own_and_is_not_merged_by_the_old_one(
    either, monkeypatch
):
    monkeypatch.setattr(pull_requests, "CHECK_INTERVAL", 0)
    second = ADDRESS.replace("/1", "/2")
    with either.fleet() as fleet:
        forge = Forge(either)
        worked(either, fleet)
        fleet.merge.open_pull(**TASK)
        forge.merges()
        forge.says("merged")
        assert fleet.merge.check_pull(**TASK).state == "merged"
        assert fleet.tasks.show(**TASK).archived
        fleet.tasks.retry(**TASK)
        with pytest.raises(NotPulled, match="not opened"):
            fleet.merge.check_pull(**TASK)
        forge.program.write_text(
            f"#!/bin/sh\ncase $1 in --state) if [ $2 = {second} ]; then echo open; else echo merged; fi;; *) echo {second};; esac\n"
        )
        again = ("sh", "-c", "echo more > b.txt; git add .; git commit -qm 'Add b'; fleet done")
        fleet.dispatches.start(Wanted(**TASK, engine="shell", command=again))
        either.ended(fleet)
        tip = either.git("rev-parse", "worker/t")
        for _ in range(2):  # it is opened, and then looked at
            (told,) = fleet.merge.tend_pulls(project="p")
            assert (told.address, told.state) == (second, "open")
        task = fleet.tasks.show(**TASK)
        assert (task.status, task.stage, task.archived) == ("in_progress", "finisher", False)
        assert forge.branch("worker/t") == tip
        assert "b.txt" not in either.git("ls-tree", "--name-only", "fleet/main")


def test_the_command_says_the_same(scene):
    with scene.fleet() as fleet:
        Forge(scene)
        worked(scene, fleet)
        said = scene.program("pr", "t", "-p", "p")
        assert (said.code, said.out) == (0, f"p/t: {ADDRESS} is open\n")
        assert scene.program("pr", "--check", "-p", "p", "--json").json[0]["address"] == ADDRESS
        assert scene.program("pr", "-p", "p").code == 2
        assert scene.program("pr", "nobody", "-p", "p").code == 11


def test_work_that_is_not_done_gets_no_pull_request(scene):
    with scene.fleet() as fleet:
        Forge(scene)
        fleet.tasks.add(project="p", title="t")
        for act in (fleet.merge.open_pull, fleet.merge.check_pull):
            with pytest.raises(FleetError):
                act(**TASK)

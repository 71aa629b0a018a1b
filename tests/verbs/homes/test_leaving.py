"""Down and removal of a project: all of it ends, its work is kept, and nothing of another project is touched."""

import os
import signal
from pathlib import Path

import pytest
from staging.stage import raw

from fleet.api.remote import lifecycle
from fleet.errors.families import Refused
from fleet.errors.refused import ProjectInUse
from fleet.errors.tools import GitRefused
from fleet.model.results.home import not_running
from fleet.model.results.projects import Down
from fleet.surfaces.cli.commands.projects.down import print_down
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.merge.finisher import begin_finisher, order_for
from fleet.verbs.projects import down as stopping
from fleet.verbs.projects.clear import remove_files
from fleet.world.files.locks import FileLock
from fleet.world.home import paths

COORDINATOR = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
TASK = {"project": PROJECT, "slug": "a"}


def tree_of(scene, slug: str = "a") -> Path:
    return Path(scene.home, paths.worktree(PROJECT, slug))


def seated(scene) -> str:
    """A coordinator at work."""
    ident = scene.fleet.coord.start(COORDINATOR).id
    scene.launch(ident)
    return ident


def leave(scene) -> None:
    scene.fleet.projects.clear(PROJECT)
    scene.fleet.projects.remove(PROJECT, with_tasks=True)


@pytest.fixture
def other(scene) -> str:
    """The worktree of an agent of another project, which is at work."""
    repository = f"{scene.root}/other"
    scene.git("clone", "--quiet", scene.repository, repository, cwd=scene.root)
    scene.git("config", "user.name", "a", cwd=repository)
    scene.git("config", "user.email", "a@localhost", cwd=repository)
    scene.fleet.projects.register(repository, "other")
    scene.fleet.tasks.add(project="other", title="x", slug="x")
    wanted = Wanted(project="other", slug="x", engine="shell", command=("sleep", "1000"))
    scene.launch(scene.fleet.dispatches.start(wanted).id)
    return f"{scene.home}/{paths.worktree('other', 'x')}"


def test_down_stops_the_agents_of_one_project_and_keeps_their_work(scene, other):
    ident = scene.work("a")
    scene.commit("a")
    ended = scene.fleet.projects.down(PROJECT)
    assert (ended.stopped, ended.left, ended.coordinator) == ([ident], [], None)
    assert tree_of(scene).exists()
    assert [each.id for each in scene.fleet.dispatches.resumable(PROJECT)] == [ident]
    assert [row.project for row in scene.fleet.dispatches.list() if row.exec_state == "in_flight"] == ["other"]
    again = scene.fleet.projects.down(PROJECT)
    assert (again.stopped, again.left) == ([], [])


def test_who_does_not_end_is_left_and_said(scene):
    ident = scene.work("a")
    scene.agent(ident).is_unkillable = True
    scene.agent(ident).ignores.add(signal.SIGTERM)
    [line] = scene.fleet.dispatches.stop_all(PROJECT).left
    assert line.startswith(f"agent {ident} of a: ")


def test_down_says_who_was_stopped_how_to_go_on_and_then_that_nothing_runs(scene, line):
    coordinator = seated(scene)
    first, second = scene.work("a"), scene.work("b")
    said = line("down").ok().out
    assert said.splitlines() == [
        f"coordinator {coordinator} is ended",
        f"2 agents stopped: {second}, {first}; `fleet resume --all -p {PROJECT}` continues",
    ]
    assert line("down").ok().out == f"nothing of {PROJECT} runs\n"
    assert line.ask("down") == {"project": PROJECT, "coordinator": None, "stopped": [], "left": []}


@pytest.mark.parametrize(
    ("ended", "says"), [(True, "the daemon is ended"), (False, "the daemon goes on: others in this home need it")]
)
def test_down_says_what_becomes_of_the_daemon(ended, says, capsys):
    print_down(Down(project=PROJECT, coordinator="aaaaaaaa", stopped=[], left=[], daemon=ended))
    assert capsys.readouterr().out.splitlines()[-1] == says


@pytest.mark.parametrize(("whose", "is_stopped"), [("this home's", False), ("another home's", True)])
def test_down_ends_the_daemon_although_another_home_in_its_store_is_at_work(scene, monkeypatch, whose, is_stopped):
    ended = []
    monkeypatch.setattr(lifecycle, "_answered", lambda _by: not_running(scene.home).replaced(running=True))
    monkeypatch.setattr(lifecycle, "stop", ended.append)
    ident = scene.work("a")
    if whose == "another home's":
        raw(scene.fleet, f"UPDATE dispatches SET home = 'moon' WHERE id = '{ident}'")
    assert lifecycle.stop_if_unneeded(scene.fleet) is is_stopped
    assert len(ended) == is_stopped


def test_down_fails_while_something_still_runs_and_says_what(scene, line):
    ident = scene.work("a")
    scene.agent(ident).is_unkillable = True
    scene.agent(ident).ignores.add(signal.SIGTERM)
    said = line("down")
    assert (said.code, said.err) == (Refused.code, "")
    assert said.out.startswith(f"left: agent {ident} of a: ")
    assert "nothing of" not in said.out


def test_the_agents_alone_are_stopped_without_their_coordinator(scene):
    coordinator, ident = seated(scene), scene.work("a")
    ended = scene.fleet.dispatches.stop_all(PROJECT)
    assert (ended.coordinator, ended.stopped, ended.left) == (None, [ident], [])
    assert scene.fleet.coord.show(PROJECT).holder == coordinator
    assert scene.fleet.coord.show(PROJECT).state == "alive"


def test_down_leaves_a_coordinator_of_another_home_and_says_whose_it_is(scene):
    coordinator, ident = seated(scene), scene.work("a")
    raw(scene.fleet, f"UPDATE dispatches SET host = 'moon' WHERE id = '{coordinator}'")
    ended = scene.fleet.projects.down(PROJECT)
    assert (ended.coordinator, ended.stopped) == (None, [ident])
    [left] = ended.left
    assert left.startswith(f"coordinator {coordinator} of {PROJECT} belongs to")
    assert "moon" in left


def test_an_agent_of_another_home_is_left_and_said(scene):
    ident = scene.work("a")
    raw(scene.fleet, f"UPDATE dispatches SET host = 'moon' WHERE id = '{ident}'")
    ended = scene.fleet.dispatches.stop_all(PROJECT)
    [left] = ended.left
    assert ended.stopped == []
    assert left.startswith(f"agent {ident} of a: dispatch {ident} belongs to")


def test_an_agent_that_ends_while_the_others_are_stopped_is_neither_left_nor_stopped(scene, monkeypatch):
    by_itself, stopped = scene.work("a"), scene.work("b")
    end = stopping.end

    def ending(context, ident, **how):
        if ident == stopped:
            scene.exit(by_itself)
            assert scene.fleet.sessions.settle(by_itself).settled
        return end(context, ident, **how)

    monkeypatch.setattr(stopping, "end", ending)
    ended = scene.fleet.dispatches.stop_all(PROJECT)
    assert (ended.stopped, ended.left) == ([stopped], [])
    assert scene.fleet.agents.list() == []


@pytest.mark.parametrize("life", ["alive", "dead", "unknown"])
def test_a_persons_merge_is_no_agent_and_is_left_while_it_may_run(scene, life):
    ident = scene.work("a")
    work = scene.commit("a")
    scene.report(ident, "a")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    person = scene.open()
    order = order_for(person.context, PROJECT, "a", integration="fleet/main", base=work, work=work)
    begin_finisher(person.context, order)
    process = scene.process_of(person)
    if life == "dead":
        scene.machine.table.exit(process)
    process.is_hidden = life == "unknown"
    assert scene.fleet.projects.in_the_way(PROJECT).agents == []
    ended = scene.fleet.projects.down(PROJECT)
    says = {
        "alive": f"it runs in process {process.pid}; let it end, or interrupt it there",
        "unknown": "nobody can tell whether it runs",
    }
    left = [f"merge {order.dispatch} of a: {says[life]}"] if life in says else []
    assert (ended.stopped, ended.left) == ([], left)
    assert scene.fleet.dispatches.stop_all(PROJECT).left == ended.left
    assert (process in scene.machine.table.entries()) is (life != "dead")
    if left:
        with pytest.raises(ProjectInUse, match=says[life]):
            scene.fleet.projects.clear(PROJECT)
    else:
        leave(scene)


def test_a_project_goes_in_one_go_with_uncommitted_work_kept_and_another_untouched(scene, other):
    scene.work("a")
    Path(tree_of(scene), "draft").write_text("draft\n")
    Path(scene.repository, "fleet.toml").write_text('verify = "true"\n')
    scene.fleet.files.publish(paths.trust(PROJECT), b"{}")
    found = scene.fleet.projects.in_the_way(PROJECT)
    assert (found.tasks, len(found.agents), found.jobs) == (["a"], 1, [])
    with pytest.raises(ProjectInUse):
        scene.fleet.projects.remove(PROJECT, with_tasks=True)
    assert os.path.exists(f"{scene.home}/{paths.trust(PROJECT)}")
    [ref] = scene.fleet.projects.clear(PROJECT).kept
    assert scene.git("show", f"{ref}:draft") == "draft"
    removed = scene.fleet.projects.remove(PROJECT, with_tasks=True)
    assert "its project is removed from fleet; it was blocked" in Path(removed.kept or "").read_text()
    assert [each.name for each in scene.fleet.projects.list()] == ["other"]
    names = {f"work-{PROJECT}", f"{PROJECT}.json"}
    paths_left = Path(scene.home).rglob("*")
    left = [str(path) for path in paths_left if f"/{PROJECT}/" in f"{path}/" or path.name in names]
    assert left == []
    assert Path(scene.repository, "fleet.toml").exists()
    assert os.path.exists(other)
    assert [each.what for each in scene.fleet.sweep.run(kill=False) if "other" not in each.what] == []


def test_what_cannot_be_released_keeps_the_project_and_is_said(scene):
    ident = scene.work("a")
    inner = tree_of(scene) / "clone"
    scene.git("init", "--quiet", str(inner))
    scene.git(
        "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "own", cwd=str(inner)
    )
    with pytest.raises(ProjectInUse, match="another repository in it"):
        scene.fleet.projects.clear(PROJECT)
    assert inner.exists()
    assert [each.name for each in scene.fleet.projects.list()] == [PROJECT]
    assert scene.fleet.dispatches.show(ident).exec_state == "blocked"


@pytest.mark.parametrize(
    ("effect", "error"),
    [
        ("git worktree remove", GitRefused(what="x", why="interrupted")),
        ("unlink trust/", KeyboardInterrupt()),
        ("remove folder of project", KeyboardInterrupt()),
    ],
)
def test_interrupted_anywhere_the_project_is_still_known_and_the_next_try_goes_on(scene, effect, error):
    class Interrupting:
        def before(self, name: str) -> None:
            if name.startswith(effect):
                raise error

        def during(self, effect: str, pid: int) -> None: ...

        def after(self, effect: str) -> None: ...

    scene.work("a")
    scene.fleet.files.publish(paths.trust(PROJECT), b"{}")
    scene.fleet.world.funnel.watcher = Interrupting()
    with pytest.raises((KeyboardInterrupt, ProjectInUse)):
        leave(scene)
    scene.fleet.world.funnel.watcher = None
    assert [each.name for each in scene.fleet.projects.list()] == [PROJECT]
    leave(scene)
    assert not os.path.exists(f"{scene.home}/projects/{PROJECT}")


def test_a_gate_is_removed_only_while_it_is_held(scene):
    folder = paths.lock_folders(PROJECT)[0]
    with scene.fleet.world.project_gate(PROJECT, "merge"):
        [name] = [name for name in scene.fleet.files.names(folder) if name.startswith("merge")]
    gate = f"{folder}/{name}"
    free: list[bool] = []

    class Looking:
        def before(self, name: str) -> None:
            if name == f"unlink {gate}":
                free.append(FileLock(f"{scene.home}/{gate}", create=False).is_free())

        def during(self, effect: str, pid: int) -> None: ...

        def after(self, effect: str) -> None: ...

    scene.fleet.world.funnel.watcher = Looking()
    remove_files(scene.fleet.context, PROJECT)
    scene.fleet.world.funnel.watcher = None
    assert (free, os.path.exists(f"{scene.home}/{gate}")) == ([False], False)
    with scene.fleet.world.project_gate(PROJECT, "merge"):
        remove_files(scene.fleet.context, PROJECT)
        assert os.path.exists(f"{scene.home}/{gate}")

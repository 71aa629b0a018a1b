"""A marker of remote control that cannot be written is a warning, and whoever starts a coordinator passes it on."""

import shutil
from pathlib import Path

import pytest

from fleet.errors.store import NotAFolder, WriteFailed
from fleet.model.results.coord import Seated
from fleet.model.results.dispatches import Resumed, ResumedMany
from fleet.store.transaction import Change, Tx
from fleet.surfaces.cli.commands.coord import coord
from fleet.surfaces.cli.commands.coord.handoff import _print_entry
from fleet.surfaces.cli.commands.dispatch.resume import _print_all_resumed, _print_resumed
from fleet.surfaces.cli.commands.dispatch.run import _say_started
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord import replace
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.projects import remote_control

COORD = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
WARNING = "remote control was not turned on (nothing was changed: the store: full); `fleet rc up p` does it later"


@pytest.fixture
def coordinated(scene: SimulatedScene, monkeypatch: pytest.MonkeyPatch) -> tuple[SimulatedScene, str]:
    """A scene with a coordinator, and a store that takes the marker no more."""

    def broken(**_facts: str) -> None:
        raise WriteFailed(path="the store", why="full")

    ident = scene.fleet.coord.start(COORD).id
    scene.launch(ident)
    with_marker_unset(scene)
    monkeypatch.setattr(remote_control, "set_remote_control", broken)
    return scene, ident


def with_marker_unset(scene: SimulatedScene) -> None:
    """As before anybody has chosen."""

    def work(tx: Tx) -> None:
        tx._db.execute("UPDATE projects SET remote_control = NULL")

    scene.fleet.context.commit(Change("nobody has chosen", work))


@pytest.mark.req("HAND-9")
def test_a_drain_passes_the_warning_on_and_goes_on(coordinated):
    scene, ident = coordinated
    assert scene.fleet.coord.hand_off(ident, reason="enough").warnings == [WARNING]
    (entry,) = scene.fleet.coord.drain(PROJECT)
    assert (entry.warnings, entry.state) == ([WARNING], "queued")
    assert "has to prove itself" in entry.deferred, "the new coordinator was started all the same"
    (again,) = scene.fleet.coord.drain(PROJECT)
    assert again.warnings is None, "nothing was started"


@pytest.mark.req("HAND-9")
def test_a_wait_for_the_end_of_a_handoff_keeps_the_warning_of_its_beginning(coordinated):
    scene, ident = coordinated
    entry = scene.fleet.coord.hand_off(ident, reason="enough")
    assert scene.fleet.coord.finish_handoff(entry.id, limit=1).warnings == [WARNING]


@pytest.mark.req("HAND-9")
def test_a_tick_that_drains_says_it_once_among_its_troubles(coordinated):
    scene, ident = coordinated
    scene.fleet.coord.hand_off(ident, reason="enough")
    with scene.speaking(ident) as fleet:
        ticked = fleet.coord.tick(PROJECT)
    assert ticked.troubles == [WARNING]
    assert any("has to prove itself" in line for line in ticked.done)


@pytest.mark.req("HAND-9")
def test_a_resume_and_a_coord_spawn_pass_it_on(coordinated, monkeypatch):
    scene, ident = coordinated
    scene.exit(ident, 1)
    assert scene.fleet.sessions.settle(ident).settled
    monkeypatch.setattr(replace, "await_proof", lambda *_given: 2)
    resumed = scene.fleet.dispatches.resume(ident)
    assert (resumed.predecessor, resumed.warnings) == (ident, [WARNING])


@pytest.mark.req("HAND-9")
def test_the_first_coordinator_of_a_project_warns_too(scene, monkeypatch):
    def broken(**_facts: str) -> None:
        raise WriteFailed(path="the store", why="full")

    monkeypatch.setattr(remote_control, "set_remote_control", broken)
    assert scene.fleet.coord.start(COORD).warnings == [WARNING]


STARTED = {"id": "aaaaaaaa", "project": PROJECT, "task": None, "kind": "coord", "engine": "shell", "session": "s"}
SEATED = Seated(**STARTED, worktree="/w", branch=None, warnings=[WARNING])
RESUMED = Resumed.made_of(SEATED, predecessor="bbbbbbbb", conversation=False, stopped=None)


@pytest.mark.req("HAND-9")
@pytest.mark.parametrize(
    "say",
    [
        lambda: _say_started(SEATED, as_json=False),
        lambda: coord._say_started(SEATED, as_json=False),
        lambda: _print_resumed(RESUMED, as_json=False),
        lambda: _print_all_resumed(ResumedMany(resumed=[RESUMED], waiting=[], jobs=[]), as_json=False),
    ],
    ids=["dispatch --coord-spawn", "coord start", "resume", "resume --all"],
)
def test_a_person_reads_it_below_what_happened(say, capsys):
    say()
    assert capsys.readouterr().out.splitlines()[1] == f"  warning: {WARNING}"


@pytest.mark.req("HAND-9")
def test_a_person_who_drains_reads_it_too(coordinated, capsys):
    scene, ident = coordinated
    scene.fleet.coord.hand_off(ident, reason="enough")
    (entry,) = scene.fleet.coord.drain(PROJECT)
    _print_entry(entry)
    assert capsys.readouterr().out.splitlines()[1] == f"  warning: {WARNING}"


@pytest.mark.req("HAND-1", "STORE-10")
def test_a_file_where_the_handoffs_belong_leaves_the_agent_and_the_queue_as_they_were(scene):
    ident = scene.work("a")
    Path(scene.home, "handoffs").write_text("in the way")
    before = scene.fleet.operations.newest()
    with pytest.raises(NotAFolder, match=r"handoffs is not a folder"):
        scene.fleet.coord.hand_off(ident, reason="enough")
    assert (scene.fleet.operations.newest(), scene.fleet.coord.handoffs()) == (before, [])
    assert scene.fleet.context.dispatch(ident).asked_for is None
    assert Path(scene.home, "handoffs").read_text() == "in the way"


@pytest.mark.req("HAND-1", "STORE-10")
def test_a_file_where_the_prompts_belong_leaves_a_worker_that_is_handed_off_at_work(scene):
    ident = scene.work("a")
    shutil.rmtree(Path(scene.home, "inbox"))
    Path(scene.home, "inbox").write_text("in the way")
    before = scene.fleet.operations.newest()
    with pytest.raises(NotAFolder, match=r"inbox is not a folder"):
        scene.fleet.coord.hand_off(ident, reason="enough")
    assert (scene.fleet.operations.newest(), scene.fleet.coord.handoffs()) == (before, [])
    assert not Path(scene.home, "handoffs").exists(), "no document was written"
    assert scene.fleet.context.dispatch(ident).asked_for is None


@pytest.mark.req("HAND-2", "STORE-10")
def test_a_drain_ends_no_worker_while_a_file_is_where_its_successors_prompt_belongs(scene):
    ident = scene.work("a")
    scene.fleet.coord.hand_off(ident, reason="enough")
    inbox = Path(scene.home, "inbox").rename(Path(scene.home, "aside"))
    Path(scene.home, "inbox").write_text("in the way")
    for _ in range(3):
        (entry,) = scene.fleet.coord.drain(PROJECT)
        assert (entry.state, "inbox is not a folder" in entry.deferred) == ("queued", True)
        assert scene.fleet.context.dispatch(ident).asked_for is None
    Path(scene.home, "inbox").unlink()
    inbox.rename(Path(scene.home, "inbox"))
    scene.fleet.coord.drain(PROJECT)
    assert scene.fleet.context.dispatch(ident).asked_for == "handoff", "it goes on by itself"


@pytest.mark.req("STORE-10")
@pytest.mark.parametrize("act", ["spawn", "replace", "hand off", "resume"])
def test_a_refusal_that_says_that_nothing_was_changed_has_not_turned_remote_control_up(scene, act):
    if act != "spawn":
        ident = scene.fleet.coord.start(COORD).id
        scene.launch(ident)
    if act == "resume":
        scene.exit(ident, 1)
    with_marker_unset(scene)
    in_the_way = "handoffs" if act == "hand off" else "inbox"
    shutil.rmtree(Path(scene.home, in_the_way), ignore_errors=True)
    Path(scene.home, in_the_way).write_text("in the way")
    before = scene.fleet.operations.newest()
    acts = {
        "spawn": lambda: scene.fleet.coord.start(COORD),
        "replace": lambda: scene.fleet.coord.replace(COORD),
        "hand off": lambda: scene.fleet.coord.hand_off(ident, reason="enough"),
        "resume": lambda: scene.fleet.coord.start(COORD),
    }
    with pytest.raises(NotAFolder, match=rf"nothing was changed: .*{in_the_way} is not a folder"):
        acts[act]()
    assert scene.fleet.operations.newest() == before

"""An agent that coordinates is woken for news, once for each thing, and never while a turn of it runs."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleet.api import watch as api_watch
from fleet.api.fleet import Fleet
from fleet.errors.contested import TickInProgress
from fleet.errors.refused import NotAllowed
from fleet.errors.store import StoreGone, StoreUnreachable
from fleet.model.text.times import MINUTE, SECOND
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.context import Context
from fleet.verbs.coord import wake
from fleet.verbs.dispatch.plan import Wanted

# An agent with a terminal, and one whose hooks tell how it is.
TALKS = """
summary = "a test's agent with a terminal"
program = "sh"
start = ["{program}", "-c", "sleep 1000"]
interactive = true

[[screen]]
state = "idle"
match = '^ready$'

[[screen]]
state = "working"
match = '^busy$'
"""
HOOKED = TALKS + '\n[hooks]\nwakes = ["Stop"]\n[hooks.events]\nStop = "stopped"\n'


@pytest.fixture
def scene() -> Iterator[SimulatedScene]:
    with SimulatedScene() as made:
        folder = Path(made.home, "engines")
        folder.mkdir()
        (folder / "talks.toml").write_text(TALKS)
        (folder / "hooked.toml").write_text(HOOKED)
        yield made


def seated(scene: SimulatedScene, engine: str = "talks", screen: str = "ready") -> str:
    """A coordinator that is an agent, at its prompt, after its first tick."""
    ident = scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine=engine)).id
    scene.launch(ident)
    ticked(scene, ident)
    scene.pane(ident).screen = screen
    return ident


def ticked(scene: SimulatedScene, ident: str) -> list[str]:
    with scene.speaking(ident) as fleet:
        return fleet.coord.tick(PROJECT).troubles


def watched(scene: SimulatedScene, ident: str) -> list[str] | None:
    """One look of the watch, while the agent waits at its prompt."""
    scene.pane(ident).screen = "ready"
    return scene.fleet.coord.watch(PROJECT)


def add(scene: SimulatedScene, slug: str) -> None:
    scene.fleet.tasks.add(project=PROJECT, title=slug, slug=slug)


def hears(scene: SimulatedScene, ident: str, state: str) -> None:
    """What a hook of the agent would have told."""
    agent = scene.fleet.store.read(lambda rows: q.heard_agent(rows, dispatch=ident))
    now = scene.clock.now()
    facts = {name: getattr(agent, name) for name in (
        "detail", "context", "tokens", "cost", "conversation", "compacting", "sent_back", "failed_turns")}  # fmt: skip
    work = {"dispatch": ident, "state": state, "state_at": now, "heartbeat_at": now, **facts}
    scene.fleet.commit(Change("a hook", lambda tx: {"n": q.learn_agent(tx, **work)}))


def test_an_idle_coordinator_is_woken_for_a_new_task_once(scene):
    ident = seated(scene)
    assert watched(scene, ident) == []
    add(scene, "parser")
    (line,) = watched(scene, ident)
    assert f"woke {ident}: task parser is ready" in line
    (typed,) = scene.pane(ident).typed
    assert "task parser is ready" in typed
    assert "`fleet coord tick`" in typed
    assert watched(scene, ident) == []
    scene.clock.wait(9 * MINUTE / SECOND)
    assert watched(scene, ident) == []
    assert len(scene.pane(ident).typed) == 1


def test_a_wake_that_came_to_nothing_is_repeated_after_a_time(scene):
    ident = seated(scene)
    add(scene, "parser")
    watched(scene, ident)
    scene.clock.wait(10 * MINUTE / SECOND)
    assert watched(scene, ident) == [f"woke {ident}: task parser is ready"]


def test_a_tick_waits_for_a_look_of_the_watch(scene, monkeypatch):
    ident = seated(scene)
    gate = scene.fleet.world.project_gate(PROJECT, "coord-look")
    gate.take()
    wait = scene.clock.wait

    def look_ends(seconds: float) -> None:
        gate.give()
        wait(seconds)

    monkeypatch.setattr(scene.clock, "wait", look_ends)
    assert ticked(scene, ident) == []


def test_a_tick_that_waited_in_vain_says_so(scene):
    ident = seated(scene)
    with scene.fleet.world.project_gate(PROJECT, "coord-look"), pytest.raises(TickInProgress):
        ticked(scene, ident)
    assert ticked(scene, ident) == []


def test_what_its_own_tick_told_it_does_not_wake_it(scene):
    ident = seated(scene)
    add(scene, "parser")
    ticked(scene, ident)
    assert watched(scene, ident) == []
    add(scene, "other")
    assert "task other is ready" in watched(scene, ident)[0]
    assert "parser" not in scene.pane(ident).typed[-1]


@pytest.mark.parametrize("screen", ["busy", "", "Do you want to proceed?"])
def test_nothing_wakes_it_while_a_turn_runs_or_its_screen_is_not_recognised(scene, screen):
    ident = seated(scene, screen=screen)
    add(scene, "parser")
    assert scene.fleet.coord.watch(PROJECT) == []
    scene.pane(ident).screen = "ready"
    assert "task parser is ready" in scene.fleet.coord.watch(PROJECT)[0]


@pytest.mark.parametrize(("state", "woken"), [("working", 0), ("asks", 0), ("idle", 1), ("stopped", 1)])
def test_hooks_say_whether_a_turn_runs(scene, state, woken):
    ident = seated(scene, "hooked")
    hears(scene, ident, state)
    add(scene, "parser")
    assert len(scene.fleet.coord.watch(PROJECT)) == woken
    waiting = scene.fleet.store.read(lambda rows: q.waiting_messages(rows, dispatch=ident))
    assert [row.sender for row in waiting] == ["fleet"] * woken
    assert scene.fleet.coord.watch(PROJECT) == [], "a message that waits is not sent again"


def test_a_coordinator_whose_turn_was_ended_by_a_limit_is_continued_and_not_woken(scene):
    ident = seated(scene, "hooked")
    hears(scene, ident, "limit")
    add(scene, "parser")
    (line,) = scene.fleet.coord.watch(PROJECT)
    assert line == f"{ident}: The usage limit has been reset. Go on where you were."


def test_a_tick_acknowledges_the_message_that_asked_for_it(scene):
    ident = seated(scene, "hooked")
    hears(scene, ident, "idle")
    add(scene, "parser")
    scene.fleet.coord.watch(PROJECT)
    with scene.speaking(ident) as fleet:
        assert fleet.coord.tick(PROJECT).messages == []
    assert scene.fleet.store.read(lambda rows: q.waiting_messages(rows, dispatch=ident)) == []


def test_a_report_and_then_an_agent_that_stays_are_each_news(scene):
    ident = seated(scene)
    worker = scene.work("a")
    ticked(scene, ident)
    scene.report(worker, "a")
    assert f"agent {worker} has reported done" in watched(scene, ident)[0]
    scene.clock.wait(1)
    assert f"agent {worker} has not exited yet" in watched(scene, ident)[0]
    assert watched(scene, ident) == []


def test_a_tick_is_due_while_an_agent_works_and_nothing_changes(scene):
    ident = seated(scene)
    scene.work("a")
    ticked(scene, ident)
    scene.clock.wait(10 * MINUTE / SECOND)
    assert watched(scene, ident) == [f"woke {ident}: agents are at work, and a tick is due"]
    assert watched(scene, ident) == []


def test_a_coordinator_that_never_ticked_is_woken_for_what_there_is(scene):
    add(scene, "parser")
    ident = scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="talks")).id
    scene.launch(ident)
    scene.pane(ident).screen = "ready"
    assert "task parser is ready" in scene.fleet.coord.watch(PROJECT)[0]


def test_a_tick_that_runs_is_not_disturbed(scene):
    ident = seated(scene)
    add(scene, "parser")
    with wake.watch_suspended(scene.fleet.context, PROJECT):  # as a tick does
        assert scene.fleet.coord.watch(PROJECT) == []
    assert scene.pane(ident).typed == []


def test_the_watch_starts_with_an_agent_and_is_started_again_by_its_tick_but_never_twice(scene):
    watching = ("coord", "watch", "-p", PROJECT)
    ident = scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="talks")).id
    scene.launch(ident)
    assert scene.machine.started.count(watching) == 1
    with wake.watch_gate(scene.fleet.context, PROJECT):
        ticked(scene, ident)
    assert scene.machine.started.count(watching) == 1
    ticked(scene, ident)
    assert scene.machine.started.count(watching) == 2, "the one before was gone"


def test_fleets_own_loop_and_programs_without_turns_have_no_watch(scene):
    ident = scene.fleet.coord.start(
        Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
    ).id
    scene.launch(ident)
    assert ticked(scene, ident) == []
    assert not [words for words in scene.machine.started if words[:2] == ("coord", "watch")]
    assert scene.fleet.store.read(lambda rows: q.wake_of(rows, project=PROJECT)) is None
    assert scene.fleet.coord.watch(PROJECT) is None


def test_the_watch_ends_with_the_coordinator_and_stays_while_nothing_is_known(scene):
    ident = seated(scene)
    scene.agent(ident).is_hidden = True
    assert scene.fleet.coord.watch(PROJECT) is not None, "unknown is not dead"
    scene.agent(ident).is_hidden = False
    scene.exit(ident)
    assert scene.fleet.coord.watch(PROJECT) is None


def test_an_agent_wakes_nobody(scene):
    ident = seated(scene)
    with scene.speaking(ident) as fleet, pytest.raises(NotAllowed):
        fleet.coord.watch(PROJECT)


def test_what_keeps_it_from_being_woken_is_written_down_once_and_taken_back(scene):
    seated(scene)
    before = scene.fleet.operations.newest()
    for trouble in ("no tmux", "no tmux", None, None):
        wake.note_trouble(scene.fleet.context, PROJECT, trouble)
    assert scene.fleet.operations.newest() - before == 2
    assert scene.fleet.store.read(lambda rows: q.wake_of(rows, project=PROJECT)).trouble is None


@pytest.mark.parametrize("follows", [False, True])
def test_a_trouble_does_not_change_when_the_first_tick_of_a_coordinator_is_due(scene, follows):
    if follows:
        seated(scene)
        scene.fleet.coord.stop(PROJECT, "a test")
        scene.clock.wait(5 * MINUTE / SECOND)
    scene.work("a")
    ident = scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="talks")).id
    scene.launch(ident)
    scene.clock.wait(9 * MINUTE / SECOND)
    wake.note_trouble(scene.fleet.context, PROJECT, "no tmux")
    assert watched(scene, ident) == []
    scene.clock.wait(1 * MINUTE / SECOND)
    assert watched(scene, ident) == [f"woke {ident}: agents are at work, and a tick is due"]


def test_the_trouble_of_a_coordinator_is_not_that_of_the_next_one(scene):
    seated(scene)
    wake.note_trouble(scene.fleet.context, PROJECT, "no tmux")
    scene.fleet.coord.stop(PROJECT, "a test")
    new = scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="talks")).id
    scene.launch(new)
    assert scene.fleet.coord.show(PROJECT).wake_trouble is None
    wake.note_trouble(scene.fleet.context, PROJECT, "no tmux")
    assert scene.fleet.coord.show(PROJECT).wake_trouble == "no tmux", "it has the same trouble"
    scene.fleet.coord.stop(PROJECT, "a test")
    ident = seated(scene)
    assert scene.fleet.coord.show(PROJECT).holder == ident
    assert scene.fleet.coord.show(PROJECT).wake_trouble is None, "its tick has taken the row"


def test_a_trouble_of_the_watch_is_shown_where_a_person_looks(scene, line):
    ident = seated(scene)
    wake.note_trouble(scene.fleet.context, PROJECT, "no tmux")
    assert scene.fleet.coord.show(PROJECT).wake_trouble == "no tmux"
    assert line("coord", "status").ok().out.splitlines()[1:] == ["  it cannot be woken: no tmux"]
    (obstacle,) = scene.fleet.views.status().in_the_way
    assert f"its coordinator {ident} cannot be woken: no tmux" in obstacle.text


class Opened:
    """What opens the home for a watch: the scene's fleet, after the errors that it is to meet first."""

    def __init__(self, scene: SimulatedScene, *errors: Exception) -> None:
        self.scene = scene
        self.errors = list(errors)

    @contextmanager
    def open(self, actor: str) -> Iterator[Fleet]:
        assert actor == api_watch.ACTOR
        if self.errors:
            raise self.errors.pop(0)
        yield self.scene.fleet


def run_watch(scene: SimulatedScene, monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> list[str]:
    """Run a watch that meets these errors until its coordinator has ended. Return what it printed."""
    said: list[str] = []
    opened = Opened(scene, *errors)
    monkeypatch.setattr(api_watch, "Fleet", opened)
    api_watch.Watch(PROJECT, said.append, scene.clock).run()
    assert opened.errors == []
    return said


@pytest.mark.parametrize("after", [0, 1, 2])
def test_the_watch_outlives_a_store_that_fails_for_a_while_and_records_that(scene, monkeypatch, after):
    ident = seated(scene)
    add(scene, "parser")
    troubles: list[str | None] = []
    note, looked = wake.note_trouble, wake.watch

    def noted(context: Context, project: str, trouble: str | None) -> None:
        troubles.append(trouble)
        note(context, project, trouble)

    def look(context: Context, project: str) -> list[str] | None:
        lines = looked(context, project)
        if lines:
            scene.exit(ident)
        return lines

    monkeypatch.setattr(wake, "note_trouble", noted)
    monkeypatch.setattr(wake, "watch", look)
    failing = [StoreUnreachable(url="db", why="no route"), StoreUnreachable(url="db", why="no route"), OSError("disk")]
    said = run_watch(scene, monkeypatch, *failing[after:])
    assert [line for line in said if line.startswith("woke")] == [f"woke {ident}: task parser is ready"]
    assert len([line for line in said if "cannot be woken" in line]) == len({str(each) for each in failing[after:]})
    assert troubles[:2] == ["OSError: disk", None]
    assert wake.watch_gate(scene.fleet.context, PROJECT).is_free()


def test_the_watch_ends_when_the_store_is_gone(scene, monkeypatch):
    seated(scene)
    (line,) = run_watch(scene, monkeypatch, StoreGone(home="h", database="d", store="s"))
    assert line.endswith("this process ends")


def test_a_missing_watch_is_started_by_the_tick_of_another_project_and_by_the_end_of_an_agent(scene):
    watching = ("coord", "watch", "-p", PROJECT)
    seated(scene)
    worker = scene.work("a")
    shutil.copytree(scene.repository, f"{scene.root}/other")
    scene.fleet.projects.register(f"{scene.root}/other", "other")
    wanted = Wanted(project="other", slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
    neighbour = scene.fleet.coord.start(wanted).id
    scene.launch(neighbour)
    before = scene.machine.started.count(watching)
    with wake.watch_gate(scene.fleet.context, PROJECT), scene.speaking(neighbour) as fleet:
        assert fleet.coord.tick("other").done == []
    with scene.speaking(neighbour) as fleet:
        assert fleet.coord.tick("other").done == [f"started the process that wakes the coordinator of {PROJECT}"]
    scene.exit(worker)
    assert scene.fleet.sessions.settle_soon(worker).settled
    assert scene.machine.started.count(watching) == before + 2


def test_that_no_watch_runs_is_said_once_it_had_time_to_start(scene):
    ident = seated(scene)
    assert scene.fleet.views.status().in_the_way == []
    scene.clock.wait(20)
    with wake.watch_gate(scene.fleet.context, PROJECT):
        assert scene.fleet.views.status().in_the_way == []
    (obstacle,) = scene.fleet.views.status().in_the_way
    assert (obstacle.kind, ident in obstacle.text) == ("NotWoken", True)
    assert "the process that wakes it does not run" in obstacle.text
    assert "`fleet up` in the repository starts what wakes it" in obstacle.text


@pytest.mark.parametrize("content", [None, "["])
def test_a_coordinator_whose_engine_file_is_gone_or_broken_keeps_its_watch_which_says_so(scene, monkeypatch, content):
    ident = seated(scene)
    worker = scene.work("a")
    file = Path(scene.home, "engines/talks.toml")
    file.unlink() if content is None else file.write_text(content)
    scene.clock.wait(20)
    watching = ("coord", "watch", "-p", PROJECT)
    before = scene.machine.started.count(watching)
    assert wake.start_missing_watches(scene.fleet.context, except_project="other") != []
    assert scene.machine.started.count(watching) == before + 1
    assert scene.fleet.coord.show(PROJECT).wake_trouble == "the process that wakes it does not run"
    assert scene.fleet.agents.unattended() == []
    assert {each.id for each in scene.fleet.agents.list()} == {ident, worker}
    add(scene, "parser")

    troubles: list[str | None] = []

    def mend(_context: Context, _project: str, trouble: str | None) -> None:
        troubles.append(trouble)
        file.write_text(TALKS)
        if troubles.count(None) == 1:
            scene.exit(ident)

    monkeypatch.setattr(wake, "note_trouble", mend)
    said = run_watch(scene, monkeypatch)
    assert ("talks" in said[0], said[0]) == (True, f"the coordinator cannot be woken: {troubles[0]}")
    assert said[1:] == [f"woke {ident}: task parser is ready"]


@pytest.mark.parametrize("engine", ["talks", "hooked"])
def test_a_coordinator_at_rest_needs_nobody_while_it_can_be_woken(scene, engine):
    ident = seated(scene, engine)
    if engine == "hooked":
        hears(scene, ident, "idle")
    scene.clock.wait(20)
    with wake.watch_gate(scene.fleet.context, PROJECT):
        page = scene.fleet.views.status()
        assert [each.state for each in page.working] == ["idle"]
        assert page.needs_you == []
    assert [each.dispatch for each in scene.fleet.views.status().needs_you] == [ident], "nobody wakes it"


def test_a_coordinator_that_asks_something_still_needs_somebody(scene):
    ident = seated(scene, "hooked")
    hears(scene, ident, "asks")
    assert [(each.dispatch, each.kind) for each in scene.fleet.views.status().needs_you] == [(ident, "asks")]

"""Agents that give no sign of life, and agents with a stopped process: what is said of them, and from which sign."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.model.results.agents import AgentView
from fleet.model.text.times import SECOND
from fleet.store import queries as q
from fleet.store.transaction import Change, Tx
from fleet.surfaces.cli.commands.views import status as show_status
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents.hook import record_agent
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.home import paths

LONG = 11 * 60


def agent(scene: SimulatedScene, ident: str) -> AgentView:
    return next(each for each in scene.fleet.agents.list() if each.id == ident)


def head_log(scene: SimulatedScene, slug: str) -> str:
    tree = f"{scene.home}/{paths.worktree(PROJECT, slug)}"
    return scene.git("rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD", cwd=tree)


def busy(scene: SimulatedScene, slug: str = "a") -> str:
    """An agent at work. git's clock is the real one, so its last commit is moved into the simulated past."""
    ident = scene.work(slug)
    os.utime(head_log(scene, slug), (0, 0))
    return ident


def hook(scene: SimulatedScene, ident: str, state: str, **facts: str | int) -> None:
    """What a hook that reports this state leaves behind."""

    def work(tx: Tx) -> None:
        known = q.heard_agent(tx, dispatch=ident)
        assert known is not None
        now = scene.clock.now()
        record_agent(tx, known.replaced(state=state, detail="", state_at=now, heartbeat_at=now, **facts))

    scene.fleet.context.commit(Change(f"a test's hook of {ident}", work))


@pytest.mark.req("AGENT-3")
def test_an_agent_without_any_sign_of_life_is_silent_and_needs_a_person(scene):
    ident = busy(scene)
    scene.clock.wait(LONG)
    found = agent(scene, ident)
    assert (found.state, found.source) == ("silent", "start")
    assert found.detail.startswith("silent for 11m (last sign of life: start); its process lives")
    (need,) = scene.fleet.views.status().needs_you
    assert (need.kind, need.dispatch) == ("silent", ident)
    assert f"`fleet peek {ident}`" in need.text
    assert f"`fleet stop {ident}` and then `fleet resume {ident}`" in need.text


def test_the_commands_that_are_named_for_a_silent_agent_work(scene):
    ident = busy(scene)
    scene.clock.wait(LONG)
    assert agent(scene, ident).state == "silent"
    scene.agent(ident).handlers[signal.SIGTERM] = lambda: scene.exit(ident, 143)
    assert scene.fleet.dispatches.stop(ident).settled
    again = scene.fleet.dispatches.resume(ident).id
    scene.launch(again)
    assert agent(scene, again).state == "running"


def shown(scene: SimulatedScene, ident: str) -> None:
    scene.pane(ident).active_at = scene.clock.now()


def logged(scene: SimulatedScene, ident: str) -> None:
    with scene.speaking(ident) as fleet:
        fleet.tasks.log(project=PROJECT, slug="a", message="half way")


def heard(scene: SimulatedScene, ident: str) -> None:
    hook(scene, ident, "working")


def committed(scene: SimulatedScene, ident: str) -> None:
    at = scene.clock.now() / SECOND
    os.utime(head_log(scene, "a"), (at, at))


@pytest.mark.parametrize("sign", [shown, logged, heard, committed])
def test_any_sign_of_life_is_enough(scene, sign: Callable[[SimulatedScene, str], None]):
    ident = busy(scene)
    scene.clock.wait(LONG)
    sign(scene, ident)
    assert agent(scene, ident).state in {"running", "working"}
    scene.clock.wait(LONG)
    assert agent(scene, ident).state == "silent", "a sign of life gets old"


ENGINE = """
summary = "an engine with a session file"
program = ""
start = ["{command}"]
interactive = true
exit_signal = "SIGTERM"
transcript = ["TALKS/{conversation}.jsonl"]
[status_file]
file = "SESSION"
pid = "pid"
start = "start"
state = "status"
at = "at"
[status_file.states]
busy = "working"
"""


def test_a_session_file_counts_as_long_as_it_is_written_and_so_does_the_conversation(scene):
    session, talk = f"{scene.root}/session.json", Path(scene.root, "talk.jsonl")
    os.mkdir(f"{scene.home}/engines")
    engine = ENGINE.replace("SESSION", session).replace("TALKS", scene.root)
    Path(scene.home, "engines/own.toml").write_text(engine, encoding="utf-8")
    scene.fleet.tasks.add(project=PROJECT, title="a", slug="a")
    wanted = Wanted(project=PROJECT, slug="a", engine="own", command=("sleep", "1"), autonomy="full")
    ident = scene.fleet.dispatches.start(wanted).id
    who = scene.launch(ident)
    os.utime(head_log(scene, "a"), (0, 0))
    hook(scene, ident, "working", conversation="talk")
    scene.clock.wait(LONG)
    written = {"pid": who.pid, "start": who.start, "status": "busy", "at": scene.clock.now()}
    Path(session).write_text(json.dumps(written), encoding="utf-8")
    os.utime(session, (0, 0))
    assert (agent(scene, ident).state, agent(scene, ident).source) == ("working", "session file")
    scene.clock.wait(LONG)
    assert (agent(scene, ident).state, agent(scene, ident).source) == ("silent", "session file")
    talk.write_text("{}", encoding="utf-8")
    os.utime(talk, (scene.clock.now() / SECOND,) * 2)
    assert agent(scene, ident).state == "working"
    scene.pane(ident).active_at = scene.clock.now() + LONG * SECOND
    scene.clock.wait(LONG)
    assert agent(scene, ident).source == "conversation", "its animated screen tells less than its hooks"


def test_how_long_is_a_setting():
    with SimulatedScene(settings='silent_after = "1h"\n') as scene:
        ident = busy(scene)
        scene.clock.wait(LONG)
        assert agent(scene, ident).state == "running"
        scene.clock.wait(3600)
        assert agent(scene, ident).state == "silent"


@pytest.mark.parametrize(("failed_turns", "needs"), [(0, 1), (1, 0), (5, 0), (6, 1)])
def test_an_agent_that_nobody_continues_after_a_failed_turn_needs_a_person(scene, failed_turns, needs, capsys):
    ident = busy(scene)
    hook(scene, ident, "failed_turn", failed_turns=failed_turns)
    page = scene.fleet.views.status()
    assert [need.kind for need in page.needs_you] == ["failed_turn"] * needs
    for need in page.needs_you:
        assert f"`fleet message {ident} TEXT` makes it go on" in need.text
    show_status._print_page(page, scene.clock.now())
    assert (f"fleet message {ident}  p/a" in capsys.readouterr().out) == bool(needs)
    scene.clock.wait(60 * 5)
    assert bool(scene.fleet.agents.tend(PROJECT)) == (not needs), "a reminder comes where no person is needed"


@pytest.mark.parametrize("state", ["asks", "idle", "limit", "failed_turn"])
def test_an_agent_that_waits_is_not_silent(scene, state):
    ident = busy(scene)
    hook(scene, ident, state)
    scene.clock.wait(LONG)
    assert agent(scene, ident).state == state


def test_an_agent_with_an_open_question_is_not_silent_whatever_its_state(scene):
    ident = busy(scene)
    hook(scene, ident, "working")

    def ask(tx: Tx) -> None:
        q.add_question(
            tx,
            id="0000000c",
            dispatch=ident,
            kind="permission",
            text="Bash: x",
            command=None,
            runs=None,
            choices="[]",
            at=tx.at,
        )

    scene.fleet.context.commit(Change("a test's question", ask))
    scene.clock.wait(LONG)
    assert agent(scene, ident).state == "working"


def test_what_runs_below_a_silent_agent_is_said(scene):
    ident = busy(scene)
    shell = scene.machine.table.spawn(scene.agent(ident).pid, ["sh", "-c", "make test"])
    scene.clock.wait(1)
    scene.machine.table.spawn(shell.pid, ["pytest", "-q"])
    scene.clock.wait(LONG)
    assert agent(scene, ident).detail.endswith("its process lives; below it runs: pytest -q")


def test_a_stopped_process_that_a_quiet_agent_waits_for_is_named(scene):
    ident = busy(scene)
    child = scene.machine.table.spawn(scene.agent(ident).pid, ["make", "test"])
    scene.machine.table.signal(child, signal.SIGSTOP)
    assert agent(scene, ident).state == "running", "the agent was heard of a moment ago"
    scene.clock.wait(61)
    found = agent(scene, ident)
    assert (found.state, found.source) == ("stopped", "process")
    assert found.detail == (
        f"a process that it started, {child.pid} (make test), is stopped: `kill -CONT {child.pid}` continues it"
    )
    assert [need.kind for need in scene.fleet.views.status().needs_you] == ["stopped"]
    scene.machine.table.signal(child, signal.SIGCONT)
    assert agent(scene, ident).state == "running"


def test_a_stopped_agent_is_called_stopped(scene):
    ident = busy(scene)
    scene.machine.table.signal(scene.agent(ident), signal.SIGSTOP)
    scene.clock.wait(61)
    found = agent(scene, ident)
    assert (found.state, found.detail.partition(",")[0]) == ("stopped", "its process")


def test_an_agent_whose_process_is_hidden_is_unknown_and_not_silent(scene):
    ident = busy(scene)
    scene.agent(ident).is_hidden = True
    scene.clock.wait(LONG)
    assert agent(scene, ident).state == "unknown"

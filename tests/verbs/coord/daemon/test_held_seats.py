"""A coordinator that is a duty of the daemon: the same seat and fences, no session, and never a signal to the daemon."""

import errno

import pytest
from staging.stage import acted

from fleet.errors.contested import CoordSpawnInProgress
from fleet.errors.families import Superseded
from fleet.errors.refused import CoordinatorLives, ForceRefused, NoTerminal
from fleet.model.dispatch.remedies import Dismiss, Press, Seen, decide
from fleet.model.text.times import MINUTE, SECOND, since_epoch
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord import tick as ticking
from fleet.verbs.coord.prove import prove
from fleet.verbs.coord.replace import start_candidate
from fleet.verbs.coord.tick import tick
from fleet.verbs.dispatch.facts import gather_facts
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.views.operations import OperationFilter

from .conftest import OWN_LOOP, start_daemon

AGENT = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


class At:
    """Does something before the first effect that begins so."""

    def __init__(self, effect: str, act) -> None:
        self._effect, self._act = effect, act

    def before(self, effect: str) -> None:
        if self._act is not None and effect.startswith(self._effect):
            act, self._act = self._act, None
            act()

    def during(self, effect: str, pid: int) -> None:
        pass

    def after(self, effect: str) -> None:
        pass


def lives(scene, daemon) -> bool:
    return not scene.process_of(daemon).is_zombie


def holder(scene) -> str | None:
    return scene.fleet.coord.show(PROJECT).holder


@pytest.mark.req("GATE-7", "GATE-11")
def test_the_daemon_holds_a_seat_without_a_session_and_ticks_in_the_name_of_its_holder(scene, daemon, ready):
    seated = daemon.coord.start(OWN_LOOP)
    pid = scene.process_of(daemon).pid
    assert (seated.session, seated.engine, holder(scene)) == (None, "fleet", seated.id)
    assert not scene.machine.servers, "nothing was started for it"
    shown, (agent,) = scene.fleet.coord.show(PROJECT), scene.fleet.agents.list()
    assert (shown.state, shown.where) == ("alive", f"daemon, pid {pid}")
    assert (agent.state, agent.source, agent.detail, agent.session) == ("running", "daemon", f"daemon, pid {pid}", None)
    with pytest.raises(NoTerminal, match="duty of the daemon"):
        scene.fleet.agents.attach_words(seated.id)
    assert daemon.coord.held() == {PROJECT: seated.id}
    ticked = daemon.coord.tick_held(PROJECT, seated.id)
    assert ([each.task for each in ticked.next.working], ticked.troubles) == ([ready], [])
    (started,) = [each for each in scene.fleet.agents.list() if each.task == ready]
    assert {each.actor for each in scene.fleet.operations.list(OperationFilter(dispatch=started.id), limit=9)} == {
        seated.id
    }
    with pytest.raises(CoordinatorLives) as caught:
        scene.fleet.coord.start(AGENT)
    for word in (seated.id, scene.fleet.world.host.id, f"fleet logs {seated.id}"):
        assert word in caught.value.spoken


@pytest.mark.req("GATE-2", "GATE-7")
def test_any_process_asks_the_running_daemon_to_hold_the_seat_under_the_same_gate(scene, daemon):
    gate = scene.fleet.world.project_gate(PROJECT, "coord-spawn")
    with gate, pytest.raises(CoordSpawnInProgress):
        scene.fleet.coord.start(OWN_LOOP)
    ident = scene.fleet.coord.start(OWN_LOOP).id
    assert daemon.coord.held() == {PROJECT: ident}
    assert scene.open("another").coord.held() == {}, "another process holds nothing"


@pytest.mark.req("GATE-7")
def test_without_a_living_daemon_the_loop_gets_a_session(scene, daemon, die):
    die(daemon)
    started = scene.fleet.coord.start(OWN_LOOP)
    assert started.session == f"fleet-{started.id}"
    assert scene.pane(started.id).session == started.session
    assert daemon.coord.held() == {}


@pytest.mark.req("GATE-11", "EXC-4")
@pytest.mark.parametrize("way", ["stop", "kill", "stop in the daemon", "down"])
def test_it_is_ended_in_the_store_alone_and_the_daemon_never_gets_a_signal(scene, daemon, way):
    ident = daemon.coord.start(OWN_LOOP).id
    context = daemon.coord._speaking_as(ident)
    if way == "kill":
        assert scene.fleet.dispatches.kill(ident, reason="enough").settled
    elif way == "down":
        assert scene.fleet.projects.down(PROJECT).coordinator == ident
    else:
        assert (daemon if way.endswith("daemon") else scene.fleet).coord.stop(PROJECT, "enough").stopped
    assert lives(scene, daemon)
    assert holder(scene) == (ident if way == "kill" else None)
    assert scene.fleet.agents.list() == []
    assert (daemon.coord.held(), daemon.coord.lost()) == ({}, {}), "nobody takes it up again"
    with pytest.raises(Superseded):
        daemon.coord.tick_held(PROJECT, ident)
    with pytest.raises(Superseded):
        tick(context, PROJECT, ident)
    assert daemon.coord.start(OWN_LOOP).id != ident


@pytest.mark.req("GATE-11")
def test_what_its_tick_commits_after_its_end_is_refused_and_no_further_step_begins(scene, daemon, ready, monkeypatch):
    ident = daemon.coord.start(OWN_LOOP).id

    def end_it(_context, _project) -> list[str]:
        scene.fleet.dispatches.kill(ident, reason="enough")
        return []

    steps: list[str] = []
    monkeypatch.setattr(ticking.screens, "watch", end_it)
    monkeypatch.setattr(ticking.failed_turns, "continue_agents", lambda _context, project: steps.append(project) or [])
    with pytest.raises(Superseded):
        daemon.coord.tick_held(PROJECT, ident)
    assert (steps, scene.fleet.agents.list()) == ([], []), "the next step was not begun, the ready task was not started"
    assert lives(scene, daemon)


@pytest.mark.req("GATE-11")
def test_the_store_refuses_it_from_the_moment_of_its_end(scene, daemon):
    ident, refused = daemon.coord.start(OWN_LOOP).id, []
    context = daemon.coord._speaking_as(ident)
    context.commit(Change("while it is in the seat", lambda tx: tx.note(fine=True)))

    def write_late() -> None:
        assert holder(scene) == ident, "its seat is not empty yet"
        with pytest.raises(Superseded) as caught:
            context.commit(Change("too late", lambda tx: tx.note(late=True)))
        refused.append(caught.value)

    scene.fleet.funnel.watcher = At("publish dispatches/archive", write_late)
    scene.fleet.coord.stop(PROJECT, "enough")
    assert len(refused) == 1


@pytest.mark.req("GATE-11")
def test_a_dispatch_of_it_that_is_under_way_when_it_ends_is_refused_and_settled(scene, daemon, ready):
    ident = daemon.coord.start(OWN_LOOP).id

    def end_it_and_fail() -> None:
        scene.fleet.coord.stop(PROJECT, "enough")
        raise OSError(errno.ENOSPC, "no space left on device")

    daemon.funnel.watcher = At("publish inbox", end_it_and_fail)
    with pytest.raises(Superseded):
        daemon.coord.tick_held(PROJECT, ident)
    (left,) = scene.fleet.agents.list()
    assert (left.task, left.state) == ("work", "starting"), "its spawner, the daemon, lives"
    again = daemon.coord.start(OWN_LOOP).id
    daemon.coord.tick_held(PROJECT, again)
    assert scene.fleet.dispatches.show(left.id).exec_state == "failed", "no thread of the daemon starts it any more"


@pytest.mark.req("GATE-6")
def test_a_dispatch_that_a_thread_of_the_daemon_is_starting_is_left_alone(scene, daemon):
    other, seen = start_other_thread(scene, daemon), []

    def kill_early() -> None:
        (agent,) = other.agents.list()
        seen.append(other.dispatches.kill(agent.id, reason="early"))

    daemon.funnel.watcher = At("publish inbox", kill_early)
    scene.fleet.tasks.add(project=PROJECT, title="work", slug="work", engine="shell")
    daemon.dispatches.start(Wanted(project=PROJECT, slug="work", engine="shell", command=("sleep", "1000")))
    (ended,) = seen
    assert (ended.settled, ended.why) == (False, f"process {scene.process_of(daemon).pid} is starting it")


def start_other_thread(scene, daemon):
    """Return a fleet of another thread of the same daemon."""
    fleet = scene.open("fleet-daemon", process=scene.process_of(daemon))
    fleet.daemon = fleet.world.daemon = daemon.daemon
    return fleet


@pytest.mark.req("GATE-6", "GATE-7", "IPC-6")
def test_the_next_daemon_takes_the_seat_of_a_dead_one_anew_and_ends_no_agent(scene, daemon, die):
    first = daemon.coord.start(OWN_LOOP).id
    agent = scene.work("a")
    epoch = scene.fleet.coord.show(PROJECT).epoch
    die(daemon)
    second = start_daemon(scene)
    assert scene.fleet.coord.show(PROJECT).state == "dead"
    assert second.coord.lost() == {PROJECT: first}
    new = second.coord.start(OWN_LOOP, after=first).id
    assert (second.coord.held(), second.coord.lost()) == ({PROJECT: new}, {})
    assert scene.fleet.coord.show(PROJECT).epoch == epoch + 1
    assert scene.fleet.dispatches.show(first).exec_state == "blocked"
    second.coord.tick_held(PROJECT, new)
    assert not scene.agent(agent).is_zombie
    assert [each.id for each in scene.fleet.agents.list() if each.kind != "coord"] == [agent]


@pytest.mark.req("GATE-7")
def test_a_daemon_whose_life_is_unknown_vetoes_and_is_not_dismissed(scene, daemon):
    ident = daemon.coord.start(OWN_LOOP).id
    scene.process_of(daemon).is_hidden = True
    with pytest.raises(CoordinatorLives, match="unknown"):
        scene.fleet.coord.start(OWN_LOOP)
    assert not scene.fleet.coord.stop(PROJECT, "enough").stopped
    assert holder(scene) == ident


@pytest.mark.req("REP-9", "REP-6", "GATE-11")
@pytest.mark.parametrize("by", ["tick", "sweep"])
def test_replace_by_an_agent_dismisses_the_duty_and_signals_nobody(scene, daemon, by):
    old = daemon.coord.start(OWN_LOOP).id
    context = scene.fleet.context
    new = start_candidate(context, Wanted(**{**vars_of(AGENT), "proof": 300})).id
    scene.launch(new)
    assert daemon.coord.tick_held(PROJECT, old).holder == old, "it works until the other has proven itself"
    nonce = scene.agent(new).environment["FLEET_REPLACE_NONCE"]
    prove(context.store, scene.home, project=PROJECT, ident=new, nonce=nonce, clock=scene.clock, ids=context.world.ids)
    with pytest.raises(Superseded):
        daemon.coord.tick_held(PROJECT, old)
    if by == "tick":
        with scene.speaking(new) as fleet:
            assert any(old in line for line in fleet.coord.tick(PROJECT).done)
    else:
        assert [each.action for each in scene.fleet.sweep.run(kill=True) if old in each.what]
    assert scene.fleet.dispatches.show(old).exec_state == "done"
    assert (holder(scene), lives(scene, daemon)) == (new, True)


def vars_of(wanted: Wanted) -> dict[str, object]:
    return {name: getattr(wanted, name) for name in ("project", "slug", "kind", "engine", "command")}


@pytest.mark.req("REP-3", "REP-4", "REP-6", "REP-9")
def test_the_daemon_replaces_an_agent_with_a_proof_of_its_own(scene, daemon):
    old = scene.fleet.coord.start(AGENT).id
    scene.launch(old)
    epoch = scene.fleet.coord.show(PROJECT).epoch
    new = daemon.coord.replace(OWN_LOOP)
    assert (new.replaces, new.epoch, holder(scene)) == (old, epoch + 1, new.id)
    nonce = scene.fleet.store.read(lambda rows: q.nonce_of(rows, dispatch=new.id))
    assert nonce.spent_at is not None
    daemon.coord.tick_held(PROJECT, new.id)
    assert scene.fleet.dispatches.show(old).asked_for == "replaced", "the tick of the new one asks the old one to exit"


@pytest.mark.req("REP-9")
def test_a_duty_is_never_pressed_whatever_it_was_asked_for():
    for place, wanted in (("out", "replaced"), ("withdrawn", "kill")):
        for asked_for in (None, "kill", "replaced"):
            seen = Seen(condition="alive", kind="coord", place=place, asked_for=asked_for, exit_grace_over=True)
            pressed, dismissed = decide(seen), decide(Seen(**{**fields(seen), "is_daemon_duty": True}))
            assert isinstance(pressed, Press)
            assert dismissed == Dismiss(asked_for=pressed.asked_for, reason=pressed.reason, act=pressed.act)
            assert (pressed.asked_for, pressed.act) == (wanted, "retire")


def fields(seen: Seen) -> dict[str, object]:
    return {name: getattr(seen, name) for name in Seen.__dataclass_fields__}


@pytest.mark.req("EXC-7", "SWEEP-12")
@pytest.mark.parametrize("way", ["kill", "sweep"])
def test_a_daemon_that_bears_the_mark_of_an_agent_is_not_killed_with_it(scene, way):
    agent = scene.work("a")
    marked = scene.machine.table.spawn(scene.agent(agent).pid, ["fleet"], cwd=scene.home, leads_session=True)
    daemon = scene.open(None, process=marked)
    daemon.world.daemon_gate().take()
    child = scene.machine.table.spawn(scene.agent(agent).pid, ["sleep"], cwd=scene.home)
    assert marked.environment["FLEET_DISPATCH_ID"] == agent
    if way == "kill":
        assert scene.fleet.dispatches.kill(agent, reason="enough").settled
    else:
        scene.exit(agent)
        scene.fleet.sweep.run(kill=True)
    assert (child.is_zombie, marked.is_zombie) == (True, False)
    assert scene.fleet.dispatches.show(agent).exec_state not in {"pending", "in_flight"}


@pytest.mark.req("RES-7")
def test_a_forced_resume_does_not_stop_the_daemon_that_holds_the_lock(scene, daemon):
    agent = scene.work("a")
    scene.machine.table.signal(scene.agent(agent), 9)
    scene.fleet.sessions.settle(agent)
    with daemon.world.work_gate(f"work-{PROJECT}/a", "a"), pytest.raises(ForceRefused, match="daemon"):
        scene.fleet.dispatches.resume(agent, force=True)
    assert lives(scene, daemon)


@pytest.mark.req("GATE-12")
def test_no_silence_of_the_daemon_ever_proves_it_dead(scene, daemon):
    ident = daemon.coord.start(OWN_LOOP).id
    scene.clock.wait(365 * 24 * 3600.0)
    row = scene.fleet.context.dispatch(ident)
    assert gather_facts(scene.fleet.context, row, "sweep").condition == "alive"
    assert acted(scene.fleet.sweep.run(kill=True)) == []
    assert holder(scene) == ident


@pytest.mark.req("TUI-1")
def test_the_timeline_shows_a_seat_of_the_daemon_also_when_its_dispatch_is_archived(scene, daemon):
    ident, since = daemon.coord.start(OWN_LOOP).id, scene.clock.now()
    scene.clock.wait(MINUTE / SECOND)
    assert scene.fleet.coord.stop(PROJECT, "enough").stopped
    scene.fleet.sweep.run(kill=True)
    assert scene.fleet.dispatches.show(ident).archived
    (span,) = scene.fleet.views.timeline(since=since)
    assert (span.dispatch, span.project, span.slug) == (ident, PROJECT, None)
    assert since_epoch(span.ended_at) - since_epoch(span.started_at) == MINUTE

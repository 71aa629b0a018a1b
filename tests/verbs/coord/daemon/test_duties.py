"""Each duty of the daemon, one round at a time, in a simulated world."""

import threading

import pytest

from fleet import errors
from fleet.errors.families import StoreError
from fleet.model.text.times import DAY, SECOND
from fleet.surfaces.daemon.duties.boot import ResumeOnBoot
from fleet.surfaces.daemon.duties.coordinators import Coordinators
from fleet.surfaces.daemon.duties.deaths import Deaths
from fleet.surfaces.daemon.duties.duty import DutyOver, NotNow
from fleet.surfaces.daemon.duties.sweeping import Sweeping
from fleet.surfaces.daemon.duties.ticks import Ticks
from fleet.surfaces.daemon.duties.unattended import Unattended
from fleet.surfaces.daemon.duties.upkeep import Upkeep
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.resume import resume_all
from fleet.world.home import paths

from .conftest import OWN_LOOP, set_up, start_daemon

AGENT = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


def coordinators(found: dict[str, str]) -> Coordinators:
    after = threading.Event()
    after.set()
    return Coordinators(found.update, after)


# the seats ------------------------------------------------------------------------------------------------------------
@pytest.mark.req("GATE-6", "IPC-6")
def test_a_new_daemon_takes_every_seat_of_the_old_one_anew_and_ticks_for_it(scene, daemon, die):
    first = daemon.coord.start(OWN_LOOP).id
    die(daemon)
    second, found = start_daemon(scene), {}
    (line,) = coordinators(found).run(second)
    assert f"anew as {found[PROJECT]}" in line
    assert found[PROJECT] != first
    assert coordinators({}).run(second) == [], "once"
    assert Ticks(PROJECT, found[PROJECT]).run(second) == []


@pytest.mark.req("GATE-6", "IPC-6")
def test_a_daemon_that_is_still_ending_keeps_the_next_one_looking_until_its_seat_can_be_taken(scene, daemon, die):
    first = daemon.coord.start(OWN_LOOP).id
    assert daemon.coord.unheld() == {}
    daemon.held_gate.give()
    second, found = start_daemon(scene), {}
    duty = coordinators(found)
    assert (duty.run(second), second.coord.unheld()) == ([], {PROJECT: first})
    assert duty.every == 1.0
    assert (duty.run(second), duty.every) == ([], 2.0), "later and later"
    die(daemon)
    (line,) = duty.run(second)
    assert (second.coord.unheld(), list(found), duty.every) == ({}, [PROJECT], 60.0), line


@pytest.mark.req("EXC-4", "IPC-6")
def test_a_new_daemon_does_not_take_up_what_was_stopped_or_killed(scene, daemon, die):
    daemon.coord.start(OWN_LOOP)
    scene.fleet.coord.stop(PROJECT, "enough")
    killed = daemon.coord.start(OWN_LOOP).id
    scene.fleet.dispatches.kill(killed, reason="enough")
    die(daemon)
    found: dict[str, str] = {}
    assert coordinators(found).run(start_daemon(scene)) == []
    assert found == {}


@pytest.mark.req("GATE-6")
def test_a_seat_that_somebody_else_is_starting_is_tried_again_and_said_once(scene, daemon, die):
    daemon.coord.start(OWN_LOOP)
    die(daemon)
    second, found = start_daemon(scene), {}
    duty = coordinators(found)
    with scene.fleet.world.project_gate(PROJECT, "coord-spawn"):
        (line,) = duty.run(second)
        assert "another coord-spawn is in progress" in line
        assert duty.run(second) == []
        assert PROJECT in (duty.remark() or "")
    assert duty.run(second) != []
    assert (duty.remark(), len(found)) == (None, 1)


@pytest.mark.req("GATE-11")
def test_ticks_are_over_when_the_coordinator_has_lost_its_seat(scene, daemon, ready):
    ident = daemon.coord.start(OWN_LOOP).id
    duty = Ticks(PROJECT, ident)
    (line,) = duty.run(daemon)
    assert "started" in line
    assert line in scene.fleet.agents.screen(ident), "fleet peek shows it"
    scene.fleet.coord.stop(PROJECT, "enough")
    with pytest.raises(DutyOver):
        duty.run(daemon)


@pytest.mark.req("GATE-13")
def test_a_tick_waits_for_no_other_one(scene, daemon):
    ident = daemon.coord.start(OWN_LOOP).id
    with scene.fleet.world.project_gate(PROJECT, "coordinator"), pytest.raises(errors.TickInProgress):
        Ticks(PROJECT, ident).run(daemon)


@pytest.mark.req("REP-8")
def test_a_message_to_a_coordinator_without_a_screen_is_in_its_log_once(scene, daemon):
    ident = daemon.coord.start(OWN_LOOP).id
    scene.fleet.messages.send("hurry", agent=ident)
    duty = Ticks(PROJECT, ident)
    duty.run(daemon)
    duty.run(daemon)
    assert scene.fleet.agents.screen(ident).count("hurry") == 1


def test_a_project_with_nothing_to_do_is_ticked_less_often(scene, daemon, ready):
    ident = daemon.coord.start(OWN_LOOP).id
    scene.fleet.tasks.pause(project=PROJECT, slug=ready, paused=True)
    duty = Ticks(PROJECT, ident)
    duty.run(daemon)
    assert duty.every == 60.0
    scene.fleet.tasks.pause(project=PROJECT, slug=ready, paused=False)
    duty.run(daemon)
    assert duty.every == 10.0


# deaths ---------------------------------------------------------------------------------------------------------------
@pytest.mark.req("EXC-2")
def test_an_agent_that_has_died_is_settled_without_a_process_for_it(scene, daemon):
    ident, other = scene.work("a"), scene.work("b")
    duty = Deaths(scene.clock)
    assert (duty.run(daemon), duty.every) == ([], 1.0)
    scene.exit(ident, 3)
    assert duty.run(daemon) == [f"{ident} has ended: failed"]
    assert not scene.agent(other).is_zombie
    scene.exit(other)
    duty.run(daemon)
    assert (scene.fleet.agents.list(), duty.every) == ([], None), (
        "nobody runs: nothing is looked at until something changes"
    )


@pytest.mark.req("EXC-2", "EXC-7")
def test_an_agent_whose_life_is_unknown_is_not_settled(scene, daemon):
    ident = scene.work("a")
    scene.agent(ident).is_hidden = True
    assert Deaths(scene.clock).run(daemon) == []
    assert scene.fleet.context.dispatch(ident).exec_state == "in_flight"


@pytest.mark.req("EXC-2")
def test_a_session_that_dies_before_its_launch_is_settled(scene, daemon):
    ident = scene.dispatch("a")
    scene.machine.table.exit(scene.process_of(scene.fleet))
    scene.machine.table.exit(scene.pane(ident).process, 1)
    assert Deaths(scene.clock).run(daemon) == [f"{ident} has ended: failed"]


def test_the_end_of_an_item_is_left_to_the_living_runner_of_its_job_for_a_while(scene, daemon):
    scene.fleet.tasks.add(project=PROJECT, title="a", slug="a")
    ident = scene.fleet.dispatches.start(Wanted(project=PROJECT, slug="a", engine="job")).id
    scene.launch(ident)
    scene.exit(ident, 1)
    duty = Deaths(scene.clock)
    assert (duty.run(daemon), duty.every) == ([], 1.0)
    assert scene.fleet.context.dispatch(ident).exec_state == "in_flight"
    scene.clock.wait(2.0)
    assert duty.run(daemon) == [f"{ident} has ended: failed"], "the runner has not done it"


def test_the_end_of_an_item_whose_runner_has_died_is_settled_at_once(scene, daemon):
    scene.fleet.tasks.add(project=PROJECT, title="a", slug="a")
    ident = scene.fleet.dispatches.start(Wanted(project=PROJECT, slug="a", engine="job")).id
    scene.launch(ident)
    scene.exit(ident, 1)
    scene.machine.table.exit(scene.process_of(scene.fleet))
    assert Deaths(scene.clock).run(daemon) == [f"{ident} has ended: failed"]


def test_an_agent_that_left_processes_is_tried_again_later_and_later(scene, daemon):
    ident = scene.work("a")
    left = scene.machine.table.spawn(scene.agent(ident).pid, ["sleep"], cwd="/", leads_session=True)
    scene.exit(ident)
    duty = Deaths(scene.clock)
    (line,) = duty.run(daemon)
    assert "it left processes behind" in line
    assert duty.run(daemon) == []
    scene.machine.table.exit(left)
    assert duty.run(daemon) == [], "not yet"
    scene.clock.wait(1.0)
    assert duty.run(daemon) == [f"{ident} has ended: blocked"]


# agents without a coordinator -----------------------------------------------------------------------------------------
def test_messages_reach_agents_without_a_coordinator_and_nobody_is_started(scene, daemon, ready):
    ident, duty = scene.work("a"), Unattended()
    assert daemon.agents.unattended() == [PROJECT]
    duty.run(daemon)
    assert duty.every == 10.0
    assert [each.id for each in scene.fleet.agents.list()] == [ident], "the ready task waits for a coordinator"
    coordinator = scene.fleet.coord.start(AGENT).id
    assert daemon.agents.unattended() == []
    duty.run(daemon)
    assert (duty.every, coordinator) == (None, scene.fleet.coord.show(PROJECT).holder)


def test_a_project_whose_agents_cannot_be_looked_after_is_named_and_the_others_are(
    scene, daemon, monkeypatch, tmp_path
):
    scene.work("a")
    scene.git("clone", "--quiet", scene.repository, str(tmp_path / "other"))
    scene.fleet.projects.register(str(tmp_path / "other"), "zoo")
    scene.fleet.tasks.add(project="zoo", title="b", slug="b")
    scene.fleet.dispatches.start(Wanted(project="zoo", slug="b", engine="shell", command=("sleep", "1000")))
    looked_after = []

    def look_after(_agents, project: str) -> list[str]:
        if project == PROJECT:
            raise errors.Refused(what="not now")
        looked_after.append(project)
        return []

    monkeypatch.setattr(type(daemon.agents), "look_after", look_after)
    with pytest.raises(errors.FleetError, match=r"^p: not now$"):
        Unattended().run(daemon)
    assert looked_after == ["zoo"]


# sweep ----------------------------------------------------------------------------------------------------------------
@pytest.mark.req("SWEEP-2")
@pytest.mark.parametrize("setting", ["report", "act"])
def test_the_sweep_of_the_daemon_acts_only_where_the_setting_says_so(scene, daemon, setting):
    set_up(scene, f'daemon_sweep = "{setting}"\n')
    ident = scene.work("a")
    scene.exit(ident, 3)
    duty = Sweeping()
    assert any(ident in line for line in duty.run(daemon))
    ended = scene.fleet.dispatches.show(ident).exec_state == "failed"
    assert ended == (setting == "act")
    assert (duty.remark() is None) == ended
    assert duty.run(daemon) == [], "said once"


@pytest.mark.req("SWEEP-10")
@pytest.mark.parametrize("setting", ["report", "act"])
def test_a_store_that_cannot_be_read_ends_and_releases_nothing(scene, daemon, monkeypatch, setting):
    set_up(scene, f'daemon_sweep = "{setting}"\n')
    held = daemon.coord.start(OWN_LOOP).id
    agents = [scene.work("a"), scene.work("b")]
    before = sorted(scene.git("worktree", "list").splitlines())

    def fail(_work):
        raise StoreError(what="the database does not answer")

    with monkeypatch.context() as broken:
        broken.setattr(daemon.store, "read", fail)
        for duty in (Sweeping(), coordinators({}), Deaths(scene.clock), Unattended(), Ticks(PROJECT, held), Upkeep()):
            with pytest.raises(StoreError):
                duty.run(daemon)
    assert [scene.agent(ident).is_zombie for ident in agents] == [False, False]
    assert sorted(scene.git("worktree", "list").splitlines()) == before
    assert scene.fleet.coord.show(PROJECT).holder == held
    assert Ticks(PROJECT, held).run(daemon) == [], "it goes on when the store answers again"


# upkeep ---------------------------------------------------------------------------------------------------------------
def test_old_records_are_removed_at_most_once_a_day_across_restarts(scene, daemon):
    set_up(scene, 'keep_operations = "1d"\n')
    duty = Upkeep()
    duty.run(daemon)
    scene.fleet.tasks.add(project=PROJECT, title="a", slug="a")
    scene.clock.wait(DAY / SECOND / 2)
    again = Upkeep()
    assert again.run(daemon) == []
    assert 0 < again.every <= DAY / SECOND / 2, "the rest of the day"
    scene.clock.wait(DAY / SECOND)
    scene.fleet.tasks.add(project=PROJECT, title="b", slug="b")
    (line,) = Upkeep().run(daemon)
    assert line.startswith("archived ")


# after a reboot -------------------------------------------------------------------------------------------------------
def reboot(scene) -> tuple[ResumeOnBoot, object]:
    scene.reboot()
    scene.clock.wait(3600)  # or a process of this boot would have the pid and the start of one before
    return ResumeOnBoot(threading.Event()), start_daemon(scene)


@pytest.mark.req("RES-12")
def test_what_a_reboot_interrupted_is_resumed_by_the_daemon_if_the_setting_says_so_and_once_a_boot(scene):
    set_up(scene, "resume_on_boot = true\n")
    lost = scene.work("a")
    duty, daemon = reboot(scene)
    (line,) = duty.run(daemon)
    (agent,) = scene.fleet.agents.list()
    assert line == f"resumed {lost} as {agent.id}"
    scene.launch(agent.id)
    for again in (duty, ResumeOnBoot(threading.Event())):
        with pytest.raises(DutyOver, match="resumed before"):
            again.run(daemon)
    scene.machine.table.signal(scene.server.process, 9)  # and with it the agent: it was interrupted again
    with pytest.raises(DutyOver):
        ResumeOnBoot(threading.Event()).run(daemon)
    assert scene.fleet.agents.list()[0].id == agent.id, "what was lost since is a person's to resume"


@pytest.mark.req("RES-12")
def test_by_default_the_person_resumes_and_the_ticks_neither_retry_nor_discard(scene):
    first = start_daemon(scene)
    first.coord.start(OWN_LOOP)
    lost = scene.work("a")
    first.held_gate.forget()
    duty, daemon = reboot(scene)
    with pytest.raises(DutyOver, match="fleet resume --all"):
        duty.run(daemon)
    found: dict[str, str] = {}
    coordinators(found).run(daemon)
    for _ in range(3):
        Ticks(PROJECT, found[PROJECT]).run(daemon)
    task = scene.fleet.tasks.show(project=PROJECT, slug="a")
    assert (task.status, task.assignee) == ("blocked", lost)
    assert [each.id for each in scene.fleet.dispatches.resumable()] == [lost]


@pytest.mark.req("RES-12")
def test_what_does_not_fit_into_the_limits_is_resumed_when_there_is_room(scene):
    set_up(scene, "resume_on_boot = true\n")
    lost = [scene.work("a"), scene.work("b")]
    set_up(scene, "resume_on_boot = true\n[limits]\nagents = 1\n")
    duty, daemon = reboot(scene)
    lines = duty.run(daemon)
    assert sorted(line.split()[0] for line in lines) == sorted(
        ["resumed", next(i for i in lost if i in (duty.remark() or ""))]
    )
    assert "too many agents at work" in (duty.remark() or "")
    (agent,) = scene.fleet.agents.list()
    scene.launch(agent.id)
    scene.exit(agent.id, 1)
    scene.fleet.sessions.settle(agent.id)
    assert [line.split()[0] for line in duty.run(daemon)] == ["resumed"]
    assert duty.remark() is None


@pytest.mark.req("RES-12")
def test_what_is_interrupted_after_the_boot_is_left_to_a_person_although_more_waits(scene):
    set_up(scene, "resume_on_boot = true\n")
    for slug in ("a", "b"):
        scene.work(slug)
    set_up(scene, "resume_on_boot = true\n[limits]\nagents = 1\n")
    duty, daemon = reboot(scene)
    duty.run(daemon)
    (first,) = scene.fleet.agents.list()
    scene.launch(first.id)
    scene.machine.table.signal(scene.server.process, 9)
    set_up(scene, "resume_on_boot = true\n")
    duty.run(daemon)
    (second,) = scene.fleet.agents.list()
    assert {first.task, second.task} == {"a", "b"}
    assert first.id in {each.id for each in scene.fleet.dispatches.resumable()}


@pytest.mark.req("RES-12")
def test_a_daemon_that_dies_in_the_middle_leaves_the_rest_to_the_next_one(scene, monkeypatch):
    set_up(scene, "resume_on_boot = true\n")
    lost = {scene.work("a"), scene.work("b")}
    duty, daemon = reboot(scene)
    real = resume_all.resume
    tries: list[str] = []

    def once(context, ident, **given):
        tries.append(ident)
        if len(tries) == 2:
            raise KeyboardInterrupt
        return real(context, ident, **given)

    with monkeypatch.context() as dying:
        dying.setattr(resume_all, "resume", once)
        with pytest.raises(KeyboardInterrupt):
            duty.run(daemon)
    (line,) = ResumeOnBoot(threading.Event()).run(daemon)
    assert {tries[0], line.split()[1]} == lost, "each once"


@pytest.mark.req("RES-12")
def test_no_coordinator_ticks_before_what_was_interrupted_is_resumed(scene, daemon):
    has_run = threading.Event()
    with pytest.raises(NotNow):
        Coordinators({}.update, has_run).run(daemon)
    with pytest.raises(DutyOver):
        ResumeOnBoot(has_run).run(daemon)
    assert Coordinators({}.update, has_run).run(daemon) == []
    assert not scene.fleet.files.names(paths.LOCKS).count("resumed-boot")

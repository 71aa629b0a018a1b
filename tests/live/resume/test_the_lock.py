"""The lock of a piece of work: the kernel's. A dead holder's is free at once, a living one's is never taken."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from staging.stage import answer, is_alive

from fleet.errors.contested import GateHeld, ResumeInProgress
from fleet.errors.refused import ForceRefused
from fleet.testing.crash.scenarios import until
from fleet.verbs.resume import work_lock
from fleet.verbs.views.operations import OperationFilter
from fleet.world.funnel import Funnel
from fleet.world.world import World

PROGRAM = str(Path(__file__).with_name("holding.py"))
ROOT = str(Path(__file__).parents[3])
STORM = str(Path(__file__).with_name("storm.py"))
CONFINED = str(Path(__file__).parents[2] / "cli" / "confined.py")
RACERS = 16
SLEEP = ("sleep", "1000")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


class Hall:
    """A home with one gate, and processes that hold it."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.world = World(self.home, Funnel())
        self.gate = self.world.work_gate("work-p/t", "t")
        self.recorded: list[str] = []
        self.context = SimpleNamespace(world=self.world, commit=lambda change: self.recorded.append(change.why))
        self._children: list[subprocess.Popen[str]] = []
        self._orphans: list[int] = []

    def start(self, how: str, slug: str = "t") -> "subprocess.Popen[str]":
        words = [sys.executable, PROGRAM, self.home, "p", slug, how]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen(words, text=True, **pipes)
        self._children.append(child)
        return child

    def held(self, how: str = "plain", slug: str = "t") -> "tuple[subprocess.Popen[str], int]":
        """A process that holds the gate, and the pid that it tells: its own, or its child's."""
        child = self.start(how, slug)
        told = int(child.stdout.readline().split()[1])
        if told != child.pid:
            self._orphans.append(told)
        return child, told

    def write(self, **facts: object) -> None:
        """Change what the lock file says, under the holder's hands."""
        path = Path(self.gate.path)
        path.write_text(json.dumps(json.loads(path.read_text()) | facts))

    def to_resume(self, *, force: bool = False):
        return work_lock.lock_work_to_resume(self.context, self.gate, "t", force=force)

    def close(self) -> None:
        for pid in self._orphans:
            os.kill(pid, signal.SIGKILL)
        for child in self._children:
            with child:
                child.kill()


@pytest.fixture
def hall():
    with tempfile.TemporaryDirectory(prefix="fleet-hall-") as folder:  # where other users may look too
        made = Hall(Path(folder))
        yield made
        made.close()


def ended(child: "subprocess.Popen[str]", number: int = signal.SIGKILL) -> None:
    child.send_signal(number)
    child.wait(60)


@pytest.mark.req("RES-2")
def test_the_lock_file_says_who_holds_it(hall):
    child, pid = hall.held()
    said = json.loads(Path(hall.gate.path).read_text())
    who = hall.world.processes.identify(pid)
    assert said.pop("since").endswith("Z")
    assert said == {
        "id": "t",
        "pid": child.pid,
        "host": hall.world.host.name,
        "host_id": hall.world.host.id,
        "boot": hall.world.host.boot,
        "start": who.start,
    }


@pytest.mark.req("RES-2")
def test_a_second_resume_is_refused_in_three_lines(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", *SLEEP)
        scene.launched(fleet, ident)
        fleet.dispatches.stop(ident)
        gate = work_lock.gate_of_task(fleet.context, "p", "t", ident)
        with gate:
            since = gate.holder().since
            said = scene.program("resume", ident)
            spoken = scene.program("resume", ident, "--json")
            assert scene.program("resume", "t").code == 12, "another name of the same work"
            assert scene.program("resume", f"fleet-{ident}").code == 12
        host = fleet.world.host.name
    acquired = f"{since[:10]} {since[11:19]} UTC"
    assert said.code == 12
    assert said.err.splitlines() == [
        f"fleet: resume already in progress for {ident}",
        f"lock held by: PID {os.getpid()} on {host} (acquired {acquired})",
        "wait for it to finish, or use --force to stop it",
    ]
    error = json.loads(spoken.out)["error"]
    assert (error["code"], error["name"], error["id"]) == (12, "ResumeInProgress", ident)


@pytest.mark.req("RES-1")
def test_a_dispatch_of_the_same_task_takes_the_same_lock(either):
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        child = either.halted("before", "tmux new-session", "dispatch", "t")
        with pytest.raises(ResumeInProgress, match="t"):
            fleet.dispatches.resume("t")
        assert work_lock.gate_of_task(fleet.context, "p", "t").holder().pid == child.pid
        os.kill(child.pid, signal.SIGCONT)
        assert answer(child).code == 0
        assert len(fleet.agents.list()) == 1


@pytest.mark.req("RES-1")
def test_works_whose_names_run_together_have_locks_of_their_own(hall):
    """p-a/b and p/a-b."""
    one = hall.world.work_gate("work-p-a/b", "b")
    other = hall.world.work_gate("work-p/a-b", "a-b")
    with one, other:
        assert one.path != other.path


@pytest.mark.req("RES-3", "RES-5")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=str)
def test_a_dead_holders_lock_is_free_at_once(hall, number):
    child, _ = hall.held()
    with pytest.raises(ResumeInProgress):
        hall.to_resume()
    ended(child, number)
    hall.to_resume()
    hall.gate.give()


@pytest.mark.req("RES-5")
@pytest.mark.parametrize("how", ["plain", "raise"])
def test_the_lock_is_free_after_success_and_after_an_exception(hall, how):
    child, _ = hall.held(how)
    child.stdin.close()
    child.wait(60)
    assert (child.returncode == 0) == (how == "plain")
    hall.to_resume()
    hall.gate.give()
    assert Path(hall.gate.path).read_text() == ""


@pytest.mark.req("RES-5")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=str)
def test_a_resume_that_is_interrupted_lets_go_and_can_be_repeated(scene, number):
    with scene.fleet() as fleet:
        old = scene.dispatch(fleet, "t", *SLEEP)
        scene.launched(fleet, old)
        fleet.dispatches.stop(old)
        child = scene.halted("before", "tmux new-session", "resume", old)
        with pytest.raises(ResumeInProgress):
            fleet.dispatches.resume(old)
        child.send_signal(number)
        os.kill(child.pid, signal.SIGCONT)
        child.wait(60)
        assert child.returncode != 0
        new = fleet.dispatches.resume(old).id
        scene.launched(fleet, new)
        assert [agent.id for agent in fleet.agents.list()] == [new]


@pytest.mark.req("RES-3")
def test_a_living_holders_lock_is_never_taken_whatever_its_file_says(hall):
    child, _ = hall.held()
    gone = subprocess.Popen(["true"])
    gone.wait()
    for facts in (
        {"since": "1970-01-01T00:00:00.000Z"},
        {"pid": gone.pid},
        {"pid": 1},
        {"boot": "another"},
        {"start": "1"},
    ):
        hall.write(**facts)
        with pytest.raises(ResumeInProgress):
            hall.to_resume()
    for text in ("", "garbage", "{}", "\0" * 50):
        Path(hall.gate.path).write_text(text)
        with pytest.raises(ResumeInProgress):
            hall.to_resume()
    assert is_alive(child.pid)


@pytest.mark.req("RES-3")
def test_a_reused_pid_does_not_keep_a_dead_holders_lock(hall):
    child, _ = hall.held()
    ended(child)
    hall.write(pid=os.getpid())  # as if the number had been given out again
    hall.to_resume()
    hall.gate.give()


@pytest.mark.req("RES-3", "RES-5")
@pytest.mark.parametrize("how", ["fork", "exec"])
def test_neither_a_forked_child_nor_an_inherited_descriptor_keeps_the_lock(hall, how):
    child, grandchild = hall.held(how)
    ended(child)
    hall.gate.take(wait=60)  # a forked child lets go as soon as it runs
    assert is_alive(grandchild)
    hall.gate.give()


@pytest.mark.req("RES-4")
def test_of_sixteen_racers_for_a_dead_holders_lock_exactly_one_wins(hall):
    child, _ = hall.held()
    ended(child)
    racers = [hall.start("race") for _ in range(RACERS)]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * RACERS
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.stdout.readline().strip() for racer in racers]  # the winner holds on until all have said
    assert sorted(said) == ["refused"] * (RACERS - 1) + ["won"]


@pytest.mark.req("RES-4", "RES-7")
def test_of_sixteen_resumes_at_once_one_makes_a_successor(either):
    with either.fleet() as fleet:
        old = either.dispatch(fleet, "t", *SLEEP)
        either.launched(fleet, old)
        fleet.dispatches.stop(old)
        program = fleet.world.fleet_program
        said = [answer(child) for child in [either.start(program, "resume", old) for _ in range(RACERS)]]
        assert [each.code for each in said].count(0) == 1, said
        assert {each.code for each in said} <= {0, 12, 14}, said  # late ones find it alive
        assert len(fleet.agents.list()) == 1
        journals = [each.id for each in fleet.dispatches.list()]
        assert len(set(journals) - {old}) == 1


@pytest.mark.req("RES-3", "RES-4")
def test_in_a_storm_with_every_other_holder_killed_no_two_hold_the_lock():
    done = storm("400", "gate")
    assert done["overlaps"] == 0
    assert done["entered"] >= 400
    assert done["killed"] > 100


@pytest.mark.req("RES-3", "RES-4")
def test_the_same_storm_catches_a_lock_made_of_an_exclusive_file_and_a_pid():
    assert storm("20000", "exclusive_file")["overlaps"] > 0


def storm(*words: str) -> dict[str, int]:
    done = subprocess.run([sys.executable, STORM, *words], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


# force ------------------------------------------------------------------------------------------------------------------
@pytest.mark.req("RES-7")
@pytest.mark.parametrize(("how", "status"), [("plain", -signal.SIGTERM), ("stubborn", -signal.SIGKILL)])
def test_force_asks_the_holder_then_kills_it_and_says_so(hall, how, status):
    child, _ = hall.held(how)
    stopped = hall.to_resume(force=True)
    assert child.wait(60) == status
    assert stopped.pid == child.pid
    assert hall.recorded == [f"resume t by force: stop process {child.pid}"]
    with pytest.raises(GateHeld):
        hall.world.work_gate("work-p/t", "t").take()
    hall.gate.give()


@pytest.mark.req("RES-7")
def test_force_with_nobody_there_is_a_plain_resume(hall):
    assert hall.to_resume(force=True) is None
    assert hall.recorded == []
    hall.gate.give()


@pytest.mark.req("RES-7", "RES-8")
@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"host_id": "another", "host": "moon"}, "another host, moon"),
        ({"start": "12345"}, "dead"),
        ({"boot": "another"}, "unknown"),
        ({"pid": 1}, "dead"),
        ({"start": ""}, "does not say who"),
        ({"id": "letting go of p/t"}, "letting its worktree go"),
    ],
)
def test_force_refuses_whoever_is_not_proven_to_be_the_holder(hall, facts, why):
    child, _ = hall.held()
    hall.write(**facts)
    with pytest.raises(ForceRefused, match=why) as caught:
        hall.to_resume(force=True)
    assert caught.value.code == 14
    assert is_alive(child.pid)
    assert hall.recorded == []


@pytest.mark.req("RES-7")
def test_force_refuses_a_process_that_does_not_have_the_lock_file_open(hall):
    """The file names a living process, exactly; but another one holds the lock."""
    child, _ = hall.held()
    bystander, pid = hall.held(slug="other")
    who = hall.world.processes.identify(pid)
    hall.write(pid=pid, start=who.start)
    with pytest.raises(ForceRefused, match="not seen to hold"):
        hall.to_resume(force=True)
    assert is_alive(child.pid)
    assert is_alive(bystander.pid)


@pytest.mark.req("RES-7")
def test_force_never_stops_the_process_that_asks(hall):
    with hall.world.work_gate("work-p/t", "t"), pytest.raises(ForceRefused, match="this very process"):
        hall.to_resume(force=True)


@pytest.mark.req("RES-7", "RES-13")
def test_force_is_refused_where_the_system_does_not_tell_who_has_a_file_open(hall, monkeypatch):
    child, _ = hall.held()
    monkeypatch.setattr("fleet.world.process.ps.holders", lambda _path: None)
    with pytest.raises(ForceRefused, match="not seen to hold"):
        hall.to_resume(force=True)
    assert is_alive(child.pid)


@pytest.mark.req("RES-7")
def test_force_gives_up_after_ten_seconds_when_the_holder_will_not_die(hall, monkeypatch):
    child, _ = hall.held()
    monkeypatch.setattr(hall.world.processes, "_signal", lambda _who, _number: False)
    monkeypatch.setattr(hall.world.processes, "gone_within", lambda whom, _seconds: whom)
    waited = []

    def take(*, wait: float = 0) -> None:
        waited.append(wait)
        raise GateHeld(gate="t", holder="somebody")

    monkeypatch.setattr(hall.gate, "take", take)
    with pytest.raises(ResumeInProgress) as caught:
        hall.to_resume(force=True)
    assert caught.value.code == 12
    assert 0 < waited[-1] <= 10
    assert is_alive(child.pid)


@pytest.mark.req("RES-7")
def test_a_forced_resume_leaves_one_successor_and_is_recorded(either):
    with either.fleet() as fleet:
        old = either.dispatch(fleet, "t", *SLEEP)
        either.launched(fleet, old)
        fleet.dispatches.stop(old)
        child = either.halted("before", "tmux new-session", "resume", old)
        said = either.program("resume", old, "--force")
        assert said.code == 0, said
        assert f"stopped the resume that was in progress: pid={child.pid}" in said.out
        child.wait(60)
        assert len(fleet.agents.list()) == 1
        told = [each.why for each in fleet.operations.list(OperationFilter(), limit=1000)]
        assert f"resume {old} by force: stop process {child.pid}" in told


# other users, other places ----------------------------------------------------------------------------------------------
@needs_root
@pytest.mark.req("RES-3", "RES-7")
def test_another_users_process_holds_its_lock_like_any_other(hall):
    child, _ = hall.held("nobody")
    with pytest.raises(ResumeInProgress):
        hall.to_resume()
    ended(child)
    hall.to_resume()
    hall.gate.give()


@needs_root
@pytest.mark.req("RES-3", "RES-7", "RES-13")
def test_a_user_who_may_not_touch_the_holder_neither_takes_its_lock_nor_stops_it(hall):
    child, _ = hall.held()
    Path(hall.gate.path).chmod(0o666)
    for folder in (hall.home, f"{hall.home}/locks", f"{hall.home}/locks/work-p"):
        os.chmod(folder, 0o777)
    out, _ = hall.start("powerless").communicate(timeout=60)
    life, plain, forced = out.splitlines()
    assert life == "alive", "no right to a process is not its death"
    assert plain == "12 ResumeInProgress resume already in progress for t"
    assert forced.startswith("14 ForceRefused")
    assert "not seen to hold" in forced
    assert is_alive(child.pid)


@pytest.mark.req("RES-8")
def test_another_hosts_lock_is_never_judged_by_its_pid(hall):
    child, _ = hall.held()
    hall.write(host_id="another", host="moon", pid=999_999_999)
    for force in (False, True):
        with pytest.raises((ResumeInProgress, ForceRefused)):
            hall.to_resume(force=force)
    assert is_alive(child.pid)


@pytest.mark.req("RES-5")
def test_a_read_only_directory_is_told_and_nothing_is_changed(scene):
    with scene.fleet() as fleet:
        old = scene.dispatch(fleet, "t", *SLEEP)
        scene.launched(fleet, old)
        fleet.dispatches.stop(old)
        shutil.rmtree(f"{scene.home}/locks/work-p")
        os.chmod(f"{scene.home}/locks", 0o500)
        words = (sys.executable, CONFINED, "no-root-powers", "--", fleet.world.fleet_program, "resume", old)
        said = answer(scene.start(*words))
        os.chmod(f"{scene.home}/locks", 0o700)
        assert said.code == 1, said
        assert "permission denied" in said.err
        assert "nothing was changed" in said.err
        assert fleet.agents.list() == []
        until(lambda: fleet.dispatches.resume(old))


# speed ------------------------------------------------------------------------------------------------------------------
@pytest.mark.req("RES-6")
def test_the_benchmark_shows_how_fast_the_lock_is():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "resuming"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    rows = [line for line in done.stdout.splitlines() if line.endswith(("ok", "MISS"))]
    assert [line.split("≤")[1].split()[0] for line in rows] == ["100", "500", "500", "500"]
    assert "0 missed their target" in done.stdout, done.stdout


@pytest.mark.req("RES-6")
def test_neither_a_free_lock_nor_a_dead_holders_is_waited_for(hall, monkeypatch):
    child, _ = hall.held()
    ended(child)

    def wait(*_facts) -> None:
        raise AssertionError("it waited")

    monkeypatch.setattr("fleet.world.clock.Clock.wait", wait)
    monkeypatch.setattr("fleet.world.files.locks.sleep", wait)
    for _ in range(2):
        hall.to_resume()
        hall.gate.give()

"""What a dead process left, or could not release: who works on it still, how often it failed, and how long it may stay."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from staging.stage import acted, claim_of, raw, standing

from fleet.errors.contested import BundleHeld
from fleet.model.text.times import HOUR, MINUTE, SECOND
from fleet.resources import KINDS
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.acquire import is_free, release
from fleet.verbs.dispatch.plan import Wanted

TASK = {"project": PROJECT, "slug": "a"}
SESSION = "tmux_session"
AGAIN = Wanted(**TASK, engine="shell", command=("sleep", "1000"), wait=0)


def kill(scene, ident: str) -> None:
    scene.machine.table.signal(scene.agent(ident), signal.SIGKILL)


def swept(scene) -> list[str]:
    return acted(scene.fleet.sweep.run(kill=True))


class Death(BaseException):
    """The process is gone: nobody catches it."""


class DieDuring:
    """Dies while another program performs an effect."""

    def __init__(self, effect: str) -> None:
        self._effect, self.pid = effect, 0

    def before(self, effect: str) -> None:
        pass

    def during(self, effect: str, pid: int) -> None:
        if effect == self._effect:
            self.pid = pid
            raise Death

    def after(self, effect: str) -> None:
        pass


@pytest.fixture
def slow_git(tmp_path, monkeypatch) -> Iterator[Path]:
    """A git that makes a worktree only once something is written into this pipe."""
    pipe, script = tmp_path / "go", tmp_path / "git"
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    os.mkfifo(pipe)
    script.write_text(f'#!/bin/sh\ncase " $* " in *" worktree add "*) read line <{pipe};; esac\nexec {real} "$@"\n')
    script.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    yield pipe
    with contextlib.suppress(OSError):  # nobody waits for it
        os.write(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), b"go\n")


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.req("ADO-12", "SWEEP-4", "SWEEP-8")
def test_while_an_orphaned_git_makes_a_tree_nobody_touches_it_and_then_it_is_completed(scene, slow_git):
    doomed = scene.open("doomed")
    doomed.funnel.watcher = death = DieDuring("git worktree add")
    with pytest.raises(Death):
        scene.dispatch("a", doomed)
    scene.machine.table.exit(scene.process_of(doomed))
    claim = claim_of(scene.fleet, "worktree", slug="a")
    assert not scene.fleet.world.effect_lock(claim.id).is_free(), (
        "the program that performs the effect has inherited it"
    )
    assert not is_free(scene.fleet.context, claim)
    swept(scene)
    assert swept(scene) == []
    assert claim_of(scene.fleet, "worktree", slug="a").state == "allocating"
    with pytest.raises(BundleHeld):
        scene.fleet.dispatches.start(AGAIN)
    slow_git.write_text("go\n")
    with contextlib.suppress(ChildProcessError):
        os.waitpid(death.pid, 0)
    assert is_free(scene.fleet.context, claim)
    scene.launch(scene.fleet.dispatches.start(AGAIN).id)
    assert claim_of(scene.fleet, "worktree", slug="a").state == "live"


@pytest.mark.req("SWEEP-4", "SWEEP-8")
def test_what_a_living_process_is_making_is_left_and_what_a_dead_one_never_made_is_dropped(scene):
    ident = scene.dispatch("a")
    maker = scene.machine.table.spawn(scene.machine.shell.pid, ["fleet", "dispatch"])
    who = scene.fleet.world.processes.identify(maker.pid)
    scene.server.close(scene.pane(ident))
    raw(scene.fleet, f"UPDATE claims SET state = 'allocating', actor = '{who}' WHERE kind = '{SESSION}'")
    raw(scene.fleet, f"UPDATE dispatches SET spawner = '{who}' WHERE id = '{ident}'")
    assert "still works on it" in release(scene.fleet.context, claim_of(scene.fleet, SESSION, ident))
    assert swept(scene) == []
    assert claim_of(scene.fleet, SESSION, ident).state == "allocating"
    assert scene.fleet.context.dispatch(ident).exec_state == "pending"
    scene.machine.table.exit(maker)
    assert swept(scene) != []
    assert claim_of(scene.fleet, SESSION, ident).state == "released"
    assert scene.fleet.tasks.show(**TASK).status == "open"
    assert swept(scene) == [], "the second sweep takes no action"


@pytest.mark.req("SWEEP-5", "SWEEP-1", "SWEEP-2")
def test_a_claim_whose_thing_is_gone_is_released_by_a_sweep_that_acts(scene):
    ident = scene.work("a")
    scene.fleet.dispatches.kill(ident, "a test")
    folder = Path(claim_of(scene.fleet, "worker_dir", slug="a").name)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    before = scene.fleet.operations.newest()
    dry = [each for each in scene.fleet.sweep.run(kill=False) if "worker_dir" in each.what]
    assert [(each.why, each.action, each.done) for each in dry] == [("it is gone", "would record that", False)]
    assert scene.fleet.operations.newest() == before
    scene.fleet.sweep.run(kill=True, phases=frozenset({"orphans", "reconcile-derived"}))
    assert claim_of(scene.fleet, "worker_dir", slug="a").state == "live", "releases were not asked for"
    assert any("record that" in line for line in swept(scene))
    assert [each.kind for each in scene.fleet.claims.list("adoptable")] == ["worktree"]
    assert not [line for line in swept(scene) if "worker_dir" in line]


# releases that fail -------------------------------------------------------------------------------------------------------
@pytest.mark.req("SWEEP-6")
def test_the_third_failure_within_an_hour_blocks_a_release_and_no_other(scene, monkeypatch):
    ident = scene.work("a")
    kill(scene, ident)

    def refuse(*_facts) -> None:
        raise OSError("no")

    def fail_after(time: int) -> tuple[str, str]:
        scene.clock.set(scene.clock.now() + time)
        scene.fleet.sweep.run(kill=True, phases=frozenset({"retry-releases"}))
        (row,) = [each for each in scene.fleet.dispatches.list() if each.id == ident]
        return claim_of(scene.fleet, SESSION, ident).state, row.recl_state

    with monkeypatch.context() as patch:
        patch.setattr(KINDS[SESSION], "release", refuse)
        assert scene.fleet.sessions.settle(ident).left, "the first failure"
        for time in (31 * MINUTE, 30 * MINUTE, 2 * HOUR, 59 * MINUTE):
            assert fail_after(time) == ("releasing", "partial"), time
        assert fail_after(SECOND) == ("releasing_blocked", "blocked")
        assert claim_of(scene.fleet, SESSION, ident).failures == 6
        assert any(ident in line for line in standing(scene.fleet.sweep.run(kill=False)))
        assert fail_after(MINUTE) == ("releasing_blocked", "blocked"), "it stays so while it fails"
    swept(scene)
    assert claim_of(scene.fleet, SESSION, ident).state == "released"


# how long -----------------------------------------------------------------------------------------------------------------
@pytest.mark.req("SWEEP-9")
def test_ninety_seconds_after_its_report_an_agent_is_asked_then_killed_and_not_before(scene):
    config = Path(scene.home, "config.toml")
    config.write_text(config.read_text().replace('report_grace = "1s"\n', ""))
    scene.fleet = scene.open()
    ident = scene.work("a")
    agent = scene.agent(ident)
    agent.ignores.add(signal.SIGTERM)
    asked = []
    agent.handlers[signal.SIGTERM] = lambda: asked.append(scene.clock.now())
    scene.report(ident, "a")
    assert not agent.is_zombie, "a report never ends its own session"
    scene.clock.wait(89)
    assert swept(scene) == []
    assert asked == []
    scene.clock.wait(1)
    assert any(ident in line for line in swept(scene))
    assert (len(asked), agent.is_zombie) == (1, True)
    assert scene.fleet.tasks.show(**TASK).status == "in_progress"
    assert scene.fleet.files.names("inbox") == []


@pytest.mark.req("SWEEP-9", "SWEEP-7")
def test_a_prompt_of_an_ended_dispatch_is_a_backstop_after_168_hours(scene):
    ident = scene.work("a")
    kill(scene, ident)
    assert scene.fleet.sessions.settle(ident).settled
    prompt = Path(scene.home, "inbox", f"{ident}.md")
    prompt.write_text("left")
    raw(scene.fleet, "UPDATE claims SET state = 'live' WHERE kind = 'coord_prompt_inbox'")
    raw(scene.fleet, f"UPDATE dispatches SET ended_at = {scene.clock.now()}")
    orphans = frozenset({"orphans"})
    scene.clock.set(scene.clock.now() + 168 * HOUR - SECOND)
    assert acted(scene.fleet.sweep.run(kill=True, phases=orphans)) == []
    scene.clock.set(scene.clock.now() + SECOND)
    raw(scene.fleet, "UPDATE claims SET home = 'another' WHERE kind = 'coord_prompt_inbox'")
    assert scene.fleet.sweep.run(kill=True, phases=orphans) == []
    assert prompt.exists(), "another home's is never touched"
    home = json.loads(Path(scene.home, "home.json").read_text())["id"]
    raw(scene.fleet, f"UPDATE claims SET home = '{home}' WHERE kind = 'coord_prompt_inbox'")
    assert len(acted(scene.fleet.sweep.run(kill=True, phases=orphans))) == 1
    assert not prompt.exists()


@pytest.mark.req("SWEEP-12", "SWEEP-3")
def test_only_processes_of_ended_dispatches_are_ended_and_only_while_they_are_themselves(scene):
    ended, working = scene.work("a"), scene.work("b")
    kill(scene, ended)
    assert scene.fleet.sessions.settle(ended).settled
    table, shell = scene.machine.table, scene.machine.shell.pid

    def marked(ident: str, home: str = scene.home):
        return table.spawn(shell, ["sleep"], environment={"FLEET_DISPATCH_ID": ident, "FLEET_HOME": home})

    mine, others = marked(ended), [marked("00000000"), marked(ended, "/elsewhere"), scene.agent(working)]
    dry = [each for each in scene.fleet.sweep.run(kill=False) if each.what == f"process {mine.pid}"]
    assert [each.action for each in dry] == ["would kill it"]
    assert not mine.is_zombie
    who = scene.fleet.world.processes.identify(mine.pid)
    swept(scene)
    assert mine.pid not in table.living
    assert not [each for each in others if each.is_zombie]
    reused = table.spawn(shell, ["vim"], pid=mine.pid)
    scene.fleet.world.processes.kill_all([who])
    assert not reused.is_zombie, "another process has its number now"

"""Bundles from dispatch to dispatch: one owner, a wait that ends, a history that is kept."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from staging.stage import bundle_of, claim_of, raw

from fleet.errors.families import Contested
from fleet.model.text.times import DAY, HOUR
from fleet.resources.worktree import worktree
from fleet.store import queries as q
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents.prompts import WantedPrompt
from fleet.verbs.dispatch.acquire import release
from fleet.verbs.dispatch.plan import Wanted

TASK = {"project": PROJECT, "slug": "a"}
OTHER = "aaaaaaaa"


def wanted(**how) -> Wanted:
    return Wanted(**TASK, engine="shell", command=("sleep", "1000"), **how)


def tree(scene) -> Path:
    return Path(scene.home, "projects", PROJECT, "worktrees", "a")


def killed(scene) -> str:
    ident = scene.work("a")
    scene.fleet.dispatches.kill(ident, "a test")
    return ident


def again(scene, **how) -> str:
    scene.fleet.tasks.retry(**TASK)
    return scene.fleet.dispatches.start(wanted(**how)).id


def released_by(scene) -> int:
    """The worktree of a task that was opened again is just being released, by a living process; its pid."""
    killed(scene)
    process = scene.machine.table.spawn(scene.machine.shell.pid, ["fleet", "clean"])
    who = scene.fleet.world.processes.identify(process.pid)
    raw(scene.fleet, f"UPDATE claims SET state = 'releasing', actor = '{who}' WHERE kind = 'worktree'")
    return process.pid


# waiting ------------------------------------------------------------------------------------------------------------------
@pytest.mark.req("ADO-6")
def test_a_contested_bundle_is_waited_for_as_long_as_was_said_and_its_holder_is_named(scene):
    pid = released_by(scene)
    scene.fleet.tasks.retry(**TASK)
    for how, seconds in (({}, 10), ({"wait": 3.0}, 3), ({"wait": 0}, 0)):
        before = scene.clock.ticks()
        with pytest.raises(Contested, match=str(pid)):
            scene.fleet.dispatches.start(wanted(**how))
        assert seconds <= scene.clock.ticks() - before < seconds + 1
        assert claim_of(scene.fleet, "worktree", slug="a").state == "releasing"
    before = scene.clock.ticks()
    scene.clock.later(4, lambda: scene.machine.table.exit(scene.machine.table.living[pid]))
    ident = scene.fleet.dispatches.start(wanted()).id
    assert 4 <= scene.clock.ticks() - before < 5, "it came free, and was taken at once"
    assert bundle_of(scene.fleet, "a").owner == ident
    assert claim_of(scene.fleet, "worktree", slug="a").state == "live"


# owners -------------------------------------------------------------------------------------------------------------------
@pytest.mark.req("ADO-1", "ADO-2", "ADO-3", "ADO-4", "ADO-7")
def test_the_next_agent_gets_the_same_tree_and_the_next_generation_though_the_task_was_archived(scene):
    first = killed(scene)
    assert tree(scene).is_dir()
    folder = Path(scene.home, "projects", PROJECT, "workers", "a")
    assert folder.is_dir()
    assert scene.git("rev-parse", "--abbrev-ref", "HEAD", cwd=str(tree(scene))) == "worker/a"
    held = claim_of(scene.fleet, "worktree", slug="a").id
    scene.clock.wait(60)
    second = again(scene)
    assert (bundle_of(scene.fleet, "a").owner, bundle_of(scene.fleet, "a").generation) == (second, 2)
    assert claim_of(scene.fleet, "worktree", slug="a").id == held
    one, other = scene.fleet.dispatches.show(second).adoptions
    assert (one.dispatch, one.kind, one.generation, other.dispatch, other.generation) == (first, "worker", 1, second, 2)
    assert (one.released_at, other.released_at) == (other.adopted_at, None)
    scene.launch(second)
    scene.fleet.dispatches.kill(second, "a test")
    scene.fleet.tasks.archive(**TASK)
    scene.fleet.sweep.run(kill=True)
    assert not tree(scene).exists()
    assert not folder.exists()
    rows = scene.fleet.store.read(lambda rows: q.adoptions_of(rows, **TASK))
    assert [row.released_at is None for row in rows] == [False, False], "the last one ended with its release"
    third = again(scene)
    assert (bundle_of(scene.fleet, "a").owner, bundle_of(scene.fleet, "a").generation) == (third, 3)
    history = scene.fleet.dispatches.show(third).adoptions
    assert [each.generation for each in history] == [1, 2, 3]
    assert [each.released_at is None for each in history] == [False, False, True]


@pytest.mark.req("ADO-5")
def test_an_owner_that_lives_or_may_live_keeps_its_bundle(scene):
    ident = scene.work("a")
    agent = scene.agent(ident)
    scene.clock.wait(7 * 24 * 3600)
    scene.fleet.tasks.unclaim(**TASK, override=True)
    for agent.is_hidden in (False, True):
        with pytest.raises(Contested, match=ident):
            scene.fleet.dispatches.start(wanted(wait=0))
        assert not scene.fleet.sessions.settle(ident).settled
        assert bundle_of(scene.fleet, "a").owner == ident
    agent.is_hidden = False
    scene.machine.table.signal(agent, signal.SIGKILL)
    assert scene.fleet.sessions.settle(ident).settled
    new = scene.fleet.dispatches.start(wanted(wait=0)).id
    assert bundle_of(scene.fleet, "a").owner == new


@pytest.mark.req("ADO-2")
def test_a_tree_that_is_gone_is_made_anew_for_the_next_agent(scene):
    killed(scene)
    shutil.rmtree(tree(scene))
    again(scene)
    assert (tree(scene) / ".git").exists()
    assert claim_of(scene.fleet, "worktree", slug="a").state == "live"


@pytest.mark.req("ADO-3")
def test_the_launch_of_a_dispatch_that_does_not_own_the_bundle_calls_nothing_of_it_made(scene):
    killed(scene)
    scene.fleet.tasks.retry(**TASK)
    raw(scene.fleet, "UPDATE claims SET state = 'allocating' WHERE kind = 'worktree'")
    scene.fleet.claims.acquire_prompt(OTHER, "do it\n", WantedPrompt(owner=f"project/{PROJECT}/slug/a"))
    with pytest.raises(Exception, match="engine"):
        scene.fleet.sessions.launch(OTHER)
    assert scene.fleet.context.dispatch(OTHER).exec_state == "in_flight"
    assert claim_of(scene.fleet, "worktree", slug="a").state == "allocating"


# what is made and what goes -----------------------------------------------------------------------------------------------
class Looking:
    """Asks something while an effect happens."""

    def __init__(self, effect: str, ask) -> None:
        self._effect, self._ask, self.answers = effect, ask, []

    def before(self, effect: str) -> None:
        if effect.startswith(self._effect):
            self.answers.append(self._ask())

    def during(self, effect: str, pid: int) -> None:
        pass

    def after(self, effect: str) -> None:
        pass


@pytest.mark.req("ADO-8")
def test_while_a_tree_is_made_others_write_into_the_store_and_nobody_else_starts_on_the_task(scene):
    other = scene.open("other")

    def act() -> tuple[int, str]:
        other.tasks.add(project=PROJECT, title="B", slug="b")
        with pytest.raises(Contested) as caught:
            other.dispatches.start(wanted(wait=0))
        return len(list(other.tasks.list(project=PROJECT))), type(caught.value).__name__

    scene.fleet.funnel.watcher = watcher = Looking("git worktree add", act)
    scene.dispatch("a")
    assert watcher.answers == [(2, "TaskHeld")]


@pytest.mark.req("ADO-8")
def test_whoever_lost_the_ownership_of_what_it_failed_to_make_removes_nothing(scene):
    killed(scene)
    raw(scene.fleet, "UPDATE claims SET state = 'failed_alloc', actor = '' WHERE kind = 'worker_dir'")
    remembered = claim_of(scene.fleet, "worker_dir", slug="a")
    raw(scene.fleet, "UPDATE claims SET state = 'live' WHERE kind = 'worker_dir'")
    assert release(scene.fleet.context, remembered) == ""
    assert os.path.isdir(remembered.name)
    assert claim_of(scene.fleet, "worker_dir", slug="a").state == "live"


@pytest.mark.req("ADO-9")
def test_a_tree_goes_when_its_task_is_archived_and_not_before(scene):
    killed(scene)
    scene.fleet.sweep.run(kill=True)
    assert tree(scene).is_dir(), "the end of a dispatch releases nothing"
    scene.clock.set(scene.clock.now() + 7 * DAY - HOUR)
    scene.fleet.sweep.run(kill=True)
    assert tree(scene).is_dir()
    scene.clock.set(scene.clock.now() + 2 * HOUR)
    scene.fleet.sweep.run(kill=True)
    assert not tree(scene).exists(), "seven days are the default"
    assert scene.git("branch", "--list", "worker/a") == ""


@pytest.mark.req("ADO-12")
def test_git_gets_the_time_that_the_setting_says_to_make_a_tree(scene, monkeypatch):
    limits = []
    add = worktree.add_detached

    def measured(git, *words, **facts):
        limits.append(facts["limit"])
        add(git, *words, **facts)

    monkeypatch.setattr(worktree, "add_detached", measured)
    scene.dispatch("a")
    config = Path(scene.home, "config.toml")
    config.write_text(f'git_limit = "42s"\n{config.read_text()}')
    scene.dispatch("b", scene.open())
    assert limits == [600.0, 42.0]

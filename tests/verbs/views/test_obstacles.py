"""What keeps a ready task from starting is said by `status`, `task why` and `fleet up`, by the class of its error."""

import os
from pathlib import Path

import pytest

from fleet.errors.families import FleetError
from fleet.errors.given import BadSetting
from fleet.errors.refused import DetachedHead, ForeignBranch, NoCommit
from fleet.model.dispatch.may_start import why_held, why_no_room, why_setup_fails, why_uncoordinated
from fleet.model.results.projects import Chosen
from fleet.model.text.times import HOUR
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.simulated.scene import SimulatedScene
from fleet.verbs.agents.cost import record_limits
from fleet.verbs.dispatch.plan import Wanted

PLACE = {"project": "p", "slug": "t"}
SETTINGS = 'engine = "plain"\n'
ENGINE = 'summary = "a test\'s"\nprogram = "sh"\nstart = ["sh", "-c", "exec sleep 1000"]\ninteractive = false\n'


def ready_task(scene: SimulatedScene) -> None:
    """A ready task of a project with a living coordinator."""
    os.mkdir(f"{scene.home}/engines")
    Path(scene.home, "engines", "plain.toml").write_text(ENGINE)
    Path(scene.repository, "fleet.toml").write_text(SETTINGS)
    scene.fleet.tasks.add(project="p", title="t", slug="t")
    seat(scene)


def seat(scene: SimulatedScene) -> str:
    wanted = Wanted(project="p", slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
    ident = scene.fleet.coord.start(wanted).id
    scene.launch(ident)
    return ident


def kinds(scene: SimulatedScene) -> list[str]:
    """The obstacles that `status` shows; `task why` shows the same."""
    shown = scene.fleet.views.status().in_the_way
    why = scene.fleet.tasks.why(**PLACE)
    assert [each.kind for each in why.obstacles] == [each.kind for each in shown]
    for each in shown:
        assert any(each.text in sentence for sentence in why.sentences), why.sentences
    return [each.kind for each in shown]


def warnings(scene: SimulatedScene) -> str:
    chosen = Chosen(engine="plain", autonomy="edits", review="none")
    return "\n".join(scene.fleet.projects.begin("p", chosen).warnings)


@pytest.mark.req("OBS-3")
def test_nothing_is_in_the_way_of_a_task_that_may_start(scene):
    ready_task(scene)
    assert kinds(scene) == []
    assert scene.fleet.tasks.why(**PLACE).sentences == ["t is ready"]


@pytest.mark.req("OBS-3")
def test_a_repository_without_a_commit(scene):
    os.unlink(f"{scene.repository}/.git/refs/heads/main")
    ready_task(scene)
    assert kinds(scene) == ["NoCommit"]
    assert "has no commit yet" in warnings(scene)
    with pytest.raises(NoCommit):
        scene.dispatch("t")


@pytest.mark.req("OBS-3")
def test_a_detached_head(scene):
    scene.git("checkout", "--quiet", "--detach")
    ready_task(scene)
    assert kinds(scene) == ["DetachedHead"]
    assert "is detached" in warnings(scene)
    with pytest.raises(DetachedHead):
        scene.dispatch("t")


@pytest.mark.req("OBS-3")
def test_a_branch_of_the_tasks_name_that_is_somebody_elses(scene):
    scene.git("branch", "worker/t")
    ready_task(scene)
    assert kinds(scene) == ["ForeignBranch"]
    with pytest.raises(ForeignBranch):
        scene.dispatch("t")
    assert kinds(scene) == ["ForeignBranch"], "the task was not touched"


@pytest.mark.req("OBS-3")
def test_the_integration_branch_is_checked_out(scene):
    scene.git("checkout", "--quiet", "-b", "fleet/main")
    ready_task(scene)
    assert kinds(scene) == ["BranchInUse"]
    said = scene.fleet.tasks.why(**PLACE).sentences
    assert any(each.startswith("what t makes is not merged: ") for each in said), said
    assert not any("does not start" in each for each in said), "the agent itself may start"
    assert scene.dispatch("t")


@pytest.mark.req("OBS-3")
def test_a_branch_that_keeps_the_integration_branch_from_being_made(scene):
    scene.git("branch", "fleet")
    ready_task(scene)
    assert kinds(scene) == ["BranchBlocked"]


@pytest.mark.req("OBS-3")
def test_a_setup_that_fails_until_one_succeeds(scene):
    ready_task(scene)
    Path(scene.repository, "fleet.toml").write_text(f'{SETTINGS}[worktree]\nsetup = "echo no node; exit 3"\n')
    scene.fleet.tasks.add(project="p", title="first", slug="first")
    first = scene.dispatch("first")
    with pytest.raises(FleetError, match="setup failed"):
        scene.launch(first)
    assert kinds(scene) == ["SetupFails"]
    assert "no node" in warnings(scene)
    Path(scene.repository, "fleet.toml").write_text(SETTINGS)
    scene.work("second")
    assert kinds(scene) == []


@pytest.mark.req("OBS-3")
def test_no_room_for_one_more_agent(scene):
    Path(scene.home, "config.toml").write_text(f"{Path(scene.home, 'config.toml').read_text()}[limits]\nagents = 1\n")
    ready_task(scene)
    scene.work("other")
    assert kinds(scene) == ["LimitReached"]
    assert "too many agents at work: 1 of 1" in warnings(scene)


@pytest.mark.req("OBS-3")
def test_an_engine_that_is_held_back(scene):
    ready_task(scene)
    scene.fleet.commit(Change("hold", lambda tx: record_limits.hold_engine(tx, "plain", "login", "not logged in")))
    assert kinds(scene) == ["EngineHeld"]


@pytest.mark.req("OBS-3")
def test_a_coordinator_that_was_stopped(scene):
    ready_task(scene)
    scene.fleet.coord.stop("p", "enough")
    assert kinds(scene) == ["Uncoordinated"]
    (said,) = scene.fleet.views.status().in_the_way
    assert said.text == (
        "its coordinator was stopped, and nobody starts its tasks — `fleet up` in the repository starts another"
    )


@pytest.mark.req("OBS-3")
def test_a_setting_that_nobody_has_trusted(scene):
    config = Path(scene.home, "config.toml")
    ready_task(scene)
    config.write_text(config.read_text().replace('trust = "always"', 'trust = "ask"'))
    Path(scene.repository, "fleet.toml").write_text(f'{SETTINGS}[worktree]\nsetup = "make"\n')
    assert kinds(scene) == ["NotTrusted"]
    (said,) = scene.fleet.views.status().in_the_way
    assert said.text == (
        "p: fleet.toml sets worktree.setup, and no person has trusted that yet — "
        "a person reviews and trusts it with `fleet trust -p p`"
    )
    begun = scene.fleet.projects.begin("p", Chosen(engine="plain", autonomy="ask", review="none"))
    assert [each for each in begun.warnings or [] if "no person has trusted" in each] == [said.text]


@pytest.mark.req("OBS-3")
def test_a_failed_start_says_why_while_the_task_waits_for_the_next_try(scene):
    config = Path(scene.home, "config.toml")
    config.write_text(config.read_text().replace('spawn_cooldown = "0s"', 'spawn_cooldown = "1h"'))
    ident = scene.dispatch("t")
    scene.machine.table.exit(scene.pane(ident).process, 1)
    scene.clock.wait(60)
    scene.fleet.sessions.settle(ident)
    [parked] = scene.fleet.views.status().parked
    assert parked.reason == "the last start failed: it was never launched"


def test_the_reasons_are_decided_from_values():
    count = q.UnfinishedCount(everywhere=3, here=2)
    assert why_no_room("p", count, agents=4, project_agents=3) is None
    assert "in p: 2 of 2" in str(why_no_room("p", count, agents=4, project_agents=2))
    assert why_held("e", "limit", "r", HOUR, HOUR) is None, "a trial is due"
    assert why_held("e", "limit", "r", HOUR + 1, HOUR) is not None
    assert why_held("e", "login", "r", None, HOUR) is not None
    assert why_setup_fails("p", None) is None
    states = {
        state: why_uncoordinated(state, holder, 1, ready=True)
        for state, holder in (("none", None), ("dead", "d1"), ("unknown", "d1"), ("starting", "d1"), ("alive", "d1"))
    }
    assert [state for state, why in states.items() if why] == ["none", "dead"]
    assert why_uncoordinated("none", None, 0, ready=True) is None, "nobody was ever seated"


@pytest.mark.req("OBS-3")
def test_settings_that_cannot_be_read_are_named_once(scene):
    ready_task(scene)
    Path(scene.repository, "fleet.toml").write_text("engine = [")
    fleet = scene.open()
    for obstacles in (fleet.views.status().in_the_way, fleet.tasks.why(**PLACE).obstacles):
        (bad,) = [each for each in obstacles if each.kind == BadSetting.__name__]
        assert "fleet.toml:1" in bad.text

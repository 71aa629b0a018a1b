"""A home that was moved away is not made anew by a process that still works in it."""

import os

import pytest
from staging.stage import raw

from fleet import errors
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.homes.repair import plan_repair
from fleet.verbs.projects.down import running_jobs


@pytest.fixture
def moved(scene):
    """A fleet that was opened before its home was moved away; whatever it did, the home must not be there again."""
    ident = scene.work("a")
    scene.exit(ident)
    fleet, away = scene.open(), f"{scene.root}/moved"
    os.rename(scene.home, away)
    yield fleet, ident
    assert not os.path.lexists(scene.home)
    os.rename(away, scene.home)
    assert scene.open().sessions.settle(ident).settled


def test_by_the_hint_of_an_agents_end(moved):
    fleet, ident = moved
    with pytest.raises((errors.FleetError, OSError)):
        fleet.sessions.settle(ident)


def test_by_a_gate_a_file_a_folder_or_a_lock(moved):
    world = moved[0].world
    for act in (
        lambda: world.gate("one").take(),
        lambda: world.project_gate(PROJECT, "one").take(),
        lambda: world.work_gate("one", "a").take(),
        lambda: world.effect_lock("one").take(),
        lambda: world.files.publish("prompts/one", b"text"),
        lambda: world.files.make_folder(f"{world.home}/projects/p/worktrees"),
        lambda: world.files.link("projects/p/one", to="elsewhere"),
        lambda: world.job_commands.start(
            "job step", ["true"], env={}, cwd="/", output=f"{world.home}/logs/one", limit=1
        ),
    ):
        with pytest.raises((errors.FleetError, OSError)):
            act()


def add_jobs(scene, prefix: str, count: int, *, at: int, state: str, project: str = PROJECT) -> None:
    """Record jobs of the home, whose ids begin with this digit."""
    numbers = f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"
    ident = f"printf('{prefix}%07x', n)"
    raw(scene.fleet, f"{numbers} INSERT INTO ids (id, at) SELECT {ident}, {at} FROM numbers")
    raw(
        scene.fleet,
        f"{numbers} INSERT INTO jobs (id, project, name, source, folder, actor, added_at, changed_at, begun_at, state) "
        f"SELECT {ident}, '{project}', 'n', '', '/', 'ann', {at}, {at}, {at}, '{state}' FROM numbers",
    )


def test_a_job_without_a_runner_is_found_however_many_jobs_were_run_since(scene):
    add_jobs(scene, "0", 1, at=1, state="failed")
    add_jobs(scene, "1", 1000, at=2, state="done")
    assert [each.id for each in scene.fleet.dispatches.resumable()] == ["00000001"]
    assert scene.fleet.dispatches.resumable("other") == []


def test_jobs_are_found_behind_however_many_unfinished_ones_of_other_projects(scene):
    add_jobs(scene, "0", 1, at=1, state="failed")
    add_jobs(scene, "1", 1, at=1, state="running")
    scene.git("init", "-q", f"{scene.root}/other")
    scene.fleet.projects.register(f"{scene.root}/other", "other")
    add_jobs(scene, "2", 1000, at=2, state="paused", project="other")
    assert [each.id for each in scene.fleet.dispatches.resumable(PROJECT)] == ["00000001", "10000001"]
    assert running_jobs(scene.fleet.context, PROJECT) == ["10000001"]


def test_it_is_not_repaired_while_a_job_has_its_runner_however_many_jobs_were_run_since(scene):
    add_jobs(scene, "0", 1, at=1, state="running")
    add_jobs(scene, "1", 1000, at=2, state="done")
    gate = scene.fleet.world.work_gate("job-00000001", "00000001")
    gate.take()
    moved = errors.HomeMoved(path=scene.home, was="/elsewhere")
    try:
        with pytest.raises(errors.Refused, match="the runner of job 00000001"):
            plan_repair(scene.fleet.context, moved)
    finally:
        gate.give()

"""`status` is of one moment: what begins or ends while it is read is there once. It asks the store as often for many tasks as for few."""

from collections.abc import Callable
from typing import Any

import pytest

from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT

_READS = 8  # as many as come before the page is put together


def status_while(scene: SimulatedScene, monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], Any]) -> Any:
    """Return the status page that is read while something happens after the n-th read of the store."""
    store, reads = scene.fleet.store, 0
    read = store.read

    def read_and_act(work):
        nonlocal reads
        found = read(work)
        reads += 1
        if reads == number:
            act()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "read", lambda _self, work: read_and_act(work))
        return scene.fleet.views.status()


def times_shown(page: Any, slug: str) -> list[str]:
    lists = ("working", "review", "failed", "parked", "merging")
    return [name for name in lists for task in getattr(page, name) if task.slug == slug]


@pytest.mark.req("OBS-3", "OBS-8")
def test_a_dispatch_that_ends_while_the_status_is_read_is_shown_once(scene, monkeypatch):
    for number in range(1, _READS):
        ident, other = scene.work(f"t{number}"), scene.open()

        def end(ident: str = ident, other: Any = other) -> None:
            scene.exit(ident, 1)
            assert other.sessions.settle(ident).settled

        page = status_while(scene, monkeypatch, number, end)
        assert len(times_shown(page, f"t{number}")) == 1, (number, times_shown(page, f"t{number}"))
        assert times_shown(scene.fleet.views.status(), f"t{number}") == ["failed"]


@pytest.mark.req("OBS-3", "OBS-8")
def test_a_dispatch_that_begins_while_the_status_is_read_is_counted_as_it_is_shown(scene, monkeypatch):
    scene.work("first")
    for number in range(1, _READS):
        other = scene.open()
        page = status_while(scene, monkeypatch, number, lambda n=number, by=other: scene.dispatch(f"t{n}", by))
        assert page.projects[0].dispatches.active == len(page.working), number
        (ident,) = [each.id for each in scene.fleet.dispatches.list(ended=False) if each.slug == f"t{number}"]
        scene.fleet.dispatches.kill(ident, "a test")
    assert [each.slug for each in scene.fleet.views.status().working] == ["first"]


def queries_of_status(scene: SimulatedScene, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    with monkeypatch.context() as patch:
        rows = scene.fleet.store.read(type)
        for name in ("select_one", "select_all"):
            select = getattr(rows, name)
            patch.setattr(
                rows,
                name,
                lambda self, query, row, values, select=select: (
                    asked.append(query.name) or select(self, query, row, values)
                ),
            )
        scene.fleet.views.status()
    return asked


@pytest.mark.req("OBS-3", "OBS-8")
def test_the_store_is_asked_as_often_about_twelve_stopped_tasks_as_about_two(scene, monkeypatch):
    asked = []
    for count in (2, 12):
        for number in range(count):
            ident = scene.work(f"t{count}x{number}")
            scene.exit(ident, number % 2)  # failed, and blocked without a report
            scene.fleet.sessions.settle(ident)
        asked.append(sorted(queries_of_status(scene, monkeypatch)))
    assert asked[0] == asked[1]
    page = scene.fleet.views.status()
    assert (len(page.failed), len(page.parked)) == (7, 7)
    for task in (*page.failed, *page.parked):
        alone = scene.fleet.tasks.show(project=PROJECT, slug=task.slug).next_step
        assert (task.next_step.says, task.next_step.command) == (alone.says, alone.command)
        assert task.slug in (task.next_step.command or "") or task.next_step.says

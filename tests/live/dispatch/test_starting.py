"""What an agent starts with, and what it starts after."""

import pytest

from fleet.errors.families import Contested
from fleet.world.files.locks import A_MOMENT, FileLock


def test_a_pipe_whose_reader_has_gone_ends_a_writer_of_the_agents_as_everywhere(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sh", "-c", "yes | head -1; echo over; exec sleep 1000")
        scene.shows(fleet, ident, "over")
        assert "roken pipe" not in fleet.agents.screen(ident, history=True)


def test_an_effect_that_somebody_else_is_at_is_contested(scene, monkeypatch):
    take, first = FileLock.take, iter([True])

    def taken(lock: FileLock, seconds: float | None = A_MOMENT) -> int:
        if "/effects/" in lock.path and next(first, False):
            raise BlockingIOError
        return take(lock, seconds)

    monkeypatch.setattr(FileLock, "take", taken)
    with scene.fleet() as fleet:
        with pytest.raises(Contested, match=r"worktree .*: another process is creating it"):
            scene.dispatch(fleet, "t", "sleep", "1000")
        assert (fleet.agents.list(), fleet.tasks.show(project="p", slug="t").status) == ([], "open")
        scene.launched(fleet, scene.dispatch(fleet, "t", "sleep", "1000"))

"""A sweep whose database goes away: what it cannot read is unknown, never ended, so it ends and releases nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.errors.families import StoreError
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents.prompts import WantedPrompt
from fleet.verbs.dispatch.plan import Wanted

COORDINATOR = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


def failing_after(read: Callable[..., object], answers: int) -> Callable[..., object]:
    """The store's method `read`, which answers so often and then no more."""
    left = iter(range(answers))

    def answer(work: Callable[..., object]) -> object:
        if next(left, None) is None:
            raise StoreError(what="the database does not answer")
        return read(work)

    return answer


def is_swept(scene: SimulatedScene, reads: int) -> bool:
    """Sweep with a database that answers so many reads. Whether that was enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scene.fleet.store, "read", failing_after(scene.fleet.store.read, reads))
        try:
            scene.fleet.sweep.run(kill=True, phases=frozenset({"orphans", "retry-releases"}))
        except StoreError:
            return False
    return True


def outside(scene: SimulatedScene) -> dict[str, list[str]]:
    """What there is outside the database."""
    return {
        "processes": [f"{each.pid} {each.is_zombie}" for each in scene.machine.table.entries()],
        "sessions": [pane.session for pane in scene.fleet.world.tmux.listing().panes],
        "worktrees": scene.git("worktree", "list").splitlines(),
        "files": sorted(str(path) for name in ("inbox", "projects") for path in Path(scene.home, name).rglob("*")),
    }


@pytest.mark.req("SWEEP-10")
def test_a_sweep_whose_database_goes_away_at_any_read_ends_and_releases_nothing(scene):
    scene.work("a")
    scene.dispatch("b")
    scene.launch(scene.fleet.coord.start(COORDINATOR).id)
    with scene.called_by_program() as (command, _program):
        command.tasks.add(project=PROJECT, title="C", slug="c")
        command.claims.acquire_prompt("aaaaaaaa", "the prompt\n", WantedPrompt(owner=f"project/{PROJECT}/slug/c"))
    before, reads = outside(scene), 0
    while not is_swept(scene, reads):
        assert outside(scene) == before, f"after {reads} reads"
        reads += 1
    assert outside(scene) == before
    assert reads > 20, "each of them failed once"

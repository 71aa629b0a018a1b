"""The intent to make or remove a thing is durable before the effect, and names who does it; the fact is durable after."""

import pytest

from fleet.errors.families import FleetError
from fleet.errors.tools import TmuxRefused
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted

MADE = {
    "git worktree add": "worktree",
    "mkdir worker_dir": "worker_dir",
    "publish inbox/": "coord_prompt_inbox",
    "publish environments/": "agent_environment",
    "tmux new-session": "tmux_session",
}
REMOVED = {
    "tmux kill-pane": "tmux_session",
    "unlink inbox/": "coord_prompt_inbox",
    "git worktree remove": "worktree",
    "rmtree worker_dir": "worker_dir",
}
WANTED = Wanted(project=PROJECT, slug="a", engine="shell", command=("sleep", "1000"))


class Onlooker:
    """Reads, as another process, what is durable of a thing when its effect begins, and when the effect has happened."""

    def __init__(self, reader, kinds: dict[str, str]) -> None:
        self.reader = reader
        self.kinds = kinds
        self.seen: dict[tuple[str, str], tuple[str, str]] = {}

    def before(self, effect: str) -> None:
        self._look("before", effect)

    def during(self, effect: str, pid: int) -> None:
        pass

    def after(self, effect: str) -> None:
        self._look("after", effect)

    def _look(self, when: str, effect: str) -> None:
        for start, kind in self.kinds.items():
            if effect.startswith(start):
                (claim,) = self.reader.claims.list(kind=kind)
                self.seen[kind, when] = (claim.state, claim.actor)


def states(fleet) -> dict[str, str]:
    return {claim.kind: claim.state for claim in fleet.claims.list() if claim.kind != "agent_record"}


@pytest.mark.req("STORE-7")
def test_a_thing_is_intended_by_its_maker_before_it_is_made_and_a_fact_after(scene):
    reader, fleet = scene.open(), scene.fleet
    fleet.tasks.add(project=PROJECT, title="A", slug="a")
    fleet.funnel.watcher = onlooker = Onlooker(reader, MADE)
    fleet.dispatches.start(WANTED)
    me = str(fleet.world.processes.me())
    assert onlooker.seen == {(kind, when): ("allocating", me) for kind in MADE.values() for when in ("before", "after")}
    assert states(reader) == dict.fromkeys(MADE.values(), "live")


@pytest.mark.req("STORE-7", "STORE-8")
def test_a_removal_is_intended_by_its_remover_before_the_thing_goes_and_a_fact_after(scene):
    reader, ident = scene.open(), scene.work("a")
    remover = scene.open()
    remover.funnel.watcher = onlooker = Onlooker(reader, REMOVED)
    remover.dispatches.kill(ident, "a test")
    assert states(reader) == {"worktree": "live", "worker_dir": "live"}
    remover.tasks.archive(project=PROJECT, slug="a")
    remover.sweep.run(kill=True)
    me = str(remover.world.processes.me())
    assert onlooker.seen == {
        (kind, when): ("releasing", me) for kind in REMOVED.values() for when in ("before", "after")
    }
    assert reader.claims.list() == []


@pytest.mark.req("STORE-7")
def test_what_could_not_be_made_is_a_failed_claim_of_nobody_and_what_was_made_is_live(scene, monkeypatch):
    reader, fleet = scene.open(), scene.fleet
    fleet.tasks.add(project=PROJECT, title="A", slug="a")
    seen = []

    class AtTheEnd(Onlooker):
        def before(self, effect: str) -> None:
            if effect.startswith("commit settle"):
                seen.extend(self.reader.claims.list())

    def refuse(*_words, **_how):
        raise TmuxRefused(what="make a session", why="refused by the test")

    monkeypatch.setattr(fleet.world.tmux, "create", refuse)
    fleet.funnel.watcher = AtTheEnd(reader, {})
    with pytest.raises(FleetError, match="refused by the test"):
        fleet.dispatches.start(WANTED)
    found = {claim.kind: (claim.state, claim.actor) for claim in seen if claim.kind != "agent_record"}
    me = str(fleet.world.processes.me())
    assert found == {**dict.fromkeys(MADE.values(), ("live", me)), "tmux_session": ("failed_alloc", "")}
    assert states(reader) == {"worktree": "live", "worker_dir": "live"}, "the session is released: it is absent"

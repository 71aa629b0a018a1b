"""A coordinator that is an agent comes back in its own conversation, from the archive too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.model.results.projects import Chosen
from fleet.store import queries as q
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord.prove import prove
from fleet.verbs.dispatch.plan import Wanted

ENGINE = """
summary = "a test's agent with conversations"
program = "sh"
start = ["{{program}}", "-c", "sleep 1000", "x", "{{session}}"]
resume = ["{{program}}", "-c", "sleep 1000", "x", "--resume", "{{conversation}}", "{{prompt}}"]
session = ["--session", "{{conversation}}"]
transcript = ["{folder}/{{conversation}}.jsonl"]
interactive = true
proof_timeout = 1
"""


@pytest.fixture
def scene() -> Iterator[SimulatedScene]:
    with SimulatedScene() as made:
        Path(made.home, "engines").mkdir()
        Path(made.home, "engines", "talks.toml").write_text(ENGINE.format(folder=made.root))
        yield made


def lost(scene: SimulatedScene, *, kept: bool = True) -> tuple[str, str]:
    """A coordinator that was lost with its machine, and its conversation; its engine has kept the file or not."""
    ident = scene.fleet.coord.start(Wanted(project=PROJECT, slug=None, kind="coord", engine="talks")).id
    words = scene.launch(ident).words
    name = words[words.index("--session") + 1]
    if kept:
        Path(scene.root, f"{name}.jsonl").write_text("{}")
    scene.reboot()
    return ident, name


def seated_when_started(scene: SimulatedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a candidate prove itself as its first hook would, as soon as somebody waits for it."""

    def proven(context, project: str, ident: str) -> int:
        scene.launch(ident)
        nonce = scene.agent(ident).environment["FLEET_REPLACE_NONCE"]
        prove(
            context.store,
            scene.home,
            project=project,
            ident=ident,
            nonce=nonce,
            clock=scene.clock,
            ids=context.world.ids,
        )
        return 2

    monkeypatch.setattr("fleet.verbs.coord.replace.await_proof", proven)


def test_it_continues_its_conversation(scene, monkeypatch):
    old, name = lost(scene)
    seated_when_started(scene, monkeypatch)
    (listed,) = scene.fleet.dispatches.resumable(PROJECT)
    assert (listed.id, listed.conversation) == (old, True)
    back = scene.fleet.dispatches.resume(old)
    assert (back.predecessor, back.conversation) == (old, True)
    words = scene.agent(back.id).words
    assert words[words.index("--resume") + 1] == name
    assert "This is your own conversation" in words[-1]
    assert f"as agent {old}" in words[-1]
    assert scene.fleet.store.read(lambda rows: q.seat_of(rows, project=PROJECT)).holder == back.id


def test_without_the_engines_file_it_starts_anew_and_says_so(scene, monkeypatch):
    old, _name = lost(scene, kept=False)
    seated_when_started(scene, monkeypatch)
    back = scene.fleet.dispatches.resume(old)
    assert back.conversation is False
    assert "--resume" not in scene.agent(back.id).words


def test_up_brings_it_back_too(scene, monkeypatch):
    old, name = lost(scene)
    scene.fleet.dispatches.resumable(PROJECT)  # settled and archived
    assert scene.fleet.store.read(lambda rows: q.agent_by_id(rows, id=old)) is None
    seated_when_started(scene, monkeypatch)
    begun = scene.fleet.projects.begin(PROJECT, Chosen(engine="shell", autonomy="ask", review="none"))
    assert begun.started
    assert name in scene.agent(begun.coordinator).words

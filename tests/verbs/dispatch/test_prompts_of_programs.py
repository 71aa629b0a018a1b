"""Prompts that a program acquires, rewrites and releases: recorded before they are written, fenced, and of this home alone."""

import json

import pytest
from staging.stage import raw

from fleet.errors.families import BadInput, Contested
from fleet.errors.refused import MeantElsewhere, OtherHost
from fleet.model.dispatch.claim import Claim
from fleet.records import replace
from fleet.store import queries as q
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents import prompts
from fleet.verbs.agents.prompts import WantedPrompt
from fleet.verbs.dispatch.journal import archive
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.views.operations import OperationFilter

A, B = "aaaaaaaa", "bbbbbbbb"
KIND = "coord_prompt_inbox"
COORD = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


class Killed(BaseException):
    """The process that was writing is no more."""


class AtTheFile:
    """Does something just before a prompt is published."""

    def __init__(self, act) -> None:
        self.act = act

    def before(self, effect: str) -> None:
        if effect.startswith("publish inbox/"):
            self.act()

    def during(self, effect: str, pid: int) -> None:
        pass

    def after(self, effect: str) -> None:
        pass


def acquire(scene: SimulatedScene, ident: str, slug: str, *, fleet=None, preserve: bool = False) -> str:
    fleet = fleet or scene.fleet
    if not fleet.graph.slugs(project=PROJECT, prefix=slug):
        fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    wanted = WantedPrompt(owner=f"project/{PROJECT}/slug/{slug}", preserve=preserve)
    return fleet.claims.acquire_prompt(ident, "the prompt\n", wanted).outcome


def inbox(scene: SimulatedScene, ident: str) -> Claim:
    rows = scene.fleet.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=ident))
    return next(Claim.of(row) for row in rows if row.kind == KIND)


def left_by_the_dead(scene: SimulatedScene) -> Claim:
    """A prompt whose maker was killed before it wrote the file."""

    def die() -> None:
        raise Killed

    doomed = scene.open()
    doomed.funnel.watcher = AtTheFile(die)
    with pytest.raises(Killed):
        acquire(scene, A, "a", fleet=doomed)
    scene.machine.table.exit(scene.process_of(doomed))
    return inbox(scene, A)


@pytest.mark.req("STORE-7", "CLAIMS-2")
def test_who_takes_up_the_prompt_of_a_dead_maker_is_recorded_before_the_file_is_written(scene):
    left, seen = left_by_the_dead(scene), []
    me = str(scene.fleet.world.processes.me())
    assert (left.state, left.actor != me) == ("allocating", True)
    scene.fleet.funnel.watcher = AtTheFile(lambda: seen.append(inbox(scene, A)))
    assert acquire(scene, A, "a", preserve=True) == "acquired"
    scene.fleet.funnel.watcher = None
    assert [(claim.id, claim.state, claim.actor) for claim in seen] == [(left.id, "allocating", me)]
    assert seen[0].data["preserve"] is True, "as the new maker wants it"
    assert f"take up the prompt of {A}" in {
        each.why for each in scene.fleet.operations.list(OperationFilter(), limit=99)
    }
    assert inbox(scene, A).state == "live"


@pytest.mark.req("STORE-6", "CLAIMS-4")
def test_of_two_that_take_up_the_prompt_of_a_dead_maker_the_second_is_told_to_try_again(scene):
    left = left_by_the_dead(scene)
    mine = replace(left, actor=str(scene.fleet.world.processes.me()))
    other = replace(left, actor=str(scene.open().world.processes.me()))
    assert prompts._retake_claim(scene.fleet.context, left, other).actor == other.actor
    with pytest.raises(Contested, match="another process works on it"):
        prompts._retake_claim(scene.fleet.context, left, mine)
    assert inbox(scene, A).actor == other.actor


@pytest.mark.req("EXC-10", "CLAIMS-3")
def test_a_home_that_has_only_acquired_a_prompt_is_known_to_those_that_share_its_database(scene):
    raw(scene.fleet, "DELETE FROM homes")
    acquire(scene, A, "a")
    world = scene.fleet.world
    known = scene.fleet.store.read(lambda rows: q.home_by_id(rows, id=world.record.id))
    assert (known.host, known.name, known.path) == (world.host.id, world.host.name, world.record.path)


@pytest.mark.req("EXC-5", "EXC-10")
@pytest.mark.parametrize("foreign", [A, B])
def test_a_prompt_is_rewritten_neither_from_nor_for_a_dispatch_of_another_home(scene, foreign):
    acquire(scene, A, "a")
    acquire(scene, B, "b")
    raw(scene.fleet, f"UPDATE dispatches SET home = 'moon' WHERE id = '{foreign}'")
    before = scene.fleet.operations.newest()
    with pytest.raises(OtherHost, match=f"dispatch {foreign} belongs to home moon"):
        scene.fleet.claims.rewrite_prompt(B, A, "new\n")
    assert scene.fleet.operations.newest() == before
    assert inbox(scene, A).data.get("rewritten_from") is None


@pytest.mark.req("CLAIMS-4")
def test_what_is_no_id_is_a_usage_error_and_not_absent(scene):
    acquire(scene, A, "a")
    claims = scene.fleet.claims
    for act in (
        lambda: claims.release_prompt("nonsense", KIND),
        lambda: claims.rewrite_prompt("nonsense", A, "-"),
        lambda: claims.rewrite_prompt(A, "nonsense", "-"),
        lambda: claims.inspect("nonsense"),
    ):
        with pytest.raises(BadInput):
            act()


@pytest.mark.req("CLAIMS-3", "EXC-10")
def test_a_prompt_for_another_host_is_refused_without_a_word_of_a_dispatch_that_is_not_there(scene):
    wanted = WantedPrompt(owner=f"coord/{PROJECT}", host_id="elsewhere")
    with pytest.raises(MeantElsewhere, match=f"the prompt of {A} is meant for host elsewhere, and this is ") as caught:
        scene.fleet.claims.acquire_prompt(A, "-", wanted)
    assert "disown" not in caught.value.next_step
    assert caught.value.code == OtherHost.code


@pytest.mark.req("EXC-3", "OBS-2")
@pytest.mark.parametrize("launched", [True, False])
def test_the_record_of_an_archived_dispatch_is_archived_or_missing_and_every_claim_has_its_age(scene, launched):
    if launched:
        ident = scene.fleet.coord.start(COORD).id
        scene.launch(ident)
        assert scene.fleet.coord.stop(PROJECT, "a test").stopped
    else:
        ident = A
        with scene.called_by_program() as (fleet, program):
            acquire(scene, A, "a", fleet=fleet)
        scene.machine.table.exit(program)
        scene.fleet.dispatches.kill(A, "a test")
    scene.clock.wait(60)
    archive(scene.fleet.context, ident)
    for claims in (scene.fleet.claims.inspect(ident).claims, scene.fleet.dispatches.show(ident).claims):
        looks = {claim.kind: claim.look for claim in claims}
        assert looks["agent_record"] == ("archived" if launched else "missing")
        ages = {claim.kind: claim.age for claim in claims}
        assert (
            {kind: age for kind, age in ages.items() if kind != "agent_record"}
            == {kind: 60 for kind in ages if kind != "agent_record"}
            != {}
        )
        assert ages["agent_record"] == (60 if launched else None)
    assert scene.fleet.dispatches.show(ident).archived
    assert json.dumps([claim.as_json() for claim in claims])

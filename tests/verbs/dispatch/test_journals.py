"""A journal says the same, live and archived, value by value; and how long it is kept."""

import json
from pathlib import Path

import pytest

from fleet.model.results.value import Value
from fleet.model.text.times import DAY, iso
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT

# What is another thing, or has another value, once everything is released and archived.
CHANGED = {"age", "recl_state", "updated_at", "claims", "archived", "adoptions"}


def merged(scene: SimulatedScene) -> tuple[str, dict, dict]:
    """Play a task's whole life. Return its dispatch, and the journal as it is settled, and as it is archived."""
    ident = scene.work("a")
    scene.clock.wait(60)
    commit = scene.commit("a")
    scene.report(ident, "a")
    scene.clock.wait(60)
    scene.exit(ident)
    assert scene.fleet.sessions.settle(ident).settled
    settled = as_printed(scene, ident)
    scene.clock.wait(60)
    scene.fleet.merge.task(project=PROJECT, slug="a")
    scene.fleet.sweep.run(kill=True)
    assert ident not in {each.id for each in scene.fleet.dispatches.list()}
    assert settled["reported_commit"] == settled["settled_commit"] == commit
    return ident, settled, as_printed(scene, ident)


def as_printed(scene: SimulatedScene, ident: str) -> dict:
    return json.loads(json.dumps(scene.fleet.dispatches.show(ident), default=Value.as_json))


@pytest.mark.req("OBS-1", "STORE-3", "AUD-2")
def test_an_archived_journal_has_the_values_that_the_live_one_had(scene):
    begun, base = scene.clock.now(), scene.git("rev-parse", "HEAD")
    ident, live, old = merged(scene)
    assert {name: value for name, value in old.items() if name not in CHANGED} == {
        name: value for name, value in live.items() if name not in CHANGED
    }
    world = scene.fleet.world
    known = {
        "id": ident,
        "kind": "worker",
        "project": PROJECT,
        "slug": "a",
        "owner": f"project/{PROJECT}/slug/a",
        "engine": "shell",
        "command": '["sleep", "1000"]',
        "base": base,
        "host": world.host.id,
        "host_id": world.host.id,
        "home": world.record.id,
        "tmux_socket": world.tmux.socket,
        "spawner": str(world.processes.me()),
        "schema": 1,
        "exec_state": "done",
        "exit_status": 0,
        "report": "done",
        "blocked_reason": None,
        "predecessor": None,
        "created_at": iso(begun),
        "launched_at": iso(begun),
        "reported_at": iso(begun + 60_000),
        "ended_at": iso(begun + 120_000),
    }
    assert {name: old[name] for name in known} == known
    assert (live["recl_state"], old["recl_state"], old["archived"]) == ("pending", "complete", True)
    assert (live["age"], old["age"]) == (120, 180), "seconds since it was begun"
    assert live["updated_at"] == iso(begun + 120_000) < old["updated_at"]

    compare_claims(scene, ident, live, old)


def compare_claims(scene: SimulatedScene, ident: str, live: dict, old: dict) -> None:
    """Each claim says in the archive what it said before, and that it is released."""
    home = scene.home
    held = {claim["kind"]: claim for claim in live["claims"]}
    kept = {claim["kind"]: claim for claim in old["claims"]}
    assert {kind: (claim["class"], claim["state"]) for kind, claim in kept.items()} == {
        "tmux_session": ("exclusive", "released"),
        "coord_prompt_inbox": ("delivery", "released"),
        "agent_environment": ("delivery", "released"),
        "agent_record": ("exclusive", "archived"),
    }
    assert {kind: claim["look"] for kind, claim in held.items() if kind in {"worktree", "worker_dir"}} == {
        "worktree": "ours",
        "worker_dir": "ours",
    }
    assert held["worktree"]["data"]["name"] == f"{home}/projects/{PROJECT}/worktrees/a"
    assert kept["tmux_session"]["data"]["name"] == f"fleet-{ident}"
    assert kept["tmux_session"]["data"]["process"] == old["process"] != ""
    assert kept["coord_prompt_inbox"]["data"]["name"] == f"inbox/{ident}.md"
    assert kept["agent_record"]["data"]["session"] == f"fleet-{ident}"
    (adopted,) = old["adoptions"]
    assert (adopted["dispatch"], adopted["kind"], adopted["generation"]) == (ident, "worker", 1)
    assert adopted["adopted_at"] == old["created_at"]


@pytest.mark.req("OBS-1", "OBS-2")
def test_a_list_has_the_states_ages_and_how_many_claims_are_held(scene):
    begun, fleet = scene.clock.now(), scene.fleet
    first = scene.work("a")
    scene.clock.wait(60)
    second = scene.dispatch("b")
    fleet.dispatches.kill(first, "a test")
    shown = {each.id: each for each in fleet.dispatches.list()}
    assert list(shown) == [first, second], "oldest first"
    assert [(each.exec_state, each.recl_state, each.claims) for each in shown.values()] == [
        ("failed", "pending", 2),
        ("pending", "pending", 5),
    ]
    assert [each.created_at for each in shown.values()] == [iso(begun), iso(begun + 60_000)]
    assert (shown[first].blocked_reason, shown[second].launched_at) == ("killed: a test", None)
    assert [each.id for each in fleet.dispatches.list(ended=False)] == [second]
    claims = fleet.claims.list()
    assert {(each.class_, each.kind, each.state, each.dispatch, each.slug) for each in claims} == {
        ("adoptable", "worktree", "live", None, "a"),
        ("adoptable", "worker_dir", "live", None, "a"),
        ("adoptable", "worktree", "live", None, "b"),
        ("adoptable", "worker_dir", "live", None, "b"),
        ("delivery", "coord_prompt_inbox", "live", second, None),
        ("delivery", "agent_environment", "live", second, None),
        ("exclusive", "tmux_session", "live", second, None),
        ("exclusive", "agent_record", "live", second, None),
    }
    assert len(claims) == 8
    assert {each.kind for each in fleet.claims.list("exclusive")} == {"tmux_session", "agent_record"}
    assert [each.name for each in fleet.claims.list("adoptable", "worktree")] == [
        f"{scene.home}/projects/{PROJECT}/worktrees/{slug}" for slug in ("a", "b")
    ]


@pytest.mark.req("OBS-4")
def test_a_journal_is_pruned_after_ninety_days_when_nobody_says_how_many(scene):
    folder, now = Path(scene.home, "dispatches/archive"), scene.clock.now()
    folder.mkdir(parents=True, mode=0o700)
    ages = {"00000001": 90 * DAY + 1, "00000002": 90 * DAY, "00000003": DAY}
    names = {ident: f"{ident}-{now - age}.json" for ident, age in ages.items()}
    for name in (*names.values(), "notes.txt"):
        (folder / name).write_text(json.dumps({}))
    pruned = scene.fleet.sweep.prune_archive()
    assert (pruned.pruned, pruned.kept) == (1, 3)
    assert scene.fleet.files.names("dispatches/archive") == [names["00000002"], names["00000003"], "notes.txt"]
    assert scene.fleet.sweep.prune_archive(older_than="2d").pruned == 1
    assert scene.fleet.files.names("dispatches/archive") == [names["00000003"], "notes.txt"]

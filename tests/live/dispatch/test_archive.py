"""The archive: written and synced before the rows go; the journal reads the same, live or archived."""

import os
import signal
from pathlib import Path

import pytest
from staging.stage import FLEET, answer

from fleet.model.text.times import DAY, HOUR, iso
from fleet.testing.crash.scenarios import until

SAME = ("id", "kind", "owner", "host_id", "tmux_socket", "schema", "created_at")


def shown(scene, ident: str) -> dict:
    return answer(scene.start(FLEET, "dispatches", "show", ident, "--json")).json


@pytest.mark.req("OBS-1", "AUD-2", "EXC-3")
def test_the_journal_has_one_shape_live_and_archived(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        either.launched(fleet, ident)
        live, host, socket = shown(either, ident), fleet.world.host.id, fleet.world.tmux.socket
        made = iso(fleet.context.dispatch(ident).created_at)
        fleet.dispatches.kill(ident, "a test")
        fleet.tasks.archive(project="p", slug="t")
        either.swept(fleet)
        (name,) = fleet.files.names("dispatches/archive")
        assert name.startswith(f"{ident}-")
        assert (Path(either.home, "dispatches/archive", name).stat().st_mode & 0o777) == 0o600
    old = shown(either, ident)
    for journal in (live, old):
        same = [journal[name] for name in SAME]
        assert same == [ident, "worker", "project/p/slug/t", host, socket, 1, made]
    assert set(live) - set(old) == set()
    assert (live["exec_state"], live["recl_state"], live["blocked_reason"]) == ("in_flight", "pending", None)
    assert (old["exec_state"], old["recl_state"], old["blocked_reason"]) == ("failed", "complete", "killed: a test")
    assert old["updated_at"] > live["updated_at"] >= made
    assert held(live) == {
        "tmux_session": ("exclusive", "live", f"fleet-{ident}"),
        "coord_prompt_inbox": ("delivery", "live", f"inbox/{ident}.md"),
        "agent_record": ("exclusive", "live", f"fleet-{ident}"),
    }
    assert held(old) == {
        "tmux_session": ("exclusive", "released", f"fleet-{ident}"),
        "coord_prompt_inbox": ("delivery", "released", f"inbox/{ident}.md"),
        "agent_record": ("exclusive", "archived", f"fleet-{ident}"),
    }


def held(journal: dict) -> dict[str, tuple[str, str, str]]:
    """Class, state and name of the session, the prompt and the record."""
    wanted = {"tmux_session", "coord_prompt_inbox", "agent_record"}
    claims = [claim for claim in journal["claims"] if claim["kind"] in wanted]
    return {
        claim["kind"]: (claim["class"], claim["state"], claim["data"].get("name") or claim["data"]["session"])
        for claim in claims
    }


@pytest.mark.req("OBS-1")
def test_a_live_journal_shows_its_bundle_and_a_fresh_look_at_each_claim(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", "sleep", "1000")
        scene.launched(fleet, ident)
    claims = {claim["kind"]: claim for claim in shown(scene, ident)["claims"]}
    looks = {kind: (claim["state"], claim["look"]) for kind, claim in claims.items() if kind != "cgroup"}
    held = dict.fromkeys(("worktree", "worker_dir", "coord_prompt_inbox", "tmux_session"), ("live", "ours"))
    environment = {"agent_environment": ("released", "absent")}  # the agent took it at its launch
    assert {**environment, **looks} == {**held, **environment, "agent_record": ("live", "live")}, "inspected anew"


@pytest.mark.req("AUD-2")
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_kill_around_the_archiving_loses_no_journal_and_keeps_it_once(either, where):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.killed(fleet, "t")
        fleet.tasks.archive(project="p", slug="t")
        child = either.halted(where, "publish dispatches/archive", "sweep")
        assert fleet.dispatches.list()[0].id == ident, "the rows are there until the file is"
        os.kill(child.pid, signal.SIGKILL)
        child.wait(60)
        either.swept(fleet)
        assert fleet.dispatches.list() == []
        assert len([name for name in fleet.files.names("dispatches/archive") if name.startswith(ident)]) == 1
        assert fleet.dispatches.show(ident).exec_state == "failed"


@pytest.mark.req("OBS-1", "OBS-2")
def test_journals_and_claims_are_listed_across_dispatches_by_class_and_kind(either):
    with either.fleet() as fleet:
        idents = {either.dispatch(fleet, slug, "sleep", "1000") for slug in ("a", "b")}
    listed = answer(either.start(FLEET, "dispatches", "list", "--json")).json
    assert {each["id"] for each in listed} == idents
    assert [(each["kind"], each["owner"], each["recl_state"]) for each in listed] == [
        ("worker", f"project/p/slug/{slug}", "pending") for slug in (each["slug"] for each in listed)
    ]
    with either.fleet() as fleet:
        rows = {ident: fleet.context.dispatch(ident) for ident in idents}
        claims = fleet.claims.list()
    for each in listed:
        assert each["created_at"] == iso(rows[each["id"]].created_at)
        of_task = [claim for claim in claims if claim.slug == each["slug"]]
        of_dispatch = [claim for claim in claims if claim.dispatch == each["id"] and claim.id is not None]
        assert 4 <= each["claims"] in {len(of_task) + len(of_dispatch), len(of_task) + len(of_dispatch) + 1}, (
            "its environment goes at its launch"
        )
    sessions = answer(either.start(FLEET, "claims", "list", "exclusive", "tmux_session", "--json")).json
    assert {each["name"] for each in sessions} == {f"fleet-{ident}" for ident in idents}
    assert len(answer(either.start(FLEET, "claims", "list", "adoptable", "--json")).json) == 4
    assert len(answer(either.start(FLEET, "claims", "list", "exclusive", "agent_record", "--json")).json) == 2


@pytest.mark.req("OBS-3")
def test_status_counts_active_dispatches_and_says_reclaim_trouble_in_words(scene):
    scene.forgiven = {"worktree", "claim work", "journal", "workers", "lock"}
    with scene.fleet() as fleet:
        scene.killed(fleet, "dirty")
        (scene.tree("dirty") / "x").write_text("x")
        fleet.tasks.archive(project="p", slug="dirty")
        fleet.sweep.run(kill=True)
        scene.dispatch(fleet, "t", "sleep", "1000")
    said = scene.program("status").out
    assert "dispatches: 1 active, 0 blocked-reclaim" in said
    assert "1 worktree kept: uncommitted work" in said


@pytest.mark.req("OBS-4", "AUD-1")
def test_old_journals_are_pruned_only_when_asked(scene):
    with scene.fleet() as fleet:
        ident = scene.killed(fleet, "t")
        fleet.tasks.archive(project="p", slug="t")
        until(lambda: scene.swept(fleet) or not fleet.dispatches.list())
        (name,) = fleet.files.names("dispatches/archive")
    assert scene.program("maintenance", "prune-dispatch-archive", "--older-than", "90d").code == 0
    assert os.path.exists(f"{scene.home}/dispatches/archive/{name}")
    old = f"{scene.home}/dispatches/archive/00000001-1000000.json"
    os.link(f"{scene.home}/dispatches/archive/{name}", old)
    os.utime(old, (1, 1))
    os.unlink(f"{scene.home}/dispatches/archive/{name}")
    Path(f"{scene.home}/dispatches/archive/{name}").write_text(Path(old).read_text())
    assert scene.program("maintenance", "prune-dispatch-archive", "--older-than", "90d").code == 0
    with scene.fleet() as fleet:
        assert fleet.files.names("dispatches/archive") == [name]
        assert fleet.dispatches.show(ident).id == ident


@pytest.mark.req("OBS-4", "AUD-1")
def test_an_archive_above_100_mb_loses_its_oldest_journals_but_none_of_the_last_day(scene):
    with scene.fleet() as fleet:
        now = fleet.clock.now()
        folder = Path(scene.home, "dispatches/archive")
        folder.mkdir(parents=True)
        ages = {"a": 40 * DAY, "b": 30 * DAY, "c": 20 * DAY, "d": HOUR}
        names = {letter: f"{letter * 8}-{now - age}.json" for letter, age in ages.items()}
        for name in (*names.values(), "notes.txt"):
            with open(folder / name, "wb") as file:
                file.truncate(30_000_000)  # sparse: it takes no room
        (dry,) = fleet.sweep.run(kill=False)
        assert (dry.what, dry.why) == ("dispatches/archive", "it is larger than 100 MB")
        assert dry.action == "would remove the 1 oldest journals"
        assert len(list(folder.iterdir())) == 5, "a dry run touches nothing"
        fleet.sweep.run(kill=True)
        assert sorted(os.listdir(folder)) == sorted([names["b"], names["c"], names["d"], "notes.txt"])
        assert fleet.sweep.run(kill=True) == [], "90 MB are not too many"
        for name in (names["b"], names["c"]):
            os.rename(folder / name, folder / f"{name[:9]}{now - HOUR}.json")
        os.truncate(folder / names["d"], 200_000_000)
        assert fleet.sweep.run(kill=True) == [], "all of the last day"
        assert len(list(folder.iterdir())) == 4

"""Ageing: what a sweep does because time has passed, and what it never does. Times are set in the store; nobody waits."""

import os
import signal
from pathlib import Path

import pytest
from staging.stage import acted, claim_of, raw, standing

from fleet.model.text.times import DAY, HOUR, MINUTE
from fleet.store import queries as q
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.tasks.reopen import archive_long_ended

WEEK = 7 * DAY
LATE = 168 * HOUR
ORPHANS = frozenset({"orphans"})
COORD = Wanted(project="p", slug=None, kind="coord", engine="shell", command=("true",))


def ended_ago(fleet, slug: str, age: int) -> None:
    raw(fleet, f"UPDATE tasks SET ended_at = {fleet.clock.now() - age} WHERE slug = '{slug}'")


def in_sight(fleet) -> set[str]:
    return {task.slug for task in fleet.tasks.list(project="p")}


def dying_settler(scene, fleet, ident: str, effect: str = "unlink inbox/") -> None:
    """A dispatch that has ended, and whose settler was killed before it removed the prompt."""
    scene.exited(fleet, ident)
    child = scene.halted("before", effect, "settle", ident)
    os.kill(child.pid, signal.SIGKILL)
    child.wait(60)


@pytest.mark.req("ADO-9")
def test_failed_and_abandoned_tasks_are_archived_by_a_sweep_after_a_week_and_done_ones_wait_for_their_merge(either):
    with either.fleet() as fleet:
        either.killed(fleet, "failed")
        for slug in ("abandoned", "done", "blocked", "young"):
            fleet.tasks.add(project="p", title="T", slug=slug)
        fleet.tasks.abandon(project="p", slug="abandoned")
        fleet.tasks.done(project="p", slug="done")
        fleet.tasks.block(project="p", slug="blocked", reason="why not")
        fleet.tasks.abandon(project="p", slug="young")
        for slug in ("failed", "abandoned", "done", "blocked"):
            ended_ago(fleet, slug, WEEK + MINUTE)
        ended_ago(fleet, "young", WEEK - HOUR)
        dry = {each.what: (each.why, each.action) for each in fleet.sweep.run(kill=False)}
        assert dry["task p/failed"] == ("failed 7d ago", "would archive it")
        assert dry["task p/abandoned"] == ("abandoned 7d ago", "would archive it")
        assert in_sight(fleet) == {"failed", "abandoned", "done", "blocked", "young"}, "a dry run touches nothing"
        assert either.tree("failed").exists()
        either.swept(fleet)
        assert in_sight(fleet) == {"done", "blocked", "young"}
        assert not either.tree("failed").exists(), "its bundle is released with it"
        assert fleet.tasks.show(project="p", slug="failed").archived


@pytest.mark.req("ADO-9")
def test_a_project_may_choose_the_age_and_a_mistake_in_its_file_holds_up_nothing_else(scene):
    file = Path(scene.repository, "fleet.toml")
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        fleet.tasks.abandon(project="p", slug="t")
        ended_ago(fleet, "t", 2 * HOUR)
        file.write_text('[task]\narchive_after = "soon"\n')
        assert any("archive_after" in each.proof for each in fleet.sweep.run(kill=True) if each.standing)
        assert in_sight(fleet) == {"t"}
        file.write_text('[task]\narchive_after = "3h"\n')
        fleet.sweep.run(kill=True)
        assert in_sight(fleet) == {"t"}
        file.write_text('[task]\narchive_after = "1h"\n')
        fleet.sweep.run(kill=True)
        assert in_sight(fleet) == set()


@pytest.mark.req("ADO-9")
@pytest.mark.parametrize("now", ["open", "failed anew", "an item of a job"])
def test_a_task_that_was_taken_up_again_meanwhile_is_not_archived(either, now):
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        before = fleet.clock.now() - WEEK
        if now == "failed anew":
            fleet.tasks.fail(project="p", slug="t", reason="again")
        if now == "an item of a job":
            fleet.tasks.abandon(project="p", slug="t")
            ended_ago(fleet, "t", WEEK + MINUTE)
            raw(fleet, "UPDATE tasks SET job = '0a0b0c0d' WHERE slug = 't'")
        done = fleet.commit(archive_long_ended(project="p", slug="t", before=before))
        assert done == ["it was taken up again meanwhile"]
        assert not fleet.tasks.show(project="p", slug="t").archived


@pytest.mark.req("SWEEP-9", "DEL-2")
@pytest.mark.parametrize("preserved", [False, True])
def test_a_prompt_still_ours_168_hours_after_its_dispatch_ended_is_found_and_goes(either, preserved):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", "true")
        if preserved:
            raw(fleet, """UPDATE claims SET data = '{"preserve": true}' WHERE kind = 'coord_prompt_inbox'""")
        dying_settler(either, fleet, ident, "move inbox/" if preserved else "unlink inbox/")
        prompt = Path(either.home, "inbox", f"{ident}.md")
        raw(fleet, f"UPDATE dispatches SET ended_at = {fleet.clock.now() - LATE + HOUR}")
        assert fleet.sweep.run(kill=True, phases=ORPHANS) == [], "an hour too early"
        assert prompt.exists()
        raw(fleet, f"UPDATE dispatches SET ended_at = {fleet.clock.now() - LATE - MINUTE}")
        (found,) = fleet.sweep.run(kill=False, phases=ORPHANS)
        assert ident in found.what
        assert "168 h after its dispatch" in found.why
        assert found.action == "would release it"
        assert prompt.exists(), "a dry run touches nothing"
        (found,) = fleet.sweep.run(kill=True, phases=ORPHANS)
        assert found.done
        assert not prompt.exists()
        assert Path(either.home, "inbox/archive", prompt.name).exists() == preserved
        assert claim_of(fleet, "coord_prompt_inbox", ident).state == "released"
        assert fleet.sweep.run(kill=True, phases=ORPHANS) == []


@pytest.mark.req("SWEEP-9", "SWEEP-7")
def test_age_alone_moves_no_prompt_that_is_not_ours_or_whose_agent_works(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", "true")
        dying_settler(either, fleet, ident)
        working = either.dispatch(fleet, "w", "sleep", "1000")
        either.launched(fleet, working)
        long_ago = fleet.clock.now() - 2 * LATE
        raw(fleet, f"UPDATE dispatches SET created_at = {long_ago}, launched_at = {long_ago}")
        raw(fleet, f"UPDATE dispatches SET ended_at = {long_ago} WHERE id = '{ident}'")
        raw(fleet, f"UPDATE claims SET created_at = {long_ago}")
        prompt = Path(either.home, "inbox", f"{ident}.md")
        prompt.unlink()
        prompt.symlink_to(Path(either.repository, "README"))
        assert acted(fleet.sweep.run(kill=True, phases=ORPHANS)) == []
        assert prompt.is_symlink()
        assert any("foreign" in line for line in standing(fleet.sweep.run(kill=False)))
        assert Path(either.home, "inbox", f"{working}.md").exists()
        assert [agent.id for agent in fleet.agents.list()] == [working]
        prompt.unlink()


@pytest.mark.req("SWEEP-9", "EXC-4")
def test_the_seat_is_not_swept_however_long_its_holder_has_been_dead(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = fleet.coord.start(COORD).id
        dying_settler(either, fleet, ident)
        raw(fleet, f"UPDATE dispatches SET ended_at = {fleet.clock.now() - 2 * LATE}")
        either.swept(fleet)
        assert fleet.dispatches.list() == []
        assert fleet.files.names("inbox") == []
        seat = fleet.store.read(lambda rows: q.seat_of(rows, project="p"))
        assert seat is not None
        assert seat.holder == ident

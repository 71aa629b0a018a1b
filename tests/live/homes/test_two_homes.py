"""Two homes of one machine on one PostgreSQL: each judges, ends and releases only what is its own."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from staging.stage import FLEET, Stage, acted, claim_of, is_alive, process_of, raw, standing

from fleet.api.fleet import Fleet
from fleet.errors.families import Refused
from fleet.errors.refused import CoordinatorLives, OtherHost
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT
from fleet.verbs.dispatch.acquire import release
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.dispatch.reclaim import reclaim

COORD = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


class Pair:
    """Two homes, one database, one repository, one machine."""

    def __init__(self, store: str) -> None:
        self.one = Stage(store=store)
        self.home = f"{self.one.root}/second"
        os.mkdir(self.home, mode=0o700)
        Path(self.home, "config.toml").write_text(Path(self.one.home, "config.toml").read_text())

    def first(self) -> Fleet:
        return Fleet.open(self.one.home, actor="ann")

    def second(self) -> Fleet:
        return Fleet.open(self.home, actor="ben")

    def at_work(self, fleet: Fleet, slug: str) -> tuple[str, int]:
        """An agent of a home, and its process."""
        ident = self.one.dispatch(fleet, slug, "sleep", "1000")
        return ident, self.one.launched(fleet, ident).pid

    def close(self) -> None:
        """End what is left in each home; nothing may stay."""
        for opened in (self.first, self.second):
            with opened() as fleet:
                subprocess.run(["tmux", "-S", f"{fleet.home}/tmux.sock", "set-hook", "-gu", "pane-died"], check=False,
                               capture_output=True)  # fmt: skip
                mine = [
                    each
                    for each in fleet.dispatches.list(ended=False)
                    if fleet.dispatches.show(each.id).home == own(fleet)
                ]
                for each in mine:
                    fleet.dispatches.kill(each.id, "the test is over")
        with self.first() as fleet:
            for task in list(fleet.tasks.list(project=PROJECT)):
                if task.status not in {"done", "failed", "abandoned"}:
                    fleet.tasks.abandon(project=PROJECT, slug=task.slug, override=True)
                fleet.tasks.archive(project=PROJECT, slug=task.slug)
        try:
            for opened in (self.first, self.second, self.first, self.second):
                with opened() as fleet:
                    until(lambda: not acted(fleet.sweep.run(kill=True)))
            assert self.one.leftovers() == []
        finally:
            for home in (self.home, self.one.home):
                subprocess.run(["tmux", "-S", f"{home}/tmux.sock", "kill-server"], check=False, capture_output=True)
            self.one.close()


def own(fleet: Fleet) -> str:
    return fleet.world.record.id


@pytest.fixture
def pair(postgres_url: str) -> Iterator[Pair]:
    made = Pair(postgres_url)
    yield made
    made.close()


@pytest.mark.req("EXC-10", "AGENT-7")
def test_the_other_homes_agent_is_neither_settled_nor_killed_nor_asked(pair):
    with pair.first() as first, pair.second() as second:
        assert own(first) != own(second)
        ident, pid = pair.at_work(first, "t")
        assert second.sessions.settle(ident).settled is False
        for act in (
            lambda: second.dispatches.kill(ident, "not mine"),
            lambda: second.dispatches.stop(ident),
            lambda: second.dispatches.resume(ident),
            lambda: second.coord.hand_off(ident, reason="not mine"),
        ):
            with pytest.raises(Refused) as caught:
                act()
            for word in (first.home, second.home, first.world.host.id, f"disown {ident}"):
                assert word in caught.value.spoken
        assert first.context.dispatch(ident).asked_for is None
        assert second.dispatches.resume_all().resumed == []
        assert is_alive(pid)


@pytest.mark.req("SWEEP-7", "EXC-10")
def test_what_the_other_home_lost_is_swept_by_that_home_alone(pair):
    with pair.first() as first, pair.second() as second:
        pair.one.without_hint(first)
        ident, pid = pair.at_work(first, "t")
        os.kill(pid, 9)
        until(lambda: not is_alive(pid))
        assert acted(second.sweep.run(kill=True)) == []
        assert any(ident in line for line in standing(second.sweep.run(kill=False)))
        assert first.context.dispatch(ident).exec_state == "in_flight"
        assert [each for each in acted(first.sweep.run(kill=True)) if ident in each]
        assert first.context.dispatch(ident).exec_state == "failed"


@pytest.mark.req("EXC-10", "DEL-5")
def test_the_other_homes_prompt_and_worktree_are_not_released(pair):
    with pair.first() as first, pair.second() as second:
        pair.one.without_hint(first)
        ident, pid = pair.at_work(first, "t")
        inbox = Path(first.home, "inbox", f"{ident}.md")
        os.kill(pid, 9)
        until(lambda: not is_alive(pid))
        raw(first, f"UPDATE dispatches SET exec_state = 'failed', ended_at = 1 WHERE id = '{ident}'")
        raw(first, "UPDATE tasks SET status = 'failed', archived = 1, ended_at = 1")
        second.sweep.run(kill=True)
        assert reclaim(second.context, ident) != []
        for kind in ("coord_prompt_inbox", "tmux_session"):
            with pytest.raises(OtherHost):
                release(second.context, claim_of(second, kind, ident))
        with pytest.raises(OtherHost):
            second.claims.release_prompt(ident, "coord_prompt_inbox")
        assert (inbox.exists(), pair.one.tree("t").exists()) == (True, True)
        assert {each.kind for each in first.claims.list() if each.state == "live"} >= {
            "worktree",
            "coord_prompt_inbox",
        }
        first.sweep.run(kill=True)
        assert (inbox.exists(), pair.one.tree("t").exists()) == (False, False)


@pytest.mark.req("EXC-10", "ADO-5")
def test_a_task_whose_worktree_is_the_other_homes_is_neither_worked_on_nor_merged(pair):
    with pair.first() as first, pair.second() as second:
        pair.one.without_hint(first)
        ident = pair.one.dispatch(first, "t", "sh", "-c", "echo work > w; git add w; git commit -qm w; fleet done")
        pair.one.exited(first, ident)
        assert first.sessions.settle(ident).settled
        with pytest.raises(OtherHost, match=first.home):
            second.merge.task(project=PROJECT, slug="t")
        assert first.merge.task(project=PROJECT, slug="t").changed
        stopped, _pid = pair.at_work(first, "u")
        first.dispatches.stop(stopped)
        second.tasks.retry(project=PROJECT, slug="u")
        with pytest.raises(OtherHost, match=first.home):
            pair.one.dispatch(second, "u", "true")
        assert second.dispatches.resumable() == []


@pytest.mark.req("GATE-7", "EXC-10")
def test_the_other_homes_coordinator_vetoes_and_is_never_judged_dead(pair):
    with pair.first() as first, pair.second() as second:
        ident = first.coord.start(COORD).id
        who = pair.one.launched(first, ident)
        with pytest.raises(CoordinatorLives, match=f"unknown: {ident}") as caught:
            second.coord.start(COORD)
        assert first.home in caught.value.spoken
        with pytest.raises(OtherHost):
            second.coord.stop(PROJECT, "not mine")
        assert acted(second.sweep.run(kill=True)) == []
        os.kill(who.pid, 9)
        until(lambda: not is_alive(who.pid))
        with pytest.raises(CoordinatorLives):
            second.coord.start(COORD)
        first.coord.stop(PROJECT, "the test is over")


@pytest.mark.req("JOB-5", "EXC-10")
def test_the_other_homes_job_is_not_taken_up(pair, tmp_path):
    text = "name: j\nmap:\n  isolation: none\n  input: [a]\n  steps:\n    - shell: 'sleep 1000'\n"
    (tmp_path / "job.yml").write_text(text)
    runner = pair.one.start(FLEET, "job", "run", str(tmp_path / "job.yml"), "-p", PROJECT)
    with Fleet.open(pair.one.home) as first, Fleet.open(pair.home) as second:
        until(lambda: any(each.items.running for each in first.jobs.list()))
        with runner:
            runner.kill()
        (job,) = second.jobs.list()
        assert second.dispatches.resumable() == []
        assert second.dispatches.resume_all().as_json() == {"resumed": [], "waiting": [], "jobs": []}
        for act in (
            lambda: second.jobs.resume(job.id, lambda _event: None),
            lambda: second.jobs.cancel(job.id, "not mine"),
        ):
            with pytest.raises(OtherHost, match=first.home):
                act()
        assert [each.id for each in first.dispatches.resumable() if each.kind == "job"] == [job.id]
        first.jobs.cancel(job.id, "the test is over")


@pytest.mark.req("EXC-10")
def test_rows_from_before_homes_were_recorded_are_of_the_home_whose_socket_they_have(pair):
    with pair.first() as first, pair.second() as second:
        ident, pid = pair.at_work(first, "t")
        raw(first, "UPDATE dispatches SET home = NULL")
        raw(first, "UPDATE claims SET home = NULL")
        with pytest.raises(OtherHost):
            second.dispatches.kill(ident, "not mine")
        assert process_of(first, ident).pid == pid
        assert first.dispatches.kill(ident, "a test").settled
        assert second.homes.show().others[0].path == first.home

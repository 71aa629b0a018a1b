"""fleet status: who needs the person first, then the rest; and fleet recap: what happened since."""

import os
import re
import signal
from pathlib import Path

import pytest
from live.merge.test_review import TASK, configured, place, worked
from staging.person import Person
from staging.stage import raw

from fleet.model.text.times import HOUR
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted

FAR = 4_000_000_000_000  # 2096


def asking(scene, fleet, slug: str) -> str:
    """An agent at work that has put a question."""
    ident = scene.dispatch(fleet, slug, "sleep", "1000")
    scene.launched(fleet, ident)
    raw(
        fleet,
        "INSERT INTO questions (id, dispatch, kind, text, command, asked_at) "
        f"VALUES ('0a0b0c0d', '{ident}', 'permission', 'May I run this?', 'make deploy', {fleet.clock.now() - HOUR})",
    )
    return ident


@pytest.mark.req("OBS-3")
def test_what_needs_you_comes_first_with_the_question(either):
    with either.fleet() as fleet:
        ident = asking(either, fleet, "asker")
        [asked] = fleet.views.status().needs_you
        assert (asked.dispatch, asked.slug, asked.text) == (ident, "asker", "May I run this?")
        said = either.program("status").out.splitlines()
        assert said[:2] == ["Needs you 1", "  fleet approve 0a0b0c0d  p/asker, 1h ago: May I run this? — make deploy"]
        raw(fleet, "UPDATE questions SET answered_at = 1, answer = 'yes'")
        assert fleet.views.status().needs_you == []


@pytest.mark.req("OBS-3", "OBS-8")
def test_every_agent_is_listed_with_what_it_does_who_says_so_and_since_when(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        coordinator = fleet.coord.start(
            Wanted(project="p", slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
        ).id
        for each in (ident, coordinator):
            either.launched(fleet, each)
        fleet.tasks.add(project="p", title="By hand", slug="hand")
        fleet.tasks.claim(project="p", slug="hand")
        found = {each.who: each for each in fleet.views.status().working}
        assert set(found) == {ident, coordinator, "tester"}
        assert {who: (each.project, each.slug, each.state, each.source) for who, each in found.items()} == {
            ident: ("p", "t", "running", "process"),
            coordinator: ("p", None, "running", "process"),
            "tester": ("p", "hand", "claimed", "store"),
        }
        said = either.program("status").out
        assert re.search(rf"  {ident} running \(process, \d+s\)  p/t  t\n", said)
        assert re.search(rf"  {coordinator} running \(process, \d+s\)  p's coordinator", said)
        assert "dispatches: 2 active, 0 blocked-reclaim" in said


@pytest.mark.req("OBS-3")
def test_work_that_waits_is_told_by_what_it_waits_for(either):
    with either.fleet() as fleet:
        worked(either, fleet)
        for slug in ("failing", "stuck", "later"):
            fleet.tasks.add(project="p", title=slug, slug=slug)
        fleet.tasks.fail(project="p", slug="failing", reason="the API\nis gone")
        fleet.tasks.block(project="p", slug="stuck", reason="no access")
        raw(fleet, f"UPDATE tasks SET not_before = {FAR} WHERE slug = 'later'")
        raw(
            fleet,
            f"INSERT INTO holds (engine, kind, reason, since, until) VALUES ('claude', 'limit', 'used up', 1, {FAR})",
        )
        found = fleet.views.status()
        assert [each.slug for each in found.review] == ["t"]
        assert [(each.slug, each.reason) for each in found.failed] == [("failing", "the API\nis gone")]
        assert {each.slug: (each.not_before or "")[:4] for each in found.parked} == {
            "stuck": "",
            "later": "2096",
        }
        assert [(each.engine, each.until[:4]) for each in found.holds] == [("claude", "2096")]
        said = either.program("status").out
        titles = re.findall(r"^(To review|Failed|Parked|Held back|Working) \d", said, re.MULTILINE)
        assert titles == ["To review", "Failed", "Parked", "Held back"]
        for line in (
            "  p/failing  the API is gone",
            "  p/stuck  no access",
            "  claude (limit) is held back until 2096",
        ):
            assert line in said
        fleet.reviews.judge(**TASK, verdict="accept")
        assert place(fleet) == ("in_progress", "finisher")
        found = fleet.views.status()
        assert (found.review, [each.slug for each in found.merging]) == ([], ["t"])


@pytest.mark.req("OBS-3")
def test_reclaim_trouble_is_told_in_words_and_claims_of_elsewhere_are_warned_of(either):
    with either.fleet() as fleet:
        either.killed(fleet, "t")
        assert fleet.views.status().reclaim == []
        Path(either.tree("t"), "mine.txt").write_text("not committed\n")
        fleet.tasks.archive(**TASK)
        either.swept(fleet)
        assert [said for said in fleet.views.status().reclaim if said.startswith("1 worktree kept: uncommitted work")]
        assert fleet.views.status().elsewhere == []
        raw(fleet, "UPDATE claims SET host = 'far-away' WHERE kind = 'worktree'")
        [warned] = fleet.views.status().elsewhere
        assert "another host (far-away)" in warned
        assert warned in either.program("status").out
        raw(fleet, f"UPDATE claims SET host = '{fleet.world.host.id}'")
        Path(either.tree("t"), "mine.txt").unlink()


@pytest.mark.req("OBS-3")
@pytest.mark.parametrize("columns", [80, 120])
def test_the_page_fits_the_terminal(scene, columns):
    with scene.fleet() as fleet:
        asking(scene, fleet, "asker")
        for number in range(25):
            fleet.tasks.add(project="p", title="A title that goes on and on " * 6, slug=f"t{number}")
            fleet.tasks.fail(project="p", slug=f"t{number}", reason="a reason that goes on and on " * 9)
        said = Person(scene, "status", columns=columns).ends().splitlines()
        assert max(len(line) for line in said) <= columns
        assert "  and 5 more" in said
        assert "Failed 25" in said
        assert "      fleet task retry t24 -p p" in said, "each entry names its one next step"


LONG = "printf 'GET /users' > api.md && git add api.md && git commit -m 'Design the interface' && fleet done"


@pytest.mark.req("OBS-3", "ASK-1")
def test_a_question_is_told_once_and_in_full_however_narrow_the_terminal_is(scene):
    with scene.fleet() as fleet:
        asking(scene, fleet, "asker")
        raw(
            fleet,
            "UPDATE questions SET text = 'Bash: ' || '"
            + LONG.replace("'", "''")
            + "', command = '"
            + LONG.replace("'", "''")
            + "'",
        )
        said = Person(scene, "status", columns=80).ends().splitlines()
        assert said[:2] == ["Needs you 1", "  fleet approve 0a0b0c0d  p/asker, 1h ago"]
        assert " ".join(" ".join(said[2 : said.index("")]).split()) == f"Bash: {LONG}"
        assert max(len(line) for line in said) <= 80


@pytest.mark.req("OBS-3")
def test_agents_that_have_exited_are_not_called_working_and_a_dead_coordinator_needs_the_person(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        coordinator = fleet.coord.start(_sleeper()).id
        pid = either.launched(fleet, coordinator).pid
        ident = either.dispatch(fleet, "t", "true")
        either.exited(fleet, ident)
        assert fleet.views.status().in_the_way == []
        os.kill(pid, signal.SIGKILL)
        either.exited(fleet, coordinator)
        said = either.program("status").out
        assert f"Needs you 1\n  p: its coordinator {coordinator} is dead — `fleet up`" in said
        ended = said.partition("Ended 2")[2].partition("\n\n")[0]
        assert (ident in ended, coordinator in ended, "Working" in said) == (True, True, False), said


ENGINE = """summary = "a test's"
program = "sh"
start = ["sh", "-c", "exec sleep 1000"]
interactive = false

[[before]]
file = "~/.nobody-has-this.json"
path = ["ready"]
equals = true
why = "it was never set up"
advice = "set it up"
"""


@pytest.mark.req("OBS-3", "ENG-6")
def test_ready_work_that_its_engine_could_not_begin_is_told_with_what_to_do(either):
    Path(either.home, "engines").mkdir()
    Path(either.home, "engines", "shy.toml").write_text(ENGINE)
    configured(either, 'engine = "shy"\n')
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="t", slug="t")
        assert fleet.views.status().in_the_way == [], "nobody would begin it but a person"
        either.launched(fleet, fleet.coord.start(_sleeper()).id)
        [found] = fleet.views.status().in_the_way
        assert found.project == "p"
        assert "it was never set up — set it up" in found.text
        fleet.tasks.claim(**TASK)
        assert fleet.views.status().in_the_way == [], "nothing is ready"


def _sleeper() -> Wanted:
    return Wanted(project="p", slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


@pytest.mark.req("OBS-3")
def test_what_was_merged_counts_as_done(either):
    with either.fleet() as fleet:
        worked(either, fleet)
        fleet.reviews.judge(**TASK, verdict="accept")
        fleet.merge.task(**TASK)
        assert fleet.tasks.show(**TASK).archived
        assert either.program("status").out.splitlines()[-1].split()[:6] == ["p", "0", "0", "0", "0", "1"]


@pytest.mark.req("OBS-9")
def test_a_recap_tells_what_was_merged_what_waits_what_failed_and_what_was_spent(either):
    with either.fleet() as fleet:
        worked(either, fleet)
        fleet.reviews.judge(**TASK, verdict="accept")
        raw(
            fleet,
            f"UPDATE agents SET cost = 1250000, tokens = 800 WHERE dispatch = '{fleet.tasks.show(**TASK).assignee}'",
        )
        fleet.merge.task(**TASK)
        worked(either, fleet, "waits", path="b.txt")
        either.killed(fleet, "bad")
        asking(either, fleet, "asker")
        raw(fleet, f"UPDATE agents SET cost = 250000, tokens = 200 WHERE dispatch = '{fleet.dispatches.find('asker')}'")
        found = fleet.views.recap(since=fleet.clock.now() - HOUR)
        assert [each.slug for each in found.merged] == ["t"]
        assert [each.slug for each in found.review] == ["waits"]
        assert [each.slug for each in found.asked] == ["asker"]
        assert [(each.slug, each.reason) for each in found.failed] == [("bad", "killed: a test")]
        assert found.spent.as_json() == {"agents": 2, "tokens": 1000, "dollars": 1.5, "unpriced": 0}, (
            "the archived one too"
        )
        said = either.program("recap", "--since", "1h").out
        for words in ("merged: 1", "p/t  t", "waits for your review: 1", "failed: 1", "spent: $1.50, 1,000 tokens"):
            assert words in said
        later = fleet.views.recap(since=fleet.clock.now() + HOUR)
        assert (later.merged, later.failed, later.spent.agents) == ([], [], 1), "what waits, waits still"
        assert either.program("recap", "-p", "nowhere").code == 11


@pytest.mark.req("OBS-9")
def test_what_was_interrupted_is_told_apart_from_what_failed(either):
    with either.fleet() as fleet:
        configured(either, "")
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        either.launched(fleet, ident)
        raw(fleet, f"UPDATE dispatches SET process = REPLACE(process, '/{fleet.world.host.boot}/', '/another/')")
        either.tmux("kill-session", "-t", f"=fleet-{ident}:")
        until(lambda: fleet.sessions.settle(ident).settled)
        found = fleet.views.recap(since=0)
        assert [(each.slug, each.reason) for each in found.interrupted] == [("t", "interrupted")]
        assert (found.failed, found.blocked) == ([], [])


@pytest.mark.req("OBS-9")
def test_a_recap_calls_no_stopped_coordinator_failed_and_says_what_was_merged_all_the_same(either):
    with either.fleet() as fleet:
        coordinator = fleet.coord.start(_sleeper()).id
        either.launched(fleet, coordinator)
        assert fleet.coord.stop("p", "the day is over").stopped
        fleet.tasks.add(**TASK, title="t", description="write a.txt one\ncommit Add it\ndone\n")
        either.killed(fleet, "t")
        assert [each.slug for each in fleet.views.recap(since=0).failed] == ["t"]
        fleet.tasks.retry(**TASK)
        worked(either, fleet)
        fleet.reviews.judge(**TASK, verdict="accept")
        fleet.merge.task(**TASK)
        assert "  failed: 1\n    p/t  merged since; killed: a test\n" in either.program("recap").out

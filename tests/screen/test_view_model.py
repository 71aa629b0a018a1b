"""One view model: the screen and `fleet status` show the same words and states for the same moment."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from live.merge.test_review import steady
from screen.driving import sit_down
from screen.staged_fleet import SHOP, WHICH, StagedFleet
from staging.stage import raw

from fleet.api.fleet import Fleet
from fleet.api.views.changes import PolledChanges
from fleet.api.views.rows import GROUPS, NEEDING_PERSON, RANKS, rows_of
from fleet.api.views.sections import sections
from fleet.model.results.views import Attempt, Snapshot
from fleet.model.text import jsontext
from fleet.surfaces.tui.dialogs.asking import Ask, Way
from fleet.surfaces.tui.feeds.tabs import escape_others
from fleet.surfaces.tui.widgets.line_view import LineView
from fleet.testing.crash.scenarios import until


def prepared(scene, fleet) -> None:
    steady(scene, fleet)
    scene.dispatch(fleet, "works", engine="scripted", script="say hello\nhang")
    scene.dispatch(fleet, "asks", engine="scripted", script="ask rm -rf build\nhang")
    broken = scene.dispatch(fleet, "breaks", engine="scripted", script="fail it does not compile")
    parked = scene.dispatch(fleet, "stops", engine="scripted", script="block no key")
    for each in (broken, parked):
        scene.exited(fleet, each)
        fleet.sessions.settle_soon(each)
    until(fleet.messages.questions)
    fleet.tasks.add(project="p", title="Ready work", slug="ready")


@pytest.mark.req("TUI-7", "OBS-3")
def test_the_screen_says_of_each_thing_what_the_status_page_says(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        prepared(scene, fleet)
        page = scene.program("status").out
        snapshot = fleet.views.snapshot()
        rows = {row.slug: row for row in snapshot.rows if row.slug}
        for section in sections(snapshot.page):
            assert f"{section.title} {len(section.entries)}" in page
            for each in section.entries:
                row = rows[each.slug]
                if isinstance(each, Attempt):
                    assert (row.state, row.source) == (each.state, each.source)
                else:
                    assert row.group == section.title.lower()

        async def look(person):
            await person.sees("needs you 1", "failed 1", "parked 1", "working 1")
            for attempt in snapshot.page.working:
                line = next(line for line in person.text.splitlines() if f" {attempt.slug} " in line)
                assert attempt.state in line
            for title in ("Needs you", "Failed", "Parked"):
                assert f"{title} 1" in page

        sit_down(scene.home, look)


@pytest.mark.req("TUI-7")
def test_a_snapshot_is_a_value_with_one_way_into_json(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="Ready work", slug="ready")
        snapshot = fleet.views.snapshot()
        assert snapshot.seq == fleet.operations.newest()
        again = Snapshot.from_json(jsontext.loads(jsontext.dumps(snapshot)))
        assert [row.as_json() for row in again.rows] == [row.as_json() for row in snapshot.rows]
        assert again.page == snapshot.page


@pytest.mark.req("TUI-1")
def test_groups_are_in_the_order_of_their_urgency():
    wanted = ["needs you", "failed", "not released", "working", "ready", "done"]
    assert sorted(wanted, key=RANKS.__getitem__) == wanted
    assert set(NEEDING_PERSON) == {"needs you", "to review", "failed"}
    assert list(RANKS) == list(GROUPS)


@pytest.mark.req("TUI-5")
def test_changes_are_numbered_and_waited_for_without_taking_a_snapshot(scene):
    with scene.fleet() as fleet:
        before = fleet.operations.newest()
        changes = PolledChanges(fleet.store, fleet.clock)
        assert changes.next_change(before, 0) is None
        fleet.tasks.add(project="p", title="Ready work", slug="ready")
        assert changes.next_change(before, 0) == before + 1
        assert changes.next_change(before + 5, 0) == before + 1, "a restored backup has a smaller number"


class CountingClock:
    """A clock that stands still and counts how often somebody waits."""

    def __init__(self) -> None:
        self.waits = 0

    def ticks(self) -> float:
        return 0.0

    def wait(self, _seconds: float) -> None:
        self.waits += 1


def test_nobody_waits_for_a_change_that_is_not_wanted_any_more(scene):
    with scene.fleet() as fleet:
        clock, newest = CountingClock(), fleet.operations.newest()
        changes = PolledChanges(fleet.store, clock)
        assert changes.next_change(newest, 60, wanted=lambda: clock.waits < 2) is None
        assert clock.waits == 2


def test_the_projects_with_problems_come_first(scene):
    with scene.fleet() as fleet:
        scene.git("init", "--quiet", "--initial-branch=main", f"{scene.root}/a")
        scene.git("commit", "--quiet", "--allow-empty", "--message=first", cwd=f"{scene.root}/a")
        fleet.projects.register(f"{scene.root}/a", "a")
        fleet.tasks.add(project="a", title="Fine", slug="fine")
        fleet.tasks.add(project="p", title="Bad", slug="bad")
        fleet.tasks.fail(project="p", slug="bad", reason="no")
        raw(fleet, "UPDATE tasks SET status = 'failed', reason = 'no' WHERE slug = 'bad'")
        rows = fleet.views.snapshot().rows
        assert [row.project for row in rows if row.kind == "project"] == ["p", "a"]
        assert [row.kind for row in rows[:2]] == ["project", "coordinator"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b[38;5;9mred\x1b[m", "\x1b[38;5;9mred\x1b[m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("a\x1b[2Jb", "a2Jb"),
        ("a\x1b[?1049hm", "a?1049hm"),
        ("\u202eevil", "\\u202eevil"),
    ],
)
def test_what_an_agent_shows_can_colour_the_mirror_and_nothing_else(line, shown):
    assert escape_others(line) == shown


def test_what_agents_wrote_is_shown_as_it_is_and_not_as_markup(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="[red]not markup[/red]", slug="odd", description="[bold]plain[/bold]")

    async def look(person):
        await person.goes_to("p/odd")
        await person.sees("[red]not markup[/red]")
        await person.presses("tab", "tab")
        await person.sees("Description", "[bold]plain[/bold]")

    sit_down(scene.home, look)


COLOURS = {
    "question": "Which colours?",
    "multiSelect": True,
    "options": [
        {"label": "red", "description": ""},
        {"label": "green", "description": ""},
        {"label": "blue", "description": ""},
    ],
}


class FewAgents(StagedFleet):
    """One that asked and died, one that asks two questions at once, one that works."""

    def play(self) -> None:
        self.dead = self.agent_on(SHOP, "search-index", "Find products")
        self.hear(self.dead, "Asks", tool_name="AskUserQuestion", tool_input={"questions": [WHICH]})
        self.exit(self.dead, 1)
        asks = self.agent_on(SHOP, "paint", "Paint the shop")
        self.hear(asks, "Asks", tool_name="AskUserQuestion", tool_input={"questions": [WHICH, COLOURS]})
        self.hear(self.agent_on(SHOP, "cart-totals", "Count the items"), "Worked")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[FewAgents]:
    with FewAgents() as made:
        monkeypatch.setattr(Fleet, "opener", SimpleNamespace(open=made.as_person))
        yield made


@pytest.mark.req("TUI-1", "TUI-7")
def test_a_dead_agent_waits_for_nobody_and_is_resumed(few):
    page = few.fleet.views.status()
    assert [need.slug for need in page.needs_you] == ["paint"]

    async def look(person):
        await person.goes_to(f"{SHOP}/search-index")
        await person.sees("✕ exited", "r resume")
        offered = person.text.splitlines()[-1]
        assert not any(word in offered for word in ("approve", "choose", "attach", "message"))

    sit_down(few.home, look)


@pytest.mark.req("TUI-2")
@pytest.mark.parametrize(
    ("other", "resumable"), [({}, True), ({"kind": "finisher", "engine": None}, False), ({"engine": "job"}, False)]
)
def test_a_dead_merge_or_agent_of_a_job_is_not_offered_to_be_resumed(few, other, resumable):
    snapshot = few.fleet.views.snapshot()
    dead = next(row.agent for row in snapshot.rows if row.resumable)
    agents = [agent.replaced(**other) if agent.id == dead else agent for agent in snapshot.agents]
    row = next(row for row in rows_of(snapshot.page, agents, [], [], 0) if row.agent == dead)
    assert (row.group, row.resumable) == ("ended", resumable)


@pytest.mark.req("TUI-7")
def test_the_page_and_the_screen_count_alike(few):
    snapshot = few.fleet.views.snapshot()
    counts = {section.title.lower(): len(section.entries) for section in sections(snapshot.page)}
    assert {group: snapshot.counts[group] for group in ("working", "ended", "needs you")} == {
        group: counts[group] for group in ("working", "ended", "needs you")
    }
    assert counts["working"] == 1


@pytest.mark.req("TUI-4", "ASK-1")
def test_several_answers_are_marked_and_sent_and_the_current_question_is_marked(few):
    async def act(person):
        await person.goes_to(f"{SHOP}/paint")
        await person.sees("▶ Which index", "  Which colours?", "1 [ ] red")
        await person.presses("2")
        await person.sees("✓ Which index", "2 [x] full text", "▶ Which colours?", "several may be chosen")
        await person.presses("1", "2", "3", "2")
        await person.sees("1 [x] red", "2 [ ] green", "3 [x] blue")
        await person.presses("enter")
        await person.is_told("full text")
        await person.is_told("red, blue")

    sit_down(few.home, act)


@pytest.mark.req("TUI-7")
def test_the_graph_has_the_glyphs_and_words_of_the_rows(few):
    async def act(person):
        await person.goes_to(f"{SHOP}/cart-totals")
        await person.presses("g")
        await person.sees(
            "● cart-totals  working  Count the items", "✕ search-index  exited", "◐ paint  asks", "◐ needs you 1"
        )

    sit_down(few.home, act)


@pytest.mark.parametrize(("size", "whole"), [((120, 40), True), ((80, 24), False)])
def test_a_dialog_shows_all_that_it_asks_about_or_says_how_to_scroll(few, size, whole):
    lines = [f"thing {number}: {'why ' * 25}" for number in range(8)]

    async def act(person):
        await person.sees("cart-totals")
        person.app.board.ask(Ask("A sweep found 8 things", [Way("y", "release them")], lines=lines), lambda _way: None)
        await person.sees("thing 0", "n or Esc")
        await person.until(lambda: ("thing 7" in person.text) == whole and ("↑ ↓: scroll" in person.text) != whole)
        view = person.app.screen.query_one(LineView)
        assert (view.size.height == view.line_count) == whole
        await person.presses(*["down"] * 20)
        await person.sees("thing 7", "release them")

    sit_down(few.home, act, size=size)

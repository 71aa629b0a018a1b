"""One view model: the screen and `fleet status` show the same words and states for the same moment."""

import os
import signal

import pytest
from live.merge.test_review import steady
from screen.driving import sit_down
from staging.stage import process_of, raw

from fleet.api.views.changes import PolledChanges
from fleet.api.views.rows import GROUPS, RANKS, WANTED
from fleet.api.views.sections import sections
from fleet.model.results.views import Attempt, Snapshot
from fleet.model.text import jsontext
from fleet.surfaces.tui.feeds.tabs import escape_others
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


@pytest.mark.req("TUI-1", "TUI-7")
def test_a_dead_agent_waits_for_nobody_and_is_resumed(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "asks", engine="scripted", script="ask rm -rf build\nhang")
        until(fleet.messages.questions)
        os.kill(process_of(fleet, ident).pid, signal.SIGKILL)
        until(lambda: fleet.agents.list()[0].state == "exited")
        page = fleet.views.status()
        assert [section.title for section in sections(page)] == ["Ended"]

        async def look(person):
            await person.goes_to("p/asks")
            await person.sees("✕ asks", "r resume")
            offered = person.text.splitlines()[-1]
            assert not any(word in offered for word in ("approve", "choose", "attach", "message"))

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
    assert set(WANTED) == {"needs you", "to review", "failed"}
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

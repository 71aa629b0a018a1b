"""How the screen looks: without colour, on narrow terminals, and how little of it a key draws again."""

from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from rich.text import Text
from screen.driving import sit_down

from fleet.api.views.tones import glyph_of
from fleet.model.dispatch.seat_steps import OWN_LOOP
from fleet.model.results.views import RowView
from fleet.model.settings.keys import keys_in_force
from fleet.model.text.times import MINUTE, iso
from fleet.surfaces.tui.acts.comments import ON_LINES, Commenting
from fleet.surfaces.tui.feeds.repeating import Repeating
from fleet.surfaces.tui.feeds.tabs import Tabs
from fleet.surfaces.tui.look import DARK, LIGHT, TERMINAL, ScreenLook, palette_for
from fleet.surfaces.tui.pages.timeline import TimelinePage
from fleet.surfaces.tui.widgets.about import about_row
from fleet.surfaces.tui.widgets.bars import key_line
from fleet.surfaces.tui.widgets.row_list import RowList

KEYS = keys_in_force({})
LOOK = ScreenLook(DARK)


@pytest.fixture
def tasks(scene):
    with scene.fleet() as fleet:
        for name in ("door", "roof", "wall"):
            fleet.tasks.add(project="p", title=f"Mend the {name}", slug=name)
    return scene


@pytest.mark.req("TUI-1")
@pytest.mark.parametrize("theme", ["auto", "dark", "light", "terminal"])
def test_without_colour_every_theme_is_drawn_in_the_terminals_own_two_colours(tasks, monkeypatch, theme):
    monkeypatch.setenv("NO_COLOR", "1")

    async def look(person):
        await person.sees("○ door", "▌")
        strips = person.app.screen._compositor.render_strips()
        colours = {
            colour.name
            for strip in strips
            for segment in strip
            if segment.style is not None
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour is not None
        }
        assert colours <= {"default"}

    sit_down(tasks.home, look, theme=theme)


def test_a_light_terminal_is_known_by_what_it_says_of_itself(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for said, palette in (("0;15", LIGHT), ("15;0", DARK), ("", DARK)):
        monkeypatch.setenv("COLORFGBG", said)
        assert palette_for("auto") is palette
    assert palette_for("terminal") is TERMINAL


def test_a_page_shows_what_it_fetched_once_and_a_key_scrolls_it_once(tasks, monkeypatch):
    monkeypatch.setitem(Repeating.__init__.__kwdefaults__, "every", 3600.0)
    monkeypatch.setattr(TimelinePage, "fetch", lambda _page, _fleet: [Text(f"line {n}") for n in range(200)])

    async def act(person):
        await person.sees("○ door")
        await person.presses("t")
        await person.sees("line 0")
        await person.presses("j")
        assert person.app.screen.view.scroll_offset.y == 1
        await person.presses("+")
        await person.sees("line 1")

    sit_down(tasks.home, act)


def test_a_page_is_scrolled_by_lines_by_pages_sideways_and_to_its_ends(tasks, monkeypatch):
    lines = [Text(f"line {n:<4}{'and more ' * 20}") for n in range(100)]
    monkeypatch.setattr(TimelinePage, "fetch", lambda _page, _fleet: lines)
    begins = {
        "j": "line 1  ", "down": "line 2  ", "k": "line 1  ", "up": "line 0  ",
        "space": "line 16 ", "pagedown": "line 32 ", "b": "line 16 ", "pageup": "line 0  ",
        "end": "line 83 ", "home": "line 0  ", "G": "line 83 ", "g": "line 0  ",
        "right": " and mor", "l": "e and mo", "left": " and mor", "h": "line 0  ",
    }  # fmt: skip

    async def act(person):
        await person.sees("○ door")
        await person.presses("t")
        await person.sees("line 0")
        for key, shown in begins.items():
            await person.presses(key)
            await person.until(lambda: person.text.splitlines()[1][1:9] == shown, f"{shown} after {key}")  # noqa: B023
        await person.presses("q")
        await person.sees("○ door")

    sit_down(tasks.home, act, size=(80, 20))


@pytest.mark.req("TUI-2")
def test_what_is_cut_off_at_the_right_is_reached_by_a_key_and_stays_in_sight(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "wide", engine="scripted", script=f"say {'left ' * 20}middle{' right' * 5}\nhang")
        scene.launched(fleet, ident)

    async def act(person):
        await person.goes_to("p/wide")
        await person.sees("left left")
        assert "middle right" not in person.text
        await person.presses(*">" * 5)
        await person.sees("middle right")
        fetched = person.app.board._shown
        await person.until(lambda: person.app.board._shown is not fetched, "the tab was fetched again")
        assert "middle right" in person.text
        await person.presses(*"<" * 5)
        await person.until(lambda: "middle right" not in person.text)

    sit_down(scene.home, act)


def test_the_log_of_fleets_own_coordinator_is_wrapped():
    row = RowView(key="p/#a", kind="coordinator", project="p", agent="a", engine=OWN_LOOP)
    fleet = SimpleNamespace(agents=SimpleNamespace(mirror=lambda _ident: "a long line"))
    assert [line.no_wrap for line in Tabs(LOOK, KEYS).lines(fleet, "live", row)] == [False]
    assert [line.no_wrap for line in Tabs(LOOK, KEYS).lines(fleet, "live", row.replaced(engine="claude"))] == [True]


@pytest.mark.parametrize(
    ("group", "hint"),
    [
        ("ready", "no agent has worked on it yet: d starts one"),
        ("waiting", "no agent has worked on it yet: the task tab says what it waits for"),
        ("done", "no agent has worked on it"),
    ],
)
def test_a_task_without_an_agent_says_how_to_start_one_only_where_one_can_be_started(group, hint):
    row = RowView(key="p/t", kind="task", project="p", slug="t", group=group)
    assert [line.plain for line in Tabs(LOOK, KEYS).lines(SimpleNamespace(), "live", row)] == [hint]


@pytest.mark.req("TUI-2")
@pytest.mark.parametrize(("group", "offered"), [("working", True), ("done", False)])
def test_a_comment_is_offered_only_while_a_branch_is_not_merged(group, offered):
    row = RowView(key="p/t", kind="task", project="p", slug="t", branch="worker/t", group=group)
    assert ON_LINES["comment-line"].applies(SimpleNamespace(row=row)) == offered


def test_a_key_that_selects_a_row_does_not_lay_the_screen_out_again(tasks):
    async def act(person):
        await person.goes_to("p/door")
        await person.sees("no agent has worked on it yet")
        laid_out, really = [], person.app.board._refresh_layout

        def lay_out(*words, **given):
            laid_out.append(words)
            really(*words, **given)

        vars(person.app.board)["_refresh_layout"] = lay_out
        for _ in range(5):
            await person.presses("j", "k")
        assert len(laid_out) < 5

    sit_down(tasks.home, act)


@pytest.mark.req("TUI-1")
def test_the_selected_row_stays_visible_when_the_list_gets_shorter(tasks):
    async def act(person):
        await person.sees("○ door", "○ roof", "○ wall")
        await person.presses("end")
        await person.resizes(80, 5)
        await person.sees("▌ ○ door")

    sit_down(tasks.home, act, size=(80, 24))


def test_a_filter_selects_the_first_row_that_fits_and_hides_projects_without_any(tasks):
    async def act(person):
        await person.goes_to("p/wall")
        await person.presses("/")
        await person.writes("roof")
        await person.sees("▌ ○ roof", "⏎ keep  Esc show all")
        await person.writes("x")
        await person.sees("nothing fits: Esc shows all")
        await person.presses("escape")
        await person.sees("○ wall", "? help")

    sit_down(tasks.home, act)


def row(**more) -> RowView:
    given = {"key": "p/t", "kind": "task", "project": "p", "slug": "t", "title": "日本語 " * 30, "state": "failed"}
    return RowView(**given, group="failed", glyph=glyph_of("failed", "failed"), tone="red", **more)


def test_a_long_title_leaves_room_for_the_branch_and_the_reason():
    shown = about_row(row(branch="worker/t", text="no luck", source="store"), "+1 −0", 0, LOOK, 40)
    first, *rest = shown.split("\n")
    assert first.cell_len <= 40
    assert first.plain.endswith("…")
    assert [line.plain for line in rest] == ["worker/t · +1 −0", "no luck"]


@pytest.mark.parametrize("width", range(10, 60))
def test_the_last_key_is_always_shown_whole(width):
    line = key_line([("a", "accept"), ("⇥", "file"), ("S", "send back")], LOOK, width, always=[("q", "close")])
    assert line.plain.endswith("q close")
    assert line.cell_len <= width


def test_what_is_no_diff_has_no_line_to_comment_on():
    class Board:
        """As much of a board as a cursor needs."""

        app = type("app", (), {"keys": {}})
        row, look, drafts = None, LOOK, {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fleet.surfaces.tui.acts.comments.ACTS", ())
        commenting = Commenting(Board())
    commenting.is_on = True
    lines = [Text("the branch changes nothing")]
    assert commenting.noted(lines) == lines
    assert not any(commenting._spots)


def test_what_stands_in_the_way_of_a_project_is_said_where_other_rows_have_their_name():
    rows = RowList(LOOK)
    given = {"key": "p!0", "kind": "obstacle", "project": "p", "state": "needs you", "group": "needs you", "glyph": "◐"}
    sentence = RowView(**given, text="its coordinator died", source="store")
    shown = "".join(text for text, _ in rows._row(sentence, 42, selected=False))
    assert shown.rstrip() == "  ◐ its coordinator died"


@pytest.mark.parametrize(("slug", "changes"), [("door", True), ("a-name-that-leaves-no-room", False)])
def test_a_narrow_list_shows_the_changes_of_a_branch_where_they_fit(slug, changes):
    rows = RowList(LOOK)
    rows.changes = {"p/t": "+12 −3"}
    shown = "".join(text for text, _ in rows._row(row(source="store").replaced(slug=slug), 42, selected=False))
    assert ("+12 −3" in shown) is changes
    assert cell_len(shown) <= 42


def drawn(slug: str, changes: str, width: int) -> str:
    """A row of an agent that is at 43 % of its context, as it is drawn ten minutes after its state was learnt."""
    rows = RowList(LOOK)
    rows.now, rows.changes = 10 * MINUTE, {"p/t": changes}
    agent = row(agent="0a1b2c3d", since=iso(0), source="screen", context=43).replaced(slug=slug)
    return "".join(text for text, _ in rows._row(agent, width, selected=False))


@pytest.mark.req("TUI-1")
@pytest.mark.parametrize("width", [33, 34, 42, 44, 45, 60, 72])
@pytest.mark.parametrize("slug", ["t", "idle", "a-name-that-leaves-no-room"])
def test_no_row_is_so_full_that_its_age_is_cut_off(slug, width):
    shown = drawn(slug, "+1234 −567", width)
    assert shown.endswith(" 10m")
    assert cell_len(shown) == width


def test_a_short_name_gives_its_room_to_the_columns():
    assert drawn("idle", "+1 −0", 36) == "  ✕ idle +1 −0 43% failed screen 10m"

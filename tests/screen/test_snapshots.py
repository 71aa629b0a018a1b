"""Whole screens of one fleet, compared with the files in snapshots/: `make snapshots` writes them anew."""

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from rich.text import Text
from screen.drawing import Gallery
from screen.driving import sit_down
from screen.staged_fleet import SHOP, StagedFleet

from fleet.api.fleet import Fleet
from fleet.surfaces.tui.app import FleetApp

SMALL, USUAL, LARGE = (80, 24), (120, 36), (200, 60)
COLOURS = ("NO_COLOR", "FORCE_COLOR", "COLORFGBG", "COLORTERM")
STAND_IN = "/srv/ann"


class Still(threading.Event):
    """A source of changes in which nothing changes until the screen is closed."""

    def next_change(self, _after: int, timeout: float, **_given) -> None:
        self.wait(timeout)

    def close(self) -> None:
        pass


class StillApp(FleetApp):
    """The screen of the staged fleet, whose folder has another name on each machine and the same in each snapshot."""

    def __init__(self, home: str, **given) -> None:
        self._still, self._root = Still(), home.removesuffix("/home")
        super().__init__(home, changes_of=lambda _fleet: self._still, **given)

    def _on_loaded(self, snapshot) -> None:
        for row in snapshot.rows:
            row.text = row.text.replace(self._root, STAND_IN)
        super()._on_loaded(snapshot)

    def _on_shown(self, shown) -> None:
        super()._on_shown(shown._replace(lines=[self._elsewhere(line) for line in shown.lines]))

    def _elsewhere(self, line: Text) -> Text:
        parts = line.split(self._root, allow_blank=True) if self._root in line.plain else [line]
        return line.blank_copy(STAND_IN).join(parts) if len(parts) > 1 else line

    def on_unmount(self) -> None:
        self._still.set()


@pytest.fixture(scope="module")
def built() -> Iterator[StagedFleet]:
    with StagedFleet() as made:
        yield made


@pytest.fixture
def staged(built: StagedFleet, monkeypatch: pytest.MonkeyPatch) -> StagedFleet:
    for name in COLOURS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Fleet, "opener", SimpleNamespace(open=built.as_person))
    return built


def look_at(staged: StagedFleet, prefix: str, visit, **given) -> None:
    """Open the screen, let the person visit some pages of it, and compare each that is looked at with its file."""

    async def act(person) -> None:
        gallery = Gallery(person, prefix)
        await person.until(lambda: person.app.board.snapshot, "the first snapshot")
        await visit(person, gallery)
        gallery.judge()

    sit_down(staged.home, act, made_by=StillApp, **given)


async def opens(person, *keys: str, sees: str) -> None:
    await person.presses(*keys)
    await person.sees(sees)


async def goes_to(person, slug: str, *, tab: str = "live") -> None:
    await person.goes_to(f"{SHOP}/{slug}")
    person.app.board.show_tab(tab)


@pytest.mark.req("TUI-1", "TUI-3", "OBS-3", "OBS-8")
@pytest.mark.parametrize("size", [SMALL, USUAL, LARGE], ids="{0[0]}x{0[1]}".format)
def test_the_board_has_every_kind_of_row_problems_first(staged, size):
    async def visit(person, gallery):
        await goes_to(person, "cart-totals")
        await gallery.shows("")
        if size == SMALL:
            await person.presses("end")
            await gallery.shows("end")

    look_at(staged, f"board-{size[0]}", visit, size=size)


@pytest.mark.req("TUI-1", "ASK-1", "TUI-4")
def test_a_question_is_shown_with_what_it_would_run_its_answers_and_their_keys(staged):
    async def visit(person, gallery):
        await goes_to(person, "search-index")
        await gallery.shows("choices")
        await goes_to(person, "checkout-form")
        await person.resizes(*SMALL)
        await gallery.shows("permission-80")

    look_at(staged, "question", visit, size=USUAL)


@pytest.mark.req("TUI-1")
def test_each_tab_shows_its_part_of_a_task(staged):
    async def visit(person, gallery):
        for tab in ("diff", "task", "journal", "operations"):
            await goes_to(person, "cart-totals", tab=tab)
            await gallery.shows(tab)
        await person.goes_to(f"{SHOP}~worktree{staged.tree(SHOP, 'old-banner')}")
        person.app.board.show_tab("live")
        await gallery.shows("kept")
        await person.goes_to(SHOP)
        await person.resizes(*SMALL)
        await gallery.shows("project-80")

    look_at(staged, "tab", visit, size=USUAL)


@pytest.mark.req("TUI-1")
def test_pages_and_the_palette(staged):
    async def visit(person, gallery):
        await goes_to(person, "cart-totals")
        for key, title in (("g", "Graph of shop"), ("t", "Timeline"), ("?", "Keys")):
            await opens(person, key, sees=title)
            await gallery.shows(title.split()[0].lower())
            await person.presses("q")
        await opens(person, ":", sees="What do you want to do?")
        await person.writes("task")
        await gallery.shows("palette")
        await person.presses("escape")
        await person.resizes(*SMALL)
        await person.presses("/")
        await person.writes("日本")
        await gallery.shows("filter-80")

    look_at(staged, "page", visit, size=USUAL)


@pytest.mark.req("TUI-2")
def test_a_dialog_says_what_becomes_of_the_work(staged):
    async def visit(person, gallery):
        await goes_to(person, "cart-totals")
        await opens(person, "n", sees="New task in shop")
        await gallery.shows("new")
        await person.presses("escape")
        await person.resizes(*SMALL)
        await opens(person, "x", sees="let it work")
        await gallery.shows("end-80")
        await person.presses("escape")
        await opens(person, "h", sees="Hand off")
        await gallery.shows("hand-off-80")

    look_at(staged, "dialog", visit, size=USUAL)


@pytest.mark.req("TUI-4")
def test_a_review_has_files_line_numbers_and_comments(staged):
    async def visit(person, gallery):
        await goes_to(person, "gift-cards")
        await opens(person, "R", sees="送料 🚚")
        await opens(person, "j", "j", "c", sees="Comment on cart.py")
        await person.writes("why not Decimal?")
        await person.presses("enter")
        await gallery.shows("comment")
        await person.presses("v")
        await gallery.shows("side-by-side")
        await person.resizes(*SMALL)
        await person.presses("v")
        await gallery.shows("80")

    look_at(staged, "review", visit, size=USUAL)


@pytest.mark.req("TUI-1", "TUI-3")
@pytest.mark.parametrize("look", ["light", "nocolor"])
def test_another_look_says_the_same(staged, monkeypatch, look):
    if look == "nocolor":
        monkeypatch.setenv("NO_COLOR", "1")

    async def visit(person, gallery):
        await goes_to(person, "checkout-form")
        await gallery.shows("permission")
        await goes_to(person, "cart-totals", tab="diff")
        await gallery.shows("diff")
        if look == "nocolor":
            await opens(person, "x", sees="let it work")
            await gallery.shows("end")

    look_at(staged, look, visit, size=SMALL, theme="light")


@pytest.mark.req("TUI-5")
def test_a_store_that_is_away_is_named_and_the_time_of_what_is_shown(staged):
    async def visit(person, gallery):
        person.app._on_lost("PostgreSQL at db.example:5432 does not answer")
        await gallery.shows("store")

    look_at(staged, "away", visit, size=SMALL)

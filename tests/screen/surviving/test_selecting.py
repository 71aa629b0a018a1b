"""Which row is selected: by the filter, by the key for the next that needs the person, and after a task was added."""

from types import SimpleNamespace

import pytest
from screen.driving import sit_down

from fleet.model.results.views import RowView
from fleet.surfaces.tui.look import DARK, ScreenLook
from fleet.surfaces.tui.widgets.row_list import RowList


def two_tasks(scene) -> None:
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="Paint the door", slug="door")
        fleet.tasks.add(project="p", title="Mend the roof", slug="roof")


@pytest.mark.req("TUI-2")
def test_a_filter_is_edited_and_kept_and_the_next_key_acts_on_what_it_found(scene):
    two_tasks(scene)

    async def act(person):
        board = person.app.board
        await person.sees("door", "roof")
        board.rows.go_to("p")
        await person.presses("/")
        await person.sees("⏎ keep")
        await person.writes("mendx")
        await person.presses("backspace")
        await person.until(lambda: board.row and board.row.key == "p/roof", "what was found is selected")
        await person.presses("enter")
        await person.sees("d dispatch")
        assert "door" not in person.text, "the filter stays"
        await person.presses("tab")
        await person.sees("q quit")
        assert board.row.key == "p/roof"
        await person.presses("/", "ctrl+u")
        await person.writes("paint")
        await person.until(lambda: board.row and board.row.key == "p/door")
        await person.presses("home", "delete", "down", "enter")
        await person.until(lambda: not board.is_filtering)
        assert board.query_one("#filter").value == "aint"
        await person.presses("escape")
        await person.sees("roof")
        await person.presses("/", "ctrl+c")
        await person.sees("q quit")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-2")
def test_the_next_that_needs_the_person_is_selected_although_the_filter_leaves_it_out(scene):
    two_tasks(scene)
    with scene.fleet() as fleet:
        fleet.tasks.claim(project="p", slug="roof")
        fleet.tasks.fail(project="p", slug="roof", reason="no ladder")

    async def act(person):
        board = person.app.board
        await person.sees("failed 1")
        await person.presses("/")
        await person.writes("paint")
        await person.presses("enter", "space")
        await person.until(lambda: board.row and board.row.key == "p/roof")
        await person.sees("door")
        assert not board.query_one("#filter").value, "the field does not say that rows are left out"

    sit_down(scene.home, act)


@pytest.mark.req("TUI-2")
def test_an_added_task_is_selected_also_when_its_group_is_folded_and_not_after_another_key(scene):
    with scene.fleet() as fleet:
        for number in range(15):
            fleet.tasks.add(project="p", title=f"Paint door {number}", slug=f"door-{number}")

    async def act(person):
        board = person.app.board
        await person.sees("▸ ready 15")
        await person.presses("n")
        await person.sees("New task in p")
        await person.writes("Mend the roof")
        await person.presses("enter")
        await person.until(lambda: board.row and board.row.key == "p/mend-the-roof")
        board.select_soon("p/later")
        await person.presses("home")
        with scene.fleet() as fleet:
            fleet.tasks.add(project="p", title="Later", slug="later")
        await person.sees("ready 17")
        assert board.row.key == "p", "the key was meant for another row"
        board.select_soon("p/never")
        await person.until(lambda: not board._key_to_select, "it is not looked for any more")

    sit_down(scene.home, act)


def row(slug: str, group: str, rank: int, question: str | None = None) -> RowView:
    return RowView(key=slug, kind="task", project="p", slug=slug, group=group, rank=rank, question=question)


def around(rows: RowList, keys: int) -> list[str | None]:
    """Which rows the key for the next one selects."""
    seen = []
    for _ in range(keys):
        assert rows.go_to_next_needing_person()
        seen.append(rows.selected.slug)
    return seen


@pytest.fixture
def rows(monkeypatch) -> RowList:
    """An empty list of rows outside a screen."""
    for name in ("extend", "refresh", "refresh_line", "post_message", "_reveal"):
        monkeypatch.setattr(RowList, name, lambda *_: None)
    return RowList(ScreenLook(DARK))


@pytest.mark.req("TUI-2")
def test_what_needs_the_person_more_urgently_and_was_not_seen_yet_comes_before_the_next(rows):
    failed = [row(f"failed-{number}", "failed", 2) for number in range(3)]
    asks = row("asks", "needs you", 0, "q1")
    rows.show(failed, 0)
    assert around(rows, 2) == ["failed-1", "failed-2"]
    rows.show([asks, *failed], 0)
    assert around(rows, 4) == ["asks", "failed-0", "failed-1", "failed-2"]
    rows.go_to("failed-0")
    rows.show([row("asks", "needs you", 0, "q2"), *failed], 0)
    assert around(rows, 2) == ["asks", "failed-0"], "it asks something else now"


LED = [
    RowView(key="p", kind="project", project="p", title="p", group="failed", rank=2),
    RowView(key="p/", kind="coordinator", project="p", title="coordinator", group="working", rank=5),
    row("broken", "failed", 2),
    row("fine", "working", 5),
]


def lines(rows: RowList) -> list[str]:
    """The keys of the lines that are shown."""
    return [line.key for line in rows._shown]


@pytest.mark.req("TUI-2")
def test_with_a_coordinator_selected_its_project_is_folded_and_no_group(rows):
    rows.show(LED, 0)
    everything = lines(rows)
    assert rows.go_to("p/")
    rows.fold()
    assert (lines(rows), rows.selected.kind) == (["p"], "project")
    rows.fold()
    assert lines(rows) == everything


@pytest.mark.req("TUI-2")
@pytest.mark.parametrize("key", ["p", "p/", "fine"])
def test_nothing_is_folded_while_rows_are_filtered(rows, key):
    rows.show(LED, 0)
    everything = lines(rows)
    rows.filter("p")
    assert rows.go_to(key)
    rows.fold()
    assert not rows.is_foldable
    rows.filter("")
    assert lines(rows) == everything


@pytest.mark.req("TUI-2")
@pytest.mark.parametrize(("words", "shown"), [("", ["p"]), ("p", None)])
def test_a_double_click_folds_a_project_unless_rows_are_filtered(rows, words, shown):
    rows.show(LED, 0)
    everything = lines(rows)
    rows.filter(words)
    rows.on_click(SimpleNamespace(y=0, chain=2))
    rows.filter("")
    assert lines(rows) == (shown or everything)


@pytest.mark.req("TUI-2")
def test_the_key_that_folds_does_not_apply_while_rows_are_filtered(scene):
    two_tasks(scene)

    async def act(person):
        await person.sees("door", "roof")
        await person.presses("/")
        await person.writes("paint")
        await person.presses("enter", "z")
        await person.is_told("fold does not apply here")

    sit_down(scene.home, act)

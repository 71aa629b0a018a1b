"""RowList: the list of rows at the left of the board, grouped and foldable. Only the visible rows are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from fleet.api.views.rows import NEEDING_PERSON, QUIET
from fleet.api.views.sections import one_line
from fleet.model.text.times import age, since_epoch
from fleet.surfaces.tui.widgets.drawn_view import DrawnView

if TYPE_CHECKING:
    from rich.style import Style
    from textual import events

    from fleet.model.results.views import RowView
    from fleet.surfaces.tui.look import ScreenLook

# A quiet group with more rows than this is folded until somebody unfolds it.
_FOLDED_FROM = 12
# Columns from which the list is wide (source and age of a state have columns), and from which all sources and whole
# states are shown.
_WIDE, _WIDER = 44, 60
# Least columns for a name in a wide list.
_SHORTEST = 6
# Least columns behind a name to show the row's text there.
_ENOUGH = 10
# Columns for the state, and for the source of the state.
_STATE, _SOURCE = 9, 8


class Heading:
    """The line above the rows of one group."""

    __slots__ = ("count", "folded", "key", "project", "text")

    def __init__(self, key: str, project: str, text: str, count: int, *, folded: bool) -> None:
        self.key = key
        self.project = project
        self.text = text
        self.count = count
        self.folded = folded

    @property
    def is_foldable(self) -> bool:
        """Whether the cursor can stop on the heading, to fold or unfold its group.

        True for groups in which nobody has to do anything, and for each group that is folded.
        """
        return self.folded or self.text in QUIET


class RowList(DrawnView):
    """The list at the left of the board: each project, below it its coordinator, tasks and agents in groups."""

    class Selected(Message):
        """A Textual message: another row was selected."""

    class Chosen(Message):
        """A Textual message: a row was clicked twice."""

    def __init__(self, look: ScreenLook, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own
        super().__init__(id=id)
        self._look = look
        self._rows: list[RowView] = []
        self._shown: list[RowView | Heading] = []
        # The rows that wait for a person, the most urgent first.
        self._needing_person: list[RowView] = []
        # The needs (see `_need_of`) whose row was selected since they began.
        self._visited: set[tuple[str, ...]] = set()
        # By the key of a project or heading: True when it was unfolded, False when it was folded.
        self._unfolded: dict[str, bool] = {}
        # The words of the filter.
        self._words: tuple[str, ...] = ()
        # The key of the selected line.
        self._key = ""
        self._cursor = 0
        self.now = 0
        # How many lines each row's branch changes, such as "+12 −3", by the key of the row.
        self.changes: dict[str, str] = {}

    # what is shown ----------------------------------------------------------------------------------------------------
    def show(self, rows: list[RowView], now: int) -> None:
        """Show these rows. The selected row stays selected, wherever it moves."""
        self._rows, self.now = rows, now
        needing = [row for row in rows if row.group in NEEDING_PERSON and row.kind != "project"]
        self._needing_person = sorted(needing, key=lambda row: row.rank)
        self._visited &= {_need_of(row) for row in self._needing_person}
        self._arrange()

    def filter(self, words: str) -> None:
        """Show only the rows that contain all these words; "" shows all rows.

        Select the first of them, unless the selected row is one of them.
        """
        self._words = tuple(words.casefold().split())
        if self._words and (self.selected is None or not _is_row_in_project(self.selected)):
            self._key = ""
        self._arrange()

    @property
    def is_filtered(self) -> bool:
        """Whether only rows with certain words are shown."""
        return bool(self._words)

    def _arrange(self) -> None:
        """Lay the rows out again, and keep the cursor on the selected row if it is still there."""
        before = self._key
        self._shown = list(self._laid_out())
        self.extend(Size(0, len(self._shown)))
        keys = [each.key for each in self._shown]
        if before in keys:
            self._cursor = keys.index(before)
        elif self._words:
            self._cursor = next((at for at, each in enumerate(self._shown) if _is_row_in_project(each)), 0)
        else:
            self._cursor = min(self._cursor, max(len(keys) - 1, 0))
        if not before or before not in keys:
            self._step_to_row(1)
        self._remember()
        self.refresh()

    def _laid_out(self) -> list[RowView | Heading]:
        """Return projects, headings and rows in order, without those that are folded or filtered out."""
        shown: list[RowView | Heading] = []
        groups: dict[tuple[str, str], list[RowView]] = {}
        for row in self._rows:
            if row.kind == "project":
                shown += self._groups_of(groups)
                groups = {}
                shown.append(row)
            elif self._fits(row):
                title = "" if row.kind == "coordinator" else row.group
                groups.setdefault((row.project, title), []).append(row)
        shown += self._groups_of(groups)
        return _without_empty_projects(shown) if self._words else shown

    def _groups_of(self, groups: dict[tuple[str, str], list[RowView]]) -> list[RowView | Heading]:
        """Return the lines to show for some groups of rows: each group's heading, then its rows.

        `groups` maps (project, title) to rows. A group without a title has no heading. Rows of a folded group, and
        whole folded projects, are left out, except while the person searches.
        """
        shown: list[RowView | Heading] = []
        for (project, title), rows in groups.items():
            if not self._unfolded.get(project, True) and not self._words:
                continue
            if not title:
                shown += rows
                continue
            key = f"{project}:{title}"
            folded = not self._unfolded.get(key, title not in QUIET or len(rows) <= _FOLDED_FROM) and not self._words
            shown.append(Heading(key, project, title, len(rows), folded=folded))
            shown += [] if folded else rows
        return shown

    def _fits(self, row: RowView) -> bool:
        """Whether a row contains all words of the filter."""
        if not self._words:
            return True
        text = f"{row.project}/{row.slug or ''} {row.title} {row.text} {row.state} {row.agent or ''} {row.group}".casefold()
        return all(word in text for word in self._words)

    @property
    def visible_rows(self) -> list[RowView]:
        """The rows that are inside the window now."""
        top = self.scroll_offset.y
        window = self._shown[top : top + self.size.height]
        return [each for each in window if not isinstance(each, Heading)]

    # where the cursor is ----------------------------------------------------------------------------------------------
    @property
    def selected(self) -> RowView | None:
        """The selected row; None when a heading is selected, or there is no row."""
        here = self._shown[self._cursor] if self._cursor < len(self._shown) else None
        return here if not isinstance(here, Heading) else None

    @property
    def project(self) -> str | None:
        """The project of the selected line; None when there is no line."""
        return self._shown[self._cursor].project if self._cursor < len(self._shown) else None

    @property
    def is_foldable(self) -> bool:
        """Whether a heading or a project is selected, which can be folded; False while rows are filtered."""
        if self._words:
            return False
        here = self._shown[self._cursor] if self._cursor < len(self._shown) else None
        return isinstance(here, Heading) or (here is not None and here.kind == "project")

    def move(self, by: int) -> None:
        """Move the cursor down by this many lines (up, when negative)."""
        self.go(self._cursor + by, 1 if by > 0 else -1)

    def go(self, number: int, direction: int = 1) -> None:
        """Put the cursor on line `number` and post `Selected`.

        When that is a heading that cannot be folded, go on to the next line in `direction` (1: down, -1: up).
        """
        if not self._shown:
            return
        before, self._cursor = self._cursor, max(0, min(number, len(self._shown) - 1))
        self._step_to_row(direction)
        self._remember()
        self._reveal()
        for line in {before, self._cursor}:
            self.refresh_line(line)
        self.post_message(self.Selected())

    def go_last(self) -> None:
        """Put the cursor on the last row."""
        self.go(len(self._shown) - 1, -1)

    def go_to(self, key: str) -> bool:
        """Put the cursor on the row with this key. Returns False when it is not shown."""
        for number, each in enumerate(self._shown):
            if each.key == key:
                self.go(number)
                return True
        return False

    def go_to_next_needing_person(self) -> bool:
        """Put the cursor on the next row that waits for a person; unfold its group or drop the filter if they hide it.

        A row that waits more urgently than the selected one comes first, unless it was selected since it began to wait.

        Returns False when no row waits for a person.
        """
        if not self._needing_person:
            return False
        here = next((at for at, row in enumerate(self._needing_person) if row.key == self._key), -1)
        following = self._new_and_more_urgent(here) or self._needing_person[(here + 1) % len(self._needing_person)]
        if not self.unfold_to(following.key):
            self._words = ()
            self._arrange()
            self.unfold_to(following.key)
        return True

    def _new_and_more_urgent(self, here: int) -> RowView | None:
        """Return the first row that waits more urgently than row `here` and was not selected since it began to wait.

        `here` is the index of the selected row in the list of waiting rows, or -1 when it is not in the list. None when
        there is no such row, or `here` is -1.
        """
        rank = self._needing_person[here].rank
        new = (row for row in self._needing_person if row.rank < rank and _need_of(row) not in self._visited)
        return next(new, None) if here >= 0 else None

    def unfold_to(self, key: str) -> bool:
        """Put the cursor on the row with this key; unfold its project and group if needed.

        Returns False when there is no such row, or the filter leaves it out.
        """
        row = next((row for row in self._rows if row.key == key and self._fits(row)), None)
        if row is None:
            return False
        if not self.go_to(key):
            self._unfolded |= {row.project: True, f"{row.project}:{row.group}": True}
            self._arrange()
            self.go_to(key)
        return True

    def _step_to_row(self, direction: int) -> None:
        """While the cursor is on a heading that cannot be folded, move it on in this direction (1: down, -1: up).

        At the end of the list, turn round.
        """
        while 0 <= self._cursor < len(self._shown):
            here = self._shown[self._cursor]
            if not isinstance(here, Heading) or here.is_foldable:
                return
            self._cursor += direction
            if not 0 <= self._cursor < len(self._shown):
                direction = -direction
                self._cursor += 2 * direction

    def _remember(self) -> None:
        """Remember the key of the selected line, by which it is found in the next snapshot; "" when there is no line.

        Count what its row waits for as visited by the person.
        """
        self._key = self._shown[self._cursor].key if self._cursor < len(self._shown) else ""
        if self.selected is not None:
            self._visited.add(_need_of(self.selected))

    def _reveal(self) -> None:
        """Scroll so that the selected line, and a heading right above it, are visible."""
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        above = 1 if self._cursor and isinstance(self._shown[self._cursor - 1], Heading) else 0
        if self._cursor - above < top:
            self.scroll_to(y=max(self._cursor - above - (self._cursor - above == 1), 0), animate=False, force=True)
        elif self._cursor >= top + height:
            self.scroll_to(y=self._cursor - height + 1, animate=False, force=True)

    def on_resize(self, _event: events.Resize) -> None:
        """Keep the selected row visible when the list gets shorter, as when a banner appears."""
        self._reveal()

    def fold(self) -> None:
        """Fold or unfold the selected project or group, and select its line; with another row selected, fold its group.

        With a coordinator selected, which is in no group, fold its project. While rows are filtered, do nothing: what is
        found is shown also where it is folded.
        """
        if not self._shown or self._words:
            return
        here = self._shown[self._cursor]
        key = here.key
        if isinstance(here, Heading):
            self._unfolded[key] = here.folded
        elif here.kind == "project":
            self._unfolded[key] = not self._unfolded.get(key, True)
        else:
            key = here.project if here.kind == "coordinator" else f"{here.project}:{here.group}"
            self._unfolded[key] = False
        self._key = key
        self._arrange()
        self.post_message(self.Selected())

    # the mouse --------------------------------------------------------------------------------------------------------
    def on_click(self, event: events.Click) -> None:
        """Handle a click: it folds a heading and selects a row; a double click folds a project and chooses any other row.

        While rows are filtered, nothing is folded.
        """
        number = event.y + self.scroll_offset.y
        if not 0 <= number < len(self._shown):
            return
        here = self._shown[number]
        if not self._words and (isinstance(here, Heading) or (here.kind == "project" and event.chain > 1)):
            self._cursor = number
            self.fold()
            return
        self.go(number)
        if event.chain > 1:
            self.post_message(self.Chosen())

    # drawing ----------------------------------------------------------------------------------------------------------
    def render_line(self, y: int) -> Strip:
        """Return line `y` of the window as Textual draws it."""
        number, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if not self._shown and self._words and y == 0:
            return Strip(
                [
                    Segment(
                        set_cell_size("  nothing fits: Esc shows all", width),
                        self.background_style + self._style("dim"),
                    )
                ]
            )
        if not 0 <= number < len(self._shown):
            return Strip.blank(width, self.background_style)
        selected = number == self._cursor
        here = self._shown[number]
        segments = (
            self._heading(here, width, selected=selected)
            if isinstance(here, Heading)
            else self._row(here, width, selected=selected)
        )
        if selected:  # a sign besides the colour
            segments[0] = (f"▌{segments[0][0][1:]}", segments[0][1])
        return Strip([Segment(text, self.background_style + style) for text, style in segments]).adjust_cell_length(
            width, self._style("", selected=selected)
        )

    def _style(self, tone: str, *, bold: bool = False, selected: bool = False) -> Style:
        return self._look.style(tone, bold=bold, selected=selected)

    def _heading(self, here: Heading, width: int, *, selected: bool) -> list[tuple[str, Style]]:
        """Return the coloured pieces of a heading's line: fold mark, group and count."""
        fold = ("▸ " if here.folded else "▾ ") if here.is_foldable else "  "
        text = f" {fold}{here.text} {here.count}"
        return [(set_cell_size(text, width), self._style("dim", selected=selected))]

    def _row(self, row: RowView, width: int, *, selected: bool) -> list[tuple[str, Style]]:
        """Return the coloured pieces of a row's line: glyph, name, text and columns, fitted to the width."""
        if row.kind == "project":
            fold = "▾" if self._unfolded.get(row.key, True) else "▸"
            return [
                (set_cell_size(f"{fold} {one_line(row.title)}", width), self._style("", bold=True, selected=selected))
            ]
        name = row.slug or row.title or row.text
        bold, shown = row.group in NEEDING_PERSON, one_line(name)
        cells = self._cells(row, width, cell_len(shown))
        room = max(width - 4 - _width_of(cells), min(_SHORTEST, cell_len(shown)))
        shown = _cut(shown, room)
        left = room - cell_len(shown)
        parts = [(f"  {row.glyph} ", self._style(row.tone, bold=True, selected=selected))]
        parts.append((shown, self._style("", bold=bold, selected=selected)))
        more = _beside(row) if left > _ENOUGH else ""
        beside = _cut(f"  {more}", left) if more else ""
        parts.append((set_cell_size(beside, left), self._style("dim", selected=selected)))
        for text, tone in cells:
            parts.append((f" {text}", self._style(tone, selected=selected)))
        return parts

    def _cells(self, row: RowView, width: int, name: int) -> list[tuple[str, str]]:
        """Return the columns behind a row's name, as (text, tone): changes, context, state, the state's source and its age.

        [] for a row that is a sentence, and for a missing coordinator. `width` and `name` are the widths of the list and
        of the name. Where there is no room, context and then changes are left out: a narrow list keeps the whole name
        visible, a wide one at least the name's first six columns. A narrow list also cuts a long word for the state.
        """
        cells: list[tuple[str, str]] = []
        if (row.kind == "coordinator" and not row.agent) or _is_sentence(row):
            return cells
        since = age(self.now - since_epoch(row.since)) if row.since else ""
        source = row.source[:_SOURCE] if row.agent or width >= _WIDER else ""
        learnt = f"{source} {since}".strip() if width < _WIDE else f"{source:<{_SOURCE}}{since:>4}"
        if learnt:
            cells.append((learnt, "dim"))
        has_room = width >= _WIDER or width - 4 - name >= _width_of([(row.state, ""), *cells])
        cells.insert(0, (row.state if has_room else _cut(row.state, _STATE), row.tone))
        more = self._changes_and_context(row)
        needed = name if width < _WIDE else min(name, _SHORTEST)
        while more and width - 4 - needed < _width_of([*more, *cells]):
            more.pop()
        return [*more, *cells]

    def _changes_and_context(self, row: RowView) -> list[tuple[str, str]]:
        """Return the columns for a row's changed lines and its agent's context, as (text, tone)."""
        cells = [(changes, "dim")] if (changes := self.changes.get(row.key)) else []
        if row.context is not None:
            cells.append((f"{row.context}%", "yellow" if row.context >= 40 else "dim"))  # noqa: PLR2004 - handoff.ask_percent
        return cells


def _need_of(row: RowView) -> tuple[str, ...]:
    """Return a value that identifies what a row waits for (its need): its key, group and question.

    The value changes when the row begins to wait for something else.
    """
    return row.key, row.group, row.question or ""


def _width_of(cells: list[tuple[str, str]]) -> int:
    """Return the columns that these cells, each a (text, tone), take in a row, with the blank before each."""
    return sum(cell_len(text) + 1 for text, _tone in cells)


def _cut(text: str, width: int) -> str:
    """Return the text cut to this many columns of the terminal, with an ellipsis if something was cut off."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _is_project(each: RowView | Heading) -> bool:
    return not isinstance(each, Heading) and each.kind == "project"


def _is_row_in_project(each: RowView | Heading) -> bool:
    """Whether a line of the list is a row inside a project: neither a heading nor the project's own row."""
    return not isinstance(each, Heading) and each.kind != "project"


def _without_empty_projects(shown: list[RowView | Heading]) -> list[RowView | Heading]:
    """Return the lines of the list without the projects that have no line below their own."""
    following = [*map(_is_project, shown[1:]), True]
    return [each for each, is_last in zip(shown, following, strict=True) if not (is_last and _is_project(each))]


def _is_sentence(row: RowView) -> bool:
    """Whether a row has no name of its own, only a text about what is in the way of its project."""
    return not row.slug and not row.title


def _beside(row: RowView) -> str:
    """Return the text behind a row's name: what its agent asks, why it failed, or the task's title."""
    if _is_sentence(row):
        return ""
    words = row.text if row.group not in QUIET or row.kind == "coordinator" else row.title
    return one_line(words or row.title if row.kind != "coordinator" else words)

"""Board: the main screen of the TUI. It draws the newest snapshot, and its keys act on the selected row."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rich.text import Text
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from fleet.api.views.rows import NEEDING_PERSON
from fleet.api.views.sections import hold_in_words
from fleet.api.views.snapshot import trouble_lines
from fleet.model.settings.keys import ACTS, DIGITS
from fleet.model.text import escapes
from fleet.model.text.times import since_epoch, time_of_day
from fleet.surfaces.tui.acts.choosing import Choosing
from fleet.surfaces.tui.acts.comments import Commenting
from fleet.surfaces.tui.acts.offers import DOINGS, key_bar, offered_choices
from fleet.surfaces.tui.acts.texts import Texts
from fleet.surfaces.tui.dialogs.leaving import LEAVING
from fleet.surfaces.tui.dialogs.picking import Pick
from fleet.surfaces.tui.feeds.acting import Acts
from fleet.surfaces.tui.feeds.details import DetailsWish
from fleet.surfaces.tui.feeds.tabs import TABS
from fleet.surfaces.tui.look import first_key
from fleet.surfaces.tui.pages.help import HelpPage
from fleet.surfaces.tui.pages.review import ReviewPage
from fleet.surfaces.tui.widgets import about, bars
from fleet.surfaces.tui.widgets.line_view import LineView
from fleet.surfaces.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.screen import ModalScreen

    from fleet.api.fleet import Fleet
    from fleet.model.results.agents import Question
    from fleet.model.results.views import RowView, Snapshot
    from fleet.surfaces.tui.app import FleetApp
    from fleet.surfaces.tui.feeds.details import Shown
    from fleet.surfaces.tui.pages.review_lines import Comments

    T = TypeVar("T")

_BARS = ("top", "trouble", "banner", "about", "question", "tabs", "running", "keys")
# Tabs whose lines are wrapped, because they are prose. In the others only a notice in place of a screen or a diff is wrapped.
_WRAPPED = frozenset({"task", "journal", "operations"})
# In how many snapshots a row that was just added is looked for.
_SOON = 3


class Board(Screen[None], inherit_bindings=False):
    """The main screen of the TUI: the rows at the left, the tabs of the selected row at the right."""

    class Happened(Message):
        """A Textual message that carries a function to call in the thread of the screen."""

        def __init__(self, act: Callable[[], None]) -> None:
            super().__init__()
            self.act = act

    AUTO_FOCUS = ""
    app: FleetApp

    def __init__(self, app: FleetApp) -> None:
        super().__init__()
        self.look = app.look
        self._keys = app.keys
        self._by_key = {key: name for name, keys in app.keys.items() if name in DOINGS for key in keys}
        self.snapshot: Snapshot | None = None
        self.question: Question | None = None
        self._tab = "live"
        # The key of the row and the tab whose lines are drawn, ("", "") when none are; and these lines.
        self._shown_of = ("", "")
        self._shown: Shown | None = None
        self.choosing = Choosing(self)
        # The key of the row that `select_soon` waits for, "" for none, and in how many more snapshots it is looked for.
        self._key_to_select, self._snapshots_left = "", 0
        # Comments of reviews that were not sent yet, by project and task.
        self.drafts: dict[tuple[str, str], Comments] = {}
        self.acts = Acts(app.home, actor=app.actor, post=self.post)
        self.rows: RowList = RowList(self.look, id="rows")
        self.lines: LineView = LineView(id="lines")
        self._bars = {name: (bars.TabBar if name == "tabs" else bars.Bar)(id=name) for name in _BARS}
        self.commenting: Commenting = Commenting(self)
        self.texts: Texts = Texts(self)

    def compose(self) -> ComposeResult:
        """Yield the widgets: the bars, the row list with its filter, and the tabs."""
        yield self._bar("top")
        yield self._bar("trouble")
        yield self._bar("banner")
        with Horizontal(id="body"):
            with Vertical(id="left"):
                yield self.rows
                yield Input(id="filter", placeholder="filter", compact=True, select_on_focus=False)
            with Vertical(id="right"):
                yield self._bar("about")
                yield self._bar("question")
                yield self._bar("tabs")
                yield self.lines
        yield self._bar("running")
        yield self._bar("keys")

    def on_mount(self) -> None:
        """Draw the bars before the first snapshot is there."""
        self._bar("top").draw(bars.top_line(None, self.look, "", self.size.width, new=self.key_of("new")))
        self._draw_tabs()
        self._draw_keys()

    # what others tell -------------------------------------------------------------------------------------------------
    def post(self, act: Callable[[], None]) -> None:
        """Let the thread of the screen call `act` soon, without waiting for it. Any thread may call this."""
        self.post_message(self.Happened(act))

    def on_board_happened(self, event: Happened) -> None:
        """Call, in the thread of the screen, the function that another thread has posted; do nothing when the TUI ends."""
        if self.is_attached:
            event.act()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Draw a new snapshot: the rows, the counts, the banner, and what is wrong with tmux."""
        is_first, self.snapshot = self.snapshot is None, snapshot
        now = since_epoch(snapshot.at)
        self.rows.show(snapshot.rows, now)
        if is_first:
            self.rows.go_to_next_needing_person()
        self._select_when_there()
        self._bar_text("trouble", "\n".join(trouble_lines(snapshot)))
        holds = [hold_in_words(hold, now) for hold in snapshot.page.holds]
        self._bar_text("banner", "\n".join([*(f"⚠ {line}" for line in snapshot.banner), *holds]))
        self._draw()

    def show_loss(self, why: str) -> None:
        """Show that the store cannot be read, and why. The last snapshot stays on the screen, and its time is shown."""
        since = f"; what you see is of {time_of_day(self.snapshot.at)}" if self.snapshot else ""
        self._bar_text("trouble", f"fleet cannot be read: {why}{since} — trying again")

    def show_details(self, shown: Shown) -> None:
        """Draw the fetched lines of a tab and the row's open question, if that row and tab are still selected."""
        wish, row = shown.wish, self.row
        if row is None or (wish.row.key, wish.tab) != (row.key, self._tab):
            return
        is_same = self._shown_of == (row.key, self._tab)
        at_end = wish.tab == "live" and (not is_same or self.lines.is_at_end)
        lines = self.commenting.noted(shown.lines) if wish.tab == "diff" else shown.lines
        is_prose = wish.tab in _WRAPPED or not any(line.no_wrap for line in lines)
        self.lines.show(lines, wrap=is_prose, keep=is_same, at_end=at_end)
        self._shown_of, self._shown = (row.key, self._tab), shown
        self.commenting.place()
        if shown.question != self.question:
            self.question = shown.question
            self.choosing.reset()
            self._draw_question()
            self._draw_keys()

    def show_changes(self, changes: dict[str, str]) -> None:
        """Draw how many lines each branch changes; `changes` has a text such as "+12 −3" by the key of a row."""
        self.rows.changes = changes
        self.rows.refresh()
        self._draw_about()

    # what is selected -------------------------------------------------------------------------------------------------
    @property
    def row(self) -> RowView | None:
        """The selected row; None when there is none or a heading is selected."""
        return self.rows.selected

    @property
    def project(self) -> str | None:
        """The project of the selected line; when there is no line, the first project; None when there is no project."""
        first = self.snapshot.page.projects[:1] if self.snapshot else []
        return self.rows.project or (first[0].name if first else None)

    @property
    def rows_by_key(self) -> dict[str, RowView]:
        """The rows of the newest snapshot by their keys. Any thread may read it."""
        snapshot = self.snapshot
        return {row.key: row for row in snapshot.rows} if snapshot is not None else {}

    @property
    def is_filtering(self) -> bool:
        """Whether the filter field has the focus, so that the person types words into it."""
        return isinstance(self.focused, Input)

    @property
    def is_person_needed(self) -> bool:
        """Whether a row of the newest snapshot waits for a person."""
        return self.snapshot is not None and any(group in NEEDING_PERSON for group in self.snapshot.counts)

    def select_soon(self, key: str) -> None:
        """Select the row with this key, and unfold it, as soon as a snapshot has it; hurry the next snapshot.

        Give up when three snapshots do not have the row, or when the person presses a key: that key is meant for the
        row that is selected now.
        """
        self._key_to_select, self._snapshots_left = key, _SOON
        self.app.hurry()

    def _select_when_there(self) -> None:
        """Select the row that `select_soon` asked for, if it is there; forget it after three snapshots without it."""
        if self._key_to_select:
            self._snapshots_left -= 1
            if self.rows.unfold_to(self._key_to_select) or not self._snapshots_left:
                self._key_to_select = ""

    def go_to_next_needing_person(self) -> bool:
        """Select the next row that waits for a person. If the filter hides that row, close the filter.

        Returns False when no row waits for a person.
        """
        found = self.rows.go_to_next_needing_person()
        if found and not self.rows.is_filtered:
            self._clear_field()
        return found

    def on_row_list_selected(self, _event: RowList.Selected) -> None:
        """Draw the right half for the newly selected row."""
        self._draw()

    def on_row_list_chosen(self, _event: RowList.Chosen) -> None:
        """Attach to the agent of a row that was clicked twice."""
        self.perform("attach")

    # drawing ----------------------------------------------------------------------------------------------------------
    def _bar(self, name: str) -> bars.Bar:
        return self._bars[name]

    def _bar_text(self, name: str, text: str) -> None:
        """Show this text in the bar with this name; hide the bar when the text is empty."""
        bar = self._bar(name)
        bar.draw(Text(escapes.text(text), overflow="ellipsis"))
        bar.show(shown=bool(text))

    def _draw(self) -> None:
        """Draw everything that depends on the snapshot or the selected row, and fetch the lines of its tab."""
        self.commenting.leave_unless(self.row.key if self.row else "")
        clock = time_of_day(self.snapshot.at) if self.snapshot else ""
        top = bars.top_line(self.snapshot, self.look, clock, self.size.width - 2, new=self.key_of("new"))
        self._bar("top").draw(top)
        if self.question is not None and (self.row is None or self.row.question != self.question.id):
            self.question = None
        self._draw_about()
        self._draw_question()
        self._draw_keys()
        self.fetch_tab()

    def fetch_tab(self) -> None:
        """Let the details thread fetch the lines of the current tab.

        Until they come, the lines of the same row and tab stay, or "…" is shown. When no row is selected, show no lines
        and fetch nothing.
        """
        row = self.row
        if row is None:
            self.lines.show([])
            self._shown_of = ("", "")
        elif self._shown_of != (row.key, self._tab):
            self.lines.show([Text("…", style=self.look.style("dim"))])
        self.app.want(DetailsWish(row, self._tab, tuple(self.rows.visible_rows)) if row else None)

    def _draw_about(self) -> None:
        """Draw the facts about the selected row; nothing when no row is selected."""
        now = since_epoch(self.snapshot.at) if self.snapshot else 0
        changes = self.rows.changes.get(self.row.key, "") if self.row else ""
        self._bar("about").draw(
            about.about_row(self.row, changes, now, self.look, self._bar("about").content_size.width)
        )

    def _draw_question(self) -> None:
        """Draw the open question of the selected row; hide its bar when there is none."""
        bar = self._bar("question")
        text = about.question_of(self.row, self.question, self.look, self.key_of, self.choosing)
        bar.draw(text or Text(""))
        bar.show(shown=text is not None)

    def _draw_tabs(self) -> None:
        self._bar("tabs").draw(bars.tab_line(self._tab, self.look))

    def _draw_keys(self) -> None:
        self._bar("keys").draw(key_bar(self, self.size.width - 2))

    def key_of(self, name: str) -> str:
        """Return the first key of an act as the key bar shows it, such as ⏎ for enter; "–" when it has none."""
        return first_key(self._keys, name)

    def on_resize(self, _event: events.Resize) -> None:
        """Draw everything again for the new width."""
        if self.is_mounted:
            self._draw()

    def turn_tab(self, by: int) -> None:
        """Show the tab `by` places to the right of the current one (left when negative); the first follows the last."""
        self.show_tab(TABS[(TABS.index(self._tab) + by) % len(TABS)])

    def show_tab(self, tab: str) -> None:
        """Show the tab with this name."""
        if tab != "diff":
            self.commenting.leave()
        self._tab = tab
        self._draw_tabs()
        self._draw_keys()
        self.fetch_tab()
        self.redraw_tab()

    def redraw_tab(self) -> None:
        """Draw the lines of the tab again, if they were fetched."""
        if self._shown is not None and self.row is not None and self._shown_of == (self.row.key, self._tab):
            self.show_details(self._shown)
        self._draw_keys()

    def on_tab_bar_clicked(self, event: bars.TabBar.Clicked) -> None:
        """Show the tab that was clicked."""
        self.show_tab(event.tab)

    # the filter -------------------------------------------------------------------------------------------------------
    def open_filter(self) -> None:
        """Open the filter field, in which the person types words that rows must contain."""
        field = self.query_one("#filter", Input)
        field.add_class("-shown")
        self.set_focus(field)
        self._draw_keys()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter the rows while the person types."""
        self.rows.filter(event.value)
        self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter and give the keys back to the rows. Without words, close the filter."""
        if not event.value.split():
            self._close_filter()
        self.set_focus(None)
        self._draw_keys()

    def _close_filter(self) -> None:
        """Empty and hide the field of the filter, and show all rows."""
        self._clear_field()
        self.rows.filter("")
        self._draw()

    def _clear_field(self) -> None:
        """Empty and hide the field of the filter, and give the keys back to the rows."""
        field = self.query_one("#filter", Input)
        field.value = ""
        field.remove_class("-shown")
        self.set_focus(None)

    # keys and acts ----------------------------------------------------------------------------------------------------
    def on_key(self, event: events.Key) -> None:
        """Handle a key: comment, close the filter, choose an answer by its number, or perform the key's act."""
        self._key_to_select = ""
        if self.is_filtering and event.key not in LEAVING | {"down", "up"}:
            return  # Textual gives a key to the field only when it comes up to the app
        event.stop()
        if self.commenting.is_on:
            self.commenting.press(event)
        elif event.key == "escape" or (self.is_filtering and event.key in LEAVING):
            self._close_filter()
        elif self.is_filtering:
            self.rows.move(1 if event.key == "down" else -1)
        else:
            self._press(event)

    def _press(self, event: events.Key) -> None:
        """Choose an answer by its number, send the marked answers on Enter, or perform the key's act."""
        if event.character in DIGITS:
            self.choosing.choose(event.character or "")
            self._draw_question()
            return
        if event.key == "enter" and self.choosing.send_marked():
            self._draw_question()
            return
        name = self._by_key.get(event.key) or self._by_key.get(event.character or "")
        if name is not None:
            self.perform(name)

    def perform(self, name: str) -> None:
        """Perform the act with this name, or say that it does not apply to the selected row."""
        doing = DOINGS[name]
        if doing.applies(self):
            doing.perform(self)
        else:
            label = next(act.label or act.name for act in ACTS if act.name == name)
            self.say(f"{label} does not apply here")

    def act(
        self,
        name: str,
        says: str,
        act: Callable[[Fleet], T],
        done: Callable[[T], None],
        *,
        failed: Callable[[str], None] | None = None,
        queue: bool = False,
    ) -> None:
        """Run `act` in the background, then call `done` with its result and hurry the next snapshot.

        When `act` fails, call `failed` with the reason; without `failed`, show the reason.

        `says` tells the person what is done. When an act of the same `name` runs already, tell the person so and do not
        run this one; with `queue`, run this one after it.
        """

        def finish(result: T) -> None:
            self._draw_running()
            done(result)
            self.app.hurry()

        def fail(why: str) -> None:
            self._draw_running()
            (failed or self.warn)(why)

        if not self.acts.start(name, says, act, done=finish, failed=fail, queue=queue):
            self.say(f"{self.acts.running[name]}: it is being done")
        self._draw_running()

    def _draw_running(self) -> None:
        """Show in a bar which acts run in the background, also on the review page, which covers the board."""
        text = " · ".join(f"{says} …" for says in self.acts.unfinished)
        self._bar_text("running", text)
        for screen in self.app.screen_stack:
            if isinstance(screen, ReviewPage):
                screen.show_running(text)

    def ask(self, screen: ModalScreen[T], then: Callable[[T | None], None]) -> None:
        """Show a dialog, and call `then` with its result, which is None when the person leaves the dialog."""
        self.app.push_screen(screen, then)

    def say(self, text: str) -> None:
        """Show the person a short notification."""
        self.app.notify(escapes.text(text), markup=False, timeout=5)

    def joined(self, comment: str) -> str:
        """Return a comment as one line, as a review stores it. Tell the person when it had several lines."""
        if len(comment.splitlines()) > 1:
            self.say("the lines of the comment were joined to one")
        return " ".join(comment.split())

    def warn(self, text: str) -> None:
        """Show the person a notification about what was refused or failed."""
        self.app.notify(escapes.text(text), severity="error", markup=False, timeout=10)

    def attach(self, ident: str, place: str) -> None:
        """Attach the terminal to an agent's session; the TUI comes back when the person detaches.

        `place` names the agent's task or project for the person.
        """
        self.act(f"attach {ident}", f"joining {place}", lambda fleet: fleet.agents.attach_words(ident), self.app.lend)

    # pages ------------------------------------------------------------------------------------------------------------
    def open_palette(self) -> None:
        """Open the palette, in which the person searches the acts that apply now."""
        palette = Pick("What do you want to do?", offered_choices(self), self.look)
        self.ask(palette, lambda name: self.perform(name) if name else None)

    def open_help(self) -> None:
        """Open the page that lists all keys."""
        self.app.push_screen(HelpPage(self._keys, self.look))

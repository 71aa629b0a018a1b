"""Board: the screen that is open all day. It draws the newest snapshot, and lets the keys act on the selected row."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rich.text import Text
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from fleet.api.views.rows import WANTED
from fleet.api.views.sections import hold_in_words
from fleet.model.settings.keys import ACTS, DIGITS
from fleet.model.text import escapes
from fleet.model.text.times import since_epoch, time_of_day
from fleet.surfaces.tui.acts.agents import ON_AGENTS, answer_question
from fleet.surfaces.tui.acts.moves import MOVES
from fleet.surfaces.tui.acts.tasks import ON_TASKS
from fleet.surfaces.tui.dialogs.asking import Ask, Way
from fleet.surfaces.tui.dialogs.picking import Choice, Pick
from fleet.surfaces.tui.feeds.acting import Acts
from fleet.surfaces.tui.feeds.details import Wish
from fleet.surfaces.tui.feeds.tabs import TABS
from fleet.surfaces.tui.pages.help import HelpPage
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

DOINGS = MOVES | ON_AGENTS | ON_TASKS
# The order in which keys are offered at the bottom: what answers and ends first, what always applies last.
_OFFERED = (
    *("approve", "deny", "answer", "review", "merge", "land", "dispatch", "resume", "retry", "attach", "message"),
    *("hand-off", "kill", "next", "coordinator", "new", "run", "tab", "filter", "graph", "timeline", "sweep"),
    *("palette", "help", "quit"),
)
_ALWAYS = ("help", "quit")
_SIGNS = {"enter": "⏎", "space": "␣", "tab": "⇥", "shift+tab": "⇤", "escape": "Esc", "left": "←", "right": "→"}


class Board(Screen[None], inherit_bindings=False):
    """The main screen: rows at the left, tabs at the right."""

    class Happened(Message):
        """Something is to be done in the thread of the screen."""

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
        self._shown_of = ("", "")
        self._picked: list[str] = []
        self._wanted_key = ""
        # Comments of reviews that were not sent yet, by project and task.
        self.drafts: dict[tuple[str, str], Comments] = {}
        self.acts = Acts(app.home, actor=app.actor, post=self.post)
        self.rows: RowList = RowList(self.look, id="rows")
        self.lines: LineView = LineView(id="lines")

    def compose(self) -> ComposeResult:
        """Draw the bars around the two halves."""
        yield Static(id="top", markup=False)
        yield Static(id="trouble", markup=False)
        yield Static(id="banner", markup=False)
        with Horizontal(id="body"):
            with Vertical(id="left"):
                yield self.rows
                yield Input(id="filter", placeholder="filter", compact=True)
            with Vertical(id="right"):
                yield Static(id="about", markup=False)
                yield Static(id="question", markup=False)
                yield bars.TabBar(id="tabs", markup=False)
                yield self.lines
        yield Static(id="running", markup=False)
        yield Static(id="keys", markup=False)

    def on_mount(self) -> None:
        """Draw what is known already."""
        self._bar("top").update(bars.top_line(None, self.look, "", self.size.width))
        self._draw_tabs()
        self._draw_keys()

    # what others tell -------------------------------------------------------------------------------------------------
    def post(self, act: Callable[[], None]) -> None:
        """Do something in the thread of the screen; any thread may call this."""
        self.post_message(self.Happened(act))

    def on_board_happened(self, event: Happened) -> None:
        """Call, in the thread of the screen, the function that another thread has posted."""
        event.act()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Draw the rows and counts of a new snapshot."""
        is_first, self.snapshot = self.snapshot is None, snapshot
        now = since_epoch(snapshot.at)
        self.rows.show(snapshot.rows, now)
        if is_first:
            self.rows.next_wanted()
        if self._wanted_key and self.rows.go_to(self._wanted_key):
            self._wanted_key = ""
        trouble = (
            f"tmux does not answer: {snapshot.tmux}; agents cannot be seen or joined until it does"
            if snapshot.tmux
            else ""
        )
        self._bar_text("trouble", trouble)
        holds = [hold_in_words(hold, now) for hold in snapshot.page.holds]
        self._bar_text("banner", "\n".join([*(f"⚠ {line}" for line in snapshot.banner), *holds]))
        self._draw()

    def show_loss(self, why: str) -> None:
        """Say that the store cannot be read; what was shown last stays, with its time."""
        since = f"; what you see is of {time_of_day(self.snapshot.at)}" if self.snapshot else ""
        self._bar_text("trouble", f"fleet cannot be read: {why}{since} — trying again")

    def show_details(self, shown: Shown) -> None:
        """Draw the lines of a tab, if the person still looks at it."""
        wish, row = shown.wish, self.row
        if row is None or (wish.row.key, wish.tab) != (row.key, self._tab):
            return
        is_same = self._shown_of == (row.key, self._tab)
        at_end = wish.tab == "live" and (not is_same or self.lines.is_at_end)
        self.lines.show(shown.lines, wrap=wish.tab == "task", keep=is_same, at_end=at_end)
        self._shown_of = (row.key, self._tab)
        if shown.question != self.question:
            self.question = shown.question
            self._picked = []
            self._draw_question()

    def show_changes(self, changes: dict[str, str]) -> None:
        """Draw how much the branches change."""
        self.rows.changes = changes
        self.rows.refresh()
        self._draw_about()

    # what is selected -------------------------------------------------------------------------------------------------
    @property
    def row(self) -> RowView | None:
        """The selected row."""
        return self.rows.selected

    @property
    def project(self) -> str | None:
        """The project of the selected row; the first one when nothing is selected."""
        first = self.snapshot.page.projects[:1] if self.snapshot else []
        return self.rows.project or (first[0].name if first else None)

    @property
    def is_anything_wanted(self) -> bool:
        """Whether any row waits for a person."""
        return self.snapshot is not None and any(group in WANTED for group in self.snapshot.counts)

    def select_soon(self, key: str) -> None:
        """Select a row as soon as a snapshot has it."""
        self._wanted_key = key
        self.app.hurry()

    def on_row_list_selected(self, _event: RowList.Selected) -> None:
        """Draw the right half for the row that is selected now."""
        self._draw()

    def on_row_list_chosen(self, _event: RowList.Chosen) -> None:
        """Join the agent of a row that was clicked twice."""
        self.perform("attach")

    # drawing ----------------------------------------------------------------------------------------------------------
    def _bar(self, name: str) -> Static:
        return self.query_one(f"#{name}", Static)

    def _bar_text(self, name: str, text: str) -> None:
        bar = self._bar(name)
        bar.update(Text(escapes.text(text), overflow="ellipsis"))
        bar.set_class(bool(text), "-shown")

    def _draw(self) -> None:
        """Draw everything that depends on the snapshot or on the selected row, and wish for the tab's lines."""
        clock = time_of_day(self.snapshot.at) if self.snapshot else ""
        self._bar("top").update(bars.top_line(self.snapshot, self.look, clock, self.size.width - 2))
        if self.question is not None and (self.row is None or self.row.question != self.question.id):
            self.question = None
        self._draw_about()
        self._draw_question()
        self._draw_keys()
        self.want()

    def want(self) -> None:
        """Ask for the lines of the current tab."""
        row = self.row
        if row is None:
            self.lines.show([])
            self._shown_of = ("", "")
        elif self._shown_of != (row.key, self._tab):
            self.lines.show([Text("…", style=self.look.style("dim"))])
        self.app.want(Wish(row, self._tab, tuple(self.rows.visible_rows)) if row else None)

    def _draw_about(self) -> None:
        now = since_epoch(self.snapshot.at) if self.snapshot else 0
        changes = self.rows.changes.get(self.row.key, "") if self.row else ""
        self._bar("about").update(about.about_row(self.row, changes, now, self.look))

    def _draw_question(self) -> None:
        bar = self._bar("question")
        if self.question is not None:
            keys = (self.key_of(name) for name in ("approve", "deny", "answer"))
            bar.update(about.question_text(self.question, self.look, *keys))
        bar.set_class(self.question is not None, "-shown")

    def _draw_tabs(self) -> None:
        self._bar("tabs").update(bars.tab_line(self._tab, self.look))

    def _draw_keys(self) -> None:
        labels = {act.name: act.label for act in ACTS if act.place == "board"}
        offered = [name for name in _OFFERED if DOINGS[name].applies(self)]
        words = {**labels, "attach": "fold" if self.rows.is_foldable else "attach"}
        width = self.size.width - 2
        last = [(self.key_of(name), words[name]) for name in _ALWAYS]
        room = width - sum(len(key) + len(word) + 3 for key, word in last)
        line = bars.key_line(
            [(self.key_of(name), words[name]) for name in offered if name not in _ALWAYS], self.look, room
        )
        line.append_text(bars.key_line(last, self.look, width))
        self._bar("keys").update(line)

    def key_of(self, name: str) -> str:
        """Return the first key of an act, as people write it."""
        key = self._keys[name][0]
        return _SIGNS.get(key, key)

    def on_resize(self, _event: events.Resize) -> None:
        """Draw the bars for the new width."""
        if self.is_mounted:
            self._draw()

    def turn_tab(self, by: int) -> None:
        """Show the tab that is `by` places beside the current one."""
        self._tab = TABS[(TABS.index(self._tab) + by) % len(TABS)]
        self._draw_tabs()
        self.want()

    def on_tab_bar_clicked(self, event: bars.TabBar.Clicked) -> None:
        """Show the tab that was clicked."""
        self._tab = event.tab
        self.turn_tab(0)

    # the filter -------------------------------------------------------------------------------------------------------
    def open_filter(self) -> None:
        """Let the person write words that rows have to contain."""
        field = self.query_one("#filter", Input)
        field.add_class("-shown")
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while the person writes."""
        self.rows.filter(event.value)
        self._draw()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Keep the filter and go back to the rows."""
        self.set_focus(None)

    def _close_filter(self) -> None:
        field = self.query_one("#filter", Input)
        field.value = ""
        field.remove_class("-shown")
        self.set_focus(None)
        self.rows.filter("")
        self._draw()

    # keys and acts ----------------------------------------------------------------------------------------------------
    def on_key(self, event: events.Key) -> None:
        """Perform the act of a key, if it applies."""
        event.stop()
        if event.key == "escape":
            self._close_filter()
            return
        if isinstance(self.focused, Input):
            if event.key in {"down", "up"}:
                self.rows.move(1 if event.key == "down" else -1)
            return
        if event.character in DIGITS:
            self._choose(event.character or "")
            return
        name = self._by_key.get(event.key) or self._by_key.get(event.character or "")
        if name is not None:
            self.perform(name)

    def perform(self, name: str) -> None:
        """Perform an act, or say that it does not apply here."""
        doing = DOINGS[name]
        if doing.applies(self):
            doing.perform(self)
        else:
            label = next(act.label or act.name for act in ACTS if act.name == name)
            self.say(f"{label} does not apply here")

    def _choose(self, digit: str) -> None:
        """Choose an answer of the open question by its number; with several questions, one after the other."""
        question = self.question
        if question is None or question.id is None or question.kind != "question":
            return
        choice = question.choices[min(len(self._picked), len(question.choices) - 1)]
        if int(digit) > len(choice.options):
            self.say(f"there is no answer {digit}")
            return
        self._picked.append(digit)
        if len(self._picked) < len(question.choices):
            self.say(f"{choice.options[int(digit) - 1]}; now the next question")
            return
        answer_question(self, question.id, self._picked)
        self._picked = []

    def act(self, name: str, says: str, act: Callable[[Fleet], T], done: Callable[[T], None]) -> None:
        """Let an act run in the background, and tell what came of it."""

        def finish(result: T) -> None:
            self._draw_running()
            done(result)
            self.app.hurry()

        def fail(why: str) -> None:
            self._draw_running()
            self.warn(why)

        if not self.acts.start(name, says, act, done=finish, failed=fail):
            self.say(f"{says}: it is being done")
        self._draw_running()

    def _draw_running(self) -> None:
        self._bar_text("running", " · ".join(f"{says} …" for says in self.acts.running.values()))

    def ask(self, screen: ModalScreen[T], then: Callable[[T | None], None]) -> None:
        """Show a dialog, and go on with what it returns."""
        self.app.push_screen(screen, then)

    def say(self, text: str) -> None:
        """Tell the person something."""
        self.app.notify(escapes.text(text), markup=False, timeout=5)

    def warn(self, text: str) -> None:
        """Tell the person that something was refused or failed."""
        self.app.notify(escapes.text(text), severity="error", markup=False, timeout=10)

    def attach(self, ident: str, place: str) -> None:
        """Hand the terminal to an agent's session, and take it back."""
        self.act(f"attach {ident}", f"joining {place}", lambda fleet: fleet.agents.attach_words(ident), self.app.lend)

    # pages ------------------------------------------------------------------------------------------------------------
    def open_palette(self) -> None:
        """Let the person search all acts that apply now."""
        known = {act.name: act for act in ACTS}
        choices = [
            Choice(name, known[name].label or name.replace("-", " "), known[name].help, self.key_of(name))
            for name in _OFFERED
            if name != "palette" and DOINGS[name].applies(self)
        ]
        self.ask(Pick("What do you want to do?", choices, self.look), lambda name: self.perform(name) if name else None)

    def open_help(self) -> None:
        """List all keys."""
        self.app.push_screen(HelpPage(self._keys, self.look))

    def leave(self) -> None:
        """Leave the screen; ask first while something that was asked for still runs."""
        if not self.acts.running:
            self.app.exit()
            return
        way = Way("y", "leave", "what is half done is finished by the next sweep, tick or resume")
        running = [f"  {says}" for says in self.acts.running.values()]
        self.ask(
            Ask("This still runs. Leave?", [way], lines=running, danger=True, no="stay"),
            lambda yes: self.app.exit() if yes else None,
        )

"""The review page: the files, the diff with a cursor, comments on lines, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from fleet.api.views.diffs import parse_diff
from fleet.api.views.sections import one_line
from fleet.model.settings.keys import ACTS
from fleet.model.text import escapes
from fleet.model.text.sizes import counted
from fleet.surfaces.tui.acts.texts import Enclosed
from fleet.surfaces.tui.dialogs.asking import Ask, Way
from fleet.surfaces.tui.dialogs.leaving import LEAVING, is_open, leave
from fleet.surfaces.tui.dialogs.writing import Write
from fleet.surfaces.tui.pages.review_lines import comments_as_text, first_line_of, review_lines, same_line
from fleet.surfaces.tui.widgets.bars import Bar, key_line
from fleet.surfaces.tui.widgets.line_view import LineView
from fleet.verbs.tasks.review import ACCEPT, SEND_BACK

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult

    from fleet.api.fleet import Fleet
    from fleet.api.views.diffs import FileDiff
    from fleet.model.results.merge import Tried, VerdictView, Work
    from fleet.surfaces.tui.board import Board
    from fleet.surfaces.tui.pages.review_lines import Comments, ReviewLine

# The acts whose keys the page shows, in this order.
_SHOWN = ("accept", "send-back", "comment", "next-file", "side-by-side", "since", "verify", "close")
# How many messages of the task's log the head shows.
_LAST_LOG = 3
# How many lines of the task's description the head shows.
_DESCRIPTION = 3
# Keys that scroll to what is cut off at the sides, and by how many columns.
_SIDEWAYS = {"left": -8, "right": 8}


class ReviewPage(Screen[None], inherit_bindings=False):
    """The page on which a person reviews the work of one task."""

    def __init__(self, board: Board, project: str, slug: str) -> None:
        super().__init__(classes="page")
        self._board = board
        self._project = project
        self._slug = slug
        self._name = f"{project}/{slug}"
        self._keys = {key: act.name for act in ACTS if act.place == "review" for key in board.app.keys[act.name]}
        self.look = board.look
        self.work: Work | None = None
        self._files: list[FileDiff] = []
        self._lines: list[ReviewLine] = []
        self._is_split = False
        self._only_new = False
        # What is done in the background, as on the board, which this page hides.
        self._doing = Bar(id="running")

    def compose(self) -> ComposeResult:
        """Yield the widgets: the head, the files beside the diff, and the keys."""
        yield Static(
            Text(f"Review {self._name}: reading the work …", style=self.look.style("blue", bold=True)),
            id="pagetop",
            markup=False,
        )
        with Horizontal(id="pagebody"):
            yield Static(id="files", markup=False)
            yield LineView(id="pagelines")
        yield self._doing
        yield Static(id="pagekeys", markup=False)

    def on_mount(self) -> None:
        """Start to fetch the task's work in the background."""
        if not is_open(self):
            return
        self.view.cursor_style = self.look.style("", selected=True)
        self._draw_keys()
        self._board.act(
            f"read {self._name} for page {id(self)}",
            f"reading the work of {self._name}",
            lambda fleet: fleet.reviews.work(project=self._project, slug=self._slug),
            self._show,
            failed=self._show_failure,
        )

    def _draw_keys(self) -> None:
        """Draw the keys that apply. The key `since` applies only after an earlier verdict."""
        labels = {act.name: act.label for act in ACTS}
        was_reviewed = self.work is not None and self.work.since is not None
        shown = [name for name in _SHOWN if was_reviewed or name != "since"]
        keys = [(self._board.key_of(name), labels[name]) for name in shown]
        keys.insert(-1, ("← →", "sideways"))
        line = key_line(keys[:-1], self.look, self.size.width - 2, always=keys[-1:])
        self.query_one("#pagekeys", Static).update(line)

    @property
    def view(self) -> LineView:
        """The widget that shows the diff."""
        return self.query_one(LineView)

    @property
    def comments(self) -> Comments:
        """The comments that were not sent; the board keeps them when the page is closed."""
        return self._board.drafts.setdefault((self._project, self._slug), {})

    # drawing ----------------------------------------------------------------------------------------------------------
    def _show(self, work: Work) -> None:
        """Show the fetched work: its head, its keys and its diff."""
        self.work = work
        if is_open(self):
            self.query_one("#pagetop", Static).update(self._head(work))
            self._draw_keys()
            self._draw()

    def show_running(self, text: str) -> None:
        """Show in a bar what is done in the background; hide the bar when the text is empty."""
        if is_open(self) and self._doing.is_attached:
            self._doing.draw(Text(escapes.text(text), overflow="ellipsis"))
            self._doing.show(shown=bool(text))

    def _show_failure(self, why: str) -> None:
        """Show why the work cannot be read."""
        if is_open(self):
            head = Text(f"Review {self._name}: the work cannot be read", style=self.look.style("red", bold=True))
            head.append(f"\n{escapes.text(why)}", style=self.look.style(""))
            self.query_one("#pagetop", Static).update(head)

    def _head(self, work: Work) -> Text:
        """Return the head of the page: the task, its commits, warnings, and the last messages of its log."""
        head = Text()
        head.append(f"Review {self._name}", style=self.look.style("blue", bold=True))
        head.append(f"  {one_line(work.title)}", style=self.look.style("", bold=True))
        head.append_text(self._description(work))
        commits = counted(len(work.commits), "commit")
        head.append(
            f"\nby {work.assignee or 'nobody'}, {commits}, at {(work.commit or 'no commit')[:12]}",
            style=self.look.style("dim"),
        )
        if work.moved:
            head.append(
                f"\nthe branch moved since it was reported ({(work.reported or '')[:12]})", style=self.look.style("red")
            )
        if work.left_uncommitted:
            head.append(
                f"\nleft uncommitted on purpose: {one_line(work.left_uncommitted)}", style=self.look.style("yellow")
            )
        for entry in work.log[-_LAST_LOG:]:
            head.append(f"\n{entry.actor}: {one_line(entry.message)}", style=self.look.style("dim"))
        return head

    def _description(self, work: Work) -> Text:
        """Return the first three lines of the task's description, each cut to the width, and how many more there are.

        Return an empty text when the description only repeats the title.
        """
        text = Text()
        lines = [] if work.description.strip() == work.title else work.description.strip().splitlines()
        for line in lines[:_DESCRIPTION]:
            part = Text(f"\n  {escapes.line(line)}")
            part.truncate(max(self.size.width - 2, 1), overflow="ellipsis")
            text.append_text(part)
        if len(lines) > _DESCRIPTION:
            more = counted(len(lines) - _DESCRIPTION, "more line")
            text.append(f"\n  … {more}: the task tab of the board shows all", style=self.look.style("dim"))
        return text

    def _draw(self) -> None:
        """Draw the diff, whole or only what is new since the last verdict. The cursor stays on the line that it is on.

        At first it is on the first line that can be commented on.
        """
        if self.work is None:
            return
        here = self._here
        since = self.work.since
        text = since.diff if self._only_new and since is not None else self.work.diff
        self._files = parse_diff(text)
        self._lines = review_lines(
            self._files, self.comments, self.look, width=max(self.view.size.width - 2, 20), split=self._is_split
        )
        empty = [Text("it changes nothing", style=self.look.style("dim"))]
        self.view.show([line.text for line in self._lines] or empty, keep=True)
        self.view.select(same_line(self._lines, here))
        self._draw_files()

    def _draw_files(self) -> None:
        """Draw the list of files with their counts of changed lines and comments."""
        text = Text()
        text.append("only what is new\n" if self._only_new else "", style=self.look.style("yellow"))
        here = self._here
        for number, file in enumerate(self._files):
            chosen = here is not None and here.file == number
            text.append("▸ " if chosen else "  ", style=self.look.style("blue", bold=True))
            text.append(escapes.line(file.path), style=self.look.style("", bold=chosen))
            text.append(f" +{file.added}", style=self.look.style("green"))
            text.append(f" −{file.removed}", style=self.look.style("red"))
            count = sum(spot.path == file.path for spot in self.comments)
            text.append(f" ✎{count}\n" if count else "\n", style=self.look.style("yellow"))
        if self.comments:
            text.append(f"\n{self._count}, not sent", style=self.look.style("yellow"))
        self.query_one("#files", Static).update(text)

    @property
    def _count(self) -> str:
        """How many comments there are, in words."""
        return counted(len(self.comments), "comment")

    @property
    def _here(self) -> ReviewLine | None:
        """The line of the page under the cursor; None when there is none."""
        number = self.view.cursor
        return self._lines[number] if number is not None and number < len(self._lines) else None

    def on_resize(self, _event: events.Resize) -> None:
        """Draw the diff and the keys for the new width."""
        if not is_open(self):
            return
        self._draw_keys()
        if self.work is not None:
            self.query_one("#pagetop", Static).update(self._head(self.work))
            self._draw()

    # keys -------------------------------------------------------------------------------------------------------------
    def on_key(self, event: events.Key) -> None:
        """Perform the act of a key: move, comment, change the view, or give a verdict."""
        event.stop()
        if not is_open(self):
            return
        name = self._keys.get(event.key) or self._keys.get(event.character or "")
        if name == "close" or event.key in LEAVING:
            leave(self)
        elif name is not None and self.work is not None:
            self._acts[name]()
        elif event.key in _SIDEWAYS:
            self.view.scroll_relative(x=_SIDEWAYS[event.key], animate=False)

    @property
    def _acts(self) -> dict[str, Callable[[], None]]:
        """The function for each act of the page, by the name of the act."""
        page = max(self.view.size.height - 3, 1)
        return {
            "line-down": lambda: self._move(1),
            "line-up": lambda: self._move(-1),
            "page-down": lambda: self._move(page),
            "page-up": lambda: self._move(-page),
            "next-file": lambda: self._go_to_file(1),
            "previous-file": lambda: self._go_to_file(-1),
            "comment": self._comment,
            "side-by-side": self._split,
            "since": self._toggle_since,
            "verify": self._verify,
            "accept": self._accept,
            "send-back": self._send_back,
        }

    def _move(self, by: int) -> None:
        """Move the cursor in the diff down by this many lines (up, when negative)."""
        self.view.select((self.view.cursor or 0) + by)
        self._draw_files()

    def _go_to_file(self, by: int) -> None:
        """Scroll to the file that is `by` files after the current one (before it, when negative).

        Put the cursor on its first line that can be commented on. The first file follows the last one.
        """
        here = self._here
        wanted = ((here.file if here else 0) + by) % max(len(self._files), 1)
        top = next((number for number, line in enumerate(self._lines) if line.file == wanted), 0)
        self.view.scroll_to(y=top, animate=False, force=True)
        self.view.select(first_line_of(self._lines, wanted))
        self._draw_files()

    def _split(self) -> None:
        """Show the diff side by side if it is in one column, else in one column."""
        self._is_split = not self._is_split
        self._draw()

    def _toggle_since(self) -> None:
        """Switch between the whole diff and what is new since the last verdict; without a verdict, say so."""
        if self.work is not None and self.work.since is None:
            self._board.say("it was not reviewed before")
            return
        self._only_new, self._lines = not self._only_new, []
        self._draw()

    # comments and verdicts ----------------------------------------------------------------------------------------------
    def _comment(self) -> None:
        """Ask the person for a comment on the line under the cursor, and keep it. An empty text removes the comment."""
        here = self._here
        if here is None or here.spot is None:
            self._board.say("there is no line of the work here")
            return
        spot = here.spot

        def keep(text: str | None) -> None:
            """Keep the comment, or remove it for an empty text; do nothing when the person left the dialog."""
            if text is None:
                return
            if text:
                self.comments[spot] = self._board.joined(text)
            else:
                self.comments.pop(spot, None)
            self._draw()

        given = self.comments.get(spot, "")
        self._board.ask(Write(spot.title, given=given, hint="nothing removes it", optional=True, sends="keeps"), keep)

    @property
    def _enclosed(self) -> Enclosed:
        """The comments that are to be sent with a text, as lines `FILE:LINE text`, sorted by file and line."""
        files = parse_diff(self.work.diff) if self.work else []
        place = (self._project, self._slug)
        return Enclosed(self._board.drafts, place, lambda comments: comments_as_text(files, comments))

    def _verify(self) -> None:
        """Rehearse the merge of the task in the background, and show the result."""

        def said(tried: Tried) -> None:
            (self._board.say if tried.ok else self._board.warn)(tried.says.strip())

        self._board.act(
            f"verify {self._name}",
            f"trying to merge {self._name}, and running its verify command if it has one",
            lambda fleet: fleet.reviews.rehearse(project=self._project, slug=self._slug),
            said,
        )

    def _accept(self) -> None:
        """Accept the work; ask first when there are comments that were not sent."""
        if not self.comments:
            self._judge_accept()
            return
        way = Way("y", "accept", "the work is merged; your comments are not sent")
        sent = "was not sent" if len(self.comments) == 1 else "were not sent"
        self._board.ask(
            Ask(f"Accept, and drop {self._count} that {sent}?", [way], no="go on reviewing"),
            lambda yes: self._judge_accept() if yes else None,
        )

    def _judge_accept(self) -> None:
        """Accept the shown commit in the background; once it is accepted, drop the comments that exist now."""
        commit = self.work.commit if self.work else None
        enclosed, dropped = self._enclosed, dict(self.comments)

        def judged(view: VerdictView) -> None:
            enclosed.forget(dropped)
            self._judged(view)

        self._board.act(
            f"judge {self._name}",
            f"accepting {self._name}",
            lambda fleet: fleet.reviews.judge(project=self._project, slug=self._slug, verdict=ACCEPT, commit=commit),
            judged,
        )

    def _send_back(self) -> None:
        """Ask the person for comments, with those on lines already in the text, and send the work back."""

        def send(fleet: Fleet, text: str) -> VerdictView:
            return fleet.reviews.judge(project=self._project, slug=self._slug, verdict=SEND_BACK, comments=text)

        text = "An agent gets these comments, and mends the work in the same worktree."
        dialog = Write(f"Send {self._name} back", text=text, hint="what should change")
        name, says = f"judge {self._name}", f"sending {self._name} back"
        self._board.texts.ask(dialog, name, says, send, self._judged, enclosed=self._enclosed)

    def _judged(self, view: VerdictView) -> None:
        """Show the recorded verdict, and close the page."""
        word = (
            f"accepted: the coordinator merges it, or {self._board.key_of('merge')}"
            if view.verdict == ACCEPT
            else f"sent back: the coordinator has it fixed, or {self._board.key_of('dispatch')}"
        )
        self._board.say(f"{self._name} is {word}")
        leave(self)

"""Comments on lines in the diff tab. They belong to the task's review; a running agent gets them as a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from fleet.api.views.diffs import parse_diff
from fleet.model.settings.keys import ACTS
from fleet.model.text import escapes
from fleet.surfaces.tui.acts.doing import Doing, on_agent
from fleet.surfaces.tui.acts.moves import SIDEWAYS
from fleet.surfaces.tui.dialogs.leaving import LEAVING
from fleet.surfaces.tui.dialogs.writing import Write
from fleet.surfaces.tui.pages.review_lines import comments_as_text, spot_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events

    from fleet.api.views.diffs import FileDiff
    from fleet.surfaces.tui.board import Board
    from fleet.surfaces.tui.pages.review_lines import Comments, Spot


class Commenting:
    """The cursor with which the person chooses a line of the diff tab to comment on. Its keys are those of the review page."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._by_key = {key: act.name for act in ACTS if act.place == "review" for key in board.app.keys[act.name]}
        self.is_on = False
        # The key of the row whose diff the cursor is in.
        self._row = ""
        self._files: list[FileDiff] = []
        # For each line of the tab, the line of the diff that a comment on it is about; None where no comment is possible.
        self._spots: list[Spot | None] = []

    # what is drawn ------------------------------------------------------------------------------------------------------
    def noted(self, lines: list[Text]) -> list[Text]:
        """Return the lines of the diff tab with each comment below the line that it is about.

        Also keep the place in the diff of each line, which the cursor and the comments need. Without a cursor and
        without comments, return `lines` unchanged and keep nothing.
        """
        comments = self._comments
        if not self.is_on and not comments:
            return lines
        self._files = parse_diff("\n".join(line.plain for line in lines))
        about = [spot_of(file, place) for file in self._files for place in range(len(file.lines))]
        shown: list[Text] = []
        self._spots = []
        if len(about) != len(lines):  # it is no diff, but says why there is none
            about = [None] * len(lines)
        for line, spot in zip(lines, about, strict=True):
            shown.append(line)
            self._spots.append(spot)
            if spot in comments:
                style = self._board.look.style("yellow", bold=True)
                shown.append(Text(f" ✎ {escapes.line(comments[spot])}", style=style))
                self._spots.append(None)
        return shown

    def place(self) -> None:
        """Put the cursor on a line of the newly drawn diff: where it was, else on the first visible line.

        When no line can be commented on, remove the cursor and tell the person. Do nothing while there is no cursor.
        """
        view = self._board.lines
        if not self.is_on:
            return
        if not any(self._spots):
            self.leave()
            self._board.say("there is no line to comment on")
            return
        here = view.cursor if view.cursor is not None else view.scroll_offset.y
        self._go(here, 1)

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The keys that apply while the person chooses a line, with their labels."""
        key = self._board.key_of
        return [
            (f"{key('line-down')} {key('line-up')}", "line"),
            (f"{key('page-down')} {key('page-up')}", "page"),
            ("← →", "sideways"),
            (key("comment"), "comment"),
            (key("close"), "back"),
        ]

    @property
    def _comments(self) -> Comments:
        """The comments on the selected row's task that were not sent yet, by line."""
        row = self._board.row
        return self._board.drafts.get((row.project, row.slug or ""), {}) if row is not None else {}

    # what the keys do ---------------------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Show the diff tab, with a cursor as soon as its lines are drawn."""
        row, view = self._board.row, self._board.lines
        self.is_on, self._row, self._spots = True, row.key if row else "", []
        view.cursor_style, view.cursor = self._board.look.style("", selected=True), None
        self._board.show_tab("diff")

    def leave(self) -> None:
        """Remove the cursor from the diff tab."""
        if self.is_on:
            self.is_on, self._board.lines.cursor = False, None
            self._board.redraw_tab()

    def leave_unless(self, row: str) -> None:
        """Remove the cursor, unless `row` is the key of the row whose diff it is in."""
        if row != self._row:
            self.leave()

    def press(self, event: events.Key) -> None:
        """Handle a key while the cursor is shown: move it, scroll sideways, write a comment, or remove the cursor."""
        view = self._board.lines
        here, page = view.cursor or 0, max(view.size.height - 3, 1)
        steps = {"line-down": 1, "line-up": -1, "page-down": page, "page-up": -page}
        name = self._by_key.get(event.key) or self._by_key.get(event.character or "", "")
        if name in steps:
            self._go(here + steps[name], 1 if steps[name] > 0 else -1)
        elif (name == "comment" or event.key == "enter") and here < len(self._spots):
            self._write(self._spots[here])
        elif name == "close" or event.key in LEAVING:
            self.leave()
        elif event.key in {"left", "right"}:
            view.scroll_relative(x=SIDEWAYS if event.key == "right" else -SIDEWAYS, animate=False)

    def _go(self, number: int, direction: int) -> None:
        """Put the cursor on the nearest line that can be commented on: line `number`, or the next one in `direction`.

        `direction` is 1 for down, -1 for up. When none follows there, take the last such line, or going up the first.
        """
        places = [place for place, spot in enumerate(self._spots) if spot is not None]
        beyond = [place for place in places if (place >= number if direction > 0 else place <= number)]
        if places:
            nearest = (beyond or places[-1:])[0] if direction > 0 else (beyond or places[:1])[-1]
            self._board.lines.select(nearest)

    def _write(self, spot: Spot | None) -> None:
        """Ask the person for a comment on a line of the diff, and keep it. An empty text removes the comment.

        Do nothing when `spot` is None: no comment is possible on the line under the cursor.
        """
        row = self._board.row
        if spot is None or row is None:
            return
        place = (row.project, row.slug or "")

        def keep(text: str | None) -> None:
            """Keep the comment, or remove it for an empty text; do nothing when the person left the dialog."""
            if text is None:
                return
            comments = self._board.drafts.setdefault(place, {})  # the other comments may be sent by now
            comments.pop(spot, None)
            if text:
                comments[spot] = self._board.joined(text)
            self._board.redraw_tab()
            if comments:
                self._board.say(self._how_to_send(len(comments)))

        given = self._comments.get(spot, "")
        self._board.ask(Write(spot.title, given=given, hint="nothing removes it", optional=True, sends="keeps"), keep)

    def _how_to_send(self, count: int) -> str:
        """Return how many comments are kept, and how they are sent."""
        board = self._board
        kept = f"{count} comment{'' if count == 1 else 's'} kept"
        if on_agent(board):
            leaves, sends = board.key_of("close"), board.key_of("message")
            return f"{kept}: {leaves}, then {sends} sends {'it' if count == 1 else 'them'} to the agent"
        return f"{kept} for the review of the task"

    def in_words(self) -> Callable[[Comments], str]:
        """Return a function that turns comments on the shown diff into a text for the task's agent."""
        files = self._files
        return lambda comments: comments_as_text(files, comments)


def _has_branch(board: Board) -> bool:
    """Whether the selected row is a task with a branch that is not merged, so that it has a diff."""
    row = board.row
    return row is not None and row.kind == "task" and bool(row.slug and row.branch) and row.group != "done"


ON_LINES = {"comment-line": Doing(_has_branch, lambda board: board.commenting.begin())}

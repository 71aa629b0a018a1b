"""The keys that change only what is shown: move, fold, filter, tabs, pages, quit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.text.sizes import counted
from fleet.surfaces.tui.acts.doing import Doing, always, in_project
from fleet.surfaces.tui.dialogs.asking import Ask, Way
from fleet.surfaces.tui.pages.graph import GraphPage
from fleet.surfaces.tui.pages.timeline import TimelinePage

if TYPE_CHECKING:
    from fleet.surfaces.tui.board import Board

_PAGE = 0.8
# Columns by which the tab is scrolled sideways.
SIDEWAYS = 16


def _go_next(board: Board) -> None:
    """Select the next row that waits for a person; say so when there is none."""
    if not board.next_wanted():
        board.say("nothing needs you")


def _scroll(board: Board, direction: int) -> None:
    """Scroll the tab at the right by most of a page; `direction` is 1 for down, -1 for up."""
    board.lines.scroll_relative(y=int(direction * board.lines.size.height * _PAGE), animate=False)


def _scroll_sideways(board: Board, direction: int) -> None:
    """Scroll the tab at the right sideways; `direction` is 1 for right, -1 for left."""
    board.lines.scroll_relative(x=direction * SIDEWAYS, animate=False)


def _show_graph(board: Board) -> None:
    board.app.push_screen(GraphPage(board.project or "", board.look, board.app.home, rows=lambda: board.rows_by_key))


def _show_timeline(board: Board) -> None:
    board.app.push_screen(TimelinePage(board.look, board.app.home))


def _leave(board: Board) -> None:
    """Quit the TUI. Ask first while an act that the person started still runs, or comments were not sent."""
    running, comments = board.acts.unfinished, sum(len(each) for each in board.drafts.values())
    if not running and not comments:
        board.app.exit()
        return
    lost = f"{counted(comments, 'comment')} {'was' if comments == 1 else 'were'} not sent"
    titles = [*(["This still runs"] if running else []), *([lost] if comments else [])]
    means = [
        *(["what is half done is finished by the next sweep, tick or resume"] if running else []),
        *(["the comments are lost"] if comments else []),
    ]
    lines = [f"  {says}" for says in running]
    board.ask(
        Ask(f"{'; '.join(titles)}. Leave?", [Way("y", "leave", "; ".join(means))], lines=lines, danger=True, no="stay"),
        lambda yes: board.app.exit() if yes else None,
    )


MOVES = {
    "down": Doing(always, lambda board: board.rows.move(1)),
    "up": Doing(always, lambda board: board.rows.move(-1)),
    "first": Doing(always, lambda board: board.rows.go(0)),
    "last": Doing(always, lambda board: board.rows.go_last()),
    "fold": Doing(in_project, lambda board: board.rows.fold()),
    "next": Doing(lambda board: board.is_anything_wanted, _go_next),
    "filter": Doing(always, lambda board: board.open_filter()),
    "tab": Doing(lambda board: board.row is not None, lambda board: board.turn_tab(1)),
    "tab-back": Doing(lambda board: board.row is not None, lambda board: board.turn_tab(-1)),
    "scroll-down": Doing(always, lambda board: _scroll(board, 1)),
    "scroll-up": Doing(always, lambda board: _scroll(board, -1)),
    "scroll-right": Doing(always, lambda board: _scroll_sideways(board, 1)),
    "scroll-left": Doing(always, lambda board: _scroll_sideways(board, -1)),
    "graph": Doing(in_project, _show_graph),
    "timeline": Doing(in_project, _show_timeline),
    "palette": Doing(always, lambda board: board.open_palette()),
    "help": Doing(always, lambda board: board.open_help()),
    "quit": Doing(always, _leave),
}

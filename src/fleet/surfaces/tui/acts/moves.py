"""The keys that change only what is shown: move, fold, filter, tabs, pages, quit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fleet.model.text.sizes import counted
from fleet.surfaces.tui.acts.doing import Doing, always, in_project
from fleet.surfaces.tui.dialogs.asking import Ask, Way
from fleet.surfaces.tui.pages.graph import GraphPage
from fleet.surfaces.tui.pages.timeline import TimelinePage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fleet.surfaces.tui.board import Board

# By how much of the height of the tab it is scrolled.
_PAGE = 0.8
# Columns by which the tab is scrolled sideways.
SIDEWAYS = 16


def _go_next(board: Board) -> None:
    """Select the next row that waits for a person; say so when there is none."""
    if not board.go_to_next_needing_person():
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
    """Quit the TUI. Ask first when an act still runs or waits, or when texts or comments were not sent."""
    open_ends = list(_open_ends(board))
    if not open_ends:
        board.app.exit()
        return
    title, means = "; ".join(each.title for each in open_ends), "; ".join(each.means for each in open_ends)
    lines = [f"  {line}" for each in open_ends for line in each.lines]
    board.ask(
        Ask(f"{title}. Leave?", [Way("y", "leave", means)], lines=lines, danger=True, no="stay"),
        lambda yes: board.app.exit() if yes else None,
    )


class _OpenEnd(NamedTuple):
    """Something that is not finished when the person leaves: what it is, what becomes of it, and its lines."""

    title: str
    means: str
    lines: Sequence[str] = ()


def _open_ends(board: Board) -> Iterator[_OpenEnd]:
    """Yield what would be left unfinished by leaving: acts that run or wait, texts whose act failed, and comments."""
    running, waiting, texts = list(board.acts.running.values()), board.acts.waiting, board.texts.unsent
    comments = sum(len(each) for each in board.drafts.values())
    if running:
        yield _OpenEnd("This still runs", "what is half done is finished by the next sweep, tick or resume", running)
    if waiting:
        title = f"{counted(len(waiting), 'text')} {'waits' if len(waiting) == 1 else 'wait'} for it"
        yield _OpenEnd(title, "what waits has not begun and is lost", [f"{says} (waits)" for says in waiting])
    if texts:
        lines = [line for text in texts for line in ("not sent:", *(f"  {line}" for line in text.splitlines()))]
        yield _OpenEnd(_unsent(len(texts), "text"), "the texts are lost", lines)
    if comments:
        yield _OpenEnd(_unsent(comments, "comment"), "the comments are lost")


def _unsent(number: int, thing: str) -> str:
    """Return how many texts or comments were not sent, in words."""
    return f"{counted(number, thing)} {'was' if number == 1 else 'were'} not sent"


MOVES = {
    "down": Doing(always, lambda board: board.rows.move(1)),
    "up": Doing(always, lambda board: board.rows.move(-1)),
    "first": Doing(always, lambda board: board.rows.go(0)),
    "last": Doing(always, lambda board: board.rows.go_last()),
    "fold": Doing(lambda board: in_project(board) and not board.rows.is_filtered, lambda board: board.rows.fold()),
    "next": Doing(lambda board: board.is_person_needed, _go_next),
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

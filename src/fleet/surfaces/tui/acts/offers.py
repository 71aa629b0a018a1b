"""Which acts the key bar and the palette offer: those that apply to the selected row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.settings.keys import ACTS
from fleet.surfaces.tui.acts.agents import ON_AGENTS, attach_label
from fleet.surfaces.tui.acts.comments import ON_LINES
from fleet.surfaces.tui.acts.moves import MOVES
from fleet.surfaces.tui.acts.tasks import ON_TASKS
from fleet.surfaces.tui.dialogs.picking import PickedChoice
from fleet.surfaces.tui.widgets.bars import key_line

if TYPE_CHECKING:
    from rich.text import Text

    from fleet.surfaces.tui.board import Board

# All acts of the board, by their names in the settings of keys.
DOINGS = MOVES | ON_AGENTS | ON_TASKS | ON_LINES
# The order of the keys in the bar: those that answer an agent or end something first, those that always apply last.
_OFFERED = (
    *("approve", "deny", "answer", "review", "merge", "land", "dispatch", "resume", "retry", "attach", "message"),
    *("comment-line", "hand-off", "kill", "next", "coordinator", "new", "run", "tab", "filter", "graph", "timeline"),
    *("sweep", "palette", "help", "quit"),
)
# The keys in the bar while the person types words of the filter, and the acts that are always in the bar.
_FILTERING = (("⏎", "keep"), ("Esc", "show all"), ("↑ ↓", "select"))
_ALWAYS = ("help", "quit")


def key_bar(board: Board, width: int) -> Text:
    """Return the line of keys that apply now, as many as fit into `width` columns.

    While the person comments or filters, these are the keys for that; else those of the acts for the selected row.
    """
    if board.commenting.is_on:
        keys = board.commenting.keys
        return key_line(keys[:-1], board.look, width, always=keys[-1:])
    if board.is_filtering:
        return key_line(_FILTERING, board.look, width)
    labels = {act.name: act.label for act in ACTS if act.place == "board"}
    offered = [name for name in _OFFERED if DOINGS[name].applies(board)]
    words = {**labels, "attach": attach_label(board)}
    keys = [(board.key_of(name), words[name]) for name in offered if name not in _ALWAYS]
    most = board.choosing.most
    numbers = [(f"1–{most}" if most > 1 else "1", "choose")] if most else []
    last = [(board.key_of(name), words[name]) for name in _ALWAYS]
    return key_line([*numbers, *keys], board.look, width, always=last)


def offered_choices(board: Board) -> list[PickedChoice]:
    """Return the acts that apply to the selected row, as entries of the palette; the act that opens it is left out."""
    known = {act.name: act for act in ACTS}
    return [
        PickedChoice(name, known[name].label or name.replace("-", " "), known[name].help, board.key_of(name))
        for name in _OFFERED
        if name != "palette" and DOINGS[name].applies(board)
    ]

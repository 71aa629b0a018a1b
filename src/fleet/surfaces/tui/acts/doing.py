"""Doing: one act of the board, with the condition under which its key applies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.surfaces.tui.board import Board


class Doing(NamedTuple):
    """One act of the board.

    `applies` says whether it can be done with the selected row, `perform` does it.
    """

    applies: Callable[[Board], bool]
    perform: Callable[[Board], None]


def always(_board: Board) -> bool:
    """Return True: the act applies whatever row is selected."""
    return True


def in_project(board: Board) -> bool:
    """Whether there is a project to act in: that of the selected line, or the first one when no line is selected."""
    return board.project is not None


def on_agent(board: Board) -> bool:
    """Whether the selected row is an agent or coordinator that has not ended."""
    row = board.row
    return row is not None and bool(row.agent) and row.kind in {"task", "coordinator"} and row.group != "ended"

"""Doing: one act of the board, with the condition under which its key is shown and works."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.surfaces.tui.board import Board


class Doing(NamedTuple):
    """When an act applies, and what it does."""

    applies: Callable[[Board], bool]
    perform: Callable[[Board], None]


def always(_board: Board) -> bool:
    """Return True: the act applies whatever row is selected."""
    return True


def in_project(board: Board) -> bool:
    """Apply while anything of a project is selected."""
    return board.project is not None


def on_agent(board: Board) -> bool:
    """Whether the selected row is that of an agent or a coordinator that has not ended."""
    row = board.row
    return row is not None and bool(row.agent) and row.kind in {"task", "coordinator"} and row.group != "ended"

"""Texts that the person writes for an act: none of them is lost, neither while another is sent nor when its act fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from textual.screen import ModalScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.surfaces.tui.board import Board
    from fleet.surfaces.tui.dialogs.writing import Write

    T = TypeVar("T")


class Texts:
    """Asks the person for texts, sends them one after another, and keeps those whose act failed."""

    def __init__(self, board: Board) -> None:
        self._board = board
        # Texts whose act failed and that were not shown again, by the name of the act, the oldest first.
        self._kept: dict[str, list[str]] = {}

    def ask(
        self, dialog: Write, name: str, says: str, act: Callable[[Fleet, str], T], done: Callable[[T], None]
    ) -> None:
        """Show a dialog and run `act` with its text, after the acts of this `name` that run already.

        When the act fails, the dialog opens again with the text: at once when the person is where the dialog was asked
        for, else when it is asked for again.
        """
        board, place = self._board, self._place
        kept = self._kept.get(name)

        def send(text: str | None) -> None:
            """Run the act with this text; do nothing when the person left the dialog."""
            if text is not None:
                board.act(
                    name, says, lambda fleet: act(fleet, text), done, failed=lambda why: fail(text, why), queue=True
                )

        def fail(text: str, why: str) -> None:
            """Show why the act failed, and the dialog with the text."""
            self._kept.setdefault(name, []).append(text)
            if board.app.screen is place:
                board.warn(why)
                self.ask(dialog, name, says, act, done)
            else:
                board.warn(f"{why}\nyour text is kept: the same key shows it again")

        board.ask(dialog.anew(kept.pop(0) if kept else None), send)

    @property
    def _place(self) -> object:
        """The board, or the page that is above it: what the person sees below all dialogs."""
        return next(each for each in reversed(self._board.app.screen_stack) if not isinstance(each, ModalScreen))

"""Texts that the person writes for an act: none of them is lost, neither while another is sent nor when its act fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from textual.screen import ModalScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.fleet import Fleet
    from fleet.surfaces.tui.board import Board
    from fleet.surfaces.tui.dialogs.writing import Write
    from fleet.surfaces.tui.pages.review_lines import Comments

    T = TypeVar("T")


class Enclosed:
    """The comments on a task's diff that are sent together with a text.

    `drafts` are all comments that were not sent, by (project, slug); `place` is the (project, slug) of this task.
    `in_words` turns comments into text.
    """

    def __init__(
        self, drafts: dict[tuple[str, str], Comments], place: tuple[str, str], in_words: Callable[[Comments], str]
    ) -> None:
        self._drafts = drafts
        self._place = place
        self._in_words = in_words

    @property
    def comments(self) -> Comments:
        """A copy of the comments on the task's diff that were not sent yet."""
        return dict(self._drafts.get(self._place, {}))

    def lines(self, *, lacking_in: Comments | None = None) -> str:
        """Return the comments as lines of text, "" for none. Leave out those that `lacking_in` has unchanged."""
        sent = lacking_in or {}
        words = self._in_words({spot: text for spot, text in self.comments.items() if sent.get(spot) != text})
        return f"{words}\n" if words else ""

    def forget(self, sent: Comments) -> None:
        """Drop the comments that were sent; keep those that were added or changed since."""
        left = {spot: text for spot, text in self.comments.items() if sent.get(spot) != text}
        if left:
            self._drafts[self._place] = left
        else:
            self._drafts.pop(self._place, None)


class Kept(NamedTuple):
    """A text that was not sent, because its act failed, and the comments that are in it."""

    text: str
    comments: Comments


class Texts:
    """Asks the person for texts, sends them one after another, and keeps those whose act failed until they are sent."""

    def __init__(self, board: Board) -> None:
        self._board = board
        # Texts whose act failed and that were not sent since, by the name of the act; the first is shown next.
        self._kept: dict[str, list[Kept]] = {}

    @property
    def unsent(self) -> list[str]:
        """The texts whose act failed and that were not sent since."""
        return [each.text for texts in self._kept.values() for each in texts]

    def ask(
        self,
        dialog: Write,
        name: str,
        says: str,
        act: Callable[[Fleet, str], T],
        done: Callable[[T], None],
        *,
        enclosed: Enclosed | None = None,
    ) -> None:
        """Show a dialog, and run `act` with its text, after earlier acts of the same `name`; then call `done` with the result.

        `says` tells the person what is done. When `act` fails, the dialog opens again with the text: at once if the
        person is still on the same page, else the next time that `ask` is called for this `name`. The text contains the
        `enclosed` comments; once it is sent, they no longer count as unsent.
        """
        board, place = self._board, self._place
        again = next(iter(self._kept.get(name, [])), None)
        comments = enclosed.comments if enclosed else {}

        def answered(text: str | None) -> None:
            """Run the act with this text. When it is None (the person left), show another kept text the next time."""
            if again is not None:
                self._put_back(name, again, is_sent=text is not None)
            if text is not None:
                send(text)

        def send(text: str) -> None:
            board.act(name, says, lambda fleet: act(fleet, text), sent, failed=lambda why: fail(text, why), queue=True)

        def sent(result: T) -> None:
            """Drop the comments that were sent, and show the result."""
            if enclosed is not None:
                enclosed.forget(comments)
            done(result)

        def fail(text: str, why: str) -> None:
            """Keep the text and show why the act failed.

            Open the dialog again if the person is still on the same page; else say how to come back to the text.
            """
            is_here = board.app.screen is place
            way_back = self._keep(name, Kept(text, comments), next_one=is_here)
            board.warn(why if is_here else f"{why}{way_back}")
            if is_here:
                self.ask(dialog, name, says, act, done, enclosed=enclosed)

        board.ask(dialog.anew(_given(again, enclosed)), answered)

    def _put_back(self, name: str, text: Kept, *, is_sent: bool) -> None:
        """Remove a text from the kept texts of the act `name`, because the dialog has shown it.

        Unless it `is_sent`, put it back behind the others, so that another text is shown the next time.
        """
        self._kept[name].remove(text)
        if not is_sent:
            self._kept[name].append(text)

    def _keep(self, name: str, text: Kept, *, next_one: bool) -> str:
        """Keep a text, unless it is empty, to be shown by the act `name`; with `next_one` before its other texts.

        Returns the line that tells the person how to see the text again, "" for an empty text. When the agent or
        question of the act is gone, no key shows the text any more, but it is shown when the person leaves the TUI.
        """
        if not text.text:
            return ""
        kept = self._kept.setdefault(name, [])
        kept.insert(0 if next_one else len(kept), text)
        leaves = self._board.key_of("quit")
        return f"\nyour text is kept: the same key shows it again where it still applies, and {leaves} before you leave"

    @property
    def _place(self) -> object:
        """The board, or the page that covers it: the topmost screen that is not a dialog."""
        return next(each for each in reversed(self._board.app.screen_stack) if not isinstance(each, ModalScreen))


def _given(again: Kept | None, enclosed: Enclosed | None) -> str | None:
    """Return the text that a dialog's field shows at first; None leaves the choice to the dialog.

    `again` is a text that was kept when the person left the dialog or sending failed, `enclosed` the comments on a
    diff. The kept text is shown first, followed by the comments that it does not have yet; without a kept text, all
    comments.
    """
    if again is None:
        return enclosed.lines() if enclosed else None
    lacking = enclosed.lines(lacking_in=again.comments) if enclosed else ""
    return f"{again.text}\n{lacking}" if lacking else again.text

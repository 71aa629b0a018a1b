"""Write: the dialog that asks the person for text, of one or many lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from fleet.model.text import escapes
from fleet.surfaces.tui.dialogs.leaving import LEAVING, draw_soon, is_open, leave

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult


# How much of the screen a dialog may take, and how many of its lines are neither text nor field.
_SHARE, _FRAME = 0.9, 5
# How many lines the field has, its border included.
_FEWEST, _MOST = 3, 10


class Words(TextArea):
    """The text field of the dialog: Enter sends the text, Ctrl+J begins a new line, and a paste keeps its lines."""

    async def _on_key(self, event: events.Key) -> None:
        """Send the text on Enter, insert a line break on Ctrl+J, leave on Esc and Ctrl+C; pass other keys to Textual.

        Ctrl+C copies when text is selected.
        """
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            if isinstance(self.screen, Write):
                self.screen.send()
            return
        if event.key in {"ctrl+j", "shift+enter", "alt+enter"}:
            event.stop()
            event.prevent_default()
            self.insert("\n")
            return
        if event.key == "escape" or (event.key in LEAVING and not self.selected_text):
            event.stop()
            event.prevent_default()
            leave(self.screen)
            return
        await super()._on_key(event)


class Write(ModalScreen[str | None]):
    """The dialog that asks for text. Returns the text; None when the person leaves.

    `text` explains what is asked for, `given` is the text in the field at first, `hint` is shown below the field.
    `sends` is the word for what the key Enter does. Without `optional`, the dialog does not close with an empty text.
    """

    def __init__(
        self,
        title: str,
        *,
        text: str = "",
        hint: str = "",
        given: str = "",
        optional: bool = False,
        sends: str = "sends",
    ) -> None:
        super().__init__(classes="dialog")
        self._title = title
        self._text = text
        self._hint = hint
        self._given = given
        self._optional = optional
        self._sends = sends

    def anew(self, text: str | None = None) -> Write:
        """Return a new dialog like this one, with `text` in its field; None keeps the text that this one had at first."""
        return Write(
            self._title,
            text=self._text,
            hint=self._hint,
            given=self._given if text is None else text,
            optional=self._optional,
            sends=self._sends,
        )

    def compose(self) -> ComposeResult:
        """Yield the widgets: the title, the explanation, the text field and the hint about its keys."""
        keys = f"Enter {self._sends} · Ctrl+J new line · Esc leaves"
        with Vertical():
            yield Static(self._title, classes="title", markup=False)
            if self._text:
                yield Static(escapes.text(self._text), classes="text", markup=False)
            yield Words(self._given, id="words", show_line_numbers=False, soft_wrap=True)
            yield Static(f"{self._hint}\n{keys}" if self._hint else keys, classes="hint", markup=False, id="hint")

    def on_mount(self) -> None:
        """Focus the text field, with the cursor at its end."""
        if not is_open(self):
            return
        words = self.query_one(Words)
        words.focus()
        words.move_cursor(words.document.end)

    def on_resize(self, _event: events.Resize) -> None:
        """Give the field what the texts above and below it leave, so that the keys are always visible."""
        draw_soon(self, self._fit)

    def _fit(self) -> None:
        """Set the height of the field: what the terminal has left, at least 3 and at most 10 lines."""
        texts = sum(each.size.height + each.styles.margin.height for each in self.query(Static))
        most = int(self.size.height * _SHARE) - _FRAME - texts
        self.query_one(Words).styles.height = max(_FEWEST, min(most, _MOST))

    def send(self) -> None:
        """Close the dialog with the text. When the text is empty and not optional, ask for some instead."""
        if not is_open(self):
            return
        text = self.query_one(Words).text.strip()
        if not text and not self._optional:
            self.query_one("#hint", Static).update("write something, or leave with Esc")
            return
        leave(self, text)

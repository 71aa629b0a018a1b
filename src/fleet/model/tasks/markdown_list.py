"""A Markdown list as people write their plans: an item is a task, an indented item comes after the one above it.

Text below an item is its description. Items that are ticked are done, and left out; so are headings and text around the list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ITEM = re.compile(r"(?P<lead>\s*)(?P<mark>[-*+]|\d{1,9}[.)])(?P<gap>\s+)(?:\[(?P<tick>[ xX])\]\s+)?(?P<title>\S.*)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_TAB = 4


@dataclass(slots=True, kw_only=True)
class Item:
    """One item, and the item (by its place in the list) that it is indented under."""

    line: int
    title: str
    parent: int | None
    description: str = ""


@dataclass(slots=True, kw_only=True)
class _OpenItem:
    """An item whose text may go on: how far it is indented, where it stands in the list (None: left out), its text."""

    indent: int
    place: int | None
    above: int | None
    text: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Reading:
    """What a list says: its items, and how many lines and ticked items were left out."""

    items: list[Item] = field(default_factory=list)
    left_out: int = 0


class _Reader:
    """Goes through the lines once."""

    def __init__(self) -> None:
        self.reading = Reading()
        self._stack: list[_OpenItem] = []
        self._fence = ""
        self._blank = False

    def line(self, number: int, text: str) -> None:
        """One more line."""
        item = None if self._fence else _ITEM.fullmatch(text)
        if item:
            self._begin_item(number, item)
        elif self._stack and self._belongs_to_item(text):
            self._stack[-1].text.append(text)
            self._toggle_fence(text)
        elif text.strip():
            self._close_items()
            self._toggle_fence(text)
            self.reading.left_out += 1
        self._blank = not text.strip()

    def _belongs_to_item(self, text: str) -> bool:
        """Indented, empty, inside a fence, or the rest of a paragraph that goes on at the margin."""
        if self._fence or not text.strip() or text[0].isspace():
            return True
        return not self._blank and not text.startswith("#")

    def _toggle_fence(self, text: str) -> None:
        fence = _FENCE.match(text)
        if not fence:
            return
        if not self._fence:
            self._fence = fence[1]
        elif text.strip().startswith(self._fence) and not text.strip().strip(self._fence[0]):
            self._fence = ""

    def _begin_item(self, number: int, item: re.Match[str]) -> None:
        indent = len(item["lead"])
        while self._stack and self._stack[-1].indent >= indent:
            self._set_description(self._stack.pop())
        above = self._stack[-1] if self._stack else None
        parent = None if above is None else above.above if above.place is None else above.place
        if item["tick"] in {"x", "X"}:
            self.reading.left_out += 1
            self._stack.append(_OpenItem(indent=indent, place=None, above=parent))
            return
        self._stack.append(_OpenItem(indent=indent, place=len(self.reading.items), above=parent))
        self.reading.items.append(Item(line=number, title=item["title"].strip(), parent=parent))

    def _set_description(self, closed: _OpenItem) -> None:
        if closed.place is not None:
            self.reading.items[closed.place].description = _dedent(closed.text)

    def _close_items(self) -> None:
        while self._stack:
            self._set_description(self._stack.pop())

    def end(self) -> Reading:
        """All that was read."""
        self._close_items()
        return self.reading


def read_list(lines: Iterable[str]) -> Reading:
    """Read a whole list."""
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        reader.line(number, line.rstrip().expandtabs(_TAB))
    return reader.end()


def _dedent(lines: list[str]) -> str:
    """Without the indentation of its first line."""
    first = next((line for line in lines if line.strip()), "")
    width = len(first) - len(first.lstrip())
    return "\n".join(line[:width].lstrip() + line[width:] for line in lines).strip("\n")

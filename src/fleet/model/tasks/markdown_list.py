"""Read a Markdown list as tasks: each item is a task, and an item waits for the item that it is indented under.

Braces at the end of an item add details: `{after: api, docs}` names other items of the list or tasks of the project
that it waits for, `{model: opus}` its model, `{slug: api}` its slug. Text below an item is its description. Ticked
items are done and skipped, as are headings and text around the list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.model.tasks import slugs

if TYPE_CHECKING:
    from collections.abc import Iterable

_ITEM = re.compile(r"(?P<lead>\s*)(?P<mark>[-*+]|\d{1,9}[.)])(?P<gap>\s+)(?:\[(?P<tick>[ xX])\]\s+)?(?P<title>\S.*)")
_BRACES = re.compile(r"(.*\S)\s*\{\s*(after|model|slug)\s*:([^{}]*)\}")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_TAB = 4


@dataclass(slots=True, kw_only=True)
class Item:
    """An item of the list; `parent` is the index of the item that it is indented under, None at the top level.

    `line` is the number of its line in the text, from 1. An item below a ticked one counts as indented under the item
    around that one.
    """

    line: int
    title: str
    parent: int | None
    description: str = ""
    # What the braces say: names of items or tasks that it waits for, its model, its own slug.
    after: tuple[str, ...] = ()
    model: str | None = None
    slug: str | None = None


@dataclass(slots=True, kw_only=True)
class _OpenItem:
    """An item whose text may continue. `place` is its index in the list, None when ticked; `above` the index of its parent."""

    indent: int
    place: int | None
    above: int | None
    text: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Reading:
    """The items of a list, and how many lines and ticked items were skipped."""

    items: list[Item] = field(default_factory=list)
    left_out: int = 0


class _Reader:
    """Read a Markdown list line by line."""

    def __init__(self) -> None:
        self.reading = Reading()
        self._stack: list[_OpenItem] = []
        self._fence = ""
        self._blank = False
        self._ticked: set[str] = set()

    def line(self, number: int, text: str) -> None:
        """Read the next line: a new item, text of the current item, or text outside the list."""
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
        """Return whether a line continues the current item: indented, empty, in a code fence, or in the same paragraph."""
        if self._fence or not text.strip() or text[0].isspace():
            return True
        return not self._blank and not text.startswith("#")

    def _toggle_fence(self, text: str) -> None:
        """Note whether a code fence opens or closes at this line."""
        fence = _FENCE.match(text)
        if not fence:
            return
        if not self._fence:
            self._fence = fence[1]
        elif text.strip().startswith(self._fence) and not text.strip().strip(self._fence[0]):
            self._fence = ""

    def _begin_item(self, number: int, item: re.Match[str]) -> None:
        """Begin a new item, after closing the open items that it is not indented under."""
        indent = len(item["lead"])
        while self._stack and self._stack[-1].indent >= indent:
            self._set_description(self._stack.pop())
        above = self._stack[-1] if self._stack else None
        parent = None if above is None else above.above if above.place is None else above.place
        new = _with_braces(Item(line=number, title=item["title"].strip(), parent=parent))
        if item["tick"] in {"x", "X"}:
            self.reading.left_out += 1
            self._ticked.add(stem_of(new))
            self._stack.append(_OpenItem(indent=indent, place=None, above=parent))
            return
        self._stack.append(_OpenItem(indent=indent, place=len(self.reading.items), above=parent))
        self.reading.items.append(new)

    def _set_description(self, closed: _OpenItem) -> None:
        """Set the text below a closed item as its description."""
        if closed.place is not None:
            self.reading.items[closed.place].description = _dedent(closed.text)

    def _close_items(self) -> None:
        while self._stack:
            self._set_description(self._stack.pop())

    def end(self) -> Reading:
        """Close all open items and return what was read."""
        self._close_items()
        for item in self.reading.items:  # a ticked item is done: nothing waits for it
            item.after = tuple(name for name in item.after if name not in self._ticked)
        return self.reading


def read_list(lines: Iterable[str]) -> Reading:
    """Return the items of a whole Markdown list. Ticked items are left out, and no item waits for one of them."""
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        reader.line(number, line.rstrip().expandtabs(_TAB))
    return reader.end()


def stem_of(item: Item) -> str:
    """Return the name by which other items refer to an item: its slug, or the slug made from its title."""
    return item.slug or slugs.slug_from(item.title)


def _with_braces(item: Item) -> Item:
    """Parse the braces at the end of an item's title into its fields, remove them from the title, and return the item."""
    while found := _BRACES.fullmatch(item.title):
        item.title, key, value = found.groups()
        match key:
            case "after":
                item.after = (*(name.strip() for name in value.split(",") if name.strip()), *item.after)
            case "model":
                item.model = value.strip()
            case _:
                item.slug = value.strip()
    return item


def _dedent(lines: list[str]) -> str:
    """Return the lines as one text; each loses the indent of the first line, or all its indent when it has less."""
    first = next((line for line in lines if line.strip()), "")
    width = len(first) - len(first.lstrip())
    return "\n".join(line[:width].lstrip() + line[width:] for line in lines).strip("\n")

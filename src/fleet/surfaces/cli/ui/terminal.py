"""Output for the terminal: colours, tables and progress bars, without a library that takes long to import."""

from __future__ import annotations

import os
import select
import sys
import unicodedata

from fleet.api.views.tones import AGENT_TONES, TASK_MARKS, TASK_TONES
from fleet.model.text import escapes, jsontext
from fleet.surfaces.cli.ui.streams import ESCAPE
from fleet.world.process import surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36, "dim": 2, "bold": 1}
_COLOUR_OF = AGENT_TONES | TASK_TONES
# Columns between two columns of a table.
_GAP = 2
# The width of a terminal whose width is not known.
_COLUMNS = 80
# The least columns for the last column of a table, and the columns that are enough for it.
_NARROWEST = 8
_ENOUGH = 24
# How many lines `say_lines` writes at once.
_BATCH = 1_000


def is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout.isatty()


def is_interactive() -> bool:
    """Whether a person can be asked: stdin and stdout are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def cut_width() -> int:
    """Return the width of the terminal in columns; 1048576 when stdout is not a terminal, so that nothing is cut."""
    return _terminal_columns() if is_terminal() else 1 << 20


def _terminal_columns() -> int:
    """Return the width of this process's terminal; in the daemon, of the client's terminal. 80 when it is unknown."""
    asker = surroundings.asker()
    return (os.get_terminal_size().columns if asker is None else asker.columns) or _COLUMNS


def has_reader() -> bool:
    """Whether stdout still has a reader; False when the other end of the pipe is closed, True when that is unknown."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return not poll.poll(0)
    except (OSError, ValueError):
        return True


def is_colour_wanted() -> bool:
    """Whether to print colours: by NO_COLOR, FORCE_COLOR, and whether stdout is a terminal."""
    environ = surroundings.environ()
    if environ.get("NO_COLOR"):
        return False
    return bool(environ.get("FORCE_COLOR")) or (is_terminal() and environ.get("TERM") != "dumb")


def paint(text: str, colour: str) -> str:
    """Return the text in a colour; unchanged when colours are off."""
    return f"{ESCAPE}[{_COLOURS[colour]}m{text}{ESCAPE}[0m" if colour and is_colour_wanted() else text


def state(name: str) -> str:
    """Return the state `name` of a task with its mark, in its colour."""
    return paint(f"{TASK_MARKS[name]} {name}", TASK_TONES[name])


def say(text: str = "") -> None:
    """Print one line. A line break inside is shown as ␤, so that an agent's text cannot imitate a line of fleet."""
    sys.stdout.write(f"{escapes.line(text)}\n")


def say_lines(lines: Iterable[str]) -> None:
    """Print many lines, in batches."""
    batch: list[str] = []
    for line in lines:
        batch.append(escapes.line(line))
        if len(batch) == _BATCH:
            sys.stdout.write("\n".join([*batch, ""]))
            batch.clear()
    sys.stdout.write("\n".join([*batch, ""]) if batch else "")


def say_text(text: str, *, indent: str = "") -> None:
    """Print a text of several lines, each indented, without trailing blanks and trailing empty lines."""
    for line in text.rstrip().split("\n"):
        sys.stdout.write(f"{indent}{line.rstrip()}\n" if line.strip() else "\n")


def say_message(head: str, text: str) -> None:
    """Print a person's or agent's message after `head`; indent all its lines but the first."""
    first, *rest = text.rstrip().split("\n")
    say(f"{head}{first}")
    for line in rest:
        say_text(line, indent="      ")


def say_json(value: object) -> None:
    """Print a value as one JSON document."""
    sys.stdout.write(jsontext.dumps(value) + "\n")


def say_json_list(values: Iterable[object]) -> None:
    """Print values as a JSON list, each as soon as it arrives."""
    before = "["
    for value in values:
        sys.stdout.write(f"{before}\n{jsontext.dumps(value)}")
        before = ","
    sys.stdout.write("[]\n" if before == "[" else "\n]\n")


def width_of(text: str) -> int:
    """Return the number of columns that a text takes on the terminal; colours take none."""
    if ESCAPE in text:
        text = "".join(_split_at_colours(text)[::2])
    text = escapes.line(text)
    return len(text) if text.isascii() else sum(_width(char) for char in text)


def _split_at_colours(text: str) -> list[str]:
    """Split a text at its colour sequences; every second piece is a colour sequence."""
    first, *rest = text.split(f"{ESCAPE}[")
    pieces = [first]
    for part in rest:
        number, end, after = part.partition("m")
        if end and (not number or number.isdecimal()):
            pieces += [f"{ESCAPE}[{number}m", after]
        else:  # an escape sequence of another kind
            pieces[-1] += f"{ESCAPE}[{part}"
    return pieces


def _width(char: str) -> int:
    """Return the number of columns of a character: 0, 1, or 2 for wide East Asian ones."""
    return 0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")


def note(text: str) -> None:
    """Print a line on stderr for a person who waits; print nothing when stderr is not a terminal."""
    if sys.stderr.isatty():
        warn(text)


def warn(text: str) -> None:
    """Print a line on stderr, whether or not it is a terminal."""
    sys.stderr.write(f"{escapes.line(text)}\n")


def shortened(text: str, room: int) -> str:
    """Return the text as one line, cut to the given number of columns; colours are kept."""
    text = escapes.line(text)
    if width_of(text) <= room:
        return text
    kept: list[str] = []
    left = room - 1
    for number, piece in enumerate(_split_at_colours(text)):
        kept.append(piece if number % 2 else _cut(piece, left))  # every second piece is a colour
        left -= width_of(piece) if left >= 0 else 0
    return "".join(kept)


def _cut(piece: str, room: int) -> str:
    """Return as much of a piece as fits into `room` columns, with … where it is cut; "" when `room` is negative."""
    if room < 0 or width_of(piece) <= room:
        return piece if room >= 0 else ""
    for end, char in enumerate(piece):
        room -= _width(char)
        if room < 0:
            return f"{piece[:end]}…"
    return piece


def layout_width() -> int:
    """Return the terminal's width; 80 when stdout is not a terminal."""
    return _terminal_columns() if is_terminal() else _COLUMNS


def has_room_for(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> bool:
    """Whether a table fits the terminal with at least 24 columns, or all it needs, for its last column."""
    used = sum(max(width_of(row[n]) for row in [heads, *rows]) + _GAP for n in range(len(heads) - 1))
    wanted = max(width_of(row[-1]) for row in [heads, *rows])
    return used + min(wanted, _ENOUGH) <= cut_width()


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table. The last column is cut to fit the terminal; cells that name a state are coloured."""
    cells = [tuple(escapes.line(cell.replace("\n", " ")) for cell in row) for row in rows]
    widths = [max(width_of(row[n]) for row in [heads, *cells]) for n in range(len(heads))]
    used = sum(width + _GAP for width in widths[:-1])
    if is_terminal():
        widths[-1] = max(min(widths[-1], cut_width() - used), _NARROWEST)
    yield paint(_table_row(heads, widths).rstrip(), "bold")
    for row in cells:
        short = [shortened(cell, width) for cell, width in zip(row, widths, strict=True)]
        padded = [cell + " " * (width - width_of(cell)) for cell, width in zip(short, widths, strict=True)]
        painted = [paint(pad, _COLOUR_OF.get(cell, "")) for pad, cell in zip(padded, short, strict=True)]
        yield (" " * _GAP).join(painted).rstrip()


def _table_row(cells: tuple[str, ...], widths: list[int]) -> str:
    """Return the cells of a row, padded to the widths of the columns."""
    return (" " * _GAP).join(cell + " " * (width - width_of(cell)) for cell, width in zip(cells, widths, strict=True))


class Progress:
    """A progress bar on stderr; nothing is printed when stderr is not a terminal."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = max(total, 1)
        self._shown = -1
        self._live = sys.stderr.isatty()

    def __call__(self, done: int) -> None:
        """Show the bar at the count `done` of the total."""
        percent = min(done * 100 // self._total, 100)
        if not self._live or percent == self._shown:
            return
        self._shown = percent
        bar = "█" * (percent // 4) + "░" * (25 - percent // 4)
        sys.stderr.write(f"{ESCAPE}[G{self._label} {bar} {percent:3d}% ")
        sys.stderr.flush()

    def close(self) -> None:
        """Erase the bar."""
        if self._live and self._shown >= 0:
            sys.stderr.write(f"{ESCAPE}[G{ESCAPE}[K")
            sys.stderr.flush()


def spending(tokens: int, dollars: float, unpriced: int) -> str:
    """Return the dollars and tokens that agents have used as text; say how many tokens have no known price."""
    if tokens and unpriced == tokens:
        return f"{tokens:,} tokens, at a price that is not known"
    more = f" ({unpriced:,} of them at a price that is not known)" if unpriced else ""
    return f"${dollars:.2f}, {tokens:,} tokens{more}"

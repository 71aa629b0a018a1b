"""The bytes that make a terminal ring and show a notification."""

from __future__ import annotations

from fleet.model.text import escapes

_BELL, _BEGIN = "\a", "\x1b]"
# Terminal programs that know OSC 777 (`notify;TITLE;BODY`) and not OSC 9. One that knows neither only rings its bell.
_BY_777 = ("foot", "rxvt", "urxvt", "vte", "gnome")
_LONGEST = 400


def notification(title: str, body: str, *, terminal: str = "") -> bytes:
    """Return the bytes that ring a terminal's bell and show a notification.

    `terminal` names the terminal program, '' when unknown: programs understand different sequences.

    Characters that could end the sequence are removed from the title and the body.
    """
    head, text = _plain(title), _plain(body)
    said = f"777;notify;{head};{text}" if terminal.lower().startswith(_BY_777) else f"9;{head}: {text}"
    return f"{_BELL}{_BEGIN}{said}{_BELL}".encode("utf-8", "replace")


def _plain(text: str) -> str:
    """Return a text as one short line without control characters and semicolons, which separate the parts of a sequence."""
    line = escapes.line(text).replace(";", ",")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"

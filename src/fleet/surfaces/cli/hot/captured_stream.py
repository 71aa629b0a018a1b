"""An output stream of the daemon that collects what a command prints in its thread, for the client that asked."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING

from fleet.world.process import surroundings

if TYPE_CHECKING:
    from typing import TextIO


class CapturedStream:
    """A stream that collects what a thread prints between `begin` and `end`, and passes on what other threads print."""

    encoding = "utf-8"
    errors = "strict"
    closed = False

    def __init__(self, otherwise: TextIO) -> None:
        self._otherwise = otherwise
        self._texts: dict[int, list[str]] = {}

    def begin(self) -> None:
        """Start to collect what the calling thread prints."""
        self._texts[get_ident()] = []

    def end(self) -> str:
        """Stop collecting, and return what the calling thread has printed since `begin`."""
        return "".join(self._texts.pop(get_ident(), ()))

    def write(self, text: str) -> int:
        """Collect the text if this thread is collecting; else write it to the daemon's own stream."""
        texts = self._texts.get(get_ident())
        if texts is None:
            return self._otherwise.write(text)
        texts.append(text)
        return len(text)

    def flush(self) -> None:
        """Flush the daemon's own stream, unless this thread is collecting."""
        if get_ident() not in self._texts:
            self._otherwise.flush()

    def isatty(self) -> bool:
        """Whether the client's output is a terminal; outside a request, whether the daemon's own stream is one."""
        asker = surroundings.asker()
        return bool(asker and asker.columns) if get_ident() in self._texts else self._otherwise.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the daemon's own stream. Raise OSError while this thread is collecting."""
        if get_ident() in self._texts:
            raise OSError
        return self._otherwise.fileno()

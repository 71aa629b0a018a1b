"""A file outside the home that a person names: written whole or not at all, and nothing is left beside it."""

from __future__ import annotations

import os
import signal
import stat
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fleet import errors
from fleet.world.files import unfinished

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType
    from typing import TextIO

    from fleet.world.funnel import Funnel

_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
_PUBLIC = 0o666


def write(funnel: Funnel, path: str, lines: Iterable[str], *, mode: int | None = None) -> None:
    """Write a file so that it takes the place of the old one when it is whole, and leaves it alone otherwise."""

    def act() -> None:
        with replacing(path, mode=mode) as file:
            file.writelines(lines)

    funnel.through(f"write {os.path.basename(path)}", act)


@contextmanager
def replacing(path: str, *, mode: int | None = None) -> Iterator[TextIO]:
    """A file to write to that takes the place of the old one when it is whole, and leaves it alone otherwise."""
    target = os.path.realpath(path)
    try:
        if os.path.lexists(target) and not os.path.isfile(target):
            with open(target, "w", encoding="utf-8") as file:  # a pipe or a device, which nothing takes the place of
                yield file
            return
        _discard_abandoned(target)
        with _tidy_when_ended():
            name, handle = unfinished.begin(target, mode=_PUBLIC if mode is None else mode)
            try:
                with open(handle, "w", encoding="utf-8") as file:
                    yield file
                    file.flush()
                    _take_place(name, target, handle, mode)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(name)
    except OSError as error:
        raise errors.WriteFailed(path=path, why=str(error.strerror).lower()) from error


def _take_place(name: str, target: str, handle: int, mode: int | None) -> None:
    if mode is not None or os.path.exists(target):
        os.fchmod(handle, stat.S_IMODE(os.stat(target).st_mode) if mode is None else mode)
    os.fsync(handle)
    os.replace(name, target)


def _discard_abandoned(target: str) -> None:
    """What somebody who was killed has left beside the same file."""
    folder, name = os.path.split(target)
    with suppress(OSError):
        for each in os.listdir(folder):
            if unfinished.is_building(each) and each.startswith(f"{name}."):
                unfinished.discard_abandoned(f"{folder}/{each}")


@contextmanager
def _tidy_when_ended() -> Iterator[None]:
    """Let a signal that ends the process unwind it first; where somebody listens for it, that stays as it is."""
    mine = [each for each in _ENDINGS if threading.current_thread() is threading.main_thread()]
    before = {each: signal.getsignal(each) for each in mine if signal.getsignal(each) is signal.SIG_DFL}
    for number in before:
        signal.signal(number, _unwind)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _unwind(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)

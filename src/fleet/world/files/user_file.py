"""Files outside the home: atomically write a file that a person names, and read a file below a folder to show it."""

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
# The size of the largest file that is read to be shown.
_MOST_BYTES = 1_000_000


def write(funnel: Funnel, path: str, lines: Iterable[str], *, mode: int | None = None) -> None:
    """Replace a file by these lines, atomically: the old file stays if the new one cannot be written completely.

    Each line brings its own newline. `mode` and errors are those of `replacing`.
    """

    def act() -> None:
        with replacing(path, mode=mode) as file:
            file.writelines(lines)

    funnel.through(f"write {os.path.basename(path)}", act)


@contextmanager
def replacing(path: str, *, mode: int | None = None) -> Iterator[TextIO]:
    """Yield a temporary file that replaces the file at the path when the `with` block ends.

    After an error the old file stays. A pipe or a device is written directly. Raise WriteFailed when writing fails.
    `mode` are the new file's permissions; None keeps those of the old file, or takes the usual ones if there is none.
    """
    target = os.path.realpath(path)
    try:
        if os.path.lexists(target) and not os.path.isfile(target):
            with open(target, "w", encoding="utf-8") as file:  # a pipe or a device is never replaced
                yield file
            return
        _discard_abandoned(target)
        with _unwind_on_signals():
            name, handle = unfinished.begin(target, mode=_PUBLIC if mode is None else mode)
            try:
                with open(handle, "w", encoding="utf-8") as file:
                    yield file
                    file.flush()
                    _rename_into_place(name, target, handle, mode)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(name)
    except OSError as error:
        raise errors.WriteFailed(path=path, why=str(error.strerror).lower()) from error


def _rename_into_place(name: str, target: str, handle: int, mode: int | None) -> None:
    """Sync the temporary file and rename it to the file that it replaces.

    Its permissions become `mode`, or with None those of the old file.
    """
    if mode is not None or os.path.exists(target):
        os.fchmod(handle, stat.S_IMODE(os.stat(target).st_mode) if mode is None else mode)
    os.fsync(handle)
    os.replace(name, target)


def _discard_abandoned(target: str) -> None:
    """Remove temporary files of killed processes beside a file."""
    folder, name = os.path.split(target)
    with suppress(OSError):
        for each in os.listdir(folder):
            if unfinished.is_temporary(each) and each.startswith(f"{name}."):
                unfinished.discard_abandoned(f"{folder}/{each}")


@contextmanager
def _unwind_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit while the `with` block runs, so that temporary files are removed.

    Signals that already have a handler keep it.
    """
    numbers = [number for number in _ENDINGS if threading.current_thread() is threading.main_thread()]
    before = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) is signal.SIG_DFL}
    for number in before:
        signal.signal(number, _exit_on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit_on_signal(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def text_below(folder: str, path: str) -> str | None:
    """Return the text of a file below a folder; "" when there is no such file. `path` is relative to the folder.

    None when the path leads out of the folder, also through a symlink, or when the file is larger than 1 MB, not
    regular or cannot be read.
    """
    top, real = os.path.realpath(folder), os.path.realpath(os.path.join(folder, path))
    if not real.startswith(f"{top}/"):
        return None
    try:
        found = os.stat(real)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
            return None
        with open(real, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError:
        return None

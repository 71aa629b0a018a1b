"""A file that a person names for what is printed."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleet.errors import WriteFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


@contextmanager
def replacing(path: str) -> Iterator[TextIO]:
    """A file to write to that takes the place of the old one when it is whole, and leaves it alone otherwise."""
    target = os.path.realpath(path)
    building = f"{target}.{os.getpid()}.new"
    try:
        if os.path.lexists(target) and not os.path.isfile(target):
            with open(target, "w", encoding="utf-8") as file:  # a pipe or a device, which nothing takes the place of
                yield file
            return
        with open(building, "x", encoding="utf-8") as file:
            yield file
        _take_place(building, target)
    except OSError as error:
        raise WriteFailed(path=path, why=str(error.strerror).lower()) from error
    finally:
        _discard(building)


def _take_place(building: str, target: str) -> None:
    if os.path.exists(target):
        os.chmod(building, stat.S_IMODE(os.stat(target).st_mode))
    os.replace(building, target)


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return

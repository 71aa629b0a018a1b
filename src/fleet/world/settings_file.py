"""One file of settings, read and checked."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fleet.errors import BadSetting
from fleet.model import settings_text

if TYPE_CHECKING:
    from fleet.model.settings import Value


def read_file(path: str, file: str) -> dict[str, Value]:
    """What the file says. A text that was read before is not parsed again."""
    return _parsed(path, text_of(path), file)


@lru_cache(maxsize=8)
def _parsed(path: str, text: str, file: str) -> dict[str, Value]:
    return settings_text.read(path, text, file)


def text_of(path: str) -> str:
    """What is written in it."""
    try:
        with open(path, encoding="utf-8") as opened:
            return opened.read()
    except UnicodeDecodeError:
        raise BadSetting(file=path, line=1, why="it is not UTF-8", advice="save it as UTF-8") from None
    except OSError as error:
        raise BadSetting(file=path, line=1, why=str(error.strerror).lower(), advice="mend its permissions") from None

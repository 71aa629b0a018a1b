"""Read and check one settings file."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.settings import document

if TYPE_CHECKING:
    from fleet.model.settings.table import SettingValue

_MOST = 1_000_000


def read_file(path: str, file: str) -> dict[str, SettingValue]:
    """Return the settings in the file at `path`; raise BadSetting when it is not valid.

    The same text is parsed only once. `file` says which kind it is: `config.toml` or `fleet.toml`.
    """
    return _parse_settings(path, text_of(path), file)


@lru_cache(maxsize=8)
def _parse_settings(path: str, text: str, file: str) -> dict[str, SettingValue]:
    return document.read(path, text, file)


def text_of(path: str) -> str:
    """Return the text of a settings file; raise BadSetting unless it is a readable regular UTF-8 file of at most 1 MB.

    A repository can contain anything under the name of its settings file.
    """
    try:
        return _read_settings(path).decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise errors.BadSetting(file=path, line=1, why="it is not UTF-8", advice="save it as UTF-8") from None
    except OSError as error:
        raise errors.BadSetting(
            file=path, line=1, why=str(error.strerror).lower(), advice="mend its permissions"
        ) from None


def _read_settings(path: str) -> bytes:
    """Return the bytes of a settings file; raise BadSetting when it is not a regular file or larger than 1 MB.

    Raise OSError when it cannot be opened or read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise errors.BadSetting(
                file=path, line=1, why="it is not a regular file", advice="put a file of settings there"
            )
        with open(fd, "rb", closefd=False) as file:
            found = file.read(_MOST + 1)
    finally:
        os.close(fd)
    if len(found) > _MOST:
        raise errors.BadSetting(file=path, line=1, why="it is larger than 1 MB", advice="leave only settings in it")
    return found

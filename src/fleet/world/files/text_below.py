"""Read a text file below a folder, for showing it to a person."""

from __future__ import annotations

import os
import stat

_MOST_BYTES = 1_000_000


def text_below(folder: str, path: str) -> str | None:
    """Return the text of a file below a folder; empty when there is none.

    None when the path leads out of the folder, also by a link, or the file is large, not regular or cannot be read.
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

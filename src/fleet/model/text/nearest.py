"""Find the known name that is most similar to a mistyped one. Imported only after a name was not found."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEAST = 0.5
_MOST = 5_000


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most similar to this one, but not the same; empty when none is similar.

    Only the first 5,000 known names are compared.
    """
    some = [each for each, _ in zip(dict.fromkeys(known), range(_MOST), strict=False) if each != name]
    return next(iter(difflib.get_close_matches(name, some, n=1, cutoff=_LEAST)), "")

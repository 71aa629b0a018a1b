"""SQLite's C module, without the functools package that it asks for while it is imported.

It wants `functools.lru_cache` for its cache of statements, and functools (with collections, types and reprlib) costs a fifth
of an interpreter start on every hot command. The C class behind `lru_cache` is all it needs; so for the moment of the import
a module that has just that stands in. If functools is there already, nothing is done.
"""

from __future__ import annotations

import sys
from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class _StandIn:
    """The one name of functools that `_sqlite3` takes."""

    @staticmethod
    def lru_cache(maxsize: int) -> Callable[[Callable[..., object]], object]:
        """A cache as functools would make it, but without statistics."""
        return lambda function: _lru_cache_wrapper(function, maxsize, False, tuple)  # noqa: FBT003


if "functools" in sys.modules:
    import _sqlite3
else:
    sys.modules["functools"] = _StandIn  # type: ignore[assignment]
    try:
        import _sqlite3
    finally:
        del sys.modules["functools"]

__all__ = ["_sqlite3"]

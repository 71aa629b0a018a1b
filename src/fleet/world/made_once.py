"""An attribute that is made when it is first asked for: functools.cached_property, whose import would cost every reader."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property as made_once
    from typing import Any
else:

    class made_once:  # noqa: N801 - it is used as a decorator
        """Call the method once; the object keeps what it returned."""

        def __init__(self, make: Callable[[Any], object]) -> None:
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, _owner: type, name: str) -> None:
            """Learn the attribute's name."""
            self._name = name

        def __get__(self, it: Any, _owner: type | None = None) -> object:  # noqa: ANN401
            """Make it. The next time Python finds the attribute itself."""
            if it is None:
                return self
            made = it.__dict__[self._name] = self._make(it)
            return made


__all__ = ("made_once",)

"""The C modules of CPython that the hot path uses without the packages around them, each with its package as the fallback.

    name            C module                    package
    alarm           _signal                     signal
    blake2s         _blake2                     hashlib
    encode, scan    _json                       json
    sqlite          _sqlite3, _functools        sqlite3

The C modules are private: another version of Python may lack one, or a name in it, or call it differently. Each choice is made
here, once, when the name is first imported. No other file of fleet imports a private module.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as alarm
    import sqlite3 as sqlite
    from collections.abc import Callable
    from functools import cached_property as made_once
    from hashlib import blake2s
    from types import ModuleType
    from typing import Any

    def encode(value: object) -> str:
        """The value as one line of JSON. TypeError for what JSON does not have."""

    def scan(text: str) -> object:
        """The value that the text begins with. ValueError or StopIteration when there is none."""

else:

    class made_once:  # noqa: N801 - it is used as a decorator
        """functools.cached_property: call the method once; the object keeps what it returned."""

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


__all__ = ("alarm", "blake2s", "encode", "made_once", "scan", "sqlite")
_CHANGED = (ImportError, AttributeError, TypeError)


def __getattr__(name: str) -> object:
    """Choose what this name stands for."""
    choose = _CHOICES.get(name)
    if choose is None:
        raise AttributeError(name)
    chosen = globals()[name] = choose()
    return chosen


def _choose_alarm() -> ModuleType:
    try:
        import _signal as module  # type: ignore[import-not-found]

        _ = module.ITIMER_REAL, module.SIGALRM, module.setitimer, module.signal
    except _CHANGED:
        import signal as module
    return module  # type: ignore[no-any-return]


def _choose_blake2s() -> object:
    try:
        from _blake2 import blake2s as chosen
    except _CHANGED:
        from hashlib import blake2s as chosen
    return chosen


def _choose_encode() -> Callable[[object], str]:
    try:
        from _json import encode_basestring, make_encoder

        encoder = make_encoder(None, _as_json, encode_basestring, None, ": ", ", ", False, False, False)  # noqa: FBT003
        "".join(encoder([""], 0))
    except _CHANGED:
        from json import JSONEncoder

        return JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, default=_as_json).encode
    return lambda value: "".join(encoder(value, 0))


def _as_json(value: object) -> object:
    """A row, or another value that says what it is in JSON."""
    if hasattr(value, "as_json"):
        return value.as_json()
    msg = f"{type(value).__name__} is not JSON"
    raise TypeError(msg)


class _Decoder:
    """What the scanner of `_json` asks of its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _choose_scan() -> Callable[[str], object]:
    try:
        from _json import make_scanner

        scanner = make_scanner(_Decoder)  # type: ignore[arg-type]
        scanner("[]", 0)
    except _CHANGED:
        from json import JSONDecoder

        decoder = JSONDecoder()
        return lambda text: decoder.raw_decode(text)[0]
    return lambda text: scanner(text, 0)[0]


def _choose_sqlite() -> ModuleType:
    try:
        module = _import_sqlite()
        _ = module.connect, module.Connection, module.Error, module.OperationalError
    except _CHANGED:
        import sqlite3 as module
    return module


def _import_sqlite() -> ModuleType:
    """Import `_sqlite3` without functools, of which it takes one name while it is imported: that costs a tenth of a hot command."""
    if "functools" not in sys.modules:
        from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]

        _StandIn.wrapper = _lru_cache_wrapper
        _StandIn.lru_cache(1)(len)
        sys.modules["functools"] = _StandIn  # type: ignore[assignment]
    try:
        import _sqlite3
    finally:
        if sys.modules.get("functools") is _StandIn:  # type: ignore[comparison-overlap]
            del sys.modules["functools"]
    return _sqlite3


class _StandIn:
    """What `_sqlite3` takes of functools: the cache of a connection's statements, here without statistics."""

    wrapper: Callable[..., object]

    @classmethod
    def lru_cache(cls, maxsize: int) -> Callable[[Callable[..., object]], object]:
        """A cache as functools makes it."""
        return lambda function: cls.wrapper(function, maxsize, False, tuple)  # noqa: FBT003


_CHOICES: dict[str, Callable[[], object]] = {
    "alarm": _choose_alarm,
    "blake2s": _choose_blake2s,
    "encode": _choose_encode,
    "scan": _choose_scan,
    "sqlite": _choose_sqlite,
}

"""The C modules of CPython that the hot path uses without the packages around them, each with its package as the fallback.

    name            C module                    package
    alarm           _signal                     signal
    blake2s         _blake2                     hashlib
    encode, scan    _json                       json
    encode_ascii
    sqlite          _sqlite3, _functools        sqlite3
    unix_socket     _socket                     socket

The C modules are private: another version of Python may lack one, or a name in it, or call it differently. Each choice is made
here, once, when the name is first imported. No other file of fleet imports a private module (`_thread` is in Python's manual).

This file also has stand-ins for large modules that are needed in few calls only (contextlib, glob, json, re, shlex,
signal): each module is imported when one of its names is first used.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import contextlib
    import glob
    import json
    import re
    import shlex
    import signal
    import signal as alarm
    import sqlite3 as sqlite
    from collections.abc import Callable
    from functools import cached_property as made_once
    from hashlib import blake2s
    from socket import socket
    from types import ModuleType
    from typing import Any

    def encode(value: object) -> str:
        """Return the value as one line of JSON; of an object with the method `as_json`, what that returns.

        Raise TypeError for a value that JSON cannot express, ValueError for NaN and infinity.
        """

    def encode_ascii(value: object) -> str:
        """Return the value as one line of JSON in ASCII, as `json.dumps` does.

        Raise TypeError as it does; RecursionError or ValueError for a value that contains itself.
        """

    def unix_socket() -> socket:
        """Return a new Unix stream socket."""

    def scan(text: str) -> object:
        """Return the JSON value at the start of the text; what follows that value is ignored.

        Raise ValueError or StopIteration when the text does not begin with one: a blank before it is not allowed.
        """

else:

    class made_once:  # noqa: N801 - used as a decorator
        """Do what functools.cached_property does: call the method once and keep the result on the object."""

        def __init__(self, make: Callable[[Any], object]) -> None:
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, _owner: type, name: str) -> None:
            """Remember the attribute's name."""
            self._name = name

        def __get__(self, instance: Any, _owner: type | None = None) -> object:  # noqa: ANN401
            """Call the method and store the result as an attribute, which Python finds directly the next time."""
            if instance is None:
                return self
            result = instance.__dict__[self._name] = self._make(instance)
            return result

    class _Later:
        """Stands for a module of Python's library; imports it when one of its names is used."""

        def __init__(self, name: str) -> None:
            self._module = name

        def __getattr__(self, name: str) -> object:
            """Return what the module calls by this name."""
            return getattr(__import__(self._module), name)

    contextlib, glob, json, re, shlex, signal = map(_Later, ("contextlib", "glob", "json", "re", "shlex", "signal"))


__all__ = (
    "alarm",
    "blake2s",
    "contextlib",
    "encode",
    "encode_ascii",
    "glob",
    "json",
    "made_once",
    "re",
    "scan",
    "shlex",
    "signal",
    "sqlite",
    "unix_socket",
)
_INCOMPATIBLE = (ImportError, AttributeError, TypeError)


def __getattr__(name: str) -> object:
    """Return the C module or function with this name, or its fallback from the standard library; choose once.

    Raise AttributeError for a name without a choice.
    """
    choose = _CHOICES.get(name)
    if choose is None:
        raise AttributeError(name)
    chosen = globals()[name] = choose()
    return chosen


def _choose_alarm() -> ModuleType:
    """Return `_signal`, or `signal` when this Python's `_signal` lacks a name that fleet needs."""
    try:
        import _signal as module  # type: ignore[import-not-found]

        _ = module.ITIMER_REAL, module.SIGALRM, module.setitimer, module.signal
    except _INCOMPATIBLE:
        import signal as module
    return module  # type: ignore[no-any-return]


def _choose_blake2s() -> object:
    """Return blake2s from `_blake2`, or from `hashlib` when `_blake2` lacks it."""
    try:
        from _blake2 import blake2s as chosen
    except _INCOMPATIBLE:
        from hashlib import blake2s as chosen
    return chosen


def _choose_encode() -> Callable[[object], str]:
    """Return a function that encodes a value as JSON, with the C encoder of `_json` if it works here."""
    try:
        from _json import encode_basestring, make_encoder

        encoder = make_encoder(None, _as_json, encode_basestring, None, ": ", ", ", False, False, False)  # noqa: FBT003
        "".join(encoder([""], 0))
    except _INCOMPATIBLE:
        from json import JSONEncoder

        return JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, default=_as_json).encode
    return lambda value: "".join(encoder(value, 0))


def _choose_encode_ascii() -> Callable[[object], str]:
    """Return a function that encodes a value as JSON in ASCII, with the C encoder of `_json` if it works here."""
    from json import JSONEncoder, dumps

    try:
        from _json import encode_basestring_ascii, make_encoder

        refuse = JSONEncoder().default
        encoder = make_encoder(None, refuse, encode_basestring_ascii, None, ": ", ", ", False, False, True)  # noqa: FBT003
        "".join(encoder([""], 0))
    except _INCOMPATIBLE:
        return dumps
    return lambda value: "".join(encoder(value, 0))


def _as_json(value: object) -> object:
    """Return the JSON form of a value that has `as_json` (rows, results). Raise TypeError for any other value."""
    if hasattr(value, "as_json"):
        return value.as_json()
    msg = f"{type(value).__name__} is not JSON"
    raise TypeError(msg)


class _Decoder:
    """The attributes that the scanner of `_json` reads from its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _choose_scan() -> Callable[[str], object]:
    """Return a function that decodes JSON text, with the C scanner of `_json` if it works here."""
    try:
        from _json import make_scanner

        scanner = make_scanner(_Decoder)  # type: ignore[arg-type]
        scanner("[]", 0)
    except _INCOMPATIBLE:
        from json import JSONDecoder

        decoder = JSONDecoder()
        return lambda text: decoder.raw_decode(text)[0]
    return lambda text: scanner(text, 0)[0]


def _choose_unix_socket() -> Callable[[], object]:
    """Return a function that makes a Unix stream socket, with `_socket` if it works here."""
    try:
        import _socket as module

        _ = module.socket, module.AF_UNIX, module.SOCK_STREAM
    except _INCOMPATIBLE:
        import socket as module  # type: ignore[no-redef]
    return lambda: module.socket(module.AF_UNIX, module.SOCK_STREAM)


def _choose_sqlite() -> ModuleType:
    """Return `_sqlite3`, or `sqlite3` when `_sqlite3` cannot be imported or lacks a name that fleet needs."""
    try:
        module = _import_sqlite()
        _ = module.connect, module.Connection, module.Error, module.OperationalError
    except _INCOMPATIBLE:
        import sqlite3 as module
    return module


def _import_sqlite() -> ModuleType:
    """Import `_sqlite3` without importing functools, which would cost a tenth of a hot command's time."""
    if "functools" not in sys.modules:
        from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]

        _FunctoolsStandIn.wrapper = _lru_cache_wrapper
        _FunctoolsStandIn.lru_cache(1)(len)
        sys.modules["functools"] = _FunctoolsStandIn  # type: ignore[assignment]
    try:
        import _sqlite3
    finally:
        if sys.modules.get("functools") is _FunctoolsStandIn:  # type: ignore[comparison-overlap]
            del sys.modules["functools"]
    return _sqlite3


class _FunctoolsStandIn:
    """Stands in for functools while `_sqlite3` is imported. It has only the cache that prepared statements use."""

    wrapper: Callable[..., object]

    @classmethod
    def lru_cache(cls, maxsize: int) -> Callable[[Callable[..., object]], object]:
        """Return a decorator that caches as functools.lru_cache does."""
        return lambda function: cls.wrapper(function, maxsize, False, tuple)  # noqa: FBT003


_CHOICES: dict[str, Callable[[], object]] = {
    "alarm": _choose_alarm,
    "blake2s": _choose_blake2s,
    "encode": _choose_encode,
    "encode_ascii": _choose_encode_ascii,
    "scan": _choose_scan,
    "sqlite": _choose_sqlite,
    "unix_socket": _choose_unix_socket,
}

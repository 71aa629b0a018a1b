"""Write the bundle: the bytecode of all modules of fleet, one by one and in the groups that commands import together."""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import tomllib
from importlib.util import MAGIC_NUMBER

from fleet.bundle import (
    BUNDLE,
    CACHED,
    DAMAGED,
    ENGINES,
    HEAD,
    INDEX,
    MAGIC,
    PACKAGE,
    TAG,
    source_of,
    version_of,
    with_source,
)
from fleet.bundle_groups import GROUPS
from fleet.bundle_lean import lean_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.bundle import Held

    # A module: whether it is a package, time and size of its source, bytecode.
    Module = tuple[bool, int, int, bytes]

# A .pyc file begins with 16 bytes: Python's magic number, flags, and time and size of the source. The flags 0 say that
# Python compares this time and size, and no hash.
_HEADER = 16
_ENGINE_FILES = "/engines/data"
_BY_TIME = b"\0\0\0\0"


def renew() -> None:
    """Write the bundle again. Slow commands call this when a module was missing in it, so that no hot command has to.

    Do nothing where Python writes no .pyc files into the package. Ignore that the bundle cannot be written.
    """
    if sys.dont_write_bytecode or not CACHED.startswith(PACKAGE):
        return
    try:
        write()
    except (OSError, ValueError):
        return  # the folder is not ours to write to, or an engine's file is broken; whoever needs that engine is told


def write() -> None:
    """Write the bundle from the current .pyc files.

    Raise OSError when it cannot be written, ValueError when a built-in engine's file is not TOML.
    """
    _replace(BUNDLE.path, _packed(dict(_modules())))


def _modules() -> Iterator[tuple[str, Module]]:
    """Yield the name and the bytecode of each module of fleet that has a valid .pyc file."""
    for folder, _, names in os.walk(PACKAGE):
        package = ".".join(("fleet", *folder[len(PACKAGE) :].strip("/").split("/"))).rstrip(".")
        for name in names:
            module, dot, _ = name.partition(".py")
            if not dot or not name.endswith(".py"):
                continue
            held = _read_bytecode(f"{folder}/__pycache__/{module}.{TAG}.pyc", f"{folder}/{name}")
            if held is not None:
                is_package = module == "__init__"
                yield package if is_package else f"{package}.{module}", (is_package, *held)


def _read_bytecode(path: str, source: str) -> tuple[int, int, bytes] | None:
    """Return the time and size of the source, and the bytecode, from a .pyc file.

    None when Python would not use that file.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    time, size = int.from_bytes(content[8:12], "little"), int.from_bytes(content[12:_HEADER], "little")
    if content[:8] != MAGIC_NUMBER + _BY_TIME or (time, size) != version_of(source):
        return None
    try:
        code = marshal.loads(content[_HEADER:])  # noqa: S302
    except DAMAGED:
        return None
    return time, size, content[_HEADER:] if code.co_filename == source else marshal.dumps(with_source(code, source))


def _packed(modules: dict[str, Module]) -> bytes:
    """Return the bytes of a bundle: version of Python, table of parts, the groups, all single modules, the index."""
    parts = {group: marshal.dumps(tuple(_held(names, modules))) for group, names in GROUPS.items()}
    parts[ENGINES] = marshal.dumps(dict(_engine_files()))
    table, end = {}, HEAD
    for group, content in parts.items():
        table[group] = end, len(content)
        end += len(content)
    index = {}
    for name, (is_package, time, size, code) in modules.items():
        index[name] = end, len(code), is_package, time, size
        end += len(code)
    last = marshal.dumps(index)
    table[INDEX] = end, len(last)
    head = (MAGIC + marshal.dumps(table)).ljust(HEAD, b"\0")
    return b"".join([head, *parts.values(), *(code for *_, code in modules.values()), last])


def _engine_files() -> Iterator[tuple[bytes, bytes]]:
    """Yield the bytes of each built-in engine's file, and its parsed content, marshalled."""
    names = os.listdir(f"{PACKAGE}{_ENGINE_FILES}")
    for name in sorted(name for name in names if name.endswith(".toml") and not name.startswith(".")):
        with open(f"{PACKAGE}{_ENGINE_FILES}/{name}", "rb") as file:
            raw = file.read()
        yield raw, marshal.dumps(tomllib.loads(raw.decode()))


def _held(names: tuple[str, ...], modules: dict[str, Module]) -> Iterator[Held]:
    """Yield each module of `names` that is in `modules`, with its code without docstrings and annotations.

    A module whose source has an error, or was changed meanwhile, has its code from `modules` as it is. The caller marshals
    the yielded modules together, so that constants that they share are stored once.
    """
    for name in names:
        if name in modules:
            is_package, time, size, bytecode = modules[name]
            source = source_of(name, is_package=is_package)
            code = lean_code(name, source)
            if code is None or version_of(source) != (time, size):  # the source has an error, or was changed in between
                code = marshal.loads(bytecode)  # noqa: S302
            yield name, is_package, time, size, code


def _replace(path: str, content: bytes) -> None:
    """Write the content to a temporary file and rename it to `path`, so that a reader sees the old file or the new one.

    Remove the temporary file when that fails, as on a full disk; also one that a killed process with the same pid left:
    then raise FileExistsError, and the next call succeeds.
    """
    unfinished = f"{path}.{os.getpid()}"
    try:
        with open(unfinished, "xb") as file:
            file.write(content)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(unfinished)
        raise

"""Keeps the bytecode of fleet's modules in one file, because finding fifty files costs a hot command a tenth of its time.

The file lies beside the .pyc files and is made from them. A module is taken from it only while its source has the time and size
that its .pyc file recorded, which is how Python itself decides; every other module is imported in the usual way. So a missing,
old or damaged file costs time and nothing else. docs/explanation/starting-fast.md says more.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from importlib.util import MAGIC_NUMBER
    from types import CodeType

    def set_file_name(code: CodeType, path: str) -> None:
        """Give the code, and all code in it, the path of its source."""
else:
    from _imp import _fix_co_filename as set_file_name

    SourceFileLoader, ModuleSpec = type(__loader__), type(__spec__)
    try:  # importlib.util imports much more
        from _frozen_importlib_external import MAGIC_NUMBER
    except ImportError:
        from importlib.util import MAGIC_NUMBER

_PACKAGE = os.path.dirname(__file__)
_CACHED = __spec__.cached or ""
_TAG = _CACHED.rpartition("bundle.")[2].removesuffix(".pyc")
_LENGTH = 8
_HEADER = 16
_DAMAGED = (OSError, ValueError, EOFError, TypeError, MemoryError, OverflowError)
_BY_TIME = b"\0\0\0\0"


class Bundle:
    """Finds and loads modules from the file; one of `sys.meta_path`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = self._start = -1
        self._index: dict[str, tuple[int, int, bool, bytes]] = {}
        self.missed = False

    def open(self) -> None:
        """Read which modules the file has. Without a readable file it has none."""
        try:
            self._file = os.open(self.path, os.O_RDONLY)
            head = os.pread(self._file, len(MAGIC_NUMBER) + _LENGTH, 0)
            length = int.from_bytes(head[len(MAGIC_NUMBER) :], "little")
            if head.startswith(MAGIC_NUMBER):
                self._start = len(head) + length
                self._index = marshal.loads(os.pread(self._file, length, len(head)))  # noqa: S302 - as trusted as a .pyc file
        except _DAMAGED:
            self._index = {}

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Say how to load a module of fleet. None leaves it to Python: the file does not have it, or its source has changed."""
        if not name.startswith("fleet."):
            return None
        found = self._index.get(name)
        if found is None:
            self.missed = True
            return None
        offset, length, is_package, version = found
        path = f"{_PACKAGE}/{name[6:].replace('.', '/')}"
        source = f"{path}/__init__.py" if is_package else f"{path}.py"
        if _version_of(source) != version:
            self.missed = True
            return None
        spec = ModuleSpec(name, _Loader(name, source, self._file, self._start + offset, length), origin=source)
        # What importlib.util.spec_from_file_location would find out by itself, more slowly.
        spec.has_location = True
        folder, _, module = source.rpartition("/")
        spec.cached = f"{folder}/__pycache__/{module[:-3]}.{_TAG}.pyc"
        if is_package:
            spec.submodule_search_locations = [path]
        return spec


class _Loader(SourceFileLoader):
    """Loads a module's code from the bundle, and all else (source, data files) as Python does."""

    def __init__(self, name: str, source: str, file: int, offset: int, length: int) -> None:
        super().__init__(name, source)
        self._place = file, length, offset

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the module's code; from its own files when the bundle is damaged."""
        try:
            code: CodeType = marshal.loads(os.pread(*self._place))  # noqa: S302
        except _DAMAGED:
            return super().get_code(fullname)
        # As Python does with a .pyc file: `make` compiles below a relative path, and tracebacks and audits need the whole one.
        set_file_name(code, self.path)
        return code


BUNDLE = Bundle(f"{os.path.dirname(_CACHED)}/modules.{_TAG}.bundle")


def use() -> None:
    """Import fleet's modules from the bundle from now on."""
    BUNDLE.open()
    sys.meta_path.insert(0, BUNDLE)


def renew() -> None:
    """Write the bundle again if modules were missing in it. Called by commands that take longer than that anyway."""
    if not BUNDLE.missed or sys.dont_write_bytecode or not _CACHED.startswith(_PACKAGE):
        return
    try:
        _replace(BUNDLE.path, _packed(dict(_bytecode())))
    except OSError:
        return  # a folder that is not ours to write to; Python does without its .pyc files then, too


def _version_of(source: str) -> bytes | None:
    """Return time and size of a source file as a .pyc file records them."""
    try:
        status = os.stat(source)
    except OSError:
        return None
    return b"".join((int(number) & 0xFFFFFFFF).to_bytes(4, "little") for number in (status.st_mtime, status.st_size))


def _bytecode() -> Iterator[tuple[str, tuple[bool, bytes, bytes]]]:
    """Yield each module of fleet that has a valid .pyc file: name, whether it is a package, version of its source, bytecode."""
    for folder, _, names in os.walk(_PACKAGE):
        package = ".".join(("fleet", *folder[len(_PACKAGE) :].strip("/").split("/"))).rstrip(".")
        for name in names:
            module, dot, _ = name.partition(".py")
            if not dot or not name.endswith(".py"):
                continue
            held = _read_bytecode(f"{folder}/__pycache__/{module}.{_TAG}.pyc", f"{folder}/{name}")
            if held is not None:
                is_package = module == "__init__"
                yield package if is_package else f"{package}.{module}", (is_package, *held)


def _read_bytecode(path: str, source: str) -> tuple[bytes, bytes] | None:
    """Return the version of the source and the bytecode of a .pyc file; None unless Python would use it as it is."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    version = content[8:_HEADER]
    if content[:8] != MAGIC_NUMBER + _BY_TIME or version != _version_of(source):
        return None
    return version, content[_HEADER:]


def _packed(modules: dict[str, tuple[bool, bytes, bytes]]) -> bytes:
    """Lay out the file: Python's magic number, the length of the index, the index, one module's bytecode after the other."""
    index, end = {}, 0
    for name, (is_package, version, code) in modules.items():
        index[name] = end, len(code), is_package, version
        end += len(code)
    packed = marshal.dumps(index)
    start = [MAGIC_NUMBER, len(packed).to_bytes(_LENGTH, "little"), packed]
    return b"".join([*start, *(code for _, _, code in modules.values())])


def _replace(path: str, content: bytes) -> None:
    """Put the content at the path in one step; a reader has the old file or the new one."""
    unfinished = f"{path}.{os.getpid()}"
    with open(unfinished, "xb") as file:
        file.write(content)
    os.replace(unfinished, path)

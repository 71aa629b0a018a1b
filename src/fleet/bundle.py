"""Takes the bytecode of fleet's modules from one file, because finding fifty files costs a hot command a tenth of its time.

The file lies beside the .pyc files and is made from them (bundle_writing.py). A module is taken from it only while its source has the time
and size that its .pyc file recorded, which is how Python itself decides; every other module is imported in the usual way. So a
missing, old or damaged file costs time and nothing else. docs/explanation/starting-fast.md says more.

The annotations are texts, because `from __future__ import annotations` imports a module, here the only one of Python's own.
"""

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from importlib.util import MAGIC_NUMBER
    from types import CodeType, ModuleType
    from typing import TypeVar

    T = TypeVar("T")
    # A module of a group: name, whether it is a package, time and size of its source, code.
    Held = tuple[str, bool, int, int, CodeType]

    def set_file_name(code: "CodeType", path: str) -> None:
        """Give the code, and all code in it, the path of its source."""
else:
    from _imp import _fix_co_filename as set_file_name

    SourceFileLoader, ModuleSpec, ModuleType = type(__loader__), type(__spec__), type(sys)
    try:  # importlib.util imports much more
        from _frozen_importlib_external import MAGIC_NUMBER
    except ImportError:
        from importlib.util import MAGIC_NUMBER
MAGIC = MAGIC_NUMBER

PACKAGE = os.path.dirname(__file__)
CACHED = __spec__.cached or ""
TAG = CACHED.rpartition("bundle.")[2].removesuffix(".pyc")
# The file begins with Python's magic number and a table of its parts, which is shorter than this.
HEAD = 1024
# The part that has the place of each single module.
INDEX = "index"
# The group of the modules that every command begins with.
FIRST = "first"
DAMAGED = (OSError, ValueError, EOFError, TypeError, KeyError, MemoryError, OverflowError)


class Bundle:
    """Finds and loads modules from the file; one of `sys.meta_path`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = -1
        # Offset and length of each part.
        self._parts: dict[str, tuple[int, int]] = {}
        self._index: dict[str, tuple[int, int, bool, int, int]] | None = None
        self.missed = False

    def open(self) -> None:
        """Read which parts the file has. Without a readable file it has none."""
        try:
            self._file = os.open(self.path, os.O_RDONLY)
            head = os.pread(self._file, HEAD, 0)
            if head.startswith(MAGIC):
                self._parts = marshal.loads(head[len(MAGIC) :])  # noqa: S302 - as trusted as a .pyc file
        except DAMAGED:
            self._parts = {}

    def load(self, group: str) -> None:
        """Import a group of modules, each after those that it imports. One step in the file and few in Python: half the time."""
        nothing: tuple[Held, ...] = ()
        for name, is_package, time, size, code in self._read(group, nothing):
            if name not in sys.modules:
                source = source_of(name, is_package=is_package)
                if version_of(source) == (time, size):
                    self._execute(name, source, code, is_package=is_package)

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> "ModuleSpec | None":
        """Say how to load a module of fleet. None leaves it to Python: the file does not have it, or its source has changed."""
        if not name.startswith("fleet."):
            return None
        if self._index is None:
            self._index = self._read(INDEX, {})
        found = self._index.get(name)
        if found is None:
            self.missed = True
            return None
        offset, length, is_package, time, size = found
        source = source_of(name, is_package=is_package)
        if version_of(source) != (time, size):
            self.missed = True
            return None
        return _spec(_Loader(name, source, self._file, offset, length), is_package=is_package)

    def _read(self, part: str, otherwise: "T") -> "T":
        """Return what a part of the file holds."""
        try:
            offset, length = self._parts[part]
            found: T = marshal.loads(os.pread(self._file, length, offset))  # noqa: S302
        except DAMAGED:
            self.missed = True
            return otherwise
        return found

    def _execute(self, name: str, source: str, code: "CodeType", *, is_package: bool) -> None:
        """Do what an import statement does with a module whose code is at hand."""
        spec = _spec(SourceFileLoader(name, source), is_package=is_package)
        module = ModuleType(name)
        space = module.__dict__
        space.update(
            __spec__=spec, __loader__=spec.loader, __package__=spec.parent, __file__=source, __cached__=spec.cached
        )
        if is_package:
            space.update(__path__=spec.submodule_search_locations)
        if code.co_filename != source:
            set_file_name(code, source)
        sys.modules[name] = module
        try:
            exec(code, space)  # noqa: S102 - as importing it does
        except BaseException:
            del sys.modules[name]
            raise
        package, _, own = name.rpartition(".")
        setattr(sys.modules[package], own, module)


class _Loader(SourceFileLoader):
    """Loads a module's code from the bundle, and all else (source, data files) as Python does."""

    def __init__(self, name: str, source: str, file: int, offset: int, length: int) -> None:
        super().__init__(name, source)
        self._place = file, length, offset

    def get_code(self, fullname: str) -> "CodeType | None":
        """Return the module's code; from its own files when the bundle is damaged."""
        try:
            code: CodeType = marshal.loads(os.pread(*self._place))  # noqa: S302
        except DAMAGED:
            return super().get_code(fullname)
        # As Python does with a .pyc file: `make` compiles below a relative path, and tracebacks and audits need the whole one.
        set_file_name(code, self.path)
        return code


def _spec(loader: SourceFileLoader, *, is_package: bool) -> ModuleSpec:
    """Return what importlib.util.spec_from_file_location would find out by itself, more slowly."""
    source = loader.path
    spec = ModuleSpec(loader.name, loader, origin=source)
    spec.has_location = True
    folder, _, module = source.rpartition("/")
    spec.cached = f"{folder}/__pycache__/{module[:-3]}.{TAG}.pyc"
    if is_package:
        spec.submodule_search_locations = [folder]
    return spec


def source_of(name: str, *, is_package: bool) -> str:
    """Return the path of a module's source."""
    path = f"{PACKAGE}/{name[6:].replace('.', '/')}"
    return f"{path}/__init__.py" if is_package else f"{path}.py"


def version_of(source: str) -> "tuple[int, int] | None":
    """Return time and size of a source file as a .pyc file records them."""
    try:
        status = os.stat(source)
    except OSError:
        return None
    return int(status[8]) & 0xFFFFFFFF, int(status[6]) & 0xFFFFFFFF  # st_mtime, without a fraction, and st_size


BUNDLE = Bundle(f"{os.path.dirname(CACHED)}/modules.{TAG}.bundle")


def use() -> None:
    """Import fleet's modules from the bundle from now on: those that ask the daemon at once, others when they are needed."""
    BUNDLE.open()
    sys.meta_path.insert(0, BUNDLE)
    BUNDLE.load(FIRST)

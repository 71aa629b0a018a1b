"""Import fleet's modules from one file of bytecode.

To find fifty files instead would cost a hot command a tenth of its time.

The file lies beside the .pyc files and is made from them (bundle_writing.py). A module is taken from it only while its
source has the time and size that its .pyc file recorded, which is how Python itself decides; every other module is
imported in the usual way. So a missing, old or damaged file costs time and nothing else.
docs/explanation/starting-fast.md says more.

Every command begins here, so nothing private of CPython is used: another version of Python may lack it.

The annotations are strings, because `from __future__ import annotations` would import the module `__future__`. The
modules that this file imports are loaded at Python's start anyway.
"""

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from types import CodeType, ModuleType
    from typing import TypeVar

    T = TypeVar("T")
    # A module of a group: name, whether it is a package, time and size of its source, code.
    Held = tuple[str, bool, int, int, CodeType]
else:
    SourceFileLoader, ModuleSpec, ModuleType = type(__spec__.loader), type(__spec__), type(sys)
    CodeType = type((lambda: None).__code__)
# Names the build of Python: no other build reads the file. importlib's magic number would do, but to import its public
# name (importlib.util.MAGIC_NUMBER) imports much more.
MAGIC = f"{sys.version}\n".encode()

# The folder of the package fleet; the path of this module's own .pyc file, "" without one; and the part of that file's
# name that says which Python made it, such as cpython-311.
PACKAGE = os.path.dirname(__file__)
CACHED = __spec__.cached or ""
TAG = CACHED.rpartition("bundle.")[2].removesuffix(".pyc")
# The size in bytes of the file's beginning: the version of Python and a table of the parts, filled up with zeros.
HEAD = 1024
# The part that has the place of each single module.
INDEX = "index"
# The part that has the parsed content of each built-in engine's file, by the bytes of the file.
ENGINES = "engines"
# The group of the modules that every command begins with.
FIRST = "first"
# What may be raised when a file of bytecode is read that is missing or damaged.
DAMAGED = (OSError, ValueError, EOFError, TypeError, KeyError, MemoryError, OverflowError)


class Bundle:
    """An importer for `sys.meta_path` that finds and loads fleet's modules in the bundle file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = -1
        # Offset and length of each part.
        self._parts: dict[str, tuple[int, int]] = {}
        self._index: dict[str, tuple[int, int, bool, int, int]] | None = None
        # Whether something was missing, old or damaged in the file: a slow command then writes the file again.
        self.missed = False

    def open(self) -> None:
        """Open the bundle file and read the table of its parts. The table is empty when the file cannot be read."""
        try:
            self._file = os.open(self.path, os.O_RDONLY)
            head = os.pread(self._file, HEAD, 0)
            if head.startswith(MAGIC):
                self._parts = marshal.loads(head[len(MAGIC) :])  # noqa: S302 - as trusted as a .pyc file
        except DAMAGED:
            self._parts = {}

    def load(self, group: str) -> None:
        """Import all modules of a group from the bundle file, each after those that it imports.

        This takes half the time of importing them one by one. A module that is imported already is skipped; so is one
        whose source file has changed since the bundle was written, which Python imports later from its source.
        """
        nothing: tuple[Held, ...] = ()
        for name, is_package, time, size, code in self._read(group, nothing):
            if name not in sys.modules:
                source = source_of(name, is_package=is_package)
                if version_of(source) == (time, size):
                    self._execute(name, source, code, is_package=is_package)

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> "ModuleSpec | None":
        """Return the spec of a module of fleet that is in the bundle.

        None for any other module, and for one whose source has changed: Python then looks for it in the usual way.
        """
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

    def engine_file(self, raw: bytes) -> "dict[str, object] | None":
        """Return the parsed content of an engine's file, given its bytes.

        None when the bundle does not have it: the bytes are not those of a built-in engine's file, or the bundle is
        missing, old or damaged. This saves the import of the TOML parser, which takes longer than listing agents.
        """
        nothing: dict[bytes, bytes] = {}
        content = self._read(ENGINES, nothing).get(raw) if self._parts else None
        if content is None:
            return None
        try:
            found: dict[str, object] = marshal.loads(content)  # noqa: S302
        except DAMAGED:
            self.missed = True
            return None
        return found

    def _read(self, part: str, otherwise: "T") -> "T":
        """Return the unmarshalled content of one part of the bundle.

        Return `otherwise`, and set `missed`, when the part is missing or damaged.
        """
        try:
            offset, length = self._parts[part]
            found: T = marshal.loads(os.pread(self._file, length, offset))  # noqa: S302
        except DAMAGED:
            self.missed = True
            return otherwise
        return found

    def _execute(self, name: str, source: str, code: "CodeType", *, is_package: bool) -> None:
        """Create a module from its code and run it, as an import statement does.

        Remove the module from `sys.modules` again when its code raises.
        """
        spec = _spec(SourceFileLoader(name, source), is_package=is_package)
        module = ModuleType(name)
        space = module.__dict__
        space.update(
            __spec__=spec, __loader__=spec.loader, __package__=spec.parent, __file__=source, __cached__=spec.cached
        )
        if is_package:
            space.update(__path__=spec.submodule_search_locations)
        sys.modules[name] = module
        try:
            exec(with_source(code, source), space)  # noqa: S102 - as importing it does
        except BaseException:
            del sys.modules[name]
            raise
        package, _, own = name.rpartition(".")
        setattr(sys.modules[package], own, module)


class _Loader(SourceFileLoader):
    """Loads the code of one module from the bundle, and everything else (source, data files) as Python does."""

    def __init__(self, name: str, source: str, file: int, offset: int, length: int) -> None:
        super().__init__(name, source)
        self._place = file, length, offset

    def get_code(self, fullname: str) -> "CodeType | None":
        """Return the module's code from the bundle; from its own .py and .pyc files when the bundle is damaged."""
        try:
            code: CodeType = marshal.loads(os.pread(*self._place))  # noqa: S302
        except DAMAGED:
            return super().get_code(fullname)
        return with_source(code, self.path)


def _spec(loader: SourceFileLoader, *, is_package: bool) -> ModuleSpec:
    """Return the module's spec, like importlib.util.spec_from_file_location but faster."""
    source = loader.path
    spec = ModuleSpec(loader.name, loader, origin=source)
    spec.has_location = True
    folder, _, module = source.rpartition("/")
    spec.cached = f"{folder}/__pycache__/{module[:-3]}.{TAG}.pyc"
    if is_package:
        spec.submodule_search_locations = [folder]
    return spec


def with_source(code: "CodeType", source: str) -> "CodeType":
    """Return the code, and all code objects inside it, with the path of the source, which tracebacks and audits need.

    Without this, the path is wrong after the folder was moved, or when the code was compiled with a relative path.
    """
    if code.co_filename == source:
        return code
    inner = tuple(with_source(each, source) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_filename=source, co_consts=inner)


def source_of(name: str, *, is_package: bool) -> str:
    """Return the path of the source file of a module of fleet; `name` begins with "fleet."."""
    path = f"{PACKAGE}/{name[6:].replace('.', '/')}"
    return f"{path}/__init__.py" if is_package else f"{path}.py"


def version_of(source: str) -> "tuple[int, int] | None":
    """Return the modification time and size of a source file, as a .pyc file records them; None when it is missing."""
    try:
        status = os.stat(source)
    except OSError:
        return None
    return int(status[8]) & 0xFFFFFFFF, int(status[6]) & 0xFFFFFFFF  # st_mtime, without a fraction, and st_size


BUNDLE = Bundle(f"{os.path.dirname(CACHED)}/modules.{TAG}.bundle")


def use() -> None:
    """Let Python import fleet's modules from the file of bytecode from now on.

    Import the group `FIRST` at once: the modules with which a command asks the daemon to do its work.
    """
    BUNDLE.open()
    sys.meta_path.insert(0, BUNDLE)
    BUNDLE.load(FIRST)

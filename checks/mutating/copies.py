"""A copy of the repository, to which one mutant at a time is applied.

A copy has its own virtual environment, with the repository's packages and the copy's fleet, so that programs that a
test starts run the broken source, too. Files keep their times when they are copied, and their bytecode comes with them.
A broken file gets a time that is computed from its content, so that no .pyc file or bundle of other content is taken
for it.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mutating.catalogue import Mutant

QUERIES = Path("src/fleet/store/queries")
_OWN = {".venv", ".build"}
_FIRST_TIME, _TIMES = 1_000_000_000, 500_000_000


class DoesNotApply(Exception):
    """The mutant cannot be applied to the copy."""


class Copy:
    """A folder with the tracked files of the repository and its own virtual environment."""

    def __init__(self, root: Path, place: Path) -> None:
        self.root, self.place = root, place
        self.python = place / ".venv/bin/python"
        # The folder of the server that the tests of all copies share; empty: each run starts its own.
        self.postgres = ""
        # Seconds that a run whose time is up has for tidying up, before it is killed.
        self.grace = 20.0

    def refresh(self) -> None:
        """Make the copy equal to the repository; this also repairs what a killed run left broken."""
        files = tracked(self.root)
        for file in files:
            self._copy(file)
        for file in _files_in(self.place) - set(files):
            (self.place / file).unlink()
        self._make_environment()
        compileall.compile_dir(self.place / "src/fleet", quiet=2)

    def _copy(self, file: Path) -> None:
        """Copy a file and its bytecode into the copy, if it differs."""
        source, target = self.root / file, self.place / file
        if target.exists() and _version(source) == _version(target):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        for compiled in (source.parent / "__pycache__").glob(f"{source.stem}.*.pyc"):
            (target.parent / "__pycache__").mkdir(exist_ok=True)
            shutil.copy2(compiled, target.parent / "__pycache__" / compiled.name)

    def _make_environment(self) -> None:
        """Create a virtual environment that finds fleet in the copy, and everything else in the repository's packages."""
        own, theirs = self.place / ".venv", Path(sys.prefix)
        packages = Path(sysconfig.get_path("purelib"))
        inside = own / packages.relative_to(theirs)
        inside.mkdir(parents=True, exist_ok=True)
        (own / "bin").mkdir(exist_ok=True)
        (inside / "mutant.pth").write_text(f"{self.place / 'src'}\n{packages}\n", encoding="utf-8")
        shutil.copy2(theirs / "pyvenv.cfg", own / "pyvenv.cfg")
        if not self.python.exists():
            self.python.unlink(missing_ok=True)
            self.python.symlink_to((theirs / "bin/python").readlink())
        script = (self.root / "scripts/fleet").read_text(encoding="utf-8").replace("#!python", f"#!{self.python}", 1)
        (own / "bin/fleet").write_text(script, encoding="utf-8")
        (own / "bin/fleet").chmod(0o755)

    @contextmanager
    def broken_by(self, mutant: Mutant) -> Iterator[None]:
        """Apply a mutant to the copy while the block runs, then restore the copy.

        Raise DoesNotApply when the text to replace is not there exactly once, or the broken SQL does not compile.
        """
        path = self.place / mutant.file
        is_sql = path.suffix == ".sql"
        touched = [path, *sorted((self.place / QUERIES).glob("*.py"))] if is_sql else [path]
        kept = {each: (each.read_bytes(), each.stat().st_mtime_ns) for each in touched}
        broken = mutant.applied_to(path.read_text(encoding="utf-8"))
        if broken is None:
            raise DoesNotApply("the text to replace is not there exactly once")
        try:
            path.write_text(broken, encoding="utf-8")
            if is_sql:
                self._compile_queries()
            for each in touched:
                if each.read_bytes() != kept[each][0]:
                    stamp(each)
            _compile(touched)
            yield
        finally:
            for each, (content, time) in kept.items():
                each.write_bytes(content)
                os.utime(each, ns=(time, time))
            _compile(touched)

    def _compile_queries(self) -> None:
        """Compile the copy's SQL; raise DoesNotApply when it does not compile."""
        words = [str(self.python), "checks/sql.py"]
        done = subprocess.run(words, cwd=self.place, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DoesNotApply(f"its SQL does not compile: {(done.stdout + done.stderr).strip()[-200:]}")


def stamp(path: Path) -> None:
    """Set the time of a file to one that is computed from its content, and that no file written by hand has."""
    digest = int.from_bytes(hashlib.sha256(path.read_bytes()).digest()[:8], "big")
    time = _FIRST_TIME + digest % _TIMES
    os.utime(path, (time, time))


def tracked(root: Path) -> list[Path]:
    """Return the files of the repository: tracked ones, and new ones that are not ignored."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted({Path(name) for name in listed.split("\0") if name and (root / name).is_file()})


def _files_in(place: Path) -> set[Path]:
    """Return the files of a copy, without its bytecode, its virtual environment and its `.build`."""
    found = set()
    for folder, names, files in os.walk(place):
        inside = Path(folder).relative_to(place)
        names[:] = [name for name in names if name != "__pycache__" and (inside != Path() or name not in _OWN)]
        found |= {inside / name for name in files}
    return found


def _version(path: Path) -> tuple[int, int]:
    """Return the size and the time of a file: files that agree in both are taken to be equal."""
    status = path.lstat()
    return status.st_size, status.st_mtime_ns


def _compile(paths: list[Path]) -> None:
    """Write the bytecode of those files that are Python."""
    for path in paths:
        if path.suffix == ".py":
            compileall.compile_file(path, quiet=2)

"""Run tests and print which lines of fleet they reach, in child processes too; the least covered files come first.

    python checks/covering [pytest's arguments]

Every Python of the virtual environment measures itself meanwhile, so run nothing else with it. Exits with pytest's code.
"""

from __future__ import annotations

import itertools
import shutil
import socketserver
import subprocess
import sys
import sysconfig
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from coverage import CoverageData

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
# In the virtual environment, because an agent in a sandbox sees nothing else of this checkout but fleet.
FOLDER = Path(sys.prefix) / "covering"
CONFIG = FOLDER / "config"
SOCKET = FOLDER / "socket"
HOOK = Path(sysconfig.get_path("purelib")) / "fleet_covering.pth"
START = FOLDER / "start.py"

SETTINGS = f"""\
[run]
branch = true
parallel = true
data_file = {FOLDER}/data
source = {ROOT}/src/fleet
omit = {ROOT}/src/fleet/store/queries/*
disable_warnings = no-data-collected, module-not-imported, module-not-measured, already-imported

[report]
skip_empty = true
ignore_errors = true
sort = cover
exclude_also =
    if TYPE_CHECKING:
    assert_never
    \\.\\.\\.$
"""


class Received(socketserver.StreamRequestHandler):
    """The data of one process that could not write to the folder."""

    numbers = itertools.count(1)

    def handle(self) -> None:
        """Write the data to the folder."""
        CoverageData(str(FOLDER / f"data.sent.{next(self.numbers)}")).loads(self.rfile.read())


@contextmanager
def receiving() -> Iterator[None]:
    """Receive data from processes that cannot write to the folder."""
    with socketserver.ThreadingUnixStreamServer(str(SOCKET), Received) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def measure(arguments: list[str]) -> int:
    """Run the tests while every Python process measures its coverage; return pytest's exit code."""
    HOOK.write_text(f"import runpy; runpy.run_path({str(START)!r})\n", encoding="utf-8")
    try:
        with receiving():
            return subprocess.run(
                [sys.executable, "-m", "pytest", "--quiet", *arguments], cwd=ROOT, check=False
            ).returncode
    finally:
        HOOK.unlink()


def main() -> int:
    """Run the tests, combine the measurements, print the report, and return pytest's exit code."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    CONFIG.write_text(SETTINGS, encoding="utf-8")
    shutil.copy(Path(__file__).with_name(START.name), START)
    code = measure(sys.argv[1:])
    unread = run_coverage("combine", "--quiet").stderr.count("CoverageWarning: ")
    print(run_coverage("report").stdout, end="")
    if unread:
        print(f"The measurements of {unread} processes are missing: they were killed while they wrote them.")
    return code


def run_coverage(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of coverage on the measurements, and return what it printed. Exit the program when it fails."""
    command = [sys.executable, "-m", "coverage", *words, f"--rcfile={CONFIG}"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"coverage {words[0]} failed:\n{done.stdout}{done.stderr}")
    return done


if __name__ == "__main__":
    sys.exit(main())

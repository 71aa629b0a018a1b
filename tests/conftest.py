"""What every test may ask for: an empty home, a store of each kind, a clean environment."""

import contextlib
import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import hypothesis
import psycopg
import pytest
from crash import deaths
from plugins import account
from plugins.auditing import effect_audit
from plugins.samples import last_reports

from fleet.model.text.times import SECOND
from fleet.store.postgres import open_postgres
from fleet.testing.postgres import ThrowawayPostgres, url_in, wait_until_ready
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel

pytest_plugins = [
    "plugins.recording",
    "staging.fixtures",
    "plugins.quick",
    "plugins.part",
    "plugins.daemons",
    "plugins.untouched",
]

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", ".build/hypothesis")
hypothesis.settings.register_profile("on a busy machine", deadline=None)
hypothesis.settings.load_profile("on a busy machine")

SERVER, DIRECTORY = pytest.StashKey[ThrowawayPostgres](), pytest.StashKey[Path]()
# The folder of a server that somebody else runs: checks/mutate.py, for many short runs.
SHARED = "FLEET_TESTS_POSTGRES"
NUMBERS = count()
effect_audit.install()


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    """One server a run, owned by the controller: it starts in the background while the workers collect."""
    # A shell that starts a run in the background lets it ignore Ctrl+C, and every program that a test starts would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if (
        signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    ):  # started by nohup: the run goes on, but its programs do not ignore it
        signal.signal(signal.SIGHUP, lambda *_: None)
    if is_worker(config) or config.option.collectonly or config.option.quick:
        return
    if SHARED in os.environ:
        config.stash[DIRECTORY] = Path(os.environ[SHARED])
    else:
        config.stash[SERVER] = ThrowawayPostgres().start()
        config.stash[DIRECTORY] = config.stash[SERVER].directory


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """At the end, because a quiet run prints no header."""
    for line in deaths.summary(last_reports(terminalreporter)):
        terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    if SERVER in config.stash:
        config.stash[SERVER].stop()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    if DIRECTORY in node.config.stash:
        node.workerinput["postgres"] = str(node.config.stash[DIRECTORY])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two for each processor: a test waits for other programs for much of its time."""
    return 2 * max(2, os.cpu_count() or 0)


@pytest.fixture(scope="session")
def postgres_directory(request: pytest.FixtureRequest) -> Path:
    config = request.config
    directory = Path(config.workerinput["postgres"]) if is_worker(config) else config.stash[DIRECTORY]
    wait_until_ready(directory)
    return directory


@pytest.fixture(scope="session")
def postgres_admin(postgres_directory: Path) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url_in(postgres_directory, "postgres"), autocommit=True) as connection:
        yield connection


@contextlib.contextmanager
def database(admin: psycopg.Connection, template: str) -> Iterator[str]:
    """The name of a database made from a template, for a while."""
    name = f"test_{os.getpid()}_{next(NUMBERS)}"
    admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield name
    admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def migrated_database(postgres_directory: Path, postgres_admin: psycopg.Connection) -> Iterator[str]:
    """A database with all tables and no rows. A copy of it takes a fraction of the time that its migrations take."""
    with database(postgres_admin, "template0") as name:
        open_postgres(url_in(postgres_directory, name), Funnel(), wait=1.0).close()
        yield name


@pytest.fixture
def postgres_url(postgres_directory: Path, postgres_admin: psycopg.Connection, migrated_database: str) -> Iterator[str]:
    """A database of the test's own, as fleet makes it."""
    with database(postgres_admin, migrated_database) as name:
        yield url_in(postgres_directory, name)


@pytest.fixture
def empty_postgres_url(postgres_directory: Path, postgres_admin: psycopg.Connection) -> Iterator[str]:
    """A database of the test's own in which fleet has made nothing yet."""
    with database(postgres_admin, "template0") as name:
        yield url_in(postgres_directory, name)


@pytest.fixture(params=["sqlite", "postgres"])
def store_url_kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def store_url(request: pytest.FixtureRequest, store_url_kind: str) -> str:
    """What `store = …` would say in the configuration; a PostgreSQL database is made only when asked for."""
    return "sqlite" if store_url_kind == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture(scope="session")
def tmux() -> None:
    """For a test that starts a tmux server, itself or through fleet; `--quick` leaves it out."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Where a fleet home may be made; nothing is there yet. Swept at the end, and nobody may survive it."""
    where = tmp_path / "home"
    yield where
    left = account.closed(where)
    assert left == [], left


@pytest.fixture(autouse=True)
def no_outer_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run inside an agent of a real fleet, and must not know."""
    for name in list(os.environ):
        if name.startswith(("FLEET_", "TMUX", "CLAUDECODE")):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def no_unfunnelled_effects(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Every effect of fleet, in this process and in programs that a test starts, passes the funnel."""
    reports = tmp_path_factory.getbasetemp() / f"effects-{next(NUMBERS)}"
    if request.node.get_closest_marker("beneath_funnel"):
        yield reports
        return
    monkeypatch.setenv(effect_audit.REPORTS, str(reports))
    monkeypatch.setenv("PYTHONPATH", effect_audit.HERE, prepend=os.pathsep)
    yield reports
    found = sorted(set(reports.read_text().splitlines())) if reports.exists() else []
    reports.unlink(missing_ok=True)
    assert not found, "\n".join(["effects outside of the funnel:", *found])


@pytest.fixture
def time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody in this process looks at the clock twice at the same time."""
    ticks = count(Clock().now() + SECOND, SECOND)
    monkeypatch.setattr(Clock, "now", lambda _clock: next(ticks))

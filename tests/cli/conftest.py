"""A home on each kind of store, a repository, and the command line in front of them."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from cli.commandline import CommandLine, Program, make_repository
from plugins import daemons
from staging.daemon import RunningDaemon

from fleet.testing.postgres import url_in

KEPT = {"schema_version", "writer"}


@pytest.fixture(scope="session")
def database(postgres_directory: Path, postgres_admin: psycopg.Connection) -> Iterator[str]:
    """One database a worker: to empty it takes a fortieth of the time that it takes to make one."""
    name = f"e2e_{os.getpid()}"
    postgres_admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    yield url_in(postgres_directory, name)
    postgres_admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_url(database: str) -> str:
    """An empty database, for this test alone."""
    with psycopg.connect(database, autocommit=True, options="-c session_replication_role=replica") as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'fleet'").fetchall()
        for (table,) in rows:
            if table not in KEPT:
                connection.execute(f"DELETE FROM fleet.{table}")
    return database


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository that is not registered yet."""
    return make_repository(tmp_path / "web")


@pytest.fixture
def person(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ann is at the keyboard; her home is empty, her terminal plain."""
    for name in ("NO_COLOR", "FORCE_COLOR", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FLEET_HOME", str(home))
    monkeypatch.setenv("USER", "ann")


@pytest.fixture
def nowhere(
    home: Path, tmp_path: Path, person: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    """The command line in this process, before there is a home or a project."""
    return CommandLine(home, tmp_path, monkeypatch, capsys)


@pytest.fixture
def fleet(repository: Path, nowhere: CommandLine, request: pytest.FixtureRequest) -> Iterator[CommandLine]:
    """The same in the project `web`, on SQLite; with a daemon where the run wants it (plugins/daemons.py)."""
    nowhere.where = repository
    nowhere("init").ok()
    if not daemons.is_wanted(request):
        yield nowhere
        return
    with RunningDaemon(nowhere.home):
        nowhere.has_daemon = True
        yield nowhere


@pytest.fixture
def either(home: Path, store_url: str, request: pytest.FixtureRequest) -> CommandLine:
    """The same, on each kind of store."""
    if store_url != "sqlite":
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(f'store = "{store_url}"\n')
    return request.getfixturevalue("fleet")


@pytest.fixture
def program(home: Path, repository: Path, person: None) -> Iterator[Program]:
    """The real program at the same home. It registers nothing by itself."""
    program = Program(home, repository)
    yield program
    program.end()

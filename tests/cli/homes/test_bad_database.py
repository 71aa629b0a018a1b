"""STORE-15: whatever is where the database should be, it is named, explained, and never overwritten."""

import contextlib
import fcntl
import os
import sqlite3
from pathlib import Path

import pytest

COMMANDS = [["task", "log", "a", "hi"], ["task", "list"]]


def assert_doctor_names(program, *words: str) -> None:
    """The doctor makes its other checks all the same, and its finding about the store has these words."""
    answer = program("doctor")
    (finding,) = [line for line in answer.out.splitlines() if line.startswith("✗ store:")]
    assert (answer.code, answer.err) == (1, "")
    assert "✓ git" in answer.out
    assert all(word in finding for word in words), finding


@pytest.fixture
def database(fleet) -> Path:
    """The database of a home that has been worked with, and that nobody has open."""
    for number in range(30):
        fleet.add(f"t{number}", "-d", "x" * 2_000)
    return fleet.home / "fleet.db"


def beginning(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def one_page_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 4_096)


def another_program(path: Path) -> None:
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE tasks (id INTEGER, title TEXT)")
        db.execute("PRAGMA user_version = 1")
        db.commit()


def newer(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


def scribbled(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(8_192)
        file.write(os.urandom(4_096 * 8))


DAMAGE = {
    "garbage": (lambda path: path.write_bytes(b"\x00\xffgarbage" * 5_000), ["cannot be read", "backups"]),
    "text": (lambda path: path.write_text("TODO: buy milk\n" * 100), ["cannot be read", "backups"]),
    "nothing": (lambda path: path.write_bytes(b""), ["it is empty", "backups"]),
    "the beginning of one": (beginning, ["cannot be read"]),
    "half of one": (half, ["cannot be read"]),
    "another program's": (another_program, ["another program", "FLEET_HOME"]),
    "a newer one": (newer, ["schema 99", "install a newer fleet"]),
}


@pytest.mark.req("STORE-15")
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_file_that_is_no_database_of_ours_is_explained_and_left_as_it_is(kind, database, program):
    damage, told = DAMAGE[kind]
    damage(database)
    before = database.read_bytes()
    for words in COMMANDS:
        program(*words).refused(1, str(database), *told)
        assert database.read_bytes() == before
    assert_doctor_names(program, str(database), *told)
    assert database.read_bytes() == before


@pytest.mark.req("STORE-15")
@pytest.mark.parametrize("damage", [one_page_short, scribbled])
def test_damage_inside_is_found_at_the_latest_when_it_is_read_and_never_a_traceback(damage, database, program):
    damage(database)
    seen = [program(*words) for words in [*COMMANDS, ["doctor"]]]
    assert all("Traceback" not in answer.err for answer in seen)
    assert any(answer.code == 1 and str(database) in answer.err for answer in seen)
    for answer in seen:
        assert answer.code in {0, 1, 11}, answer


@pytest.mark.req("STORE-15")
def test_a_directory_in_its_place_is_explained(database, program):
    database.unlink()
    database.mkdir()
    for words in COMMANDS:
        program(*words).refused(1, str(database))
    assert_doctor_names(program, str(database))
    assert database.is_dir()


@pytest.mark.req("STORE-15")
def test_a_link_to_a_database_that_is_not_there_is_not_replaced_by_an_empty_one(database, program, tmp_path):
    """The other disk is not mounted: the answer is an error, not a new and empty fleet."""
    moved = tmp_path / "other-disk" / "fleet.db"
    moved.parent.mkdir()
    database.rename(moved)
    database.symlink_to(moved)
    assert program("task", "list").ok()
    moved.parent.rename(tmp_path / "unmounted")
    program("task", "list", "-p", "web").refused(1, str(database))
    assert database.is_symlink()


@pytest.fixture
def locked(database):
    """Another program holds the database and does not let go."""
    (database.parent / "config.toml").write_text("store_wait = 0.2\n")
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield database
        other.execute("ROLLBACK")


@pytest.mark.req("STORE-15", "GRAPH-5")
def test_a_database_that_another_program_locks_is_contested_and_can_still_be_read(locked, program, fleet):
    program("task", "log", "t0", "hi").refused(12, "busy", "another program", "0.2 s", "nothing was changed")
    program("task", "add", "More").refused(12, "busy")
    assert "t29" in program("task", "list").ok().out
    assert fleet.show("t0")["log"] == []


def test_a_stopped_writer_is_named_by_its_process(database, program):
    (database.parent / "config.toml").write_text("store_wait = 0.2\n")
    with (database.parent / "fleet.db.writer").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.pwrite(lock.fileno(), b"%-20d\n" % os.getpid(), 0)
        program("task", "log", "t0", "hi").refused(
            12, f"process {os.getpid()}", "0.2 s", "nothing was changed", "try again"
        )


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://ann:secret@localhost:1/fleet", ["does not answer", "refused", "config.toml"]),
        ("postgresql://ann:secret@/fleet?host=/nowhere", ["does not answer", "config.toml"]),
        ("postgresql://ann:secret@localhost:port/fleet", ["config.toml"]),
        ("postgresql://ann:secret@localhost/fleet?bad", ["config.toml"]),
    ],
)
def test_a_server_that_cannot_be_reached_is_named_without_its_password(url, told, program):
    program.home.mkdir(mode=0o700)
    (program.home / "config.toml").write_text(f'store = "{url}"\n')
    answer = program("status")
    assert answer.code in {1, 2}
    answer.refused(answer.code, *told)
    assert "secret" not in answer.err
    assert "defect" not in answer.err

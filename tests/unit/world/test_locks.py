"""The lock of a file: whoever holds it keeps others out, and only locks.py calls flock."""

import ast
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fleet
from fleet.world.files import locks
from fleet.world.files.locks import FileLock, WriterLock

SOURCE = Path(fleet.__file__).parent


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "lock")


def is_taken(lock: FileLock) -> bool:
    try:
        lock.take(0)
    except BlockingIOError:
        return False
    return True


def modules(source: str) -> set[str]:
    """The modules that a source imports."""
    nodes = [*ast.walk(ast.parse(source))]
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.req("GATE-10")
def test_one_file_alone_calls_flock():
    found = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if "fcntl" in modules(path.read_text("utf-8"))]
    assert [str(each) for each in found] == ["world/files/locks.py"]


@pytest.mark.parametrize("source", ["import fcntl", "from fcntl import flock", "def lock():\n    import os, fcntl\n"])
def test_every_way_to_import_flock_is_found(source):
    assert "fcntl" in modules(source)


def test_a_lock_is_taken_on_a_full_disk_too(path, monkeypatch):
    def full(*_given: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    lock, other = WriterLock(path), WriterLock(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        assert is_taken(lock)
    assert not is_taken(other)
    lock.unlock()
    assert is_taken(other)
    for each in (lock, other):
        each.give()


@pytest.mark.req("STORE-3")
def test_a_lock_whose_file_was_replaced_is_taken_on_the_file_that_is_there(path):
    old, new = WriterLock(path), WriterLock(path)
    old.take(0)
    old.unlock()
    os.unlink(path)
    new.take(0)
    assert not is_taken(old), "somebody holds the file that has this name now"
    new.unlock()
    assert is_taken(old)
    old.give()
    new.give()


@pytest.fixture
def noted(path):
    """The lock of a writer that has written its note, unlocked."""
    lock = WriterLock(path)
    lock.take(0)
    lock.note(1, 2, 3, 4)
    lock.unlock()
    yield lock
    lock.give()


@pytest.mark.req("STORE-15")
def test_a_note_that_is_still_true_is_not_written_again(path, noted, monkeypatch):
    monkeypatch.setattr(os, "pwrite", lambda *_given: pytest.fail("it was written again"))
    noted.take(0)
    assert noted.is_noted
    assert locks.read_note(path) == [1, 2, 3, 4]


@pytest.mark.req("STORE-15")
@pytest.mark.parametrize(
    "happened", ["another writer", "touched", "replaced by a copy", "half written", "no file then"]
)
def test_a_note_that_may_not_be_true_any_more_is_written_again(path, noted, happened):
    if happened == "another writer":
        other = WriterLock(path)
        other.take(0)
        other.note(1, 2, 3, 4)
        other._write(b"%-20d" % 1, 0)  # by its pid
        other.give()
    elif happened == "touched":
        os.utime(path, ns=(1, 1))
    elif happened == "replaced by a copy":
        Path(f"{path}.copy").write_bytes(Path(path).read_bytes())
        os.replace(f"{path}.copy", path)
    elif happened == "half written":
        os.truncate(path, 30)
    else:
        noted.take(0)
        noted.note(1, 2, -1, -1)
        noted.unlock()
    noted.take(0)
    assert not noted.is_noted
    noted.note(1, 2, 3, 4)
    assert locks.read_note(path) == [1, 2, 3, 4]
    assert noted.holder() == f"process {os.getpid()}"


@pytest.mark.req("GATE-10")
@pytest.mark.parametrize("shared", [True, False])
def test_a_file_that_is_removed_before_it_is_locked_is_made_anew(path, monkeypatch, shared):
    genuine, removed = locks.fcntl.flock, []

    def flock(fd, how):
        if not removed:
            removed.append(os.unlink(path))
        genuine(fd, how)

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    held = FileLock(path, shared=shared)
    held.take(0)
    assert locks.is_same_file(path, held.fd)
    assert not FileLock(path).is_free()
    held.give()


@pytest.mark.req("GATE-10")
def test_a_file_that_is_replaced_again_and_again_is_not_taken(path, monkeypatch):
    monkeypatch.setattr(locks, "is_same_file", lambda *_which: False)
    lock = FileLock(path)
    assert not is_taken(lock)
    assert lock.fd == -1


def test_shared_holders_keep_out_an_exclusive_one_alone(path):
    first, second = FileLock(path, shared=True), FileLock(path, shared=True)
    first.take(0)
    assert is_taken(second)
    assert FileLock(path, shared=True).is_free()
    first.give()
    assert not FileLock(path).is_free(), "the second one still holds it"
    second.give()
    assert FileLock(path).is_free()


@pytest.mark.req("GATE-10")
def test_a_look_makes_no_file_and_unlinks_none(path):
    assert FileLock(path).is_free()
    assert not os.path.exists(path)
    lock = FileLock(path)
    lock.take(0)
    assert not lock.is_free()
    lock.give()
    assert lock.is_free()
    assert os.path.exists(path)


def test_what_cannot_be_opened_is_not_free_and_a_link_is_not_followed(tmp_path, path):
    os.symlink(tmp_path / "elsewhere", path)
    assert not FileLock(path).is_free()
    with pytest.raises(OSError, match="symbolic links"):
        FileLock(path).take(0)
    assert not (tmp_path / "elsewhere").exists()


def test_a_program_that_inherits_a_lock_goes_on_holding_it(path):
    lock = FileLock(path)
    lock.take(0)
    words = [sys.executable, "-c", "input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=[lock.fd]) as child:
        lock.give()
        assert not lock.is_free()
        child.communicate(b"\n")
    assert lock.is_free()

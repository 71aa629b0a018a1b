"""The queue of writers."""

import errno
import os

import pytest

from fleet.world.files.locks import FileLock


def test_a_lock_is_taken_on_a_full_disk_too(tmp_path, monkeypatch):
    def full(*_given: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    lock, other = FileLock(str(tmp_path / "lock")), FileLock(str(tmp_path / "lock"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        assert lock.take(0)
    assert not other.take(0)
    lock.give()
    assert other.take(0)
    for each in (lock, other):
        each.close()


@pytest.mark.req("STORE-3")
def test_a_lock_whose_file_was_replaced_is_taken_on_the_file_that_is_there(tmp_path):
    old = FileLock(str(tmp_path / "lock"))
    (tmp_path / "lock").unlink()
    new = FileLock(str(tmp_path / "lock"))
    assert new.take(0)
    assert not old.take(0), "somebody holds the file that has this name now"
    new.give()
    assert old.take(0)
    old.close()
    new.close()

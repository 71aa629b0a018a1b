"""The gate itself: exclusive, freed by death, held by no child, never fooled by a replaced file."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import fleet.world.files.locks as module
from fleet import errors
from fleet.errors.contested import GateHeld
from fleet.world.clock import Clock
from fleet.world.files.gates import Gate
from fleet.world.host import Host

HOLD = """
import sys, time, os, subprocess
from fleet.world.clock import Clock
from fleet.world.files.gates import Gate
from fleet.world.host import Host
gate = Gate(sys.argv[1], home=sys.argv[1].rpartition("/locks/")[0], clock=Clock(), host=Host())
gate.take()
if sys.argv[2] == "exec":
    child = subprocess.Popen(["sleep", "600"])
    print(child.pid, flush=True)
elif sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        os.close(0); os.close(1); os.close(2)
        signal = __import__("signal"); signal.pause()
    print(child, flush=True)
else:
    print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "locks" / "one.lock")


def gate(path: str) -> Gate:
    return Gate(path, home=str(Path(path).parents[1]), clock=Clock(), host=Host())


def held_by_child(path: str, how: str) -> tuple[subprocess.Popen, str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, path, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return child, child.stdout.readline().strip()


def ended(child: subprocess.Popen) -> None:
    child.wait(60)
    child.stdin.close()
    child.stdout.close()


@pytest.mark.req("GATE-3")
@pytest.mark.parametrize("end", ["success", "exception"])
def test_the_gate_is_free_after_success_and_after_an_exception(path, end):
    try:
        with gate(path):
            if end == "exception":
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    with gate(path):
        assert os.path.getsize(path) > 0
    assert os.path.getsize(path) == 0, "the holder's text is emptied before release"


@pytest.mark.req("GATE-3")
def test_another_process_holds_the_gate_and_is_named_until_it_is_killed(path):
    child, _ = held_by_child(path, "plain")
    with pytest.raises(GateHeld) as caught:
        gate(path).take()
    assert f"pid={child.pid}" in str(caught.value)
    child.send_signal(signal.SIGKILL)
    ended(child)
    gate(path).take()


@pytest.mark.req("GATE-3")
@pytest.mark.parametrize("how", ["exec", "fork"])
def test_a_child_that_outlives_the_holder_does_not_hold_the_gate(path, how):
    child, grandchild = held_by_child(path, how)
    try:
        child.send_signal(signal.SIGKILL)
        ended(child)
        mine = gate(path)
        mine.take(wait=60)  # a forked child lets go as soon as it runs
        assert mine.holder().pid == os.getpid()
    finally:
        os.kill(int(grandchild), signal.SIGKILL)


@pytest.mark.req("GATE-3")
def test_threads_and_other_lock_objects_of_the_same_process_are_excluded(path):
    mine = gate(path)
    mine.take()
    with pytest.raises(GateHeld):
        mine.take()
    with pytest.raises(GateHeld):
        gate(path).take()
    outcomes: list[str] = []

    def contend():
        try:
            gate(path).take()
            outcomes.append("got in")
        except GateHeld:
            outcomes.append("refused")

    threads = [threading.Thread(target=contend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert outcomes == ["refused"] * 4
    mine.give()
    gate(path).take()


@pytest.mark.req("GATE-10")
def test_the_lock_file_is_never_unlinked(path):
    with gate(path):
        before = os.stat(path).st_ino
    assert os.stat(path).st_ino == before


@pytest.mark.req("GATE-10")
def test_a_replaced_file_never_gives_two_holders_of_one_path(path, monkeypatch):
    """The file is renamed away between opening and locking: whoever locked the old one lets go and takes the new one."""
    replaced: list[bool] = []
    genuine = module.fcntl.flock

    def flock(fd, how):
        if not replaced:
            replaced.append(True)
            os.rename(path, f"{path}.old")
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        genuine(fd, how)

    monkeypatch.setattr(module.fcntl, "flock", flock)
    first = gate(path)
    first.take()
    with pytest.raises(GateHeld):
        gate(path).take()
    first.give()
    assert replaced


@pytest.mark.req("GATE-10")
@pytest.mark.parametrize("text", [b"", b"garbage", b'{"pid": "no"', b'{"other": 1}', b"\xff\xfe"])
def test_garbled_holder_text_decides_nothing(path, text):
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(text)
    mine = gate(path)
    mine.take()
    assert mine.holder().pid == os.getpid()
    with open(path, "wb") as file:
        file.write(text)
    with pytest.raises(GateHeld):
        gate(path).take()


@pytest.mark.req("GATE-3")
def test_waiting_for_a_gate_ends_when_it_comes_free(path):
    child, _ = held_by_child(path, "plain")
    got: list[bool] = []

    def wait():
        gate(path).take(wait=60)
        got.append(True)

    waiter = threading.Thread(target=wait)
    waiter.start()
    child.stdin.close()
    child.wait(60)
    child.stdout.close()
    waiter.join(60)
    assert got == [True]


def fail(*_words: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.req("STORE-10")
def test_a_full_disk_is_an_error_of_fleet_and_leaves_the_gate_free(path, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(os, "pwrite", fail)
        with pytest.raises(errors.WriteFailed, match="no space left"):
            gate(path).take()
    with gate(path):
        pass


@pytest.mark.req("STORE-10")
def test_a_gate_whose_holder_cannot_be_removed_is_given_all_the_same(path, monkeypatch):
    held = gate(path)
    held.take()
    with monkeypatch.context() as broken:
        broken.setattr(os, "ftruncate", fail)
        held.give()
    assert gate(path).is_free()

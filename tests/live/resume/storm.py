"""A storm on one lock: processes take it again and again, and every other holder is killed while it holds it.

    python storm.py ACQUISITIONS [gate|exclusive_file]

Whoever gets in looks for somebody who is still inside: written down in shared memory by the one before, who is not dying. What it
counts there besides has to come out right. Prints a JSON object; an overlap ends the storm.
"""

import json
import mmap
import os
import random
import signal
import struct
import sys
import tempfile
import time
from pathlib import Path

from fleet.errors.contested import GateHeld
from fleet.world.clock import Clock
from fleet.world.files.gates import Gate
from fleet.world.host import Host

PROCESSES = 8
_EXITING = 0x4


class KernelLock:
    """What fleet uses."""

    def __init__(self, path: str) -> None:
        self._gate = Gate(path, home=os.path.dirname(path), clock=Clock(), host=Host())

    def take(self) -> bool:
        try:
            self._gate.take()
        except GateHeld:
            return False
        return True

    def give(self) -> None:
        self._gate.give()


class ExclusiveFile:
    """The broken twin: a file made exclusively, with the holder's pid in it; a dead holder's is removed by whoever finds it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def take(self) -> bool:
        try:
            handle = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return self._take_stale()
        os.write(handle, str(os.getpid()).encode())
        os.close(handle)
        return True

    def _take_stale(self) -> bool:
        try:
            holder = int(Path(self._path).read_text() or os.getpid())
            os.kill(holder, 0)
        except ProcessLookupError:
            Path(self._path).unlink(missing_ok=True)
            return self.take()
        except FileNotFoundError:
            return False
        return False

    def give(self) -> None:
        Path(self._path).unlink(missing_ok=True)


LOCKS = {"gate": KernelLock, "exclusive_file": ExclusiveFile}


class Witness:
    """Shared memory: who is inside, how many were, how many died there, and how many met somebody."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 4 * 8)

    def __getitem__(self, place: int) -> int:
        return struct.unpack_from("q", self._memory, place * 8)[0]

    def __setitem__(self, place: int, value: int) -> None:
        struct.pack_into("q", self._memory, place * 8, value)


INSIDE, ENTERED, KILLED, OVERLAPS = range(4)


def lives(pid: int) -> bool:
    """Whether a process is there and not dying. A dying one lets go of its locks before it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] not in {"Z", "X"} and not int(fields[6]) & _EXITING


def enter(witness: Witness, *, die: bool) -> None:
    """What is done inside: as little as there can be, with a moment in between for somebody to break in."""
    before = witness[INSIDE]
    if before and lives(before):
        witness[OVERLAPS] += 1
    witness[INSIDE] = os.getpid()
    witness[ENTERED] += 1
    time.sleep(0)
    if witness[INSIDE] != os.getpid():
        witness[OVERLAPS] += 1
    if die:
        witness[KILLED] += 1
        os.kill(os.getpid(), signal.SIGKILL)
    witness[INSIDE] = 0


def work(kind: str, path: str, witness: Witness, acquisitions: int) -> None:
    """Until enough was done, or somebody met somebody."""
    dice = random.Random(os.getpid())
    while witness[ENTERED] < acquisitions and not witness[OVERLAPS]:
        lock = LOCKS[kind](path)
        if not lock.take():
            time.sleep(dice.random() / 1000)
            continue
        enter(witness, die=dice.random() < 0.5)
        lock.give()


def storm(kind: str, acquisitions: int) -> dict[str, int]:
    """Keep so many processes at it; who dies is replaced."""
    witness = Witness()
    with tempfile.TemporaryDirectory(prefix="fleet-storm-") as folder:
        alive: set[int] = set()
        while True:
            done = witness[ENTERED] >= acquisitions or witness[OVERLAPS]
            while len(alive) < PROCESSES and not done:
                child = os.fork()
                if child == 0:
                    try:
                        work(kind, f"{folder}/one.lock", witness, acquisitions)
                    finally:
                        os._exit(0)
                alive.add(child)
            if not alive:
                break
            alive.discard(os.wait()[0])
    return {"entered": witness[ENTERED], "killed": witness[KILLED], "overlaps": witness[OVERLAPS]}


def main() -> int:
    kind = sys.argv[2] if len(sys.argv) > 2 else "gate"
    done = storm(kind, int(sys.argv[1]))
    print(json.dumps(done))
    return 1 if done["overlaps"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""Whether an agent's process started this one, read from the environments of the parent processes (Linux)."""

from __future__ import annotations

import os

_MARKS = (b"FLEET_DISPATCH_ID=", b"FLEET_RUNNER_OF=")
_DEEPEST = 64


def marks_above(home: str) -> list[str]:
    """Return the dispatches (and jobs as `job ID`) of this home that the parent processes work for, nearest first."""
    found: list[str] = []
    place, pid = f"FLEET_HOME={home}".encode(), os.getppid()
    for _ in range(_DEEPEST):
        if pid <= 1:
            break
        told = _environment(pid)
        for mark in _MARKS if place in told else ():
            found += [_name(mark, entry) for entry in told if entry.startswith(mark) and len(entry) > len(mark)]
        pid = _parent(pid)
    return found


def _name(mark: bytes, entry: bytes) -> str:
    ident = entry[len(mark) :].decode("ascii", "replace")
    return ident if mark == _MARKS[0] else f"job {ident}"


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:  # another user's, gone, or a system without /proc
        return []


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0

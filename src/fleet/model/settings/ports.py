"""Blocks of ports: each worktree gets one of its own, so that servers that agents start do not meet."""

from __future__ import annotations

LAST_PORT = 65_535


def free_block(taken: list[tuple[int, int]], *, first: int, size: int) -> int | None:
    """Return the lowest base, counted from `first` in steps of `size`, whose block overlaps none that is taken.

    `taken` has the base and the size of each block; None when no block is left below the last port.
    """
    for base in range(first, LAST_PORT + 2 - size, size):
        if all(base + size <= other or other + length <= base for other, length in taken):
            return base
    return None

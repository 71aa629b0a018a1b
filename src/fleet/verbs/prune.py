"""Prune the archive of journals: by age, and by itself when it grows too large."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from fleet.model.times import DAY, duration

if TYPE_CHECKING:
    from fleet.verbs.ground import Ground

FOLDER = "dispatches/archive"
LARGEST = 100_000_000
DEFAULT = "90d"
_NAME = re.compile(r"[0-9a-f]{8}-(\d+)\.json")


def prune(ground: Ground, *, older_than: str | None) -> dict[str, Any]:
    """Remove journals older than an age. Their ids were given out for all time all the same."""
    before = ground.world.clock.now() - duration(older_than or DEFAULT)
    old = [
        name for name in ground.world.files.names(FOLDER) if _stamp(name) is not None and (_stamp(name) or 0) < before
    ]
    for name in old:
        ground.world.files.unlink(f"{FOLDER}/{name}")
    return {"pruned": len(old), "kept": len(ground.world.files.names(FOLDER))}


def prune_when_large(ground: Ground, *, largest: int = LARGEST) -> dict[str, Any]:
    """Keep the archive below its size, the oldest going first, but nothing of the last day."""
    folder = f"{ground.world.home}/{FOLDER}"
    sizes = {
        name: os.path.getsize(f"{folder}/{name}")
        for name in ground.world.files.names(FOLDER)
        if _stamp(name) is not None
    }
    total, gone = sum(sizes.values()), 0
    for name in sorted(sizes, key=lambda each: _stamp(each) or 0):
        if total <= largest or (_stamp(name) or 0) > ground.world.clock.now() - DAY:
            break
        ground.world.files.unlink(f"{FOLDER}/{name}")
        total -= sizes[name]
        gone += 1
    return {"pruned": gone}


def _stamp(name: str) -> int | None:
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None

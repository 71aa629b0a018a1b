"""Prune the archive of journals: by age, and by itself when it grows too large."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from fleet.model.results.home import Pruned
from fleet.model.text.times import DAY, duration
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.verbs.context import Context

MOST_BYTES = 100_000_000
DEFAULT_AGE = "90d"
_NAME = re.compile(r"[0-9a-f]{8}-(\d+)\.json")


def prune_journals(context: Context, *, older_than: str | None) -> Pruned:
    """Remove journals older than an age. Their ids were given out for all time all the same."""
    before = context.world.clock.now() - duration(older_than or DEFAULT_AGE)
    stamps = {name: _archived_at(name) for name in context.world.files.names(paths.JOURNALS)}
    old = [name for name, stamp in stamps.items() if stamp is not None and stamp < before]
    remove_journals(context, old)
    return Pruned(pruned=len(old), kept=len(context.world.files.names(paths.JOURNALS)))


def journals_over_limit(context: Context) -> list[str]:
    """The oldest journals of an archive that has grown too large, as many as have to go; but none of the last day."""
    sizes = _journal_sizes(context)
    total, found = sum(sizes.values()), []
    for name in sorted(sizes, key=lambda each: _archived_at(each) or 0):
        if total <= MOST_BYTES or (_archived_at(name) or 0) > context.world.clock.now() - DAY:
            break
        found.append(name)
        total -= sizes[name]
    return found


def remove_journals(context: Context, names: list[str]) -> None:
    """Take journals out of the archive."""
    for name in names:
        context.world.files.unlink(f"{paths.JOURNALS}/{name}")


def _journal_sizes(context: Context) -> dict[str, int]:
    """The journals that are there and how large they are; another sweep may be removing some."""
    sizes = {}
    for name in context.world.files.names(paths.JOURNALS):
        if _archived_at(name) is not None:
            with suppress(FileNotFoundError):
                sizes[name] = os.path.getsize(f"{context.world.home}/{paths.JOURNALS}/{name}")
    return sizes


def _archived_at(name: str) -> int | None:
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None

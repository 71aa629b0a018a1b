"""Prune the archive of journals: by age when asked to, and in a sweep when the archive is too large."""

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

# How large the archive may grow, and which journals are deleted when somebody prunes it without an age.
MOST_BYTES = 100_000_000
DEFAULT_AGE = "90d"
_NAME = re.compile(r"[0-9a-f]{8}-(\d+)\.json")


def prune_journals(context: Context, *, older_than: str | None) -> Pruned:
    """Delete the journals that were archived longer ago than an age (default 90 days), and return how many.

    The ids of their dispatches are never used again. Raises BadInput for a text that is no duration.
    """
    before = context.world.clock.now() - duration(older_than or DEFAULT_AGE)
    times = {name: _archived_at(name) for name in context.world.files.names(paths.JOURNALS)}
    old = [name for name, at in times.items() if at is not None and at < before]
    remove_journals(context, old)
    return Pruned(pruned=len(old), kept=len(context.world.files.names(paths.JOURNALS)))


def journals_over_limit(context: Context) -> list[str]:
    """Return the file names of the journals to delete so that the archive has at most MOST_BYTES, oldest first.

    [] when it is not larger. Journals of the last day are never among them, even if the archive stays too large.
    """
    sizes = _journal_sizes(context)
    total, surplus = sum(sizes.values()), []
    for name in sorted(sizes, key=lambda journal: _archived_at(journal) or 0):
        if total <= MOST_BYTES or (_archived_at(name) or 0) > context.world.clock.now() - DAY:
            break
        surplus.append(name)
        total -= sizes[name]
    return surplus


def remove_journals(context: Context, names: list[str]) -> None:
    """Delete journals from the archive, by file name."""
    for name in names:
        context.world.files.unlink(f"{paths.JOURNALS}/{name}")


def _journal_sizes(context: Context) -> dict[str, int]:
    """Return the size of each archived journal in bytes, without those that another sweep deletes meanwhile."""
    sizes = {}
    for name in context.world.files.names(paths.JOURNALS):
        if _archived_at(name) is not None:
            with suppress(FileNotFoundError):
                sizes[name] = os.path.getsize(f"{context.world.home}/{paths.JOURNALS}/{name}")
    return sizes


def _archived_at(name: str) -> int | None:
    """Return the time in a journal's file name, in milliseconds; None when the file is not a journal."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None

"""Describe where an engine writes how many tokens its agents use: in the files in which it keeps conversations.

An engine's file has a table [usage]: `files` (patterns with {conversation}; each line of such a file is JSON), and the
keys that lead to the `model`, to the `record` and to the numbers of tokens. Lines with the same `record` that follow
each other describe the same answer, and the last one counts; without a `record` the numbers are growing totals. For an
engine without the table the usage is unknown.
"""

from __future__ import annotations

import os

from fleet.engines.program_files import expand_path
from fleet.fast import glob
from fleet.model.text.documents.kinds import FLAG, SOME_WORDS, Key
from fleet.model.text.documents.tables import Table
from fleet.records import record


@record(frozen=True, slots=True, kw_only=True)
class Usage:
    """The table [usage] of an engine's file."""

    files: tuple[str, ...]
    model: tuple[str, ...]
    input: tuple[str, ...]
    output: tuple[str, ...]
    # Output tokens that the engine counts apart from `output`.
    thoughts: tuple[str, ...] = ()
    cache_read: tuple[str, ...] = ()
    cache_write: tuple[str, ...] = ()
    record: tuple[str, ...] = ()
    # Whether the number of input tokens contains those that were read from the cache.
    input_has_cache: bool = False


TABLE = Table(
    "[usage]",
    {
        **dict.fromkeys(("files", "model", "input", "output"), Key(SOME_WORDS, required=True)),
        **dict.fromkeys(("thoughts", "cache_read", "cache_write", "record"), Key(SOME_WORDS)),
        "input_has_cache": Key(FLAG),
    },
)


def files_of(usage: Usage, conversation: str) -> list[str]:
    """Return the existing files of a conversation and of its sub-agents: sorted paths, with symlinks resolved."""
    filled = (_fill_pattern(expand_path(pattern), conversation) for pattern in usage.files)
    return sorted({os.path.realpath(path) for pattern in filled for path in glob.glob(pattern)})


def _fill_pattern(pattern: str, conversation: str) -> str:
    """Return a file pattern with `{conversation}` replaced by an id, and `{conversation:8}` by its first 8 characters."""
    short = pattern.replace("{conversation:8}", glob.escape(conversation[:8]))
    return short.replace("{conversation}", glob.escape(conversation))

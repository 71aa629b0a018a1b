"""Decide whether a prepared tree is still prepared: what its setup command depends on."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from fleet.model.dispatch.worktree_verdict import is_disposable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def fingerprint(command: str | None, files: Mapping[str, str], patterns: Sequence[str]) -> str:
    """Return a digest of the setup command and of the contents of the files that it depends on.

    `files` has each file with a text that changes with its content; `patterns` choose those that count.
    """
    counted = sorted((name, what) for name, what in files.items() if is_disposable(name, patterns))
    text = json.dumps([command or "", counted], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]

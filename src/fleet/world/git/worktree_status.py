"""The uncommitted work of a worktree: changes, edits hidden from git by index flags, ignored files."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fleet.world.git.pointers import open_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.world.funnel import Funnel
    from fleet.world.process.programs import Done

# Which commit a repository in the tree is at counts; git does not look at its files, by a configuration that is not ours.
NOT_INTO = "--ignore-submodules=dirty"
_EVERYTHING = ("--porcelain", "-z", "--untracked-files=all", "--ignored=matching", NOT_INTO)


class Ask(Protocol):
    """Runs a git command in a worktree, with another index than its own if one is named."""

    def __call__(
        self,
        effect: str,
        path: str,
        /,
        *words: str,
        given: str | None = None,
        index: str = "",
        settings: Sequence[str] = (),
    ) -> Done:
        """Return how the command ended. `settings` are of git, for this call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Files of a worktree, by their paths in it. Folders that are ignored as a whole end with a slash."""

    # Each with the two letters of git's short status.
    changed: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]
    ignored: tuple[str, ...]


def read(ask: Ask, path: str, funnel: Funnel) -> Status | None:
    """Return the uncommitted work of a worktree; None when git does not say."""
    done, hidden = ask("status", path, *_EVERYTHING), hidden_edits(ask, path, funnel)
    if not done.ok or hidden is None:
        return None
    found = _entries(done.out)
    changed = tuple((code, name) for code, name in found if code != "!!")
    return Status(changed=changed, hidden=tuple(hidden), ignored=tuple(name for code, name in found if code == "!!"))


def hidden_edits(ask: Ask, path: str, funnel: Funnel) -> list[str] | None:
    """Return the edited files that index flags hide (assume-unchanged, skip-worktree); None when git does not say.

    A flagged file that is absent, as in a sparse checkout, is not an edit.
    """
    done = ask("ls-files", path, "-v", "-z")
    if not done.ok:
        return None
    flagged = [line[2:] for line in done.out.split("\0") if line[:1].islower() or line[:1] == "S"]
    there = [name for name in flagged if os.path.lexists(f"{path}/{name}")]
    return _differing(ask, path, there, funnel) if there else []


def _differing(ask: Ask, path: str, names: list[str], funnel: Funnel) -> list[str] | None:
    """Return the named files that were edited; None when git does not say.

    They are compared with a copy of the index in which assume-unchanged and skip-worktree are cleared.
    """
    asked = ask("rev-parse", path, "--path-format=absolute", "--git-path", "index")
    if not asked.ok:
        return None
    own = asked.out.rstrip("\n")
    copy = f"{own}.{secrets.token_hex(4)}.fleet"
    try:
        funnel.through("copy index", lambda: _copy_index(own, copy))
        if not clear_flags(ask, path, names, index=copy):
            return None
        done = ask("status", path, "--porcelain", "-z", "--untracked-files=no", NOT_INTO, index=copy)
    except OSError:
        return None
    finally:
        if os.path.lexists(copy):
            funnel.through("unlink copy of index", lambda: os.unlink(copy))
    found = {name for _code, name in _entries(done.out)}
    return [name for name in names if name in found] if done.ok else None


def _copy_index(own: str, copy: str) -> None:
    """Copy an index. A link is refused: the agent can read the copy, and the link may lead to what it cannot read."""
    with open(open_regular(own, follow=False), "rb") as given, open(copy, "xb") as made:
        shutil.copyfileobj(given, made)


def clear_flags(ask: Ask, path: str, names: list[str], *, index: str = "") -> bool:
    """Remove the index flags that hide edits of these files. Says whether that worked."""
    given = "".join(f"{name}\0" for name in names)
    flags = ("--no-assume-unchanged", "--no-skip-worktree")  # git obeys one a call
    return all(ask("update-index", path, flag, "-z", "--stdin", given=given, index=index).ok for flag in flags)


def _entries(text: str) -> list[tuple[str, str]]:
    """Return the status letters and the path of each entry of a short status; of a rename the new path."""
    parts, found = iter(text.split("\0")), []
    for part in parts:
        if part:
            found.append((part[:2], part[3:]))
        if part[:1] in {"R", "C"}:
            next(parts, None)
    return found

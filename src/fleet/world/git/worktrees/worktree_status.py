"""A worktree as git lists it, and its uncommitted work: changed files, edits hidden by index flags, and ignored files."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Protocol

from fleet.model.branches import branch_in
from fleet.records import record
from fleet.world.git.pointers import open_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.world.funnel import Funnel
    from fleet.world.process.programs import Done

# Report at which commit a nested repository is, but do not read its files with its configuration, which may run commands.
NOT_INTO = "--ignore-submodules=dirty"
# A diff in git's own form, whatever the person's settings say of colours, prefixes and programs that draw it.
PLAIN_DIFF = ("--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/")
_EVERYTHING = ("--porcelain", "-z", "--untracked-files=all", "--ignored=matching", NOT_INTO)


@record(frozen=True, slots=True, kw_only=True)
class ListedWorktree:
    """A worktree as git lists it. `branch` is None when it is on no branch, `head` its commit, "" when it has none.

    `locked` is the reason of its lock, "" for a lock without a reason, None for no lock. `prunable`: git takes it for
    gone. `bare`: git takes the repository for bare.
    """

    path: str
    branch: str | None
    head: str
    locked: str | None
    prunable: bool
    bare: bool = False


def parse_worktree(lines: list[str]) -> ListedWorktree:
    """Return a worktree from its lines in `git worktree list --porcelain`."""
    fields = dict([*line.split(" ", 1), ""][:2] for line in lines if line)
    branch = fields.get("branch")
    return ListedWorktree(
        path=fields["worktree"],
        branch=branch_in(branch) if branch else None,
        head=fields.get("HEAD", ""),
        locked=fields.get("locked"),
        prunable="prunable" in fields,
        bare="bare" in fields,
    )


class RunGit(Protocol):
    """A function that runs a git command in a worktree, with another index file if `index` is given."""

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
        """Run the git command `effect` with these words and return its result.

        `given` is the standard input, `settings` are git settings for this call.
        """


@record(frozen=True, slots=True, kw_only=True)
class TreeStatus:
    """The uncommitted and ignored files of a worktree, by their paths in it.

    `changed` has (git's two status letters, path). `hidden` are edited files that index flags hide. An ignored folder ends
    with a slash.
    """

    # Each with the two letters of git's short status.
    changed: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]
    ignored: tuple[str, ...]

    def is_dirty(self, *, but_missing: bool = False) -> bool:
        """Return whether there is uncommitted work; with `but_missing`, files that are only missing do not count."""
        return bool(self.hidden) or any(not (but_missing and code == " D") for code, _name in self.changed)

    def lines(self) -> list[str]:
        """Return the files with uncommitted work, each as a line of git's short status."""
        return [
            printable_name(f"{code} {name}") for code, name in (*self.changed, *((" M", name) for name in self.hidden))
        ]


def printable_name(name: str) -> str:
    """Return a file's name for people, with a replacement character for each byte that is not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read(ask: RunGit, path: str, funnel: Funnel) -> TreeStatus | None:
    """Return the uncommitted work and the ignored files of a worktree; None when git fails."""
    done, hidden = ask("status", path, *_EVERYTHING), hidden_edits(ask, path, funnel)
    if not done.ok or hidden is None:
        return None
    found = _entries(done.out)
    changed = tuple((code, name) for code, name in found if code != "!!")
    return TreeStatus(
        changed=changed, hidden=tuple(hidden), ignored=tuple(name for code, name in found if code == "!!")
    )


def hidden_edits(ask: RunGit, path: str, funnel: Funnel) -> list[str] | None:
    """Return the edited files that index flags hide (assume-unchanged, skip-worktree); None when git fails.

    A flagged file that is absent, as in a sparse checkout, is not an edit.
    """
    done = ask("ls-files", path, "-v", "-z")
    if not done.ok:
        return None
    flagged = [line[2:] for line in done.out.split("\0") if line[:1].islower() or line[:1] == "S"]
    there = [name for name in flagged if os.path.lexists(f"{path}/{name}")]
    return _differing(ask, path, there, funnel) if there else []


def _differing(ask: RunGit, path: str, names: list[str], funnel: Funnel) -> list[str] | None:
    """Return which of the named files were edited; None when git fails.

    They are compared with a copy of the index in which assume-unchanged and skip-worktree are cleared.
    """
    asked = ask("rev-parse", path, "--path-format=absolute", "--git-path", "index")
    if not asked.ok:
        return None
    own = asked.out.rstrip("\n")
    copy = f"{own}.{os.urandom(4).hex()}.fleet"
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
    """Copy git's index of a worktree, the file `own`, to the new file `copy`. Raise OSError when `own` is a symbolic link.

    An agent may have made such a link to a file that it cannot read itself, and it can read the copy.
    """
    with open(open_regular(own, follow=False), "rb") as given, open(copy, "xb") as made:
        shutil.copyfileobj(given, made)


def clear_flags(ask: RunGit, path: str, names: list[str], *, index: str = "") -> bool:
    """Remove the flags assume-unchanged and skip-worktree of these files in an index; return whether that worked.

    `index` is the index file to change; empty for the index of the worktree.
    """
    given = "".join(f"{name}\0" for name in names)
    flags = ("--no-assume-unchanged", "--no-skip-worktree")  # git obeys only one of them in a call
    return all(ask("update-index", path, flag, "-z", "--stdin", given=given, index=index).ok for flag in flags)


def _entries(text: str) -> list[tuple[str, str]]:
    """Return the status letters and the path of each entry of git's short status; for a rename the new path."""
    parts, found = iter(text.split("\0")), []
    for part in parts:
        if part:
            found.append((part[:2], part[3:]))
        if part[:1] in {"R", "C"}:
            next(parts, None)
    return found

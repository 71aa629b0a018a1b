"""Prepare a worktree: copy the ignored files that .worktreeinclude names, and run the project's setup command.

The same code prepares a task's worktree and the tree in which work is merged, so that verify finds what agents find.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.text import escapes
from fleet.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.world.world import World

# How many characters of a failed setup's output are shown, and how many seconds setup may take.
_REASON = 300
_SETUP_LIMIT = 3_600.0
# The name of a copy until it is complete.
_BESIDE = ".fleet-copy"


@record(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What a worktree needs before anybody works in it: copies of the user's ignored files, and a setup command."""

    # The repository of the user, and the worktree to prepare.
    repository: str
    path: str
    # The ignored files of the user's checkout to copy, by their paths in it.
    copies: tuple[str, ...]
    # The setup command, None when there is none, and the file for its output.
    setup: str | None
    log: str
    # The environment of the setup command; None: that of this process.
    env: Mapping[str, str] | None = None


def prepare(world: World, wanted: Preparation) -> None:
    """Copy the wanted files into a worktree and run its setup command; raise SetupFailed when that fails. Safe to repeat."""
    copy_files(world, wanted.repository, wanted.path, wanted.copies)
    run_setup(world, wanted)


def copy_files(world: World, repository: str, path: str, names: Iterable[str]) -> None:
    """Copy files of the user's checkout into a worktree, over those that are there.

    Left out are files that are missing in the checkout, and those for which `is_place_for_file` returns False.
    """
    for name in names:
        if is_place_for_file(path, name):
            source, target = os.path.join(repository, name), os.path.join(path, name)
            world.funnel.through("copy into worktree", lambda: _copy_file(source, target))  # noqa: B023 - called at once


def is_place_for_file(tree: str, name: str) -> bool:
    """Return whether the file `name` can safely be written or removed in a tree that an agent may have changed.

    False when a symlink or a file is where `name` needs a folder, or when a folder is at the path of the file itself.
    """
    folder, place = os.path.dirname(name), os.path.join(tree, name)
    real = os.path.join(os.path.realpath(tree), folder).rstrip("/")
    if os.path.realpath(os.path.join(tree, folder)) != real or (os.path.isdir(place) and not os.path.islink(place)):
        return False
    while not os.path.lexists(real):
        real = os.path.dirname(real)
    return os.path.isdir(real)


def run_setup(world: World, wanted: Preparation) -> None:
    """Run the setup command in a worktree, if there is one, and log its output; raise SetupFailed when it fails.

    It fails, too, when it takes longer than an hour.
    """
    if not wanted.setup:
        return
    words = ["/bin/sh", "-c", wanted.setup]
    run = world.programs.record(
        "worktree.setup", words, path=wanted.log, limit=_SETUP_LIMIT, cwd=wanted.path, env=wanted.env
    )
    if not run.ok:
        output = escapes.tail(" ".join(f"{run.out} {run.err}".split()), _REASON, more=wanted.log)
        raise errors.SetupFailed(status=run.status, output=output)


def _copy_file(source: str, target: str) -> None:
    """Copy a file or a symlink beside its target and rename it: an existing symlink is replaced, never followed."""
    folder = os.path.dirname(target)
    beside = f"{folder}/{_BESIDE}"
    os.makedirs(folder, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(beside)  # somebody was killed while copying
    try:
        with contextlib.suppress(FileNotFoundError):  # the user deleted the file meanwhile
            shutil.copy2(source, beside, follow_symlinks=False)
            os.replace(beside, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)


def is_copy(source: str, target: str) -> bool:
    """Return whether `target` looks like fleet's copy of `source`: same mode, size and modification time.

    False when one of them cannot be read.
    """
    try:
        one, other = os.lstat(source), os.lstat(target)
    except OSError:
        return False
    return (one.st_mode, one.st_size, one.st_mtime_ns) == (other.st_mode, other.st_size, other.st_mtime_ns)


def files_to_include(world: World, repository: str) -> list[str]:
    """Return the ignored files of the user's checkout that .worktreeinclude names, without nested repositories.

    [] when there is no .worktreeinclude, or when git fails.
    """
    patterns = os.path.join(repository, ".worktreeinclude")
    if not os.path.exists(patterns):
        return []
    named, ignored = (
        _ignored_files(world, repository, flag) for flag in (f"--exclude-from={patterns}", "--exclude-standard")
    )
    return sorted(named & ignored)


def _ignored_files(world: World, repository: str, flag: str) -> set[str]:
    """Return the untracked files that git ignores by the given exclude option; empty when git fails."""
    place = [f"--git-dir={repository}/.git", f"--work-tree={repository}"]
    words = ["git", *place, "ls-files", "-z", "--others", "--ignored", flag]
    listed = world.programs.run("git ls-files", words, limit=60, cwd=repository, exact=True)
    return {name for name in listed.out.split("\0") if name and not name.endswith("/")} if listed.ok else set()

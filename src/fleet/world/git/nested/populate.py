"""Check out the submodules of a new worktree that the user's checkout has.

Their commits come from repositories that the checkout or another worktree already has. The network is used only for a
commit that none of them has, with the address that the checkout uses.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

from fleet import errors
from fleet.world.git.git import error_line
from fleet.world.git.nested.submodules import WITHOUT_FILES, recorded
from fleet.world.git.refs import git_dir
from fleet.world.git.worktrees import leftovers

if TYPE_CHECKING:
    from fleet.world.git.git import Git
    from fleet.world.git.nested.submodules import Submodule
    from fleet.world.git.worktrees.worktree_status import RunGit
    from fleet.world.process.programs import Done

_LONG = 3_600.0
# Transports to allow for one call: from a path that fleet chose, or from the address of the user's checkout.
_FROM_PATH = ("protocol.allow=never", "protocol.file.allow=always")
_FROM_CHECKOUTS_ADDRESS = tuple(f"protocol.{name}.allow=always" for name in ("file", "git", "http", "https", "ssh"))


class _Level(NamedTuple):
    """A worktree or a submodule whose own submodules are to be checked out.

    `ask` runs git there, `own` is its git directory, `others` are the git directories of other checkouts of the same
    repository, the user's first.
    """

    ask: RunGit
    path: str
    own: str
    others: tuple[str, ...]


def populate(git: Git, repository: str, tree: str) -> None:
    """Check out each submodule that the user's checkout has, at the commit that the worktree records.

    Submodules of submodules are checked out, too. Only for a worktree in which nobody has worked: existing files of a
    submodule are overwritten. Safe to repeat. Raise SubmoduleMissing when a submodule cannot be checked out, GitRefused
    when git fails otherwise.
    """
    if not os.path.lexists(f"{tree}/.gitmodules"):
        return
    common, own = git_dir(repository), leftovers.entry_of(tree)
    entries = [each for each in leftovers.all_entries(common) if not os.path.samefile(each, own)]
    _populate_level(git, _Level(git.exactly, tree, own, (common, *entries)))


def _populate_level(git: Git, level: _Level) -> None:
    """Check out those submodules of a worktree or submodule that the user's checkout has, then those of each of them.

    A submodule that the checkout does not have is skipped. Raise SubmoduleMissing when one cannot be checked out.
    """
    for sub in recorded(level.ask, level.path):
        url = _git_setting(git, level.others[0], f"submodule.{sub.name}.url")
        there = tuple(place for each in level.others if os.path.isdir(place := f"{each}/modules/{sub.name}"))
        if not url or not there or not there[0].startswith(f"{level.others[0]}/"):
            continue  # the checkout does not have it
        _populate_one(git, level, sub, url, there)
        own = f"{level.own}/modules/{sub.name}"
        _populate_level(git, _Level(git.ask_foreign, f"{level.path}/{sub.path}", own, there))


def _populate_one(git: Git, level: _Level, sub: Submodule, url: str, there: tuple[str, ...]) -> None:
    """Check out one submodule, and give its remote the address that the same submodule has in the user's checkout.

    `url` is the submodule's address in the configuration of that checkout. `there` are the git directories of the same
    submodule in other checkouts, the user's first. Raise SubmoduleMissing when git fails.
    """
    own = f"{level.own}/modules/{sub.name}"
    done = _update(git, level, sub, url, there)
    if not done.ok and os.path.isdir(own):
        # A killed git leaves half a clone. Nobody has worked in it.
        git.funnel.through("discard half a submodule", lambda: shutil.rmtree(own))
        done = _update(git, level, sub, url, there)
    if not done.ok:
        raise errors.SubmoduleMissing(path=sub.path, commit=sub.commit, why=error_line(done))
    _set_git_setting(git, own, "remote.origin.url", _git_setting(git, there[0], "remote.origin.url") or url)
    if os.path.isdir(f"{level.own}/objects"):  # a submodule; a worktree shares the configuration that has the address
        _set_git_setting(git, level.own, f"submodule.{sub.name}.url", url)


def _update(git: Git, level: _Level, sub: Submodule, url: str, there: tuple[str, ...]) -> Done:
    """Clone a submodule or fetch its commit, check the commit out, and return the result of the last git command.

    The commit comes from one of the repositories `there`, on this machine; from the address `url` only if none has it.
    """
    own, source = f"{level.own}/modules/{sub.name}", _with_commit(git, there, sub.commit)
    rules = _FROM_PATH if source else _FROM_CHECKOUTS_ADDRESS
    if os.path.isdir(own) and not _with_commit(git, (own,), sub.commit):
        flags = (*WITHOUT_FILES, *(word for rule in rules for word in ("-c", rule)))
        fetch = ("fetch", "--quiet", "--no-tags", source or url, sub.commit)
        done = git.run("fetch", own, *flags, *fetch, limit=_LONG)
        if not done.ok:
            return done
    words = ("update", "--quiet", "--checkout", "--force", "--", f":(literal){sub.path}")
    settings = (*rules, f"submodule.{sub.name}.url={source or url}")
    return level.ask("submodule", level.path, *words, settings=settings)


def _with_commit(git: Git, places: tuple[str, ...], commit: str) -> str:
    """Return the first of these repositories that has the commit; empty when none has."""
    words = (*WITHOUT_FILES, "cat-file", "-e", f"{commit}^{{commit}}")
    return next((place for place in places if git.run("cat-file", place, *words).ok), "")


def _git_setting(git: Git, place: str, name: str) -> str:
    """Return a git setting of the repository at `place`; empty when it is not set."""
    return git.run("config", place, *WITHOUT_FILES, "config", "--get", name).out.strip()


def _set_git_setting(git: Git, place: str, name: str, value: str) -> None:
    """Set a git setting of the repository at `place`; raise GitRefused when that fails."""
    done = git.run("config", place, *WITHOUT_FILES, "config", name, value)
    if not done.ok:
        raise errors.GitRefused(what=f"set {name} of {place}", why=error_line(done))

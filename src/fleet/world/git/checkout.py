"""Ask git about the checkout that a path lies in: its top, its main checkout, its committer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.branches import HEADS, REFLOGS

if TYPE_CHECKING:
    from fleet.world.git.git import Git
    from fleet.world.process.programs import Programs

_LIMIT = 60.0


def main_checkout(programs: Programs, path: str) -> str:
    """Return the top of the main checkout of the repository that a path lies in.

    For a bare repository return its git directory. Raise NotARepository when the path lies in no repository, GitRefused
    when git did not run, BadText when the path of the checkout is not UTF-8.
    """
    found = _ask_git(programs, path, "--absolute-git-dir", "--git-common-dir", "--is-bare-repository")
    if found is None:
        raise errors.NotARepository(path=path)
    own, common, bare = found
    return _decoded_path(
        os.path.realpath(common if bare == "true" else _top_of_main_checkout(programs, path, own, common))
    )


def top_of(programs: Programs, path: str) -> str | None:
    """Return the top of the checkout or worktree that a path lies in; None when it lies in none.

    Raise GitRefused when git did not run.
    """
    found = _ask_git(programs, path, "--show-toplevel")
    return os.path.realpath(found[0]) if found else None


def commit_dirs(git: Git, path: str) -> tuple[str, ...]:
    """Return the directories outside the linked worktree at `path` that git writes to when somebody commits there.

    () for a main checkout, and where git finds no repository. The directory of all branches is among them, because git
    rewrites it when it packs refs; configuration and hooks are not. Raise GitRefused when git did not run.
    """
    words = ("rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir")
    done = git.run_in("rev-parse", path, *words)
    if done.status is None:
        raise errors.GitRefused(what="answer", why=done.err)
    found = done.out.splitlines() if done.ok else None
    if found is None or os.path.realpath(found[0]) == os.path.realpath(found[1]):
        return ()
    own, common = found
    places = [own, *(f"{common}/{name}" for name in ("objects", HEADS, REFLOGS, "reftable"))]
    return tuple(place for place in places if os.path.isdir(place))


def committer(git: Git, path: str) -> dict[str, str]:
    """Return the user.name and user.email of git's configuration at `path`, as variables for the environment of git.

    They are GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL, GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL. {} unless both are
    configured.
    """
    done = git.run_in("config", path, "config", "--get-regexp", r"^user\.(name|email)$")
    told = dict(line.partition(" ")[::2] for line in done.out.splitlines())
    if not (told.get("user.name") and told.get("user.email")):
        return {}
    roles = ("AUTHOR", "COMMITTER")
    return {f"GIT_{role}_{part.upper()}": told[f"user.{part}"] for role in roles for part in ("name", "email")}


def _top_of_main_checkout(programs: Programs, path: str, own: str, common: str) -> str:
    """Return the top of the main checkout of the repository that a path lies in.

    `own` is the git directory of the checkout at the path, `common` that of its repository.
    """
    # In a linked worktree, ask in the git directory of the repository. A submodule's git directory names its checkout
    # in its configuration; any other git directory lies inside its checkout.
    place = path if os.path.realpath(own) == os.path.realpath(common) else common
    found = _ask_git(programs, place, "--show-toplevel")
    return found[0] if found else os.path.dirname(common)


def _ask_git(programs: Programs, path: str, *questions: str) -> list[str] | None:
    """Return the lines that `git rev-parse` prints for `questions`; None when the path is in no repository.

    Raise GitRefused when git did not run.
    """
    asked = ["git", "-C", path, "rev-parse", "--path-format=absolute", *questions]
    done = programs.run("git rev-parse", asked, limit=_LIMIT)
    if done.status is None:
        raise errors.GitRefused(what="answer", why=done.err)
    return done.out.splitlines() if done.ok else None


def _decoded_path(path: str) -> str:
    """Return a path from git's output; raise BadText when decoding the output has replaced bytes of it that are not UTF-8."""
    if "\N{REPLACEMENT CHARACTER}" in path and not os.path.lexists(path):
        advice = "give the directory another name"
        raise errors.BadText(what=f"path {path!r}", why="is not valid UTF-8", advice=advice)
    return path

"""The branches of a project: the target that work lands on, and the integration branch that agents start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import GitRefused

if TYPE_CHECKING:
    from fleet.verbs.ground import Ground


def integration_branch(ground: Ground, project: str, repository: str) -> tuple[str, str]:
    """The project's integration branch and its commit; made from the target if it is missing."""
    name = ground.setting("integration", project)
    commit = ground.world.git.resolve(repository, f"refs/heads/{name}")
    if commit is not None:
        return name, commit
    target = target_branch(ground, project, repository)
    start = ground.world.git.resolve(repository, f"refs/heads/{target}")
    if start is None:
        raise GitRefused(what=f"find the branch {target}", why="it has no commit yet; make a first one")
    gate = ground.world.git_gate(repository)
    gate.take(wait=60)
    try:
        if ground.world.git.resolve(repository, f"refs/heads/{name}") is None:
            ground.world.git.set_branch(repository, name, new=start, old="0" * 40)
        made = ground.world.git.resolve(repository, f"refs/heads/{name}")
    finally:
        gate.give()
    if made is None:
        raise GitRefused(what=f"make the branch {name}", why="it is not there")
    return name, made


def target_branch(ground: Ground, project: str, repository: str) -> str:
    """The branch that the user lands work on."""
    told = ground.setting("target", project) or ground.world.git.head_branch(repository)
    if not told:
        raise GitRefused(what="tell the target branch", why="HEAD is detached; set target in fleet.toml")
    return str(told)


def of_task(
    ground: Ground, project: str, slug: str, repository: str, *, onto: str | None = None
) -> tuple[str, str | None, bool]:
    """The branch that a task begins at, its commit, and whether the task's own is there already; git is asked once."""
    name, mine = onto or ground.setting("integration", project), f"worker/{slug}"
    found = ground.world.git.branches(repository, name, mine)
    base = found.get(name) or integration_branch(ground, project, repository)[1]
    return name, base, mine in found

"""The interface of a kind of resource. What recovery does with a resource depends only on the class of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from fleet.records import field, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.dispatch.claim import Claim, Look
    from fleet.model.states import DispatchKind
    from fleet.world.world import World


@record(frozen=True, slots=True, kw_only=True)
class Order:
    """What the kinds need to know to create the resources of one dispatch, or of one job's runner.

    '' or None in a field: there is no such value.
    """

    dispatch: str
    project: str
    slug: str | None
    repository: str
    kind: DispatchKind = "worker"
    engine: str = ""
    # The task's branch, and whether it existed when the dispatch was planned.
    branch: str = ""
    branch_was_there: bool = True
    # The commit at which a new branch, or a merge tree, starts.
    base: str | None = None
    # The commit to merge; for an agent, the tip of its task's branch if that is known as work of the task.
    work: str = ""
    # The beginning of the mark of this project's branch; the commit at which the branch starts is appended.
    branch_mark: str = ""
    # The branch into which the work is merged.
    integration: str = ""
    prompt: str = ""
    # The variables that fleet sets for the agent.
    env: dict[str, str] = field(default_factory=dict)
    # The variables that the agent inherits from the person or process that asked for it. They may be secret.
    passed: dict[str, str] = field(default_factory=dict, repr=False)
    # The command that the session runs, its directory, and the tmux server (process identity) on which it is created.
    words: tuple[str, ...] = ()
    cwd: str = "/"
    server: str = ""
    # The job, when the order is for a job's runner and not for a dispatch.
    job: str = ""
    # Seconds that git may take to create a worktree.
    git_limit: float = 600.0
    # Creates the resources that need no other program; called while git creates the worktree. Safe to call again.
    meanwhile: Callable[[], None] | None = None


class Kind(Protocol):
    """One kind of resource outside the database, such as a worktree or a tmux session."""

    name: str
    # The class of the kind: `exclusive`, `adoptable` or `delivery`; see the table in `fleet.resources`.
    klass: str
    # Whether another program (git, tmux) creates the resource. It may outlive fleet, so it inherits the effect lock.
    by_program: bool

    def name_for(self, order: Order, world: World) -> str:
        """Return the name of the resource, unique for its kind on a host."""

    def data_for(self, order: Order, world: World) -> dict[str, Any]:
        """Return the data that `look` and `release` need; the claim stores it before the resource is created."""

    def look(self, claim: Claim, world: World) -> Look:
        """Return what is there under the claim's name. Changes nothing.

        `ours`: the claim's resource, which may be released. `absent`: nothing. `foreign`: something that is not the
        claim's. `unknown`: it could not be found out.
        """

    def acquire(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Create the resource, or complete a half-made one whose creator died. Raise FleetError or OSError on failure.

        `lock` is the descriptor of the claim's effect lock, which the program that creates the resource inherits.
        """

    def release(self, claim: Claim, world: World, lock: int) -> None:
        """Remove the resource; do nothing when it was never created.

        Raise FleetError or OSError when it cannot or may not be removed; a later sweep tries again. `lock` is the descriptor of the claim's effect lock, which the program that removes the resource inherits.
        """

"""What a kind of resource has to be able to do. What recovery does with it comes from its class alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.model.dispatch.claim import Claim, Look
    from fleet.model.states import DispatchKind
    from fleet.world.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a dispatch, or the runner of a job, needs made for it."""

    dispatch: str
    project: str
    slug: str | None
    repository: str
    kind: DispatchKind = "worker"
    engine: str = ""
    branch: str = ""
    branch_was_there: bool = True
    base: str | None = None
    # The commit that is to be merged.
    work: str = ""
    # What marks a branch as this project's; the commit that it begins at is added to it.
    branch_mark: str = ""
    integration: str = ""
    prompt: str = ""
    env: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    cwd: str = "/"
    server: str = ""
    # The job whose runner asks, when it is not for a dispatch.
    job: str = ""
    git_limit: float = 600.0
    # What else is to be made, and can be while another program is at work. Safe to call again.
    meanwhile: Callable[[], None] | None = None


class Kind(Protocol):
    """One kind of resource."""

    name: str
    klass: str
    # Whether another program makes it, which may outlive us: then it inherits the effect's lock.
    by_program: bool

    def name_for(self, order: Order, world: World) -> str:
        """What the thing is called; unique for its kind on a host."""

    def data_for(self, order: Order, world: World) -> dict[str, Any]:
        """What look and release need to know, written down with the intent."""

    def look(self, claim: Claim, world: World) -> Look:
        """Ours, absent, foreign or unknown. Changes nothing."""

    def acquire(self, claim: Claim, order: Order, world: World, lock: int) -> None:
        """Make it, or complete what a dead creator left half-made."""

    def release(self, claim: Claim, world: World, lock: int) -> None:
        """Make it not ours. Safe when it was never made."""

"""The warm tree of a project: the merge worktree that is prepared once and kept between merges.

The callers of this module hold the project's merge gate. A process that is killed leaves the claim, and the tree as it
was; the next merge resets the tree by git, or makes it anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.dispatch.claim import Claim
from fleet.model.identity import Identity
from fleet.model.text import jsontext
from fleet.records import record, replace
from fleet.resources import KINDS
from fleet.store import bundles
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import create_and_record, release
from fleet.verbs.homes.ownership import is_own

if TYPE_CHECKING:
    from fleet.resources.kind import Order
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

_KIND = "warm_tree"


@record(frozen=True, slots=True, kw_only=True)
class TakenWarmTree:
    """The warm tree that a merge uses. `used`: earlier merges have run in it, so that it may contain their files."""

    claim: Claim
    used: bool

    @property
    def prepared(self) -> str:
        """The fingerprint of the setup that was run in the merge tree; "" when no setup was completed."""
        return str(self.claim.data.get("prepared", ""))

    @property
    def copied(self) -> list[str]:
        """The files copied into the merge tree."""
        return list(self.claim.data.get("copied", []))

    @property
    def made(self) -> list[str]:
        """The files that the setup command made in the merge tree and git does not ignore."""
        return list(self.claim.data.get("made", []))


def take_warm_tree(context: Context, order: Order) -> TakenWarmTree | None:
    """Return the project's warm merge tree; make it if there is none, or if the one there is cannot be used.

    None when another finisher may still use it, or when an unusable tree could not be removed.
    """
    if _may_be_in_use(context, order.project):
        return None
    held = [claim for claim in _warm_tree_claims(context, order.project) if is_own(context, claim)]
    usable = [claim for claim in held if _is_warm_tree_usable(context, claim)]
    for claim in (claim for claim in held if claim not in usable):
        if release(context, claim):
            return None
    return TakenWarmTree(claim=usable[0], used=True) if usable else _make_warm_tree(context, order)


def renew_warm_tree(context: Context, order: Order, warm: TakenWarmTree) -> TakenWarmTree | None:
    """Remove the warm merge tree and make a new one. None when the old one could not be removed."""
    return None if release(context, warm.claim) else _make_warm_tree(context, order)


def note_preparation(
    context: Context, warm: TakenWarmTree, *, prepared: str, copied: list[str], made: list[str]
) -> TakenWarmTree:
    """Record how the warm merge tree is prepared, and return the tree with that data.

    `prepared` is the fingerprint of its setup, '' while setup has not been completed. `copied` are the files that were
    copied into it, `made` the files that setup made.
    """
    data = {**warm.claim.data, "prepared": prepared, "copied": copied, "made": made}

    def work(tx: Tx) -> None:
        tx.about(warm.claim.project or "")
        q.set_claim_data(tx, id=warm.claim.id, data=jsontext.dumps(data), at=tx.at)
        tx.note(claim=str(warm.claim), prepared=prepared)

    context.commit(Change(f"{warm.claim} is {'prepared' if prepared else 'being prepared'}", work))
    return replace(warm, claim=replace(warm.claim, data=data))


def release_warm_tree(context: Context, project: str) -> list[str]:
    """Release the warm merge tree that this home made for a project. Returns why something could not be released.

    Another home's tree stays: that home's sweep releases it when the project is gone.
    """
    own = [claim for claim in _warm_tree_claims(context, project) if is_own(context, claim)]
    left: list[str] = [why for why in (release(context, claim) for claim in own) if why]

    def work(tx: Tx) -> None:
        tx.about(project)
        tx.note(forgotten=q.forget_released_of_project(tx, project=project))

    context.commit(Change(f"forget the released trees of {project}", work))
    return left


def _make_warm_tree(context: Context, order: Order) -> TakenWarmTree:
    """Create the project's warm merge tree, checked out at the order's base. Setup has not run in it yet."""
    kind = KINDS[_KIND]
    claim = Claim(
        id=context.world.ids.key(),
        kind=_KIND,
        name=kind.name_for(order, context.world),
        host=context.world.host.id,
        home=context.world.record.id,
        project=order.project,
        actor=str(context.world.processes.me()),
        data=kind.data_for(order, context.world),
    )

    def work(tx: Tx) -> None:
        tx.about(order.project)
        q.forget_released_of_project(tx, project=order.project)
        bundles.add_claim(tx, claim)
        tx.note(claim=str(claim))

    context.commit(Change(f"make the warm tree of {order.project}", work))
    create_and_record(context, [claim], order)
    return TakenWarmTree(claim=replace(claim, state="live"), used=False)


def _warm_tree_claims(context: Context, project: str) -> list[Claim]:
    """Return the unreleased claims on warm merge trees of a project."""
    rows = context.store.read(lambda snapshot: q.claims_of_project(snapshot, project=project))
    return [claim for claim in map(Claim.of, rows) if claim.kind == _KIND]


def _is_warm_tree_usable(context: Context, claim: Claim) -> bool:
    """Return whether the claim on a warm merge tree is live and the tree exists and is fleet's."""
    return claim.is_live and KINDS[_KIND].look(claim, context.world) == "ours"


def _may_be_in_use(context: Context, project: str) -> bool:
    """Return whether the verify command of another finisher of this home may still run in the warm tree.

    The caller holds the merge gate, so a finisher that lives is the caller's. One that is dead and not settled, or
    whose life is unknown, may have left its command running.
    """
    rows = context.store.read(lambda snapshot: q.listed_dispatches(snapshot, project=project, ended=0))
    finishers = [row for row in rows if row.kind == "finisher" and is_own(context, row)]
    return any(context.world.processes.life(Identity.parse(row.process or "")) != "alive" for row in finishers)

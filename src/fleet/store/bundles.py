"""Bundles in the store: a task's worktree and worker directory, with one owner, handed from dispatch to dispatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.claim_steps import STEPS
from fleet.model.dispatch.steps import is_unfinished
from fleet.model.tables import change
from fleet.model.text import jsontext
from fleet.records import record
from fleet.store import queries as q

if TYPE_CHECKING:
    from fleet.store.queries import Claim as ClaimRow
    from fleet.store.transaction import Rows, Tx

_LAST_PORT = 65_535


@record(frozen=True, slots=True, kw_only=True)
class SeenResource:
    """What was observed of the resource of a bundle's claim before the transaction.

    `free`: no process creates or releases it now. `look`: whether it is ours, absent, foreign or unknown.
    """

    free: bool
    look: str


def claims_of_bundle(rows: Rows, project: str, slug: str) -> list[Claim]:
    """Return the unreleased claims of a task's bundle."""
    return [Claim.of(row) for row in q.claims_of_bundle(rows, project=project, slug=slug)]


def own_bundle(tx: Tx, *, project: str, slug: str, host: str, dispatch: str, kind: str) -> None:
    """Make a dispatch the owner of a task's bundle, and record that; the bundle's row is added if there is none.

    `kind` is the kind of the dispatch. Raise BundleHeld while the dispatch that owns the bundle now is unfinished.
    """
    bundle = q.bundle_of(tx, project=project, slug=slug)
    if bundle is None:
        q.add_bundle(tx, project=project, slug=slug, host=host, owner=dispatch)
        generation = 1
    else:
        owner, generation = bundle.owner, bundle.generation + 1
        _refuse_live_owner(tx, owner, project, slug)
        q.adopt_bundle(
            tx, project=project, slug=slug, owner=dispatch, host=host, was=owner, generation=bundle.generation
        )
        q.end_adoption(tx, project=project, slug=slug, dispatch=owner, at=tx.at)
    q.add_adoption(tx, project=project, slug=slug, generation=generation, dispatch=dispatch, kind=kind, at=tx.at)


def _refuse_live_owner(tx: Tx, owner: str, project: str, slug: str) -> None:
    """Raise BundleHeld when the dispatch that owns a bundle is unfinished."""
    row = q.dispatch_by_id(tx, id=owner)
    if row is not None and is_unfinished(row):
        raise errors.BundleHeld(project=project, slug=slug, holder=owner)


def _describe_place(tx: Tx, claim: Claim) -> str:
    """Return the home and host of a claim as text, by path and name where they are known."""
    home, on_host = q.home_by_id(tx, id=claim.home or ""), q.home_on_host(tx, host=claim.host)
    where = f"{on_host.name} (host {claim.host})" if on_host is not None else f"host {claim.host}"
    if claim.home is None:
        return where
    return f"home {home.path if home is not None else claim.home} on {where}"


def adopt(tx: Tx, wanted: Claim, existing: Claim | None, seen: SeenResource | None) -> Claim | None:
    """Give one claim of a bundle to the bundle's new owner.

    `wanted` is the claim that the new owner needs, `existing` the one that is recorded (None: none), `seen` what was
    observed of its resource (None only without `existing`). Return the claim whose resource still has to be created;
    None when the resource exists. Raise OtherHost when the existing claim belongs to another home or host; BundleHeld
    while another process works on it, or when its resource can neither be taken over nor is proven absent.
    """
    if existing is None:
        return _insert_claim(tx, wanted)
    if existing.host != wanted.host or existing.home not in {None, wanted.home}:
        had = q.adoptions_of(tx, project=existing.project or "", slug=existing.slug or "")
        owner = had[-2].dispatch if len(had) > 1 else ""
        raise errors.OtherHost(
            what=str(existing),
            made=_describe_place(tx, existing),
            here=_describe_place(tx, wanted),
            dispatch=owner,
        )
    assert seen is not None  # noqa: S101 - whatever is there was looked at
    if existing.is_live and seen.look == "ours":
        return None
    if existing.is_live:
        # somebody removed the resource: create it again
        q.step_claim(tx, id=existing.id, **change(STEPS, "live", "found_gone"), at=tx.at)
        return _insert_claim(tx, wanted)
    if not seen.free:
        raise errors.BundleHeld(project=wanted.project, slug=wanted.slug, holder=existing.actor_text)
    if existing.state == "allocating":
        data = jsontext.dumps(existing.data)
        stepped = change(STEPS, "allocating", "retaken")
        q.retake_claim(tx, id=existing.id, actor=wanted.actor, was=existing.actor, data=data, at=tx.at, **stepped)
        return existing
    if existing.is_leaving and seen.look == "ours":
        q.step_claim(tx, id=existing.id, **change(STEPS, existing.state, "taken_over"), at=tx.at)
        return None
    return _replace_claim(tx, wanted, existing, seen)


def give_ports(tx: Tx, *, project: str, slug: str, first: int, size: int) -> None:
    """Give a task's worktree a block of ports that no other worktree on this host has.

    `first` is the lowest port to use, `size` the number of ports in a block. Do nothing if the worktree has a block.
    Blocks of released worktrees are free again. Raise NoPortsLeft when no block is left.
    """
    if q.ports_of_bundle(tx, project=project, slug=slug) is not None:
        return
    q.free_ports(tx)
    for claim in claims_of_bundle(tx, project, slug):
        if claim.kind == "worktree":
            taken = [(row.base, row.size) for row in q.taken_ports(tx, host=claim.host)]
            base = _free_port_block(taken, first=first, size=size)
            if base is None:
                raise errors.NoPortsLeft(size=size, first=first, taken=len(taken))
            q.add_ports(tx, claim=claim.id, host=claim.host, base=base, size=size)


def _free_port_block(taken: list[tuple[int, int]], *, first: int, size: int) -> int | None:
    """Return the first port of the lowest free block; None when no block is left.

    Blocks are counted from `first` in steps of `size`. `taken` has (first port, size) of each block that a worktree has.
    """
    for base in range(first, _LAST_PORT + 2 - size, size):
        if all(base + size <= other or other + length <= base for other, length in taken):
            return base
    return None


def port_variables(rows: Rows, project: str, slug: str | None) -> dict[str, str]:
    """Return the environment variables that tell an agent its worktree's ports.

    {} when the worktree has no ports, and when `slug` is None, as for a coordinator.
    """
    block = q.ports_of_bundle(rows, project=project, slug=slug) if slug else None
    return {"FLEET_PORT_BASE": str(block.base), "FLEET_PORT_COUNT": str(block.size)} if block else {}


def _replace_claim(tx: Tx, wanted: Claim, existing: Claim, seen: SeenResource) -> Claim:
    """Close the claim `existing`, whose resource is gone; record the claim `wanted` instead, and return it.

    Raise BundleHeld when the resource was not seen to be absent.
    """
    if seen.look != "absent":
        raise errors.BundleHeld(
            project=wanted.project, slug=wanted.slug, holder=f"{existing} ({existing.state}, {seen.look})"
        )
    event = "found_absent" if existing.state == "failed_alloc" else "gone"
    q.step_claim(tx, id=existing.id, **change(STEPS, existing.state, event), at=tx.at)
    return _insert_claim(tx, wanted)


def _insert_claim(tx: Tx, wanted: Claim) -> Claim:
    """Record a claim and return it."""
    add_claim(tx, wanted)
    return wanted


def add_claim(tx: Tx, claim: Claim) -> None:
    """Record the claim on a resource that is about to be created; raise ThingHeld, with the holder, when it is claimed already."""
    made = q.add_claim(
        tx,
        id=claim.id,
        dispatch=claim.dispatch,
        project=claim.project,
        slug=claim.slug,
        job=claim.job,
        host=claim.host,
        home=claim.home,
        kind=claim.kind,
        name=claim.name,
        actor=claim.actor,
        effect_lock=claim.id,
        data=jsontext.dumps(claim.data),
        at=tx.at,
    )
    if not made:
        held = q.held_claim(tx, host=claim.host, kind=claim.kind, name=claim.name)
        raise errors.ThingHeld(thing=str(claim), holder=_holder_text(held) if held else "someone")


def _holder_text(held: ClaimRow) -> str:
    """Return who holds a claim, as text: a dispatch, a job or a process; "someone" when none is recorded."""
    return held.dispatch or (f"job {held.job}" if held.job else held.actor or "someone")

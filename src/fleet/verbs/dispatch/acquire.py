"""Acquire and release the resource of a claim, each in three steps: record the intent, act, record the result.

While a program such as git or tmux creates or removes the resource, fleet and that program hold the claim's effect
lock. Recovery acts on the claim only when its actor is dead and this lock is free. A resource that fleet creates
without another program needs no lock: when the process dies, the creation has ended too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from fleet import errors
from fleet.model.dispatch import claim_steps as life
from fleet.model.dispatch.claim import Claim
from fleet.model.tables import change
from fleet.model.text import jsontext
from fleet.model.text.times import HOUR
from fleet.records import replace
from fleet.resources import KINDS
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.homes.ownership import refuse_foreign

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from fleet.model.dispatch.claim import Look
    from fleet.resources.kind import Kind, Order
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

# How many failed releases within an hour set a claim to `releasing_blocked`.
TRIES = 3
# The key, in a claim's data, of the times of its last failed releases.
_FAILED = "failed"
# Given to a kind in place of a lock's descriptor when fleet creates the resource without another program.
NO_LOCK = -1
# Seconds to wait for another process that releases the resource, and between two looks.
_PATIENCE = 5.0
_LOOK_AGAIN = 0.02
# busy: another process works on the resource. not_ours: it is foreign, or unknown. failed: removing it failed.
KeptCause = Literal["busy", "not_ours", "failed"]


class WhyNotReleased(str):
    """The text that says why a resource is not released; '' when it is released.

    `cause` says which kind of reason it is, for callers that treat the kinds differently; None when it is released.
    """

    __slots__ = ("cause",)
    cause: KeptCause | None

    def __new__(cls, words: str = "", cause: KeptCause | None = None) -> Self:
        """Make the text `words` with its `cause`."""
        made = super().__new__(cls, words)
        made.cause = cause
        return made


RELEASED = WhyNotReleased()


def intent(context: Context, kind: Kind, order: Order) -> Claim:
    """Return a new claim for the resource that `order` needs of this kind.

    The caller records the claim in the store before it creates the resource.
    """
    bundled = kind.klass == "adoptable"
    of_dispatch = not bundled and not order.job
    return Claim(
        id=context.world.ids.key(),
        kind=kind.name,
        name=kind.name_for(order, context.world),
        host=context.world.host.id,
        home=context.world.record.id,
        dispatch=order.dispatch if of_dispatch else None,
        project=None if of_dispatch else order.project,
        slug=order.slug if bundled else None,
        job=order.job or None,
        actor=str(context.world.processes.me()),
        data=kind.data_for(order, context.world),
    )


def create_and_record(context: Context, claims: list[Claim], order: Order, made_before: Sequence[Claim] = ()) -> None:
    """Create the resources of claims that are recorded already, then record in one transaction that they exist.

    `made_before` are claims whose resources exist already; the same transaction records them. Raises the error of a
    resource that cannot be created.
    """
    made = [*made_before, *create_resources(context, claims, order, made_before)]
    if made:
        context.commit(step_claims([(claim, "made") for claim in made]))


def create_resources(
    context: Context, claims: list[Claim], order: Order, made_before: Sequence[Claim] = ()
) -> list[Claim]:
    """Create the resources of the claims, and return these claims; the caller then records them as made.

    On failure, record as made the claims whose resources exist, those of `made_before` too, and raise the error. To save
    time, resources that fleet creates by itself are created while a program such as git runs.
    """
    ours = [claim for claim in claims if not KINDS[claim.kind].by_program]
    made: list[Claim] = []

    def make_ours() -> None:
        """Create the resources that need no other program."""
        while ours:
            _create_resource(context, ours[0], order)
            made.append(ours.pop(0))

    try:
        for claim in claims:
            if KINDS[claim.kind].by_program:
                _create_resource(context, claim, replace(order, meanwhile=make_ours))
                made.append(claim)
        make_ours()
    except (errors.FleetError, OSError):
        steps = [(claim, "made" if claim in made else "not_made") for claim in claims]
        context.commit(step_claims([*((claim, "made") for claim in made_before), *steps]))
        raise
    return made


def _create_resource(context: Context, claim: Claim, order: Order) -> None:
    """Create the resource of one claim, under its effect lock if another program creates it.

    Raises Contested when another process holds the lock.
    """
    kind, lock = KINDS[claim.kind], context.world.effect_lock(claim.id)
    try:
        kind.acquire(claim, order, context.world, lock.take() if kind.by_program else NO_LOCK)
    except BlockingIOError:
        raise errors.Contested(what=f"{claim}: another process is creating it; try again") from None
    finally:
        lock.give()


def is_free(context: Context, claim: Claim) -> bool:
    """Return whether no other process works on the claim's resource.

    True when the process that recorded the claim is dead or is this one, and the claim's effect lock is free.
    """
    who = claim.who
    mine = who == context.world.processes.me()
    dead = who is None or context.world.processes.life(who) == "dead"
    return (mine or dead) and context.world.effect_lock(claim.id).is_free()


def release(context: Context, claim: Claim) -> WhyNotReleased:
    """Release the resource of a claim, whatever state the claim is in. Return "", or why the resource is not released.

    "" also when the claim has been handed over to another dispatch meanwhile. While another process releases the
    resource, wait a few seconds for it; then that is the reason. Raise OtherHost for a claim of another host or home.
    """
    until = context.world.clock.ticks() + _PATIENCE
    while True:
        why = _try_release(context, claim)
        if why is not None:
            return why
        if context.world.clock.ticks() >= until:
            return WhyNotReleased(f"{claim}: another process is releasing it", "busy")
        context.world.clock.wait(_LOOK_AGAIN)
        row = context.store.read(lambda rows: q.claim_by_id(rows, id=claim.id))  # noqa: B023 - read at once
        if row is None or row.dispatch != claim.dispatch:
            return RELEASED  # or handed over to another dispatch
        claim = replace(Claim.of(row), data=claim.data | json.loads(row.data))


def _try_release(context: Context, claim: Claim) -> WhyNotReleased | None:
    """Try once to release a claim. Returns RELEASED, or why it is not released; None when the caller has to try again.

    None: another process works on the resource at this moment, or has just changed the claim.
    """
    refuse_foreign(context, str(claim), claim)
    if claim.is_released:
        return RELEASED
    if claim.kind not in KINDS:
        return WhyNotReleased(f"{claim}: unknown kind, left alone", "not_ours")
    if not claim.is_live and not is_free(context, claim):
        now = context.world.processes.life(claim.who)
        who = f"what {claim.actor_text} started" if now == "dead" else claim.actor_text
        works = "may still work on it" if now == "unknown" else "still works on it"
        return (
            None if claim.state == "releasing" and now == "alive" else WhyNotReleased(f"{claim}: {who} {works}", "busy")
        )
    return _release_by_look(context, claim, KINDS[claim.kind].look(claim, context.world))


def _release_by_look(context: Context, claim: Claim, look: Look) -> WhyNotReleased | None:
    """Release a claim according to the look of its resource (ours, absent, foreign or unknown).

    Returns RELEASED, or why it is not released; None when the caller has to try again, because another process works on
    the resource or has just changed the claim.
    """
    if look in {"unknown", "foreign"}:
        return WhyNotReleased(f"{claim}: {look}, left alone", "not_ours")
    if claim.is_unmade:
        return _release_unmade(context, claim)
    return _record_gone(context, claim) if look == "absent" else _remove(context, claim)


def _release_unmade(context: Context, claim: Claim) -> WhyNotReleased | None:
    """Remove a resource whose creation was not completed. Returns RELEASED, or why it is not released.

    Returns None when another process has completed the creation meanwhile, or holds the effect lock.
    """
    if claim.state == "allocating" and not context.commit(step_claim(claim, "not_made")):
        return None
    return _undo_half_made(context, replace(claim, state="failed_alloc"))


def _undo_half_made(context: Context, claim: Claim) -> WhyNotReleased | None:
    """Remove the remains of a failed creation. Returns RELEASED, or why it is not released.

    Returns None when another process holds the effect lock.
    """
    lock = context.world.effect_lock(claim.id)
    try:
        handle = lock.take()
    except BlockingIOError:
        return None
    try:
        row = context.store.read(lambda rows: q.claim_by_id(rows, id=claim.id))
        if row is None or row.state != "failed_alloc":
            return RELEASED  # another process was faster; the resource may already belong to a new claim
        KINDS[claim.kind].release(claim, context.world, handle)
        context.world.forget_effect_lock(claim.id)
        context.commit(step_claim(claim, "found_absent"))
    except (errors.FleetError, OSError) as error:
        return WhyNotReleased(f"{claim}: {error}", "failed")
    finally:
        lock.give()
    return RELEASED


def _record_gone(context: Context, claim: Claim) -> WhyNotReleased:
    """Record that the resource of a claim no longer exists; return RELEASED."""
    context.world.forget_effect_lock(claim.id)
    context.commit(step_claim(claim, "found_gone" if claim.is_live else "gone"))
    return RELEASED


def _remove(context: Context, claim: Claim) -> WhyNotReleased | None:
    """Record the intent to release a claim, remove its resource, record the result.

    Returns RELEASED, or why the resource is not released; None when another process is removing it or has just changed
    the claim.
    """
    lock = context.world.effect_lock(claim.id)
    try:
        handle = lock.take()
    except BlockingIOError:
        return None
    if not context.commit(_begin_release(context, claim)):
        context.world.forget_effect_lock(claim.id)
        lock.give()
        return None
    try:
        KINDS[claim.kind].release(claim, context.world, handle)
    except (errors.FleetError, OSError) as error:
        lock.give()
        context.commit(_record_failed_release(replace(claim, state="releasing")))
        return WhyNotReleased(f"{claim}: {error}", "failed")
    lock.give()
    context.world.forget_effect_lock(claim.id)
    context.commit(step_claim(replace(claim, state="releasing"), "gone"))
    return RELEASED


def step_claim(claim: Claim, event: str) -> Change[int]:
    """Return the change that moves a claim to its next state, by an event of the table `claim_steps.STEPS`.

    Committing it returns 1, or 0 if another process moved the claim first.
    """
    return step_claims([(claim, event)])


def step_claims(steps: list[tuple[Claim, str]]) -> Change[int]:
    """Return the change that moves several claims, each by the event beside it.

    Committing it returns how many claims it moved. A claim that another process moved first stays as it is.
    """

    def work(tx: Tx) -> int:
        moved = 0
        for claim, event in steps:
            _set_subject(tx, claim)
            take_step = q.fail_making if event == "not_made" else q.step_claim
            moved += take_step(tx, id=claim.id, **change(life.STEPS, claim.state, event), at=tx.at)
        tx.note(claims=[f"{claim}: {claim.state} to {life.STEPS[claim.state, event]}" for claim, event in steps])
        return moved

    return Change("; ".join(f"{claim}: {event}" for claim, event in steps), work)


def _begin_release(context: Context, claim: Claim) -> Change[int]:
    """Return the change that records the intent to release a claim.

    Committing it returns 1, or 0 when another process changed the claim first.
    """
    me = str(context.world.processes.me())
    stepped = change(life.STEPS, claim.state, "let_go")

    def work(tx: Tx) -> int:
        _set_subject(tx, claim)
        tx.note(claim=str(claim), was=claim.state, now=stepped["after"])
        owner = claim.dispatch or ""
        return q.let_go_claim(tx, id=claim.id, **stepped, was=claim.actor, owner=owner, actor=me, at=tx.at)

    return Change(f"let go of {claim}", work)


def _record_failed_release(claim: Claim) -> Change[int]:
    """Return the change that records a failed release of a claim.

    The third failure within an hour sets the claim to `releasing_blocked`.
    """

    def work(tx: Tx) -> int:
        _set_subject(tx, claim)
        row = q.claim_by_id(tx, id=claim.id)
        kept = json.loads(row.data) if row else {}
        recent = [at for at in kept.get(_FAILED, []) if tx.at - at < HOUR]
        stuck = len(recent) + 1 >= TRIES
        stepped = change(life.STEPS, claim.state, "stuck" if stuck else "not_gone")
        tx.note(claim=str(claim), now=stepped["after"], failures=claim.failures + 1)
        q.set_claim_data(tx, id=claim.id, data=jsontext.dumps({**kept, _FAILED: [*recent, tx.at][-TRIES:]}), at=tx.at)
        return q.fail_release(tx, id=claim.id, **stepped, at=tx.at)

    return Change(f"{claim}: could not be released", work)


def _set_subject(tx: Tx, claim: Claim) -> None:
    """Set the project, task and dispatch of the transaction's operation to those of the claim."""
    if claim.project:
        tx.about(claim.project, claim.slug)
    tx.dispatch = claim.dispatch or tx.dispatch

"""Acquire, release and rewrite the prompt file (inbox) of a dispatch, for programs that call fleet.

Each call returns one outcome. A rewrite moves the inbox to a new owner in three steps: commit the intent (owner and
content), replace the file, commit the fact. After the intent, a release by the old owner does nothing. A rewrite that
is killed at any point is finished from the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import names
from fleet.model.dispatch import claim_steps as life
from fleet.model.dispatch.claim import Claim
from fleet.model.dispatch.row_claims import AGENT_RECORD, look_at_record, look_at_seat
from fleet.model.dispatch.steps import KINDS as DISPATCH_KINDS
from fleet.model.dispatch.steps import is_unfinished, owner
from fleet.model.results.dispatches import PromptOutcome
from fleet.model.states import assert_never
from fleet.model.tables import change
from fleet.model.text import jsontext
from fleet.records import record, replace
from fleet.resources import DERIVED_KINDS, KINDS, ROW_KINDS, class_of
from fleet.resources.kind import Order
from fleet.store import bundles, seats
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import create_and_record, intent, is_free, release
from fleet.verbs.dispatch.journal import dispatch_or_none
from fleet.verbs.homes.ownership import host_named, is_own, note_home, refuse_foreign, this_home
from fleet.world.home import paths

if TYPE_CHECKING:
    from fleet.model.states import DispatchKind, PromptResult
    from fleet.store.transaction import Rows, Tx
    from fleet.verbs.context import Context
    from fleet.verbs.dispatch.acquire import WhyNotReleased

# How many seconds to wait for another process that works on an inbox.
_PATIENCE = 5.0
# The kind of the claim on a prompt file.
KIND = "coord_prompt_inbox"
RESUME_KIND = "handoff_resume_inbox"  # the same file, once it was rewritten for a new owner


@record(frozen=True, slots=True, kw_only=True)
class WantedPrompt:
    """The prompt that a program wants to acquire: its owner and kind.

    `preserve`: when the prompt is released, move its file to inbox/archive instead of deleting it. `host_id` and
    `tmux_socket`: the host and the socket that the caller expects this home to have; None when it expects none.
    """

    owner: str  # project/P/slug/S, coord/P, or only the task's slug with `project`
    project: str | None = None
    kind: str | None = None
    preserve: bool = False
    host_id: str | None = None
    tmux_socket: str | None = None


def acquire_prompt(context: Context, ident: str, content: str, wanted: WantedPrompt) -> PromptOutcome:
    """Write the prompt file of a dispatch and record its claim; add a pending dispatch when the id is new.

    Returns the outcome "acquired", or "already_acquired" when the dispatch has its prompt file: then nothing is
    written. Raises BadInput when the owner or kind does not fit, NotOwned when the dispatch has another owner,
    Superseded when it has ended, OtherHost when another home made it, MeantElsewhere when the caller expects another
    host or tmux socket, BundleHeld when another dispatch has the task, Absent when there is no such task.
    """
    names.DispatchId(ident)
    _refuse_other_home(context, ident, host=wanted.host_id, socket=wanted.tmux_socket)
    project, slug = _parse_owner(wanted)
    kind = _parse_kind(wanted.kind, slug)
    _refuse_another_owner(context, ident, owner(project=project, slug=slug))
    _refuse_another_kind(context, ident, wanted.kind)
    held = _inbox_of(context, ident)
    if held is not None and held.is_live:
        return _prompt_outcome("already_acquired", ident, context, held)
    context.world.files.refuse_blocked(paths.INBOX)
    order = Order(dispatch=ident, kind=kind, project=project, slug=slug,
                  repository=context.project(project).path, prompt=content)  # fmt: skip
    claim = intent(context, KINDS[KIND], order)
    claim.data["preserve"] = wanted.preserve
    if held is not None and held.state == "allocating" and is_free(context, held):
        claim = _retake_claim(context, held, claim)  # its maker was killed
    else:
        context.commit(_record_intent(context, kind, order, claim))
    create_and_record(context, [claim], order)
    return _prompt_outcome("acquired", ident, context, claim)


def _refuse_another_owner(context: Context, ident: str, wanted: str) -> None:
    """Raise NotOwned when the dispatch exists and its owner is not `wanted`."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is not None and row.owner != wanted:
        raise errors.NotOwned(what=f"dispatch {ident}", owner=row.owner)


def _refuse_another_kind(context: Context, ident: str, wanted: str | None) -> None:
    """Raise BadInput when the dispatch exists and is not of the wanted kind; with None, every kind is right."""
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is not None and wanted is not None and row.kind != wanted:
        raise errors.BadInput(what=f"--kind {wanted} contradicts dispatch {ident}, whose kind is {row.kind}")


def _record_intent(context: Context, kind: DispatchKind, order: Order, claim: Claim) -> Change[None]:
    """Return the change that records a prompt's claim before its file is written, and adds the dispatch if it is new."""
    # The calling program will start the agent: its death, not ours, proves that the agent will never start.
    program = str(context.world.processes.caller())

    def work(tx: Tx) -> None:
        tx.about(order.project, order.slug)
        tx.dispatch = order.dispatch
        row = q.dispatch_by_id(tx, id=order.dispatch)
        if row is None:
            _add_pending_dispatch(tx, context, kind, order, program)
        elif not is_unfinished(row):
            raise errors.Superseded(who=f"dispatch {order.dispatch}", project=order.project, slug=order.slug or "",
                             now=f"it is {row.exec_state}")  # fmt: skip
        bundles.add_claim(tx, claim)

    return Change(f"intend the prompt of {order.dispatch}", work, order.prompt)


def _retake_claim(context: Context, held: Claim, wanted: Claim) -> Claim:
    """Take over the claim `held` on a prompt whose maker was killed before it wrote the file; return the changed claim.

    The claim gets the actor and the data of `wanted`. Raises Contested when another process took it over first.
    """

    def work(tx: Tx) -> None:
        tx.dispatch = held.dispatch
        data = jsontext.dumps(wanted.data)
        stepped = change(life.STEPS, held.state, "retaken")
        if not q.retake_claim(tx, id=held.id, actor=wanted.actor, was=held.actor, data=data, at=tx.at, **stepped):
            raise errors.Contested(what=f"{held}: another process works on it; try again")

    context.commit(Change(f"take up the prompt of {held.dispatch}", work))
    return replace(held, actor=wanted.actor, data=wanted.data)


def _add_pending_dispatch(tx: Tx, context: Context, kind: DispatchKind, order: Order, spawner: str) -> None:
    """Add a pending dispatch for an agent that another program starts. `spawner` is that program's process, as text.

    Raises Absent for a missing task, Superseded for an id that was used before, BundleHeld for a task that another
    dispatch holds.
    """
    if order.slug is not None and q.task_exists(tx, project=order.project, slug=order.slug) is None:
        raise errors.Absent(what=f"task {order.project}/{order.slug}")
    if not q.reserve_id(tx, id=order.dispatch, at=tx.at):
        raise errors.Superseded(who=f"dispatch {order.dispatch}", project=order.project, slug=order.slug or "",
                         now="its id was used before")  # fmt: skip
    note_home(tx, context.world)
    if not q.add_dispatch(
        tx,
        id=order.dispatch,
        kind=kind,
        project=order.project,
        slug=order.slug,
        owner=owner(project=order.project, slug=order.slug),
        host=context.world.host.id,
        home=context.world.record.id,
        tmux_socket=context.world.tmux.socket,
        at=tx.at,
        predecessor=None,
        engine=None,
        autonomy=None,
        model=None,
        command=None,
        base=None,
        spawner=spawner,
        server=None,
    ):
        held = q.unfinished_of_task(tx, project=order.project, slug=order.slug or "")
        raise errors.BundleHeld(project=order.project, slug=order.slug, holder=held.id if held else "someone")


def release_prompt(context: Context, ident: str, kind: str) -> PromptOutcome:
    """Release a dispatch's claims of this kind, for example its prompt file.

    Returns the outcome "released", or "already_released" when the dispatch holds no such claim, perhaps because it was
    handed to another dispatch. Raises BadInput for a kind that a dispatch may not release, Absent for an unknown
    dispatch, NotOwned for an exclusive claim of an unfinished dispatch, SeatKept for a seat that it holds, OtherHost
    for a dispatch of another home; NotReleased, Contested or LeftAlone when a claim could not be released.
    """
    names.DispatchId(ident)
    _refuse_other_home(context, ident)
    _refuse_unreleasable(ident, kind)
    if context.store.read(lambda rows: q.id_given(rows, id=ident)) is None:
        raise errors.Absent(what=f"dispatch {ident}")
    if kind in ROW_KINDS:
        _refuse_held_row(context, ident, kind)
        return PromptOutcome(outcome="already_released", dispatch_id=ident, kind=kind, path=None)
    stored = KIND if kind == RESUME_KIND else kind
    claims = [claim for claim in _claims_of_dispatch(context, ident) if claim.kind == stored]
    if kind == RESUME_KIND:
        claims = [claim for claim in claims if "rewritten_from" in claim.data]
    held = [claim for claim in claims if not claim.is_released]
    if not held:
        return PromptOutcome(outcome="already_released", dispatch_id=ident, kind=kind, path=None)
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if class_of(stored) == "exclusive" and row is not None and is_unfinished(row):
        raise errors.NotOwned(what=str(held[-1]), owner=f"dispatch {ident}, which is {row.exec_state}")
    not_released = [why for why in (release(context, claim) for claim in held) if why]
    if not_released:
        raise _not_released_error(ident, not_released[0])
    return _prompt_outcome("released", ident, context, held[-1]).replaced(kind=kind)


def _refuse_unreleasable(ident: str, kind: str) -> None:
    """Raise BadInput unless `kind` is a kind of claim that a dispatch may release.

    It may not release what belongs to its task, or what is computed from the store.
    """
    if class_of(kind) == "adoptable":
        raise errors.BadInput(
            what=f"a {kind} belongs to its task, not to {ident}; it is released when the task is archived"
        )
    if kind in DERIVED_KINDS:
        raise errors.BadInput(
            what=f"a {kind} is computed from the store; a sweep writes it anew, and nobody releases it"
        )
    if kind not in {*KINDS, *ROW_KINDS, RESUME_KIND}:
        known = ", ".join((*KINDS, RESUME_KIND, *ROW_KINDS))
        raise errors.BadInput(what=f"there is no kind {kind!r}; there are {known}")


def _refuse_held_row(context: Context, ident: str, kind: str) -> None:
    """Raise an error while the claim of this kind is held: the agent's record, or the seat of the dispatch's project.

    Raises SeatKept when the dispatch itself holds the seat, else NotOwned. The record ends with its dispatch, the seat
    with `coord stop`. An unknown dispatch holds neither.
    """
    row = dispatch_or_none(context, ident)
    if row is None:
        return
    if kind == AGENT_RECORD:
        if look_at_record(context.store.read(lambda rows: q.agent_by_id(rows, id=ident))) == "live":
            raise errors.NotOwned(what=f"{kind} {ident}", owner=f"dispatch {ident}, which is {row.exec_state}")
        return
    holder = context.store.read(lambda rows: seats.seat(rows, row.project)).holder
    match seat_look := look_at_seat(holder, ident):
        case "self":
            raise errors.SeatKept(project=row.project, dispatch=ident)
        case "other":
            raise errors.NotOwned(what=f"{kind} {row.project}", owner=f"coordinator {holder}")
        case "missing":
            return
        case _:
            assert_never(seat_look)


def _not_released_error(ident: str, why: WhyNotReleased) -> errors.FleetError:
    """Return the error for a claim that was not released, by the cause.

    It is NotReleased when the removal failed, Contested while another process works on the claim, and LeftAlone when
    the thing is not fleet's or is not known to be.
    """
    match why.cause:
        case "failed":
            return errors.NotReleased(what=why)
        case "busy":
            return errors.Contested(what=why)
        case "not_ours" | None:
            return errors.LeftAlone(what=why, dispatch=ident)
        case _:
            return assert_never(why.cause)


def rewrite_prompt(context: Context, new: str, old: str, content: str) -> PromptOutcome:
    """Hand the prompt file of the dispatch `old` over to the dispatch `new`, with new content.

    Returns the outcome "rewritten", or "already_rewritten" when an earlier call did it; the path is None if that prompt
    was released since. Raises Absent when there is no dispatch `new`, or no prompt of `old`; Superseded when `new` has
    ended; NotOwned or Contested when another process was faster; OtherHost when another home made one of the two.
    """
    names.DispatchId(new)
    names.DispatchId(old)
    successor = context.store.read(lambda rows: q.dispatch_by_id(rows, id=new))
    if successor is None:
        raise errors.Absent(what=f"dispatch {new}")
    _refuse_other_home(context, new)
    _refuse_other_home(context, old)
    mine = [each for each in _claims_of_dispatch(context, new) if each.data.get("rewritten_from") == old]
    if mine:
        kept = next((claim for claim in mine if not claim.is_released), mine[0])
        finish_rewrite(context, kept)  # whoever recorded it may have been killed before the file was written
        outcome = _prompt_outcome("already_rewritten", new, context, kept)
        return outcome.replaced(path=None) if kept.is_released else outcome
    claim = _inbox_of(context, old)
    if claim is None or not claim.is_live:
        raise errors.Absent(what=f"prompt of {old}")
    context.world.files.refuse_blocked(paths.INBOX)
    context.commit(_hand_over_inbox(claim, new, content))
    moved = next(each for each in _claims_of_dispatch(context, new) if each.id == claim.id)
    finish_rewrite(context, moved)
    return _prompt_outcome("rewritten", new, context, moved)


def _hand_over_inbox(claim: Claim, new: str, content: str) -> Change[None]:
    """Return the change that records the intent to hand an inbox to dispatch `new`.

    Committing it raises NotOwned if another dispatch has the inbox by now, Superseded if `new` has ended.
    """
    old = claim.dispatch

    def work(tx: Tx) -> None:
        tx.dispatch = new
        _refuse_ended(tx, new)
        if take_over(tx, claim, new, content) is None:
            raise errors.NotOwned(what=f"the prompt of {old}", owner="someone else")

    return Change(f"hand the inbox of {old} over to {new}", work, content)


def _refuse_ended(tx: Tx, ident: str) -> None:
    """Raise Superseded when the new owner of an inbox has ended: the inbox would be released with that dispatch."""
    row = q.dispatch_by_id(tx, id=ident)
    if row is None:
        raise errors.Superseded(who=f"dispatch {ident}", project="", slug="", now="it is archived")
    if not is_unfinished(row):
        raise errors.Superseded(
            who=f"dispatch {ident}", project=row.project, slug=row.slug or "", now=f"it is {row.exec_state}"
        )


def left_inbox(context: Context, ident: str | None) -> Claim | None:
    """Return the live inbox claim that a dispatch of this home has left for its successor.

    None when there is none, and when `ident` is None.
    """
    claim = _inbox_of(context, ident or "")
    return claim if claim is not None and claim.is_live and is_own(context, claim) else None


def take_over(tx: Tx, claim: Claim, new: str, content: str) -> Claim | None:
    """Record that an inbox goes to the dispatch `new` with new content, as the intent of a rewrite.

    Returns the claim with its new owner; None when another dispatch owns the inbox by now.
    """
    data = {**claim.data, "rewritten_from": claim.dispatch, "rewrite": content}
    kept, was = jsontext.dumps(data), claim.dispatch or ""
    moved = q.give_claim(tx, id=claim.id, was=was, dispatch=new, data=kept, at=tx.at)
    return replace(claim, dispatch=new, data=data) if moved else None


def finish_rewrite(context: Context, claim: Claim) -> None:
    """Write the content of a recorded rewrite into the prompt file, and record that it is written.

    Does nothing when the rewrite is written already, or when the inbox was handed on or released. Holds the claim's
    effect lock, so that no process releases the inbox between the last check and the write; raises Contested when
    another process keeps that lock for five seconds.
    """
    content = claim.data.get("rewrite")
    if content is None or not context.store.read(lambda rows: _is_rewrite_pending(rows, claim)):
        return
    lock = context.world.effect_lock(claim.id)
    try:
        lock.take(_PATIENCE)
        if context.store.read(lambda rows: _is_rewrite_pending(rows, claim)):
            _write_rewrite(context, claim, content)
            context.world.forget_effect_lock(claim.id)
    except BlockingIOError:
        raise errors.Contested(what=f"{claim}: another process works on it; try again") from None
    finally:
        lock.give()


def _write_rewrite(context: Context, claim: Claim, content: str) -> None:
    """Write the prompt file with the content of a rewrite, then record that it is written.

    The caller holds the claim's effect lock.
    """
    context.world.files.publish(claim.name, content.encode())
    data = {name: value for name, value in claim.data.items() if name != "rewrite"}

    def work(tx: Tx) -> None:
        tx.dispatch = claim.dispatch
        if _is_rewrite_pending(tx, claim):
            q.set_claim_data(tx, id=claim.id, data=jsontext.dumps(data), at=tx.at)

    context.commit(Change(f"the inbox of {claim.dispatch} is rewritten", work))


def _is_rewrite_pending(rows: Rows, claim: Claim) -> bool:
    """Return whether a recorded rewrite is still to be written: its inbox was neither handed on nor released."""
    row = q.claim_by_id(rows, id=claim.id)
    now = Claim.of(row) if row is not None else None
    return now is not None and (now.dispatch, now.state, now.data) == (claim.dispatch, "live", claim.data)


def _parse_kind(given: str | None, slug: str | None) -> DispatchKind:
    """Return the kind of a dispatch; by default "worker" for a task, and "coord" without a task.

    Raises BadInput for an unknown kind, a coordinator with a task, and any other kind without a task.
    """
    word = given or ("worker" if slug else "coord")
    kind = next((known for known in DISPATCH_KINDS if known == word), None)
    if kind is None:
        raise errors.BadInput(what=f"--kind {word!r} is not one of {', '.join(DISPATCH_KINDS)}")
    if (kind == "coord") != (slug is None):
        raise errors.BadInput(what=f"--kind {word} does not fit: a coordinator has no task, everything else has one")
    return kind


def _parse_owner(wanted: WantedPrompt) -> tuple[str, str | None]:
    """Return the project and the task of the wanted owner; the task is None for a coordinator.

    Raise BadInput when the owner is neither project/P/slug/S, nor coord/P, nor a slug beside a project, or when it
    contradicts the wanted project.
    """
    parts = wanted.owner.split("/")
    if len(parts) == 1 and wanted.project:
        return names.project(wanted.project), names.slug(wanted.owner)
    if len(parts) == 2 and parts[0] == "coord":  # noqa: PLR2004
        project, slug = names.project(parts[1]), None
    elif len(parts) == 4 and parts[0] == "project" and parts[2] == "slug":  # noqa: PLR2004
        project, slug = names.project(parts[1]), names.slug(parts[3])
    else:
        raise errors.BadInput(
            what=f"--owner {wanted.owner!r} is neither project/P/slug/S, nor coord/P, nor a task's slug"
        )
    if wanted.project not in {None, project}:
        raise errors.BadInput(what=f"--project {wanted.project} contradicts --owner {wanted.owner}")
    return project, slug


def _claims_of_dispatch(context: Context, ident: str) -> list[Claim]:
    """Return the claims of a dispatch itself, released ones too, without those of its task's bundle."""
    return [Claim.of(row) for row in context.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=ident))]


def _inbox_of(context: Context, ident: str) -> Claim | None:
    """Return the unreleased inbox claim of a dispatch; None when there is none."""
    return next(
        (claim for claim in _claims_of_dispatch(context, ident) if claim.kind == KIND and not claim.is_released),
        None,
    )


def _prompt_outcome(outcome: PromptResult, ident: str, context: Context, claim: Claim) -> PromptOutcome:
    """Return the outcome of a call, with the claim's kind and the absolute path of its file."""
    path = f"{context.world.home}/{claim.name}"
    return PromptOutcome(outcome=outcome, dispatch_id=ident, kind=claim.kind, path=path)


def _refuse_other_home(context: Context, ident: str, *, host: str | None = None, socket: str | None = None) -> None:
    """Raise OtherHost when another home made the dispatch, MeantElsewhere when the caller means another host or tmux socket.

    `host` (its id or name) and `socket` are what the caller means, None when it names none. Raise BadInput when one of
    them is "", as from a script's variable that is not set: that must not switch the check off.
    """
    for option, given in (("--host-id", host), ("--tmux-socket", socket)):
        if given == "":
            raise errors.BadInput(what=f"{option} is empty")
    row = context.store.read(lambda rows: q.dispatch_by_id(rows, id=ident))
    if row is not None:
        refuse_foreign(context, f"dispatch {ident}", row)
    world = context.world
    if host is not None and host not in {world.host.id, world.host.name}:
        made, here = host_named(context, host), f"{world.host.name} (host {world.host.id})"
        raise errors.MeantElsewhere(what=f"the prompt of {ident}", made=made, here=here)
    if socket is not None and socket != world.tmux.socket:
        made, here = f"tmux socket {socket}", f"tmux socket {world.tmux.socket} of {this_home(context)}"
        raise errors.MeantElsewhere(what=f"the prompt of {ident}", made=made, here=here)

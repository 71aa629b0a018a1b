"""Trash: keep ignored files of a removed worktree for a while, if they may not be reproducible.

A row records which files are about to be moved; then they are moved; then the row records that they were. While the
worktree's claim is open, its removal may still fail, be given up or be interrupted: then the files are moved back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.model.results.home import Swept
from fleet.model.text.sizes import shown_size
from fleet.model.text.times import DAY, clock, duration, iso
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import is_free
from fleet.verbs.resume.work_lock import cleanup_gate_of_task
from fleet.verbs.sweep.finding import act_on
from fleet.verbs.views.expiring_trash import describe_count, describe_expiry, own_home_id
from fleet.world.home import paths, trash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from fleet.model.dispatch.worktree_verdict import Aside
    from fleet.store.queries import KeptTrash, Trash
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

    AnyTrash: TypeAlias = KeptTrash | Trash

# Why the files are kept, as the row of the trash says it.
_WHY = "ignored files that no setting calls disposable"


def has_room(context: Context, size: int, limit: int) -> bool:
    """Return whether the trash may take `size` bytes more without exceeding `limit`."""
    return context.store.read(lambda rows: q.trash_size(rows, home=own_home_id(context))).n + size <= limit


def put_aside(context: Context, claim: Claim, aside: Aside) -> str:
    """Move ignored files of a worktree into the trash. Returns "" when they were moved.

    On failure, move them back and return why, as a sentence.
    """
    row = _new_row(context, claim, aside)
    context.commit(_record_intent(row))
    try:
        trash.put_aside(context.world, claim.name, row.name, aside.paths)
    except OSError as error:
        bring_back(context, claim)
        return f"{describe_count(row)} of {claim.name} could not be put aside: {error.strerror}"
    context.commit(_record_move(context, row))
    return ""


def _new_row(context: Context, claim: Claim, aside: Aside) -> Trash:
    """Return the row for files that are about to be moved into the trash: its folder, its size and its expiry."""
    at, key = context.world.clock.now(), context.world.ids.key()
    stamp = iso(at)[:19].replace("-", "").replace(":", "")
    return q.Trash(
        id=key,
        project=claim.project or "",
        slug=claim.slug or "",
        claim=claim.id,
        home=own_home_id(context),
        name=f"{paths.TRASH}/{claim.project}-{claim.slug}-{stamp}-{key[:4]}",
        path=claim.name,
        why=_WHY,
        files=aside.files,
        bytes=aside.size,
        at=at,
        moved_at=None,
        until=at + duration(context.settings().trash_keep),
        gone_at=None,
    )


def _record_intent(row: Trash) -> Change[None]:
    """Return the change that records which files are about to be moved into the trash."""

    def work(tx: Tx) -> None:
        tx.about(row.project, row.slug)
        tx.note(trash=row.name, files=row.files, bytes=row.bytes)
        q.add_trash(tx, id=row.id, project=row.project, slug=row.slug, claim=row.claim, home=row.home, name=row.name,
                    path=row.path, why=row.why, files=row.files, bytes=row.bytes, at=tx.at, until=row.until)  # fmt: skip

    return Change(f"put {describe_count(row)} of {row.project}/{row.slug} aside", work)


def _with_current_count(context: Context, row: AnyTrash) -> AnyTrash:
    """Return the row of a trash folder with the number and size of the files that are in it at this moment."""
    files, size = trash.count(context.world, row.name)
    return row.replaced(files=files, bytes=size)


def _record_count(row: AnyTrash) -> Change[None]:
    """Return the change that records how many files are left in a trash folder: the numbers in `row`."""

    def work(tx: Tx) -> None:
        tx.about(row.project, row.slug)
        tx.note(trash=row.name, files=row.files, bytes=row.bytes)
        q.count_trash(tx, id=row.id, files=row.files, bytes=row.bytes)

    return Change(f"{describe_count(row)} are left in {row.name}", work)


def _record_move(context: Context, intended: AnyTrash) -> Change[None]:
    """Return the change that records that the files are in the trash, in their row and in the task's log."""
    row = _with_current_count(context, intended)

    def work(tx: Tx) -> None:
        tx.about(row.project, row.slug)
        if q.note_trash_moved(tx, id=row.id, files=row.files, bytes=row.bytes, at=tx.at):
            tasks.add_log_message(tx, row.project, row.slug, _describe_row(context, row))
        tx.note(trash=row.name)

    return Change(f"{row.name} is put aside", work)


def _record_end(row: AnyTrash, why: str) -> Change[None]:
    """Return the change that records that a trash folder no longer exists, and why."""

    def work(tx: Tx) -> None:
        tx.about(row.project, row.slug)
        tx.note(trash=row.name, why=why)
        q.end_trash(tx, id=row.id, at=tx.at)

    return Change(f"{row.name}: {why}", work)


def bring_back(context: Context, claim: Claim) -> list[str]:
    """Move files from the trash back into their worktree.

    Returns a line for each trash folder whose files could not all be moved, with the reason; [] when there is none. The
    caller holds the task's work lock. While git may still be removing the worktree, or when its claim is no longer
    recorded, nothing is moved.
    """
    rows = context.store.read(lambda snapshot: q.trash_of_claim(snapshot, claim=claim.id, home=own_home_id(context)))
    if not rows:
        return []
    found = context.store.read(lambda snapshot: q.claim_by_id(snapshot, id=claim.id))
    current = None if found is None else Claim.of(found)
    if current is None or (current.is_leaving and not is_free(context, current)):
        return [f"{row.name}: its worktree is being removed" for row in rows]
    left = []
    for row in rows:
        if trash.put_back(context.world, claim.name, row.name):
            context.commit(_record_end(row, "back in its worktree"))
        else:
            context.commit(_record_count(_with_current_count(context, row)))
            left.append(f"{row.name}: {claim.name} has newer files of the same names")
    return left


def describe_trash(context: Context, project: str, slug: str) -> list[str]:
    """Return a line for people for each trash folder of a task: how many files, where they are, when they expire."""
    place = {"project": project, "slug": slug, "home": own_home_id(context)}
    return [_describe_row(context, row) for row in context.store.read(lambda rows: q.trash_of_task(rows, **place))]


def _describe_row(context: Context, row: AnyTrash) -> str:
    """Return the line about one trash folder: number of files, path and expiry."""
    where = f"{context.world.home}/{row.name}"
    verb = "was" if row.files == 1 else "were"
    return f"{describe_count(row)} of {row.slug} {verb} put aside in {where}, kept until {clock(row.until)}"


def sweep_trash(context: Context, *, acts: bool, may_delete_by_age: bool) -> Iterator[Swept]:
    """Make each recorded trash folder of this home agree with its record, and yield one finding for each record.

    Files whose worktree is still claimed are moved back. The record is brought up to date when its folder is gone or
    empty, or when the move happened but the record still says that it is to come. Expired folders are deleted if
    `may_delete_by_age`. Nothing is yielded for a task whose bundle another process works on. Without `acts`, only
    report; `may_delete_by_age` is then false.
    """
    for row in context.store.read(lambda rows: q.kept_trash(rows, home=own_home_id(context))):
        gate = cleanup_gate_of_task(context, row.project, row.slug)
        try:
            gate.take()
        except errors.GateHeld:
            continue  # another process is moving these files
        try:
            yield _sweep_row(context, row, acts=acts, may_delete_by_age=may_delete_by_age)
        finally:
            gate.give()


def _sweep_row(context: Context, row: KeptTrash, *, acts: bool, may_delete_by_age: bool) -> Swept:
    """Make a trash folder and its row agree again: move files back, record them as moved or gone, delete, or keep.

    Without `acts`, only return the finding. An expired folder is deleted only if `may_delete_by_age`.
    """
    now, what = context.world.clock.now(), f"{row.name} ({describe_count(row)} of {row.project}/{row.slug})"
    if row.held:
        why = "its worktree is still there"
        return act_on(what, why, row.path, "put them back", acts, lambda: _bring_back_row(context, row))
    if not trash.is_there(context.world, row.name):
        return act_on(what, "it is gone", "nothing is at its path", "record that", acts,
                      lambda: context.commit(_record_end(row, "nothing is left of it")))  # fmt: skip
    if row.moved_at is None:
        why, proof = "its move was not recorded", "its worktree is gone"
        return act_on(what, why, proof, "record that", acts, lambda: context.commit(_record_move(context, row)))
    if row.until <= now:
        proof = f"it was kept until {clock(row.until)}"
        return act_on(
            what, "it has expired", proof, "delete it", may_delete_by_age, lambda: _delete_expired(context, row)
        )
    soon = f", {describe_expiry(row, now)}" if row.until - now <= DAY else ""
    proof = f"kept until {clock(row.until)}{soon}"
    return Swept(what=what, why=f"{shown_size(row.bytes)} in the trash", proof=proof, action="kept", standing=True)


def _bring_back_row(context: Context, row: KeptTrash) -> list[str]:
    """Move the files of a trash folder back into their worktree, if its claim is still recorded.

    Returns a line for each folder whose files could not be moved.
    """
    claim = context.store.read(lambda rows: q.claim_by_id(rows, id=row.claim))
    return bring_back(context, Claim.of(claim)) if claim is not None else []


def _delete_expired(context: Context, row: KeptTrash) -> None:
    """Delete an expired trash folder, and record that."""
    trash.delete(context.world, row.name)
    context.commit(_record_end(row, "deleted, it had expired"))

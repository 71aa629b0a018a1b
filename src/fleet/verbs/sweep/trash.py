"""Trash: ignored files that may not be reproducible are put aside for a while before their worktree goes.

Intent, effect, fact: a row says what is about to be moved, then it is moved, then the row says so. As long as the worktree's claim
is open its files may have to go back: when its removal fails, is given up, or was killed before it came to its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model.dispatch.claim import Claim
from fleet.model.results.home import Swept
from fleet.model.text.sizes import shown_size
from fleet.model.text.times import DAY, duration, iso, utc
from fleet.resources.worktree.half_removed import LEAVING
from fleet.store import queries as q
from fleet.store import tasks
from fleet.store.transaction import Change
from fleet.verbs.dispatch.acquire import is_free
from fleet.verbs.resume.work_lock import cleanup_gate_of_task
from fleet.verbs.sweep.finding import acted
from fleet.verbs.views.expiring_trash import counted, expiry, home_of
from fleet.world.home import paths, trash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from fleet.model.dispatch.worktree_verdict import Aside
    from fleet.store.queries import KeptTrash, Trash
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

    AnyTrash: TypeAlias = KeptTrash | Trash

_WHY = "ignored files that no setting calls disposable"


def has_room(context: Context, size: int, limit: int) -> bool:
    """Whether the trash may take so many bytes more."""
    return context.store.read(lambda rows: q.trash_size(rows, home=home_of(context))).n + size <= limit


def put_aside(context: Context, claim: Claim, found: Aside) -> str:
    """Move ignored files of a worktree into the trash. Returns why not, after everything is back in its place; else empty."""
    row = _intended(context, claim, found)
    context.commit(_intend(row))
    try:
        trash.put_aside(context.world, claim.name, row.name, found.paths)
    except OSError as error:
        bring_back(context, claim)
        return f"{counted(row)} of {claim.name} could not be put aside: {error.strerror}"
    context.commit(_note_moved(context, row))
    return ""


def _intended(context: Context, claim: Claim, found: Aside) -> Trash:
    at, key = context.world.clock.now(), context.world.ids.key()
    stamp = iso(at)[:19].replace("-", "").replace(":", "")
    return q.Trash(
        id=key,
        project=claim.project or "",
        slug=claim.slug or "",
        claim=claim.id,
        home=home_of(context),
        name=f"{paths.TRASH}/{claim.project}-{claim.slug}-{stamp}-{key[:4]}",
        path=claim.name,
        why=_WHY,
        files=found.files,
        bytes=found.size,
        at=at,
        moved_at=None,
        until=at + duration(context.setting("trash.keep")),
        gone_at=None,
    )


def _intend(row: Trash) -> Change[None]:
    def work(tx: Tx) -> None:
        tx.about(row.project, row.slug)
        tx.note(trash=row.name, files=row.files, bytes=row.bytes)
        q.add_trash(tx, id=row.id, project=row.project, slug=row.slug, claim=row.claim, home=row.home, name=row.name,
                    path=row.path, why=row.why, files=row.files, bytes=row.bytes, at=tx.at, until=row.until)  # fmt: skip

    return Change(f"put {counted(row)} of {row.project}/{row.slug} aside", work)


def _recounted(context: Context, row: AnyTrash) -> AnyTrash:
    """The row with what is in its folder now: whoever moved it may have been killed half-way, or some of it went back."""
    files, size = trash.count(context.world, row.name)
    return row.replaced(files=files, bytes=size)


def _count(row: AnyTrash) -> Change[None]:
    def work(tx: Tx) -> None:
        tx.about(row.project, row.slug)
        tx.note(trash=row.name, files=row.files, bytes=row.bytes)
        q.count_trash(tx, id=row.id, files=row.files, bytes=row.bytes)

    return Change(f"{counted(row)} are left in {row.name}", work)


def _note_moved(context: Context, intended: AnyTrash) -> Change[None]:
    row = _recounted(context, intended)

    def work(tx: Tx) -> None:
        tx.about(row.project, row.slug)
        if q.note_trash_moved(tx, id=row.id, files=row.files, bytes=row.bytes, at=tx.at):
            tasks.say(tx, row.project, row.slug, _announced(context, row))
        tx.note(trash=row.name)

    return Change(f"{row.name} is put aside", work)


def _end(row: AnyTrash, why: str) -> Change[None]:
    def work(tx: Tx) -> None:
        tx.about(row.project, row.slug)
        tx.note(trash=row.name, why=why)
        q.end_trash(tx, id=row.id, at=tx.at)

    return Change(f"{row.name}: {why}", work)


def bring_back(context: Context, claim: Claim) -> list[str]:
    """Put the files of a worktree that stays back into it. What could not go back, and why.

    For whoever holds the gate of the task's work. While a git may still be removing the tree nothing is put back.
    """
    rows = context.store.read(lambda snapshot: q.trash_of_claim(snapshot, claim=claim.id, home=home_of(context)))
    if not rows:
        return []
    now = context.store.read(lambda snapshot: q.claim_by_id(snapshot, id=claim.id))
    if now is None or (now.state in LEAVING and not is_free(context, Claim.of(now))):
        return [f"{row.name}: its worktree is being removed" for row in rows]
    left = []
    for row in rows:
        if trash.put_back(context.world, claim.name, row.name):
            context.commit(_end(row, "back in its worktree"))
        else:
            context.commit(_count(_recounted(context, row)))
            left.append(f"{row.name}: {claim.name} has newer files of the same names")
    return left


def announced(context: Context, project: str, slug: str) -> list[str]:
    """What was put aside of a task's worktrees, where it is, and until when."""
    place = {"project": project, "slug": slug, "home": home_of(context)}
    return [_announced(context, row) for row in context.store.read(lambda rows: q.trash_of_task(rows, **place))]


def _announced(context: Context, row: AnyTrash) -> str:
    where = f"{context.world.home}/{row.name}"
    verb = "was" if row.files == 1 else "were"
    return f"{counted(row)} of {row.slug} {verb} put aside in {where}, kept until {utc(iso(row.until))}"


def findings(context: Context, *, kill: bool) -> Iterator[Swept]:
    """The trash: what was half moved, what has to go back, what has expired; the rest is listed."""
    for row in context.store.read(lambda rows: q.kept_trash(rows, home=home_of(context))):
        gate = cleanup_gate_of_task(context, row.project, row.slug)
        try:
            gate.take()
        except errors.GateHeld:
            continue  # somebody is just putting it aside or back
        try:
            yield _finding_about(context, row, kill=kill)
        finally:
            gate.give()


def _finding_about(context: Context, row: KeptTrash, *, kill: bool) -> Swept:
    """Restore what has its worktree still, forget what is gone, delete what has expired, keep the rest. Without `kill` the act is only named."""
    now, what = context.world.clock.now(), f"{row.name} ({counted(row)} of {row.project}/{row.slug})"
    if row.held:
        why = "its worktree is still there"
        return acted(what, why, row.path, "put them back", kill, lambda: _bring_back_row(context, row))
    if not trash.is_there(context.world, row.name):
        return acted(what, "it is gone", "nothing is at its path", "write that down", kill,
                     lambda: context.commit(_end(row, "nothing is left of it")))  # fmt: skip
    if row.moved_at is None:
        why, proof = "whoever moved it did not write that down", "its worktree is gone"
        return acted(what, why, proof, "write that down", kill, lambda: context.commit(_note_moved(context, row)))
    if row.until <= now:
        proof = f"it was kept until {utc(iso(row.until))}"
        return acted(what, "it has expired", proof, "delete it", kill, lambda: _delete(context, row))
    soon = f", {expiry(row, now)}" if row.until - now <= DAY else ""
    proof = f"kept until {utc(iso(row.until))}{soon}"
    return Swept(what=what, why=f"{shown_size(row.bytes)} in the trash", proof=proof, action="kept", standing=True)


def _bring_back_row(context: Context, row: KeptTrash) -> list[str]:
    claim = context.store.read(lambda rows: q.claim_by_id(rows, id=row.claim))
    return bring_back(context, Claim.of(claim)) if claim is not None else []


def _delete(context: Context, row: KeptTrash) -> None:
    trash.delete(context.world, row.name)
    context.commit(_end(row, "deleted, it had expired"))

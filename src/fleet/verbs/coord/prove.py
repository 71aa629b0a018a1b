"""Prove a new coordinator: it presents its nonce, and the same transaction makes it the seat's holder.

Its session-start hook or its first tick does this, whichever comes first. A hook must be fast: import as little as
possible.
"""

from __future__ import annotations

from fleet.model.agents.actors import Caller
from fleet.model.dispatch import one_time_proof
from fleet.store import queries as q
from fleet.store import seats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.store.transaction import Rows, Store, Tx
    from fleet.world.clock import Clock
    from fleet.world.ids import Ids


def prove(store: Store, home: str, *, project: str, ident: str, nonce: str, clock: Clock, ids: Ids) -> bool:
    """Make the candidate that presents this nonce the holder of the project's seat, and queue its first message.

    `ident` is the candidate's dispatch. Returns True when it has become the holder, False when it is not the candidate
    (any more). Raises NotSeated when the nonce is wrong or spent, or the candidate was asked to exit.
    """
    before = store.read(lambda rows: seats.seat(rows, project))
    if before.candidate != ident:
        return False
    resume, message = _resume_prompt(store, home, project, before.holder), ids.dispatch()

    def work(tx: Tx) -> bool:
        tx.about(project)
        tx.dispatch = ident
        seated = seats.prove_candidate(tx, project, ident, one_time_proof.hash_nonce(nonce))
        if seated:
            q.add_message(tx, id=message, dispatch=ident, kind="resume", sender="fleet", text=resume, at=tx.at)
        return seated

    # Give no dispatch to Caller: the fence refuses a coordinator that is not in the seat yet.
    by = Caller(actor=ident, at=clock.now(), key=ids.key())
    return store.transact(f"{ident} takes the seat of {project}", work, by)


def _resume_prompt(store: Store, home: str, project: str, old: str | None) -> str:
    """Return a new coordinator's first message: the counts of the project's tasks, and the handoff document if there is one.

    `old` is the coordinator before it, None for none.
    """
    entry = store.read(lambda rows: q.queued_handoff_of(rows, dispatch=old or ""))
    tasks = store.read(lambda rows: _describe_tasks(rows, project))
    head = f"You coordinate {project} now{f', after {old}' if old else ''}. {tasks}"
    if entry is None:
        return head
    try:
        with open(f"{home}/{entry.document}", encoding="utf-8", errors="replace") as file:
            document = file.read()
    except OSError:
        return head
    return f"{head}\n\nWhat your predecessor left:\n\n{document}"


def _describe_tasks(rows: Rows, project: str) -> str:
    """Return a sentence that counts the project's tasks by status."""
    counts = {row.status: row.n for row in q.project_counts(rows) if row.project == project and not row.archived}
    words = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in sorted(counts.items()))
    return f"Its tasks: {words or 'none'}."

"""Choose the tmux server for a dispatch."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from fleet.model.identity import Identity
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from fleet.model.dispatch.claim import Claim
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context


def choose_server(context: Context) -> Identity:
    """Return the tmux server for a new session: that of the last dispatch while it lives, else a running or new one.

    Whether the server still answers shows when the session is created.
    """
    last = context.store.read(
        lambda rows: q.last_server(rows, socket=context.world.tmux.socket, home=context.world.record.id)
    )
    known = Identity.parse(last.server) if last else None
    life = context.world.processes.life(known)
    if known is not None and life == "alive" and os.path.exists(context.world.tmux.socket):
        return known
    gate = context.world.gate("tmux")
    gate.take(wait=60)
    try:
        if known is not None and life == "alive":
            return context.world.tmux.recalled(known)
        return context.world.tmux.ensure_server()
    finally:
        gate.give()


def note_server(context: Context, claim: Claim) -> None:
    """Record the server on which a session was really created, when the planned server had exited before."""

    def work(tx: Tx) -> int:
        tx.dispatch = claim.dispatch
        row = q.claim_by_id(tx, id=claim.id)
        old_data = json.loads(row.data) if row else {}
        data = json.dumps({**old_data, "server": claim.data["server"]})
        q.move_to_server(tx, id=claim.dispatch or "", server=claim.data["server"], at=tx.at)
        return q.set_claim_data(tx, id=claim.id, data=data, at=tx.at)

    context.commit(Change(f"{claim}: made on another server than planned", work))

"""Which tmux server a dispatch uses."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.model.identity import Identity
from fleet.store import queries as q
from fleet.store.transaction import Change

if TYPE_CHECKING:
    from fleet.model.claim import Claim
    from fleet.store.transaction import Row, Tx
    from fleet.verbs.ground import Ground


def server(ground: Ground) -> Identity:
    """The tmux server to use: the one of the last dispatch while it lives; making the session tells whether it still answers."""
    last = ground.store.read(lambda rows: rows.one(q.LAST_SERVER, socket=ground.world.tmux.socket))
    known = Identity.parse(last["server"]) if last else None
    life = ground.world.processes.life(known)
    if known is not None and life == "alive" and os.path.exists(ground.world.tmux.socket):
        return known
    gate = ground.world.gate("tmux")
    gate.take(wait=60)
    try:
        if known is not None and life == "alive":
            return ground.world.tmux.recalled(known)
        return ground.world.tmux.ensure_server()
    finally:
        gate.give()


def on_a_living_server(ground: Ground, claim: Claim) -> Claim:
    """The server goes with its last session: if it went since the intent, the session is made on the next one."""
    if claim.kind != "tmux_session" or ground.world.processes.life(Identity.parse(claim.data["server"])) != "dead":
        return claim
    renewed = replace(claim, data={**claim.data, "server": str(server(ground))})

    def work(tx: Tx) -> Row:
        tx.dispatch = claim.dispatch
        return {"moved": tx.run(q.SET_CLAIM_DATA, id=claim.id, data=json.dumps(renewed.data), at=tx.at)}

    ground.commit(Change(f"{claim}: its server is another one now", work))
    return renewed

"""Messages to agents: kept until acknowledged, applied once by their id.

Whoever hands one out says so first, in a transaction that only one wins; then gives it to the agent; then acknowledges it. One
that died in between is followed, a minute later, by another with the same id, and the agent is told to heed each id once.
"""

from __future__ import annotations

from fleet.errors.families import Contested, Refused
from fleet.model.text import texts
from fleet.model.text.times import MINUTE
from fleet.store import queries as q
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.store.queries import WaitingMessage
    from fleet.store.transaction import Row, Tx

LONGEST = 16_000
# How long somebody who hands a message out is believed to be at it.
LEASE = MINUTE
MARK = "[fleet message "
ONCE = "(Heed each message id once: leave out what you have already followed.)"


def send(dispatch: str, ident: str, text: str, *, kind: str = "message") -> Change[Row]:
    """Keep a message for an agent that has not ended."""
    kept = texts.text("message", text, most=LONGEST, advice=f"say it in {LONGEST} characters at most")

    def work(tx: Tx) -> Row:
        agent = q.heard_agent(tx, dispatch=dispatch)
        if agent is None:
            raise Refused(what=f"{dispatch} has ended, and takes no messages any more")
        tx.about(agent.project, agent.slug)
        tx.dispatch = dispatch
        sent = {"id": ident, "dispatch": dispatch, "kind": kind, "sender": tx.caller.actor, "text": kept, "at": tx.at}
        if not q.add_message(tx, **sent):
            raise Contested(what=f"the id {ident} was given out before; try again")
        tx.note(message=ident, text=kept)
        return {"id": ident, "agent": dispatch, "project": agent.project, "task": agent.slug}

    return Change(f"{kind} {ident} to {dispatch}", work, kept)


def waiting(rows: list[WaitingMessage], now: int) -> list[Row]:
    """Those of an agent's unacknowledged messages that nobody is just handing out."""
    return [row for row in rows if row.delivered_at is None or row.delivered_at < now - LEASE]


def hand_out(tx: Tx, dispatch: str, how: str, *, most: int = 20) -> list[Row]:
    """Take what waits, so that nobody else hands it out meanwhile."""
    found = waiting(q.waiting_messages(tx, dispatch=dispatch), tx.at)[:most]
    before = tx.at - LEASE
    return [
        row
        for row in found
        if q.hand_out_message(tx, id=row["id"], dispatch=dispatch, how=how, at=tx.at, before=before)
    ]


def taken(dispatch: str, how: str, *, most: int = 20) -> Change[Row]:
    """The same as a change of its own."""

    def work(tx: Tx) -> Row:
        tx.dispatch = dispatch
        rows = hand_out(tx, dispatch, how, most=most)
        tx.note(messages=[row["id"] for row in rows], how=how)
        return {"messages": [{name: row[name] for name in ("id", "kind", "sender", "text", "sent_at")} for row in rows]}

    return Change(f"hand out messages of {dispatch} ({how})", work)


def acknowledge(dispatch: str, idents: Sequence[str]) -> Change[Row]:
    """The agent has them."""

    def work(tx: Tx) -> Row:
        tx.dispatch = dispatch
        done = [each for each in idents if q.acknowledge_message(tx, id=each, dispatch=dispatch, at=tx.at)]
        tx.note(acknowledged=done)
        return {"acknowledged": done}

    return Change(f"acknowledge messages of {dispatch}", work, *idents)


def line(row: Row) -> str:
    """One message as the agent reads it. It never begins with what a terminal would take for a command."""
    return f"{MARK}{row['id']}] from {row['sender']}: {row['text']}"


def told(rows: list[Row]) -> str:
    """All of them, as the agent reads them."""
    return "\n\n".join([*map(line, rows), ONCE])


def ids_in(text: str) -> list[str]:
    """The ids of the messages that a prompt carries."""
    return [part[:8] for part in text.split(MARK)[1:] if part[8:9] == "]"]

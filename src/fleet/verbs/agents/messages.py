"""Messages to agents: stored until the agent has acknowledged them; the agent follows each message id once.

A process that hands out a message first records that, in a transaction that only one process wins; then gives the
message to the agent; then acknowledges it. If the process dies in between, another process hands out the message again
a minute later with the same id. The agent is told to follow each id once.
"""

from __future__ import annotations

from fleet import errors
from fleet.model.results.reports import Received
from fleet.model.text import texts
from fleet.model.text.times import MINUTE
from fleet.store import queries as q
from fleet.store.transaction import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.model.states import MessageKind
    from fleet.store.queries import LivingAgent, WaitingMessage
    from fleet.store.transaction import Rows, Tx

# The most characters that a message may have.
LONGEST = 16_000
# How long a process may take to hand out a message before another process tries.
LEASE = MINUTE
# The beginning of each message that an agent reads; the message's id follows.
MARK = "[fleet message "
ONCE = "(Heed each message id once: leave out what you have already followed.)"


def send(dispatch: str, ident: str, text: str, *, kind: MessageKind = "message") -> Change[LivingAgent]:
    """Return the change that stores a message for an agent. `ident` is the id of the new message.

    Raises BadText for an empty text, and for one that is too long or has control characters. Committing the change
    returns the agent; it raises Refused if the agent has ended, Contested if the id is used.
    """
    kept = texts.text("message", text, most=LONGEST, advice=f"say it in {LONGEST} characters at most")

    def work(tx: Tx) -> LivingAgent:
        agent = q.heard_agent(tx, dispatch=dispatch)
        if agent is None:
            raise errors.Refused(what=f"{dispatch} has ended and takes no messages")
        tx.about(agent.project, agent.slug)
        tx.dispatch = dispatch
        if not q.add_message(tx, id=ident, dispatch=dispatch, kind=kind, sender=tx.caller.actor, text=kept, at=tx.at):
            raise errors.Contested(what=f"the id {ident} was used before; try again")
        tx.note(message=ident, text=kept)
        return agent

    return Change(f"{kind} {ident} to {dispatch}", work, kept)


def waiting(rows: Rows, dispatch: str, now: int) -> list[WaitingMessage]:
    """Return the agent's unacknowledged messages that no process is handing out, oldest first.

    A message that was handed out, and is not acknowledged a minute later, counts as waiting again. `now` is in
    milliseconds.
    """
    unread = q.waiting_messages(rows, dispatch=dispatch)
    return [row for row in unread if row.delivered_at is None or not now - LEASE <= row.delivered_at <= now + LEASE]


def hand_out(tx: Tx, dispatch: str, how: str, *, most: int = 20) -> list[Received]:
    """Mark an agent's waiting messages as handed out, at most `most`, and return them.

    No other process hands them out within the next minute. `how`, such as "tool result", is recorded: the way in which
    the agent gets the messages.
    """
    between = {"before": tx.at - LEASE, "after": tx.at + LEASE}
    handed_out = [
        Received.made_of(row)
        for row in waiting(tx, dispatch, tx.at)[:most]
        if q.hand_out_message(tx, id=row.id, dispatch=dispatch, how=how, at=tx.at, **between)
    ]
    if handed_out:
        tx.note(messages=[message.id for message in handed_out], how=how)
    return handed_out


def mark_handed_out(dispatch: str, how: str, *, most: int = 20) -> Change[list[Received]]:
    """Return the change that marks an agent's waiting messages, at most `most`, as handed out.

    Committing it returns these messages. `how`, such as "typed", is recorded: the way in which the agent gets them.
    """

    def work(tx: Tx) -> list[Received]:
        tx.dispatch = dispatch
        return hand_out(tx, dispatch, how, most=most)

    return Change(f"hand out messages of {dispatch} ({how})", work)


def acknowledge(dispatch: str, idents: Sequence[str]) -> Change[list[str]]:
    """Return the change that records that the agent has these messages.

    Committing it returns the ids that had not been acknowledged before.
    """

    def work(tx: Tx) -> list[str]:
        tx.dispatch = dispatch
        new = [ident for ident in idents if q.acknowledge_message(tx, id=ident, dispatch=dispatch, at=tx.at)]
        tx.note(acknowledged=new)
        return new

    return Change(f"acknowledge messages of {dispatch}", work, *idents)


def line(message: Received) -> str:
    """Return one message as the agent reads it.

    It begins with `MARK`, so that the agent's terminal does not take it for a command.
    """
    return f"{MARK}{message.id}] from {message.sender}: {message.text}"


def lines(messages: Sequence[Received]) -> str:
    """Return messages as the agent reads them, followed by the rule that it acts on each message only once."""
    return "\n\n".join([*map(line, messages), ONCE])


def ids_in(text: str) -> list[str]:
    """Return the ids of the messages that a prompt contains; [] when it contains none."""
    return [part[:8] for part in text.split(MARK)[1:] if part[8:9] == "]"]

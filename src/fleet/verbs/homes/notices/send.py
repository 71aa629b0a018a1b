"""Send the notices that are due: each once, even if a sender is killed or several processes send.

One process of a home sends at a time: it holds the gate `notices`. So when a process has taken this gate and finds a
notice in the state "sending", the home's process that was sending the notice has died. Homes that share a store take
notices by compare-and-set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import errors
from fleet.model import tables
from fleet.model.agents.notices import conditions, steps
from fleet.model.agents.notices.messages import WINDOW, Recent, messages, retaken
from fleet.model.agents.notices.quiet_hours import is_quiet
from fleet.model.results.home import NotifyEvent, Told
from fleet.model.text.times import iso
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.verbs.homes.notices import channels
from fleet.verbs.homes.notices.look import look_for_conditions

if TYPE_CHECKING:
    from fleet.model.agents.notices.conditions import Changes, Condition
    from fleet.model.agents.notices.messages import Message
    from fleet.model.results.home import ChannelTried
    from fleet.model.states import NoticeChannel, NoticeState
    from fleet.store.queries import Notice
    from fleet.store.transaction import Tx
    from fleet.verbs.context import Context

GATE = "notices"
_MOST_DUE = 500
# How many notices are kept, for `fleet notify list`.
_KEPT = 2_000
_KILLED = "the process that was sending it ended"


def send_due(context: Context) -> list[str]:
    """Record the conditions that have begun or ended, then send the notices that are due.

    Returns a line for the log for each message. In quiet hours, and while no channel can be used, nothing is sent and
    the notices stay due. Does nothing and returns [] while another process of this home sends.
    """
    gate = context.world.gate(GATE)
    try:
        gate.take()
    except errors.GateHeld:
        return []
    try:
        return _send_due(context)
    finally:
        gate.give()


def _send_due(context: Context) -> list[str]:
    """Record changed conditions and send the due notices, for `send_due`. The caller holds the gate for sending.

    Returns a line for the log for each message.
    """
    record_lost_senders(context)
    record_changes(context)
    now = context.world.clock.now()
    if is_quiet(context.settings().notify_quiet, now):
        return []
    due = context.store.read(lambda rows: q.due_notices(rows, now=now, latest=now + steps.LONGEST_WAIT, most=_MOST_DUE))
    to_send = messages(due, recent=_recent_messages(context, now), most=context.settings().notify_most) if due else []
    reached = channels.usable_channels(context, context.settings().notify_channels) if to_send else None
    if reached is None or not reached.there:
        return []  # the notices stay due: a terminal that is attached later gets them
    return [line for message in to_send if (line := _send_message(context, message, reached.there))]


def _recent_messages(context: Context, now: int) -> Recent:
    """Return how many messages with notices people were sent in the last minute, and how many of them were digests."""
    sent = context.store.read(lambda rows: q.messages_since(rows, since=now - WINDOW, now=now))
    return Recent(count=len(sent), digests=sum(each.n > 1 for each in sent))


# what has begun, what is over -----------------------------------------------------------------------------------------
def record_changes(context: Context) -> Changes:
    """Record which conditions for notices have begun and which have ended since the last call; return both."""
    seen = look_for_conditions(context, context.settings().notify_on)
    home = context.world.record.id
    known = context.store.read(q.standing_notices)
    found = conditions.changes(seen.conditions, known, home=home, unsure=seen.unsure)
    if found.begun or found.over:
        idents = [context.world.ids.key() for _ in found.begun]
        context.commit(_record_conditions(found, idents))
    return found


def _record_conditions(found: Changes, idents: list[str]) -> Change[None]:
    """Return the change that records begun and ended conditions. `idents` are the ids for the new notices.

    The operation that it writes names no project, because no coordinator has to act on it.
    """

    def work(tx: Tx) -> None:
        for each in found.over:
            q.end_notice(tx, id=each.id, at=tx.at)
            _lapse_ended_notice(tx, each.id)
        for ident, condition in zip(idents, found.begun, strict=True):
            _add_notice(tx, ident, condition)
        if q.count_notices(tx).n > _KEPT:
            q.forget_notices(tx, most=_KEPT)
        tx.note(begun=[each.subject for each in found.begun], over=[each.subject for each in found.over])

    return Change(f"notice {len(found.begun)} begun, {len(found.over)} over", work)


def _add_notice(tx: Tx, ident: str, condition: Condition) -> None:
    """Add a notice with the id `ident` for a condition, unless the condition has one already.

    That is one that has not ended or, if the condition's `is_unique` is set, any. The notice is `due`, or `lapsed` when
    the condition is too old to be news (see `is_news`).
    """
    state: NoticeState = "due" if conditions.is_news(condition, tx.at) else tables.step(steps.STEPS, "due", steps.LAPSE)
    q.add_notice(
        tx,
        id=ident,
        subject=condition.subject,
        kind=condition.kind,
        state=state,
        home=condition.home,
        project=condition.project,
        slug=condition.slug,
        dispatch=condition.dispatch,
        question=condition.question,
        title=condition.title,
        body=condition.body,
        since=condition.since,
        is_unique=int(condition.is_unique),
        at=tx.at,
    )


def record_lost_senders(context: Context) -> None:
    """Find the notices whose sender died while sending them, and record what becomes of them.

    Such a notice becomes due again, or `unsure` when its kind is sent only once. Only notices of this home are looked
    at. The caller holds the gate for sending.
    """
    sender = context.world.record.id
    lost = context.store.read(lambda rows: q.notices_of_lost_senders(rows, sender=sender))
    if not lost:
        return

    def work(tx: Tx) -> None:
        for each in lost:
            _record_notice(tx, each, after=steps.after_lost_sender(each.kind), trouble=_KILLED, next_at=tx.at)

    context.commit(Change(f"notice {len(lost)} that lost their sender", work))


# one message ----------------------------------------------------------------------------------------------------------
def _send_message(context: Context, message: Message, there: tuple[NoticeChannel, ...]) -> str:
    """Take the notices of a message, send it to the channels `there`, and record the outcome.

    Returns a line for the log; "" when nothing was sent.
    """
    ident = context.world.ids.key()
    mine = context.commit(take(message, ident, context.world.record.id))
    taken = retaken(message, set(mine))
    if taken is None:
        return ""
    tried = channels.send_to_channels(context, event(taken, context.world.clock.now()), there)
    context.commit(_record_outcome(taken, ident, tried))
    return f"{taken.title}: {_tries_in_words(tried)}"


def take(message: Message, ident: str, sender: str) -> Change[list[str]]:
    """Return the change that takes a message's notices for one sender, so that no other sender sends them.

    `ident` is the message's id, `sender` a home. Committing it returns the ids of the notices that were taken; another
    sender may have taken the rest.
    """
    after = tables.step(steps.STEPS, "due", steps.TAKE)

    def work(tx: Tx) -> list[str]:
        taken = [
            each.id
            for each in message.notices
            if q.take_notice(tx, id=each.id, before="due", after=after, message=ident, sender=sender)
        ]
        tx.note(notices=taken)
        return taken

    return Change(f"tell {len(message.notices)} notices", work)


def event(message: Message, now: int) -> NotifyEvent:
    """Return a message in the form that programs get."""
    told = [Told.made_of(each, task=each.slug, since=iso(each.since)) for each in message.notices]
    return NotifyEvent(title=message.title, body=message.body, at=iso(now), is_test=False, notices=told)


def _record_outcome(message: Message, ident: str, tried: list[ChannelTried]) -> Change[None]:
    """Return the change that records the outcome of sending a message (`ident` is its id).

    Its notices are told if a channel took the message; otherwise they are due again later, or given up after too many
    tries.
    """
    took = [each.channel for each in tried if each.outcome == "told"]
    trouble = "; ".join(f"{each.channel}: {each.text}" for each in tried if each.outcome == "failed")

    def work(tx: Tx) -> None:
        for each in message.notices:
            attempts = each.attempts + 1
            after = tables.step(steps.STEPS, "sending", steps.TOLD) if took else steps.after_refusal(attempts)
            _record_notice(
                tx,
                each.replaced(message=ident),
                after=after,
                channels=" ".join(took),
                trouble=trouble,
                told_at=tx.at if took else None,
                next_at=tx.at + steps.wait_after(attempts),
            )
        tx.note(notices=[each.id for each in message.notices], channels=took, trouble=trouble or None)

    return Change(f"{'told' if took else 'could not tell'} {len(message.notices)} notices", work)


def _record_notice(
    tx: Tx,
    notice: Notice,
    *,
    after: NoticeState,
    trouble: str,
    next_at: int,
    channels: str = "",
    told_at: int | None = None,
) -> None:
    """Record how sending a notice went, and move the notice from the state "sending" to the state `after`.

    A notice that is due again lapses at once if its condition has ended. `trouble` is '' when nothing failed; `next_at`
    is when the notice may be sent again.
    """
    q.record_sending(
        tx,
        id=notice.id,
        before="sending",
        after=after,
        message=notice.message or "",
        channels=channels,
        trouble=trouble,
        told_at=told_at,
        next_at=next_at,
    )
    _lapse_ended_notice(tx, notice.id)


def _lapse_ended_notice(tx: Tx, ident: str) -> None:
    """Let a notice lapse if it is due and its condition has ended. Does nothing to any other notice."""
    q.step_ended_notice(tx, id=ident, before="due", after=tables.step(steps.STEPS, "due", steps.LAPSE))


def _tries_in_words(tried: list[ChannelTried]) -> str:
    """Return the outcomes of all channels as one line."""
    told = [each.channel for each in tried if each.outcome == "told"]
    failed = [f"{each.channel} failed ({each.text})" for each in tried if each.outcome == "failed"]
    return ", ".join([*([f"told by {' and '.join(told)}"] if told else ["nobody was told"]), *failed])

"""Turn the notices that are due into messages to a person: one message each, or one digest of many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model.text import escapes
from fleet.model.text.times import MINUTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.model.states import NoticeKind
    from fleet.store.queries import Notice

_MOST_LINES = 10
_LONGEST_LINE = 200
_WORDS: dict[NoticeKind, tuple[str, str]] = {
    "needs you": ("needs you", "need you"),
    "failed": ("failed", "failed"),
    "review": ("waits for your review", "wait for your review"),
    "blocked": ("is blocked", "are blocked"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message to a person about one notice, or a digest of several notices."""

    title: str
    body: str
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """How many messages were sent during the last minute, and how many of them were digests."""

    count: int = 0
    digests: int = 0


# The time for which `Recent` counts the messages.
WINDOW = MINUTE


def messages(due: Sequence[Notice], *, recent: Recent, most: int) -> list[Message]:
    """Return the messages to send now for the notices that are due (`due`).

    One message for each notice, as long as that makes at most `most` messages within a minute. Otherwise one digest of
    all notices; or [], so that they wait for the next minute, when a digest was sent within this minute or only one
    notice is due.
    """
    if recent.count + len(due) <= most:
        return [_single_message(each) for each in due]
    if recent.digests or len(due) == 1:
        return []  # they wait until the minute is over
    return [_digest_message(due)]


def retaken(message: Message, taken: set[str]) -> Message | None:
    """Return the message with only those of its notices whose ids are in `taken`; None when no notice is left.

    Another process sends the other notices.
    """
    left = [each for each in message.notices if each.id in taken]
    if len(left) == len(message.notices):
        return message
    return None if not left else _single_message(left[0]) if len(left) == 1 else _digest_message(left)


def _single_message(notice: Notice) -> Message:
    return Message(title=notice.title, body=notice.body, notices=(notice,))


def _digest_message(due: Sequence[Notice]) -> Message:
    """Return one message for many notices: how many of each kind, then a line for each of the first ones."""
    lines = [_notice_line(each) for each in due[:_MOST_LINES]]
    if len(due) > _MOST_LINES:
        lines.append(f"and {len(due) - _MOST_LINES} more: `fleet status`")
    return Message(title=f"fleet: {_counts_by_kind(due)}", body="\n".join(lines), notices=tuple(due))


def _counts_by_kind(due: Sequence[Notice]) -> str:
    """Return how many notices of each kind there are, such as `4 need you, 1 failed`."""
    numbers = {kind: sum(each.kind == kind for each in due) for kind in _WORDS}
    return ", ".join(f"{number} {_WORDS[kind][number != 1]}" for kind, number in numbers.items() if number)


def _notice_line(notice: Notice) -> str:
    text = escapes.line(f"{notice.title}: {notice.body}")
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"

"""The kinds of notices and the channels that send them, as the settings name them. This module has to import quickly."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import NoticeChannel, NoticeKind

KINDS: tuple[NoticeKind, ...] = ("needs you", "failed", "review", "blocked")
DEFAULT_KINDS: tuple[NoticeKind, ...] = ("needs you", "failed")
CHANNELS: tuple[NoticeChannel, ...] = ("desktop", "terminal", "command", "urls")
# Kinds of notices that are sent again when nobody knows whether they were sent, because an agent waits for the person.
TOLD_AGAIN: frozenset[NoticeKind] = frozenset(("needs you",))

"""List the newest notices, and send a test message to the channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.model.results.home import NoticeView, NotifyEvent
from fleet.model.text.times import iso, iso_or_none
from fleet.store import queries as q
from fleet.verbs.homes.notices import channels

if TYPE_CHECKING:
    from fleet.model.results.home import ChannelTried
    from fleet.model.states import NoticeChannel
    from fleet.store.queries import Notice
    from fleet.store.transaction import Rows
    from fleet.verbs.context import Context


def newest_notices(rows: Rows, *, most: int) -> list[NoticeView]:
    """Return the newest notices, at most `most`, newest first."""
    return [_notice_view(row) for row in q.newest_notices(rows, most=most)]


def try_channels(context: Context, only: NoticeChannel | None = None) -> list[ChannelTried]:
    """Send a test message by the channel `only`, or with None by all channels that the settings name.

    It is sent in quiet hours too. Returns the outcome of each channel.
    """
    wanted: list[NoticeChannel] = context.settings().notify_channels if only is None else [only]
    reached = channels.usable_channels(context, wanted)
    event = NotifyEvent(
        title="fleet: a test",
        body="this is how fleet tells you what needs you",
        at=iso(context.world.clock.now()),
        is_test=True,
        notices=[],
    )
    tried = [*channels.send_to_channels(context, event, reached.there), *channels.unusable_channels(reached)]
    return sorted(tried, key=lambda each: wanted.index(each.channel))


def _notice_view(row: Notice) -> NoticeView:
    """Return a notice as people and programs read it."""
    return NoticeView.made_of(
        row,
        task=row.slug,
        since=iso(row.since),
        seen_at=iso(row.seen_at),
        over_at=iso_or_none(row.over_at),
        told_at=iso_or_none(row.told_at),
        channels=row.channels.split(),
    )

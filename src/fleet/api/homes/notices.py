"""fleet.notices: tell a person what needs them, once, by the channels of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.api.actor import Part
from fleet.verbs.homes.notices import listing, send

if TYPE_CHECKING:
    from fleet.api.actor import Words
    from fleet.model.results.home import ChannelTried, NoticeView
    from fleet.model.states import NoticeChannel


class Notices(Part):
    """What a person was told, and is to be told."""

    __slots__ = ()

    def send_due(self) -> Words:
        """Record what has begun and what is over, and send what is due. Returns a line for each message.

        Each transition is told once, whoever calls this how often. Does nothing while another process of the home sends.
        """
        self._by.may("notices.send_due")
        return send.send_due(self._by.context)

    def test(self, channel: NoticeChannel | None = None) -> list[ChannelTried]:
        """Send a message for trial to one channel, or to all that the settings name. Returns what became of it on each."""
        self._by.may("notices.test")
        return listing.try_channels(self._by.context, channel)

    def list(self, *, most: int = 100) -> list[NoticeView]:
        """Return the newest notices and what became of them, newest first."""
        return self._by.store.read(lambda rows: listing.newest_notices(rows, most=most))

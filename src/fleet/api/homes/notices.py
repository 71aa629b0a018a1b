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
    """Notices to a person: what was sent, and what is due."""

    __slots__ = ()

    def send_due(self) -> Words:
        """Record which situations (an agent asks, for example) have begun or ended, and send the notices that are due.

        Returns a line of text about each message, which has one notice or, as a digest, several. Each notice is sent
        once, however often this is called; in quiet hours none is sent. Does nothing while another process of this home
        sends notices.
        """
        self._by.may("notices.send_due")
        return send.send_due(self._by.context)

    def test(self, channel: NoticeChannel | None = None) -> list[ChannelTried]:
        """Send a test message by one channel, or (None) by each channel that the settings name.

        Returns for each channel whether it worked.
        """
        self._by.may("notices.test")
        return listing.try_channels(self._by.context, channel)

    def list(self, *, most: int = 100) -> list[NoticeView]:
        """Return the `most` newest notices, newest first, and whether each was delivered."""
        return self._by.store.read(lambda rows: listing.newest_notices(rows, most=most))

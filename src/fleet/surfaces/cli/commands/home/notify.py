"""The commands `fleet notify test` and `list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet.api.fleet import Fleet
from fleet.model.agents.notices.kinds import CHANNELS
from fleet.model.states import assert_never
from fleet.model.text.times import utc
from fleet.surfaces.cli.options import COUNT, json_option, writing_home_unkeyed
from fleet.surfaces.cli.ui import terminal

if TYPE_CHECKING:
    from typing import Unpack

    from fleet.model.results.home import ChannelTried, NoticeView
    from fleet.model.states import NoticeChannel
    from fleet.surfaces.cli.options import WritingHomeUnkeyed


@click.group("notify")
def notify() -> None:
    """Try the notifications, and list what you were told. The daemon sends them; the settings `notify.*` say how.

    \b
    fleet notify test
    fleet notify list
    """


@notify.command("test")
@click.option("--channel", type=click.Choice(CHANNELS), help="only this channel (default: those of notify.channels)")
@writing_home_unkeyed
def test(channel: NoticeChannel | None, **given: Unpack[WritingHomeUnkeyed]) -> int:
    """Send a message for trial, and say what became of it on each channel. Exit code 1: nobody was told.

    \b
    Examples:
      fleet notify test
      fleet notify test --channel desktop
    """
    with Fleet.open(actor=given.get("as")) as fleet:
        tried = fleet.notices.test(channel)
    if given.get("json"):
        terminal.say_json(tried)
    else:
        for each in tried:
            terminal.say(_channel_line(each))
    return 0 if any(each.outcome == "told" for each in tried) else 1


def _channel_line(tried: ChannelTried) -> str:
    """Return one line about a test message on one channel: told, absent or failed."""
    match tried.outcome:
        case "told":
            return f"{terminal.paint('✓', 'green')} {tried.channel}: {tried.text}"
        case "absent":
            return f"{terminal.paint('–', 'dim')} {tried.channel}: {tried.text}"
        case "failed":
            return f"{terminal.paint('✗', 'red')} {tried.channel}: {tried.text}"
        case _:
            return assert_never(tried.outcome)


@notify.command("list")
@click.option("-n", "--limit", type=COUNT, default=20, show_default=True, help="only the newest N")
@json_option
def list_notices(limit: int, *, json: bool) -> None:
    """List what you were told or are to be told, newest first, with what went wrong.

    \b
    Examples:
      fleet notify list
      fleet notify list --limit 100 --json
    """
    with Fleet.open() as fleet:
        notices = fleet.notices.list(most=limit)
    if json:
        terminal.say_json(notices)
        return
    if not notices:
        terminal.say("nothing was told yet: the daemon sends notifications")
        return
    rows = [
        (utc(each.seen_at), each.state, _channels_in_words(each), each.title, " ".join(each.body.split()))
        for each in notices
    ]
    for line in terminal.table(("SEEN", "STATE", "HOW", "WHAT", "WHY"), rows):
        terminal.say(terminal.shortened(line, terminal.cut_width()))


def _channels_in_words(notice: NoticeView) -> str:
    """Return the channels that delivered a notice, and what went wrong with the others."""
    return "; ".join(filter(None, (", ".join(notice.channels), notice.trouble))) or "—"


COMMANDS = {"notify": notify}

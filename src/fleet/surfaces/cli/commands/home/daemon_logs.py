"""The command `fleet daemon logs`. It opens no database: the log is needed most when the database has a problem."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fleet.model.text import escapes, jsontext
from fleet.model.text.times import utc
from fleet.surfaces.cli.options import COUNT, json_option
from fleet.surfaces.cli.ui import terminal
from fleet.world.clock import Clock
from fleet.world.files import daemon_log
from fleet.world.home.location import home_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@click.command("logs")
@click.option("-n", "--limit", type=COUNT, default=100, show_default=True, help="only the newest N lines")
@click.option("-f", "--follow", is_flag=True, help="keep printing new lines until Ctrl-C")
@json_option
def logs(limit: int, *, follow: bool, json: bool) -> None:
    """Print the daemon's log: what it did, what went wrong, oldest first. With --json: one object per line.

    \b
    Examples:
      fleet daemon logs
      fleet daemon logs -n 20 --follow
      fleet daemon logs --json | jq 'select(.error)'
    """
    if follow:
        _print_entries(_follow_entries(limit), as_json=json)
        return
    entries = daemon_log.newest(home_path(), limit)
    _print_entries(entries, as_json=json)
    if not entries and not json:
        terminal.say("the daemon has written nothing yet: `fleet daemon start` starts it")


def _follow_entries(most: int) -> Iterator[dict[str, object]]:
    """Yield the newest `most` entries of the daemon's log, then each new one, until standard output has no reader."""
    for entry in daemon_log.follow(home_path(), Clock(), most=most):
        if entry is not None:
            yield entry
        elif not terminal.has_reader():
            return


def _print_entries(entries: Iterable[dict[str, object]], *, as_json: bool) -> None:
    """Print entries of the daemon's log one by one, as soon as each arrives."""
    for entry in entries:
        terminal.say(jsontext.dumps(entry) if as_json else entry_line(entry))
        sys.stdout.flush()


def entry_line(entry: dict[str, object]) -> str:
    """Return an entry of the daemon's log on one line: its time, its event and its facts."""
    facts = {name: value for name, value in entry.items() if name not in {"at", "event"}}
    words = " ".join(f"{name}={value if _is_plain(value) else jsontext.dumps(value)}" for name, value in facts.items())
    at = terminal.paint(utc(str(entry.get("at", ""))), "dim")
    return f"{at}  {escapes.line(str(entry.get('event', '')))}  {escapes.line(words)}".rstrip()


def _is_plain(value: object) -> bool:
    """Whether a value can be printed without quotes: a printable text without blanks."""
    return isinstance(value, str) and value.isprintable() and " " not in value and bool(value)


# The group `fleet daemon` adds it.
COMMANDS = {"logs": logs}

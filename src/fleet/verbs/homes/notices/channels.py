"""The channels by which a message reaches a person. Each has a time limit, and a failing channel does not stop the others."""

from __future__ import annotations

import html
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.model import FLEET_DISPATCH_ID, FLEET_PROJECT, FLEET_REPLACE_NONCE, FLEET_TASK, FLEET_TOKEN
from fleet.model.agents.notices import escape_sequences
from fleet.model.results.home import ChannelTried
from fleet.model.text import escapes, jsontext, secrets
from fleet.world.files import terminals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.model.results.home import NotifyEvent
    from fleet.model.states import ChannelOutcome, NoticeChannel
    from fleet.verbs.context import Context
    from fleet.world.process.programs import Done

# How many seconds each channel may take.
_DESKTOP_LIMIT, _COMMAND_LIMIT, _URLS_LIMIT = 5.0, 10.0, 30.0
# Variables of the environment; a process of a desktop session has at least one of them.
_DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")
_OSASCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")
# apprise runs in a process of its own: it can be killed when it hangs, and no process list shows its addresses.
_APPRISE = """\
import json, sys, apprise
given = json.load(sys.stdin)
def sent(url):
    one = apprise.Apprise()
    return bool(one.add(url)) and bool(one.notify(title=given["title"], body=given["body"], body_format="text"))
print("fleet:" + "".join("01"[sent(url)] for url in given["urls"]))
"""
_EXTRA = "`pip install 'fleet-agents[notify]'` installs apprise"
# Variables that identify an agent; the person's program does not get them.
_OUR_VARIABLES = (FLEET_DISPATCH_ID, FLEET_TASK, FLEET_PROJECT, FLEET_TOKEN, FLEET_REPLACE_NONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The channels that can be used now (`there`), and for each channel that cannot, the reason (`absent`)."""

    there: tuple[NoticeChannel, ...]
    absent: dict[NoticeChannel, str]


def usable_channels(context: Context, wanted: list[NoticeChannel]) -> Reach:
    """Return the wanted channels that a message can be sent to now, and why the others cannot be used."""
    reasons = {channel: _WHY_ABSENT[channel](context) for channel in wanted}
    return Reach(
        there=tuple(channel for channel, reason in reasons.items() if not reason),
        absent={channel: reason for channel, reason in reasons.items() if reason},
    )


def send_to_channels(context: Context, event: NotifyEvent, there: tuple[NoticeChannel, ...]) -> list[ChannelTried]:
    """Send a message by each of these channels, one after the other. Returns the outcome of each."""
    return [_SENDERS[channel](context, event) for channel in there]


def channel_faults(context: Context) -> Iterator[str]:
    """Yield a sentence for each notification setting that cannot work: a missing program, or addresses without apprise."""
    machine, command = context.world.machine, context.settings().notify_command
    if command and not machine.has(command[0]):
        yield f"notify.command: {os.path.basename(command[0])} is not installed"
    if context.settings().notify_urls and not machine.has_module("apprise"):
        yield f"notify.urls: {_EXTRA}"


def unusable_channels(reached: Reach) -> list[ChannelTried]:
    """Return the channels that cannot be used, with the reasons, in the form of tries whose outcome is "absent"."""
    return [_tried(channel, "absent", reason) for channel, reason in reached.absent.items()]


# which channels can be used ------------------------------------------------------------------------------------------
def _why_no_desktop(context: Context) -> str:
    """Return why no desktop notification can be shown; "" when one can."""
    machine = context.world.machine
    if machine.is_mac():
        return "" if machine.has("osascript") else "osascript is not installed"
    if not machine.has("notify-send"):
        return "notify-send is not installed (Debian: libnotify-bin)"
    return "" if any(map(machine.variable, _DESKTOPS)) else "this process belongs to no desktop"


def _why_no_terminal(context: Context) -> str:
    """Return why no terminal can be notified; "" when one can."""
    return "" if context.world.tmux.clients() else "no terminal is attached to fleet's tmux server"


def _why_no_command(context: Context) -> str:
    """Return why the person's program cannot be used as a channel; "" when it can."""
    return "" if context.settings().notify_command else "notify.command is not set"


def _why_no_urls(context: Context) -> str:
    """Return why the channel "urls" cannot be tried: the setting `notify.urls` is empty; "" when it is not.

    Whether apprise is installed is not checked.
    """
    return "" if context.settings().notify_urls else "notify.urls is not set"


_WHY_ABSENT: dict[NoticeChannel, Callable[[Context], str]] = {
    "desktop": _why_no_desktop,
    "terminal": _why_no_terminal,
    "command": _why_no_command,
    "urls": _why_no_urls,
}


# sending --------------------------------------------------------------------------------------------------------------
def _send_desktop(context: Context, event: NotifyEvent) -> ChannelTried:
    """Show a notification on the desktop. Returns the outcome.

    For notify-send the body is escaped, because notify-send reads it as markup.
    """
    words = ["notify-send", "--app-name=fleet", "--", event.title, html.escape(event.body, quote=False)]
    if context.world.machine.is_mac():
        words = ["osascript", *(part for line in _OSASCRIPT for part in ("-e", line)), event.title, event.body]
    done = context.world.programs.record("show notification", words, limit=_DESKTOP_LIMIT)
    return _tried("desktop", "told", words[0]) if done.ok else _tried("desktop", "failed", _why_failed(words[0], done))


def _send_terminal(context: Context, event: NotifyEvent) -> ChannelTried:
    """Notify every terminal that is attached to fleet's tmux server, by an escape sequence. Returns the outcome.

    It is "told" when at least one terminal took the message.
    """
    rung: list[str] = []
    refused: list[str] = []
    for device, name in context.world.tmux.clients():
        content = escape_sequences.notification(event.title, event.body, terminal=name)
        why = terminals.write(context.world.funnel, device, content)
        (refused if why else rung).append(f"{device}: {why}" if why else device)
    if rung:
        return _tried("terminal", "told", ", ".join(rung))
    return _tried("terminal", "failed", "; ".join(refused) or "the terminal was detached")


def _send_command(context: Context, event: NotifyEvent) -> ChannelTried:
    """Run the person's own program with the message as JSON on its standard input. Returns the outcome.

    The outcome names the program without its arguments.
    """
    words = context.settings().notify_command
    if not words:
        return _tried("command", "failed", _why_no_command(context))
    env = {name: value for name, value in os.environ.items() if name not in _OUR_VARIABLES}
    given = f"{jsontext.dumps(event)}\n"
    done = context.world.programs.record(
        "run notify.command", words, limit=_COMMAND_LIMIT, env=env, cwd=context.home, given=given
    )
    name = os.path.basename(words[0])
    return _tried("command", "told", name) if done.ok else _tried("command", "failed", _why_failed(name, done))


def _send_urls(context: Context, event: NotifyEvent) -> ChannelTried:
    """Send the message to the person's addresses, by apprise. Returns the outcome.

    It is "told" when at least one address took the message. It names only the schemes of the addresses, such as
    `mailto`.
    """
    if not context.world.machine.has_module("apprise"):
        return _tried("urls", "failed", _EXTRA)
    urls = context.settings().notify_urls
    given = jsontext.dumps({"urls": urls, "title": event.title, "body": event.body})
    words = [sys.executable, "-c", _APPRISE]
    done = context.world.programs.record("send to notify.urls", words, limit=_URLS_LIMIT, cwd=context.home, given=given)
    answer = done.out.rpartition("fleet:")[2].strip() if done.ok else ""
    if len(answer) != len(urls):
        return _tried("urls", "failed", done.err if done.status is None else "apprise could not be used")
    return _urls_outcome([secrets.masked(url) for url in urls], answer)


def _urls_outcome(names: list[str], answer: str) -> ChannelTried:
    """Return the outcome of a message to several addresses: "told" when at least one of them took it.

    `answer` has one character for each of `names`: "1" when that address took the message.
    """
    told = [name for name, taken in zip(names, answer, strict=True) if taken == "1"]
    refused = [name for name, taken in zip(names, answer, strict=True) if taken != "1"]
    without = f"not taken by {', '.join(refused)}" if refused else ""
    if not told:
        return _tried("urls", "failed", without)
    return _tried("urls", "told", "; ".join(filter(None, (", ".join(told), without))))


_SENDERS: dict[NoticeChannel, Callable[[Context, NotifyEvent], ChannelTried]] = {
    "desktop": _send_desktop,
    "terminal": _send_terminal,
    "command": _send_command,
    "urls": _send_urls,
}


def _why_failed(program: str, done: Done) -> str:
    """Return why a channel's program failed, without its output, which may contain the person's secrets."""
    if done.status is None:
        return escapes.line(done.err.partition(": ")[2] or done.err) if ": " in done.err else escapes.line(done.err)
    return f"{program} exited with status {done.status}"


def _tried(channel: NoticeChannel, outcome: ChannelOutcome, text: str) -> ChannelTried:
    """Return the record of what became of a message on a channel. `text` says where it went, or why it was not sent."""
    return ChannelTried(channel=channel, outcome=outcome, text=text)

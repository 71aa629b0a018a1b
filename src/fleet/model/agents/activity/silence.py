"""Decide whether a busy agent is silent: all signs of its life are older than the time that a setting allows.

A sign is the newest thing of one kind that the agent did: it called a hook, wrote to its log or its files, committed,
or changed its screen. Silence proves nothing: a silent agent is not a dead one.
"""

from __future__ import annotations

from fleet.model.text.times import MINUTE, age

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The states in which an agent is at work. In all others it waits for something, which the state names.
BUSY = frozenset({"working", "compacting", "running"})
# How long a busy agent has to be quiet before a stopped child of its is what it waits for.
WAITS = MINUTE


class Sign:
    """A sign of life: the source that knows it, and when it was."""

    __slots__ = ("at", "source")

    def __init__(self, source: str, at: int) -> None:
        self.source = source
        self.at = at


def newest(signs: Iterable[Sign | None]) -> Sign | None:
    """Return the newest sign of life; None when there is none."""
    return max((sign for sign in signs if sign is not None), key=lambda sign: sign.at, default=None)


def is_older(sign: Sign | None, now: int, most: int) -> bool:
    """Whether a sign of life is older than a time. Without any sign nothing is known, and the answer is False."""
    return sign is not None and now - sign.at > most


def describe_silence(sign: Sign, now: int, *, process: str) -> str:
    """Say for how long an agent has been silent, what its last sign of life was, and what runs below it."""
    running = f"; below it runs: {process}" if process else ""
    return f"silent for {age(now - sign.at)} (last sign of life: {sign.source}); its process lives{running}"


def ways_out(ident: str, *, coordinates: str | None) -> str:
    """Say what a person can do about a silent agent; `coordinates` is the project of a coordinator."""
    look = f"`fleet peek {ident}` shows its screen, `fleet attach {ident}` joins it"
    if coordinates is not None:
        return f"{look}, `fleet coord replace -p {coordinates}` replaces it"
    return f"{look}, `fleet stop {ident}` and then `fleet resume {ident}` start it again"


def ways_on(ident: str) -> str:
    """Say what a person can do about an agent whose turn has failed, and which fleet does not continue."""
    return f"`fleet message {ident} TEXT` makes it go on, `fleet attach {ident}` joins it"


def describe_stopped(pid: int, command: str, *, is_agent: bool) -> str:
    """Say which process of an agent is stopped, and how it is continued."""
    whose = "its process" if is_agent else "a process that it started"
    what = f" ({command})" if command else ""
    return f"{whose}, {pid}{what}, is stopped: `kill -CONT {pid}` continues it"

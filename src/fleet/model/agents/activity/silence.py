"""Decide whether a busy agent is silent: its newest sign of life is older than the time that a setting allows.

A sign of life is something that the agent did: it called a hook, wrote to its log or its files, committed, or changed
its screen. Silence does not prove that an agent is dead.
"""

from __future__ import annotations

from fleet.model.text.times import MINUTE, age

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.model.states import StateSource

# The states in which an agent is at work. In all others it waits for something, which the state names.
BUSY = frozenset({"working", "compacting", "running"})
# A busy agent that was quiet for this long probably waits for a stopped child process, if it has one.
WAITS = MINUTE


class Sign:
    """A sign of life of an agent: where it was seen (`source`), and when."""

    __slots__ = ("at", "source")

    def __init__(self, source: StateSource, at: int) -> None:
        self.source = source
        self.at = at


def newest(signs: Iterable[Sign | None]) -> Sign | None:
    """Return the newest sign of life; None when there is none."""
    return max((sign for sign in signs if sign is not None), key=lambda sign: sign.at, default=None)


def is_older(sign: Sign | None, now: int, most: int) -> bool:
    """Return whether a sign of life is older than `most` milliseconds; False without a sign, because nothing is known then."""
    return sign is not None and now - sign.at > most


def describe_silence(sign: Sign, now: int, *, process: str) -> str:
    """Return how long an agent has been silent, its last sign of life, and which child process runs (`process`), as text."""
    running = f"; below it runs: {process}" if process else ""
    return f"silent for {age(now - sign.at)} (last sign of life: {sign.source}); its process lives{running}"


def ways_out(ident: str, *, coordinates: str | None) -> str:
    """Return the commands with which a person can deal with a silent agent.

    `coordinates` is the project that the agent coordinates; None for an agent that is no coordinator.
    """
    look = f"`fleet peek {ident}` shows its screen, `fleet attach {ident}` joins it"
    if coordinates is not None:
        return f"{look}, `fleet coord replace -p {coordinates}` replaces it"
    return f"{look}, `fleet stop {ident}` and then `fleet resume {ident}` start it again"


def ways_on(ident: str) -> str:
    """Return the commands with which a person can make an agent continue after a failed turn that fleet does not continue."""
    return f"`fleet message {ident} TEXT` makes it go on, `fleet attach {ident}` joins it"


def describe_stopped(pid: int, command: str, *, is_agent: bool) -> str:
    """Return, as text, which process is stopped (by SIGSTOP or the like) and the command that continues it.

    `is_agent`: the process is the agent's own; otherwise the agent started it.
    """
    whose = "its process" if is_agent else "a process that it started"
    what = f" ({command})" if command else ""
    return f"{whose}, {pid}{what}, is stopped: `kill -CONT {pid}` continues it"

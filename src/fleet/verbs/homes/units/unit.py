"""What every unit system shares: the unit's home and name, and the methods that a system must have."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

NAME = "fleet-daemon"
# How many characters a path in a unit's name has at most.
_LONGEST = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What systemd or launchd needs to know to start the daemon of a home.

    `is_default`: the home is ~/.fleet. `program` is the path of the fleet program, `path` the PATH of the daemon.
    """

    home: str
    home_id: str
    is_default: bool
    program: str
    path: str

    @property
    def words(self) -> tuple[str, ...]:
        """The command that runs the home's daemon, as words."""
        return (self.program, "daemon", "run")

    @property
    def name(self) -> str:
        """The unit's name; for a home that is not the default one, it contains the home's path."""
        return NAME if self.is_default else f"{NAME}-{escaped_path(self.home)}"


class UnitSystem(Protocol):
    """A system that starts daemons: systemd or launchd."""

    title: str

    def why_absent(self) -> str:
        """Return why this system cannot start a daemon here, and what to do; "" when it can."""

    def path(self, unit: Unit) -> str:
        """Return the path of the unit's file."""

    def text(self, unit: Unit) -> str:
        """Return the content of the unit's file."""

    def home_of(self, text: str) -> str | None:
        """Return the id of the fleet home that a unit's file was written for; None when fleet did not write it."""

    def enable(self, unit: Unit, *, start: bool) -> str:
        """Let the system start the daemon at each log-in or boot and, with `start`, also now.

        Return why that failed; "" when it worked.
        """

    def start(self, unit: Unit) -> str:
        """Start the daemon of an installed unit. Returns why it failed; "" when it worked."""

    def is_active(self, unit: Unit) -> bool:
        """Whether the system runs the daemon of an installed unit now."""

    def disable(self, unit: Unit) -> str:
        """Stop the daemon, and tell the system not to start it again. Returns why it failed; "" when it worked."""

    def forget(self) -> None:
        """Tell the system that the unit's file is gone."""

    def notes(self, unit: Unit) -> list[str]:
        """Return what a person should know about a unit that is installed."""


def escaped_path(path: str) -> str:
    r"""Return a path as a part of a unit's name, as `systemd-escape --path` writes it.

    `/` becomes `-`, other special characters become `\xNN`. A long name is cut and ends with a hash.
    """
    inner = path.strip("/") or "-"
    name = "".join(_escaped_character(sign, first=number == 0) for number, sign in enumerate(inner))
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 17].rstrip(chr(92))}-{hashlib.sha256(path.encode()).hexdigest()[:16]}"


def _escaped_character(sign: str, *, first: bool) -> str:
    """Return one character of a path as systemd escapes it in a unit's name.

    `first`: it is the first character of the path, where a dot has to be escaped.
    """
    if sign == "/":
        return "-"
    if sign.isascii() and (sign.isalnum() or sign in ":_" or (sign == "." and not first)):
        return sign
    return "".join(f"\\x{byte:02x}" for byte in sign.encode("utf-8", "surrogateescape"))

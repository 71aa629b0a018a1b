"""The identity of a process: host, boot, pid and start time. A pid alone does not suffice: the system reuses pids."""

from __future__ import annotations

from fleet.model import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Life = Literal["alive", "dead", "unknown"]

# The most digits of a process's number.
_DIGITS = len(str(2**31))


class Identity:
    """The identity of one process, which no other process ever has."""

    __slots__ = ("boot", "host", "pid", "start")

    def __init__(self, *, host: str, boot: str, pid: int, start: str) -> None:
        self.host = host
        self.boot = boot
        self.pid = pid
        self.start = start

    @classmethod
    def parse(cls, text: str) -> Identity | None:
        """Return the identity from the text that `str` made of it; None for any other text."""
        parts = text.split("/")
        if len(parts) != 4 or not names.is_number(parts[2], _DIGITS):  # noqa: PLR2004
            return None
        return cls(host=parts[0], boot=parts[1], pid=int(parts[2]), start=parts[3])

    def __str__(self) -> str:
        """Return the text that the store keeps."""
        return f"{self.host}/{self.boot}/{self.pid}/{self.start}"

    def __eq__(self, other: object) -> bool:
        """Compare all four parts."""
        return isinstance(other, Identity) and str(self) == str(other)

    def __hash__(self) -> int:
        """Hash all four parts."""
        return hash(str(self))

    def __repr__(self) -> str:
        """Return a text for debugging."""
        return f"<process {self}>"

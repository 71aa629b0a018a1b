"""Random ids, keys, secrets and numbers."""

from __future__ import annotations

from os import urandom


class Ids:
    """Make random ids, keys, secrets and numbers."""

    __slots__ = ()

    def dispatch(self) -> str:
        """Return a new dispatch id: eight hexadecimal digits."""
        return urandom(4).hex()

    def key(self) -> str:
        """Return a new idempotency key."""
        return urandom(12).hex()

    def token(self) -> str:
        """Return a new secret: 256 random bits, as hexadecimal digits."""
        return urandom(32).hex()

    def random_fraction(self) -> float:
        """Return a random number from 0 to just below 1."""
        return int.from_bytes(urandom(4)) / (1 << 32)

    def conversation(self) -> str:
        """Return a new UUID, the form in which engines name conversations."""
        raw = bytearray(urandom(16))
        raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
        text = raw.hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

"""The nonce by which a new coordinator proves itself once. Only its process knows the nonce; the store keeps its hash."""

from __future__ import annotations

from fleet.fast import blake2s
from fleet.model import FLEET_REPLACE_NONCE

VARIABLE = FLEET_REPLACE_NONCE


def hash_nonce(nonce: str) -> str:
    """Return the hash of a nonce, which the store keeps instead of the nonce."""
    return blake2s(nonce.encode("utf-8", "surrogatepass")).hexdigest()

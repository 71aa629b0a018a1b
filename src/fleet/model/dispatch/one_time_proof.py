"""The one-time proof of a coordinator: its process alone knows a nonce, and the store keeps only the hash."""

from __future__ import annotations

from fleet.fast import blake2s

VARIABLE = "FLEET_REPLACE_NONCE"


def hash_nonce(nonce: str) -> str:
    """Return the hash under which a nonce is stored."""
    return blake2s(nonce.encode("utf-8", "surrogatepass")).hexdigest()

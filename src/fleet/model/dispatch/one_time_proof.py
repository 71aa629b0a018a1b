"""A one-time proof: the nonce is known to one process alone, its hash is what is kept."""

from __future__ import annotations

from fleet.fast import blake2s

VARIABLE = "FLEET_REPLACE_NONCE"


def hash_nonce(nonce: str) -> str:
    """What is stored of a nonce."""
    return blake2s(nonce.encode("utf-8", "surrogatepass")).hexdigest()

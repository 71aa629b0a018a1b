"""The token of an agent: a secret made at its launch. Only the agent's process has it; the store keeps its hash."""

from __future__ import annotations

from fleet.fast import blake2s


def hash_token(token: str) -> str:
    """Return the hash of an agent's token, which the store keeps instead of the token."""
    return blake2s(token.encode("utf-8", "surrogatepass")).hexdigest()

"""The token of an agent: a secret of one launch. The agent's process alone has it, and the store keeps only its hash."""

from __future__ import annotations

from fleet.fast import blake2s


def hash_token(token: str) -> str:
    """Return the hash under which a token is stored."""
    return blake2s(token.encode("utf-8", "surrogatepass")).hexdigest()

"""Addresses and messages without the secrets that they may carry."""

from __future__ import annotations

import re

HIDDEN = "…"
_USERINFO = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<user>[^/\s'\"@]*:[^\s'\"]*|[^/\s'\"@]+)@", re.IGNORECASE)
_SAFE_USERS = frozenset({"git"})


def address(url: str) -> str:
    """Return an address without user, password and options; only its scheme when it cannot be parsed."""
    scheme, found, rest = url.partition("://")
    if not found:
        return HIDDEN
    head, _, options = rest.partition("?")
    if "@" in options and "@" not in head:  # a password with a question mark in it, or one among the options
        return f"{scheme}://{HIDDEN}"
    user, _, place = head.rpartition("@")
    return f"{scheme}://{f'{HIDDEN}@' if user else ''}{place}{f'?{HIDDEN}' if options else ''}"


def hidden(text: str) -> str:
    """Return a message without the users and passwords of the addresses in it."""
    return _USERINFO.sub(_without_user, text)


def _without_user(found: re.Match[str]) -> str:
    return found[0] if found["user"] in _SAFE_USERS else f"{found['scheme']}{HIDDEN}@"

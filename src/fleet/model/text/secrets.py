"""Remove secrets from addresses, messages and facts before they are shown or logged."""

from __future__ import annotations

import re

HIDDEN = "…"
_USERINFO = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<user>[^/\s'\"@]*:[^\s'\"]*|[^/\s'\"@]+)@", re.IGNORECASE)
_SAFE_USERS = frozenset({"git"})
_DEPTH = 4
_SECRET_NAMES = frozenset(
    {"token", "password", "passwd", "secret", "secrets", "nonce", "authorization", "cookie", "credentials"}
    | {"environ", "env", "environment", "urls", "apikey"}
)
_OPTIONS = re.compile(r"(?P<name>\b\w*(?:token|password|passwd|secret|api_?key))=[^\s&'\",;]+", re.IGNORECASE)


def address(url: str) -> str:
    """Return an address with "…" in place of its user and password, and of its options (all that follows the "?").

    When it is unclear where the password ends, return the scheme and "…"; when the text has no "://", only "…".
    """
    scheme, found, rest = url.partition("://")
    if not found:
        return HIDDEN
    head, _, options = rest.partition("?")
    if "@" in options and "@" not in head:  # a password with a question mark in it, or one among the options
        return f"{scheme}://{HIDDEN}"
    user, _, place = head.rpartition("@")
    return f"{scheme}://{f'{HIDDEN}@' if user else ''}{place}{f'?{HIDDEN}' if options else ''}"


def masked(url: str) -> str:
    """Return the scheme of an address and "…", because in some addresses the host itself is the secret.

    When the text has no scheme, return only "…".
    """
    scheme, found, _rest = url.partition("://")
    return f"{scheme}://{HIDDEN}" if found and scheme.isalnum() else HIDDEN


def hidden(text: str) -> str:
    """Return a message with "…" in place of the user and password in each address; the user `git` is kept."""
    return _USERINFO.sub(_without_user, text)


def scrubbed(facts: dict[str, object], *, longest: int) -> dict[str, object]:
    """Return facts for a log, with "…" for each value whose name is like `token`, and for credentials in texts.

    Texts are cut to `longest` characters.
    """
    return {name: HIDDEN if _is_secret(name) else _scrub(value, longest, _DEPTH) for name, value in facts.items()}


def _scrub(value: object, longest: int, depth: int) -> object:
    """Return one value for a log, with secrets hidden, long texts cut, and values nested deeper than `depth` as text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth and isinstance(value, dict):
        inner = {str(name): each for name, each in value.items()}
        return {name: HIDDEN if _is_secret(name) else _scrub(each, longest, depth - 1) for name, each in inner.items()}
    if depth and isinstance(value, list | tuple | set | frozenset):
        return [_scrub(each, longest, depth - 1) for each in value]
    text = _OPTIONS.sub(rf"\g<name>={HIDDEN}", hidden(str(value)))
    return text if len(text) <= longest else f"{text[:longest]}{HIDDEN}"


def _is_secret(name: str) -> bool:
    """Return whether the name of a value, such as `api_token`, says that the value is a secret."""
    words = name.lower().replace("-", "_").split("_")
    return not _SECRET_NAMES.isdisjoint(words)


def _without_user(found: re.Match[str]) -> str:
    """Return a match of _USERINFO, SCHEME://USER:PASSWORD@, with "…" in place of user and password.

    Unchanged when it has only the user `git`.
    """
    return found[0] if found["user"] in _SAFE_USERS else f"{found['scheme']}{HIDDEN}@"

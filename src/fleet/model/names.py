"""Check names and ids at the point where they enter.

A slug becomes a directory, a git branch and a command's argument, so only characters that are harmless in all of them
are allowed.
"""

from __future__ import annotations

from fleet import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

# The greatest lengths of names, in characters.
SLUG_LENGTH = 80
PROJECT_LENGTH = 40
ACTOR_LENGTH = 100
TAG_LENGTH = 40
KEY_LENGTH = 100
# How much an agent may do without asking, from the least freedom to the most.
AUTONOMIES = ("ask", "edits", "allowlist", "full")

_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_SLUG = _LOWER | frozenset("-_.")
_ACTOR = _SLUG | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ@+")
# Such as gpt-5.1-codex, anthropic/claude-opus-4-5 and sonnet[1m].
_MODEL = _ACTOR | frozenset("/:[]=")
_ACTOR_FIRST = _ACTOR - frozenset("-.@")
_KEY = _ACTOR | {":"}
_MODEL_FIRST = _ACTOR - frozenset("-.@+_")
_HEX = frozenset("0123456789abcdef")
_ID_LENGTH = 8
_SESSION = "fleet-"
_SHORTEST_COMMIT, _LONGEST_COMMIT = 4, 64


class DispatchId(str):
    """The id of a dispatch, also of its agent: 8 lower-case hexadecimal digits."""

    __slots__ = ()

    def __new__(cls, given: str, source: str = "the id") -> Self:
        """Return the id; raise BadId, with the `source` of the text, when it is not a dispatch id."""
        if not is_dispatch_id(given):
            raise errors.BadId(given=given, source=source)
        return super().__new__(cls, given)


def is_number(given: str, digits: int) -> bool:
    """Return whether a text is a number of at least one and at most so many decimal digits, without a sign."""
    return given.isascii() and given.isdigit() and len(given) <= digits


def is_dispatch_id(given: str) -> bool:
    """Return whether the text has the shape of a dispatch id."""
    return len(given) == _ID_LENGTH and _HEX.issuperset(given)


def session(dispatch: str) -> str:
    """Return the name of a dispatch's tmux session."""
    return f"{_SESSION}{dispatch}"


def is_session(given: str) -> bool:
    """Return whether a text is the name of a dispatch's tmux session."""
    return given.startswith(_SESSION) and is_dispatch_id(given.removeprefix(_SESSION))


def dispatch_of_session(name: str) -> str:
    """Return the dispatch that a tmux session is named after; a text without the prefix of sessions is returned as it is."""
    return name.removeprefix(_SESSION)


def is_commit(given: str) -> bool:
    """Return whether a text can be the hash of a commit or its beginning: 4 to 64 lower-case hexadecimal digits."""
    return _SHORTEST_COMMIT <= len(given) <= _LONGEST_COMMIT and _HEX.issuperset(given)


def slug(given: str) -> str:
    """Return the slug of a task; raise BadName when it is not valid."""
    return _checked_name("task slug", given, SLUG_LENGTH, _SLUG)


def project(given: str) -> str:
    """Return the name of a project; raise BadName when it is not valid."""
    return _checked_name("project name", given, PROJECT_LENGTH, _SLUG)


def project_and_slug(given: str, project: str | None = None) -> tuple[str | None, str]:
    """Return the project and the slug of a task that is given as PROJECT/SLUG, or as SLUG alone.

    `project` is the project given apart from the task; it is returned, None too, when the text names none. Neither
    name is checked, and a text of another form (a/b/c, web/) is returned as the slug. Raise BadInput when both name a
    project and the two differ.
    """
    named, slash, rest = given.partition("/")
    if not (named and slash and rest) or "/" in rest:
        return project, given
    if project is not None and project != named:
        raise errors.BadInput(what=f"{given} is a task of the project {named}, and not of {project}")
    return named, rest


def tag(given: str) -> str:
    """Return a tag; raise BadName when it is not valid."""
    return _checked_name("tag", given, TAG_LENGTH, _SLUG | {":"})


def engine(given: str) -> str:
    """Return the name of an engine; raise BadName when it is not valid."""
    return _checked_name("engine", given, TAG_LENGTH, _SLUG)


def model(given: str) -> str:
    """Return the name of a model; raise BadName when it is not valid, for example when the engine could take it for an option."""
    return _checked_name("model", given, ACTOR_LENGTH, _MODEL, first=_MODEL_FIRST)


def key(given: str) -> str:
    """Return an idempotency key; raise BadName when it is not valid."""
    return _checked_name("key", given, KEY_LENGTH, _KEY, first=_ACTOR)


def actor(given: str) -> str:
    """Return the name of an actor; raise BadName when it is not valid or looks like a dispatch id."""
    if is_dispatch_id(given):
        raise errors.BadName(what="actor", given=given, why="it looks like a dispatch id", advice=_advice(_ACTOR))
    return _checked_name("actor", given, ACTOR_LENGTH, _ACTOR, first=_ACTOR_FIRST)


def _checked_name(what: str, given: str, most: int, allowed: frozenset[str], first: frozenset[str] = _LOWER) -> str:
    """Return the name; raise BadName when it is empty, too long, has a character that is not allowed, or begins wrongly.

    `most` is its greatest length, `first` has the characters that it may begin with.
    """
    why = _fault_of_name(given, most, allowed, first)
    if why:
        raise errors.BadName(what=what, given=given[:most], why=why, advice=_advice(allowed))
    return given


def _fault_of_name(given: str, most: int, allowed: frozenset[str], first: frozenset[str]) -> str:
    """Return why a name is not valid, as text; empty when it is."""
    if not given:
        return "it is empty"
    if len(given) > most:
        return f"it has {len(given)} characters, {most} at most"
    if not allowed.issuperset(given):
        return f"it has {next(char for char in given if char not in allowed)!r} in it"
    if given[0] not in first:
        return f"it begins with {given[0]!r}"
    if ".." in given or given.endswith((".", ".lock")):
        return "git allows no branch of that name"
    return ""


def _advice(allowed: frozenset[str]) -> str:
    """Return which characters a name may have, as advice for people."""
    letters = "letters" if "A" in allowed else "lower-case letters"
    marks = " ".join(sorted(allowed - frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")))
    return f"use {letters}, digits and {marks}, beginning with a letter or digit"

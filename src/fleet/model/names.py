"""Names and ids, validated at the door.

A slug becomes a directory, a git branch and an argument; so it can hold nothing that means something to any of them.
"""

from __future__ import annotations

from fleet import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

SLUG_LENGTH = 80
PROJECT_LENGTH = 40
ACTOR_LENGTH = 100
TAG_LENGTH = 40
KEY_LENGTH = 100

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
_SHORTEST_COMMIT, _LONGEST_COMMIT = 4, 64


class DispatchId(str):
    """8 lower-case hexadecimal digits; also the agent's id."""

    __slots__ = ()

    def __new__(cls, given: str, source: str = "the id") -> Self:
        """Refuse a text that is not a dispatch id, and say where it came from."""
        if not is_dispatch_id(given):
            raise errors.BadId(given=given, source=source)
        return super().__new__(cls, given)


def is_dispatch_id(given: str) -> bool:
    """Whether the text has the shape of a dispatch id."""
    return len(given) == _ID_LENGTH and _HEX.issuperset(given)


def is_commit(given: str) -> bool:
    """Whether the text can be a commit's hash, or the beginning of one."""
    return _SHORTEST_COMMIT <= len(given) <= _LONGEST_COMMIT and _HEX.issuperset(given)


def slug(given: str) -> str:
    """Check the slug of a task."""
    return _checked_name("task slug", given, SLUG_LENGTH, _SLUG)


def project(given: str) -> str:
    """Check the name of a project."""
    return _checked_name("project name", given, PROJECT_LENGTH, _SLUG)


def project_and_slug(given: str, project: str | None = None) -> tuple[str | None, str]:
    """Return the project and the slug of a task that is named as PROJECT/SLUG, or as SLUG beside a project or none.

    BadInput when the two projects differ.
    """
    named, slash, rest = given.partition("/")
    if not (named and slash and rest) or "/" in rest:
        return project, given
    if project is not None and project != named:
        raise errors.BadInput(what=f"{given} is a task of the project {named}, and not of {project}")
    return named, rest


def tag(given: str) -> str:
    """Check a tag."""
    return _checked_name("tag", given, TAG_LENGTH, _SLUG | {":"})


def engine(given: str) -> str:
    """Check the name of an engine."""
    return _checked_name("engine", given, TAG_LENGTH, _SLUG)


def model(given: str) -> str:
    """Check the name of a model, as an engine calls it: it becomes a word of the engine's command line, never an option."""
    return _checked_name("model", given, ACTOR_LENGTH, _MODEL, first=_MODEL_FIRST)


def key(given: str) -> str:
    """Check an idempotency key."""
    return _checked_name("key", given, KEY_LENGTH, _KEY, first=_ACTOR)


def actor(given: str) -> str:
    """Check the name of an actor; it must not look like a dispatch id."""
    if is_dispatch_id(given):
        raise errors.BadName(what="actor", given=given, why="it looks like a dispatch id", advice=_advice(_ACTOR))
    return _checked_name("actor", given, ACTOR_LENGTH, _ACTOR, first=_ACTOR_FIRST)


def _checked_name(what: str, given: str, most: int, allowed: frozenset[str], first: frozenset[str] = _LOWER) -> str:
    why = _fault_of_name(given, most, allowed, first)
    if why:
        raise errors.BadName(what=what, given=given[:most], why=why, advice=_advice(allowed))
    return given


def _fault_of_name(given: str, most: int, allowed: frozenset[str], first: frozenset[str]) -> str:
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
    letters = "letters" if "A" in allowed else "lower-case letters"
    marks = " ".join(sorted(allowed - frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")))
    return f"use {letters}, digits and {marks}, beginning with a letter or digit"

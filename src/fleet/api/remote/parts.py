"""The parts of `Fleet` while a daemon runs: the daemon performs the methods that change something; all others run here.

Each call has one idempotency key. When the daemon dies before it answers, this process performs the call itself under
the same key: a step that the daemon has committed is found by that key and not done twice.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fleet import errors
from fleet.api.remote import wire
from fleet.api.remote.acts import CALLBACKS, METHODS_THAT_RUN_JOBS, WAYS, is_forwarded
from fleet.api.remote.door import ANSWER, Door, DoorClosed
from fleet.model import FLEET_TOKEN
from fleet.store import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from fleet.api.actor import Actor, Part
    from fleet.api.remote.wire import Json

    T = TypeVar("T")

# The variables of the asker's environment that a quick or light request sends, besides those of fleet (FLEET_*).
_NAMED = frozenset({"USER", "LOGNAME", "HOME", "LANG", "TERM", "NO_COLOR", "FORCE_COLOR"})
# Seconds to wait while the child process of a daemon that has ended still holds the job.
_ENDING = 30.0
_LOOK_AGAIN = 0.25
# How many operations an error names.
_MOST_LISTED = 5
_SECRET = FLEET_TOKEN


class RemotePart:
    """One part of `Fleet` whose changes the daemon makes while it runs."""

    def __init__(self, name: str, part: Part, by: Actor) -> None:
        self._name = name
        self._part = part
        self._actor = by

    def __getattr__(self, method: str) -> Any:  # noqa: ANN401 - whatever the part has
        """Return a method of the part; for one that changes something, a function that sends the call to the daemon."""
        own = getattr(self._part, method)
        if not is_forwarded(f"{self._name}.{method}"):
            return own
        return lambda *given, **named: self._ask(method, own, given, named)

    def _ask(self, method: str, own: Callable[..., Any], given: tuple[Any, ...], named: Json) -> Any:  # noqa: ANN401
        """Let the daemon perform the method with the name `method` of this part, and return its answer.

        When the daemon is gone, call `own`, the same method in this process, under the same idempotency key. `given`
        and `named` are the call's arguments.
        """
        whole = f"{self._name}.{method}"
        args = arguments(own, given, named)
        key = args.get("key") or self._actor.ids.key()
        if "key" in args and args["key"] is None:
            args["key"] = key
        door = self._actor.door
        if door is not None:
            self._name_job(args)
            try:
                return through(door, whole, args, key, caller_of(self._actor, whole))
            except (DoorClosed, errors.Draining) as error:
                self._actor.do_without_daemon()
                if getattr(error, "was_sent", False):
                    return self._repeat(own, args, key, again=None if whole in METHODS_THAT_RUN_JOBS else key)
        with self._actor.committer.under(key):
            return own(**args)

    def _name_job(self, args: Json) -> None:
        """Give a new job its id before the request is sent, so that a repeated request continues that job."""
        asked = args.get("asked")
        if self._name == "jobs" and asked is not None and asked.id is None:
            args.update(asked=replace(asked, id=self._actor.ids.dispatch()))

    def _repeat(self, own: Callable[..., T], args: Json, key: str, *, again: str | None) -> T:
        """Perform in this process a request that the daemon may have performed, or may still be performing.

        `key` is the request's key, by which the changes are found that the daemon has committed. `again` is the key to
        repeat the request with, so that these changes are not made twice; None for a request that carries on from what
        the store says. When the repetition fails, raise its error, or AnswerLost with the daemon's changes if there are
        some.
        """
        try:
            return self._repeat_when_free(own, args, again)
        except errors.FleetError as error:
            done = self._actor.store.read(lambda rows: q.operations_of_invocation(rows, beginning=f"{key}:"))
            if not done:
                raise
            raise errors.AnswerLost(done=_listed(row.why for row in done), why=str(error)) from error

    def _repeat_when_free(self, own: Callable[..., T], args: Json, key: str | None) -> T:
        """Perform the request in this process under the idempotency key `key` (None: each change gets a new key).

        A child process of the daemon that has begun the request may still hold the gate of a job: then try again until
        the gate is free, and raise ResumeInProgress when it is not free after 30 seconds.
        """
        clock = self._actor.clock
        until = clock.ticks() + _ENDING
        while True:
            try:
                with self._actor.committer.under(key):
                    return own(**args)
            except errors.ResumeInProgress:
                if clock.ticks() >= until:
                    raise
                clock.wait(_LOOK_AGAIN)


def _listed(whys: Iterable[str]) -> str:
    """Return the reasons (`why`) of operations as one text: the first ones, and how many more there are."""
    every = list(whys)
    more = f"; and {len(every) - _MOST_LISTED} more" if len(every) > _MOST_LISTED else ""
    return "; ".join(every[:_MOST_LISTED]) + more


def arguments(own: Callable[..., Any], given: tuple[Any, ...], named: Json) -> Json:
    """Return the arguments that a call gives, by name, as a request sends them; `**fields` stand among the others.

    `key` is None when the method has that parameter and the call does not give it.
    """
    signature = inspect.signature(own)
    bound = signature.bind(*given, **named).arguments
    extra = bound.pop("fields", {}) if "fields" in signature.parameters else {}
    if "key" in signature.parameters:
        bound.setdefault("key", None)
    return {**bound, **extra}


def through(door: Door, method: str, args: Json, key: str, caller: Json) -> Any:  # noqa: ANN401
    """Send one request to the daemon and return its answer as the method's result.

    What the daemon pushes meanwhile is passed to the functions among the arguments.
    """
    functions = {name: each for name, each in args.items() if name in CALLBACKS and callable(each)}
    sent = {name: wire.plain(wire.iterator_as_list(each)) for name, each in args.items() if name not in functions}

    def pushed(push: Json) -> None:
        """Call the function among the arguments that a push of the daemon is for."""
        told = functions.get(str(push.get("push")))
        if told is not None:
            told(wire.result_from_json(push["value"], push.get("type", "")))

    is_long = WAYS.get(method) == "heavy"
    answer = door.call(method, sent, key=key, caller=caller, pushed=pushed, patience=ANSWER, is_long=is_long)
    return wire.result_from_json(answer["result"], answer.get("type", ""))


def caller_of(by: Actor, method: str = "") -> Json:
    """Return the `caller` of a request: who asks, with which token, and from which directory and environment.

    `method` is like "tasks.add". A heavy method (see `acts`), which starts processes, gets the whole environment;
    others only the variables that fleet reads.
    """
    whole = WAYS.get(method) == "heavy"
    environ = {
        name: value
        for name, value in os.environ.items()
        if name != _SECRET and (whole or name in _NAMED or name.startswith("FLEET_"))
    }
    return {
        "as": None if by.speaker else by.actor,
        "dispatch": by.speaker,
        "token": os.environ.get(_SECRET),
        "directory": os.getcwd() if _has_directory() else None,
        "environ": environ,
    }


def _has_directory() -> bool:
    """Whether the current directory still exists."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True

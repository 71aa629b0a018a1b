"""`Fleet` for an agent that has only the daemon's socket: the daemon performs every method of every part.

The agent opens no file of the home. When the daemon does not answer, nothing is done and NoDoor is raised.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet import errors
from fleet.api.fleet import PARTS, Fleet, part_class
from fleet.api.remote.door import LONGEST_LINE_OF_AGENTS, Door, DoorClosed
from fleet.api.remote.parts import arguments, caller_of, through
from fleet.api.remote.unusable import UnusableStore
from fleet.model.agents.actors import DOOR
from fleet.model.agents.roles import ACTS
from fleet.world.clock import Clock
from fleet.world.funnel import Funnel
from fleet.world.home.location import home_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.api.actor import Part
    from fleet.api.remote.wire import Json
    from fleet.model.names import DispatchId

# Seconds to wait for a daemon that is being restarted.
_PATIENCE = 10.0
_LOOK_AGAIN = 0.25


class AskedPart:
    """One part of `Fleet` whose methods are all sent to the daemon."""

    def __init__(self, name: str, part: Part, by: FleetByDoor) -> None:
        self._name = name
        self._part = part
        self._by = by

    def __getattr__(self, method: str) -> Callable[..., object]:
        """Return a function that sends a call of this method to the daemon and returns the daemon's answer."""
        own = getattr(self._part, method)
        return lambda *given, **named: self._by.ask(f"{self._name}.{method}", arguments(own, given, named))


class FleetByDoor(Fleet):
    """`Fleet` for an agent that reaches fleet only by the daemon's socket."""

    @classmethod
    def of(cls, actor: str, dispatch: DispatchId | None) -> FleetByDoor:
        """Return the Fleet of this agent, for the home that the environment names. Connects when it is first used."""
        funnel = Funnel()
        store = UnusableStore(funnel, _no_door("the store is in the home, which only the daemon opens"))
        return cls(home=home_path(), store=store, actor=actor, dispatch=dispatch, funnel=funnel)

    def close(self) -> None:
        """Close the connection to the daemon."""
        self.do_without_daemon()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Return the part of `Fleet` with this name, whose methods ask the daemon; create it when it is first used."""
            if name not in PARTS:
                raise AttributeError(name)
            part = self.__dict__[name] = AskedPart(name, part_class(name)(self), self)
            return part

    def ask(self, method: str, args: Json) -> object:
        """Send one method call to the daemon and return its answer. Raise NoDoor when none answers within ten seconds.

        `method` is like "tasks.add". While the daemon restarts, the call is sent again under the same key, so that the act
        is done once. Raise Unanswered instead of NoDoor when an act was sent, and nobody knows whether it was done.
        """
        key = args.get("key") or self.ids.key()
        args |= {"key": key} if "key" in args else {}
        clock, why, was_sent = Clock(), "", False
        until = clock.ticks() + _PATIENCE
        while clock.ticks() < until:
            try:
                return through(self._opened_door(), method, args, key, caller_of(self, method))
            except (DoorClosed, errors.Draining) as error:
                why = str(error)
                was_sent = was_sent or getattr(error, "was_sent", False)
                self.do_without_daemon()
            clock.wait(_LOOK_AGAIN)
        if was_sent and method in ACTS:
            raise errors.Unanswered(path=os.environ.get(DOOR), why=why, key=key)
        raise _no_door(why)

    def _opened_door(self) -> Door:
        """Return the connection to the daemon; open it if there is none. Raise DoorClosed when nobody answers."""
        if self.door is None:
            door = Door(os.environ[DOOR], longest=LONGEST_LINE_OF_AGENTS)
            door.open()
            self.door = door
        return self.door


def _no_door(why: str) -> errors.NoDoor:
    """Return the error NoDoor for the socket that the environment names; `why` says why it cannot be used."""
    return errors.NoDoor(path=os.environ.get(DOOR), why=why)

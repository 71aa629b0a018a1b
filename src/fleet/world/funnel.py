"""The funnel: every effect on the outside has a name and passes through here.

So no effect can happen while a transaction is open, and a test harness can count the effects and kill the process
before, during or after the n-th.
"""

from __future__ import annotations

from _thread import get_ident

from fleet import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    T = TypeVar("T")

    class Watcher(Protocol):
        """An observer of effects, such as the crash harness."""

        def before(self, effect: str) -> None:
            """Called before an effect happens."""

        def during(self, effect: str, pid: int) -> None:
            """Called when another program, with this pid, has begun to perform an effect."""

        def after(self, effect: str) -> None:
            """Called after an effect has happened; not called when the effect raised an error."""


class Funnel:
    """The one object through which this process performs its effects, and which refuses them in a transaction."""

    __slots__ = ("_open", "watcher")

    def __init__(self, watcher: Watcher | None = None) -> None:
        self._open: dict[int, str] = {}
        self.watcher = watcher

    def through(self, effect: str, act: Callable[[], T]) -> T:
        """Perform an effect by calling `act`, and return its result.

        `effect` is its name. Raise EffectInTransaction when this thread has a transaction open.
        """
        self.refuse_in_transaction(effect)
        return self._watched(effect, act)

    def commit(self, why: str, act: Callable[[], T]) -> T:
        """Call `act`, which commits the open transaction, and return its result. `why` names the commit for a watcher.

        No other effect is allowed while this thread has a transaction open.
        """
        return self._watched(f"commit {why}", act)

    def during(self, effect: str, pid: int) -> None:
        """Tell the watcher that another program, the process `pid`, has begun to perform an effect."""
        if self.watcher is not None:
            self.watcher.during(effect, pid)

    def refuse_in_transaction(self, effect: str) -> None:
        """Raise EffectInTransaction when this thread has a transaction open."""
        why = self._open.get(get_ident())
        if why is not None:
            raise errors.EffectInTransaction(effect=effect, why=why)

    def shut(self, why: str) -> None:
        """Record that this thread has opened a transaction: until `reopen`, its effects raise EffectInTransaction.

        `why` is what the transaction is for; the error says it.
        """
        self._open[get_ident()] = why

    def reopen(self) -> None:
        """Record that this thread has closed its transaction: effects are allowed again."""
        self._open.pop(get_ident(), None)

    def _watched(self, effect: str, act: Callable[[], T]) -> T:
        """Perform an effect and return its result; tell the watcher, if there is one, before and after the effect.

        When the effect raises an error, the watcher is not told afterwards.
        """
        if self.watcher is None:
            return act()
        self.watcher.before(effect)
        done = act()
        self.watcher.after(effect)
        return done

"""Every effect has a name and passes here.

So no effect can happen while a transaction is open, and a harness can count effects and die before or after the n-th.
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
        """Someone who is told of each effect."""

        def before(self, effect: str) -> None:
            """Be told that the effect is about to happen."""

        def during(self, effect: str, pid: int) -> None:
            """Be told that another program has begun to perform the effect."""

        def after(self, effect: str) -> None:
            """Be told that the effect has happened."""


class Funnel:
    """The one place that all effects of a process go through."""

    __slots__ = ("_open", "watcher")

    def __init__(self, watcher: Watcher | None = None) -> None:
        self._open: dict[int, str] = {}
        self.watcher = watcher

    def through(self, effect: str, act: Callable[[], T]) -> T:
        """Perform one effect."""
        self.refuse_in_transaction(effect)
        return self._watched(effect, act)

    def commit(self, why: str, act: Callable[[], T]) -> T:
        """Commit a transaction: the only effect that is allowed inside one."""
        return self._watched(f"commit {why}", act)

    def during(self, effect: str, pid: int) -> None:
        """Record that another program has begun to perform the effect."""
        if self.watcher is not None:
            self.watcher.during(effect, pid)

    def refuse_in_transaction(self, effect: str) -> None:
        """Raise when this thread has a transaction open."""
        why = self._open.get(get_ident())
        if why is not None:
            raise errors.EffectInTransaction(effect=effect, why=why)

    def shut(self, why: str) -> None:
        """Record that this thread has opened a transaction."""
        self._open[get_ident()] = why

    def reopen(self) -> None:
        """Record that this thread's transaction is closed."""
        self._open.pop(get_ident(), None)

    def _watched(self, effect: str, act: Callable[[], T]) -> T:
        if self.watcher is None:
            return act()
        self.watcher.before(effect)
        done = act()
        self.watcher.after(effect)
        return done

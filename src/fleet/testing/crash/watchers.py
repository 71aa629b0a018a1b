"""Watchers of effects: one records the effects of a process; the others act at a chosen effect, mostly by killing their process."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Effects that only ask. A death around one of them leaves the world as the effect before did, so they are not counted.
QUESTIONS = (
    "tmux list", "tmux capture-pane", "git rev-parse", "git for-each-ref", "git worktree list", "git status", "git rev-list", "git merge-base",
    "git symbolic-ref", "git ls-files", "git log", "git diff", "git --version", "tmux -V",
)  # fmt: skip
# The ways of a death around an effect. For a death during one: what happens to the program that performs the effect.
HELD = "during, the program lives on past a sweep"
LIVES = "during, the program lives on"
DIES = "during, the program dies too"
WAYS = ("before", "after", LIVES, DIES, HELD)
_QUESTION = -1


class ActBefore:
    """Call a function before each effect whose name begins with the given words, for example to kill the process."""

    def __init__(self, name: str, act: Callable[[], object]) -> None:
        self._name, self._act = name, act

    def before(self, effect: str) -> None:
        """Call the function if the name of the effect begins with the given words."""
        if effect.startswith(self._name):
            self._act()

    def during(self, _effect: str, _pid: int) -> None:
        """Do nothing: the function is called before the effect."""

    def after(self, _effect: str) -> None:
        """Do nothing: the function is called before the effect."""


def die() -> None:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)


class Recorder:
    """Record every effect of a process that changes something, and which effects another program performs."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.performed: set[int] = set()
        # The numbers of the effects that have begun and not ended, the innermost last; and the pid of the running program.
        self.under_way: list[int] = []
        self.program = 0

    def before(self, effect: str) -> None:
        """Record that an effect begins."""
        if effect.startswith(QUESTIONS):
            self.under_way.append(_QUESTION)
            return
        self.under_way.append(len(self.effects))
        self.effects.append(effect)

    def during(self, _effect: str, pid: int) -> None:
        """Record the program that performs the effect."""
        self.performed.add(self.under_way[-1])
        self.program = pid

    def after(self, _effect: str) -> None:
        """Record that the effect has ended."""
        if self.under_way.pop() in self.performed:
            self.program = 0

    def programs(self) -> list[int]:
        """Return the numbers of the effects that another program, such as git or tmux, performs."""
        return sorted(self.performed - {_QUESTION})


class Killer(Recorder):
    """Kill its own process before, during or after the effect with this number (from 0); `way` is one of WAYS.

    Before that, write the pid of the program that performs the effect, if one does, into `pipe`.
    """

    def __init__(self, number: int, way: str, pipe: int) -> None:
        super().__init__()
        self._number = number
        self._way = way
        self._pipe = pipe

    def before(self, effect: str) -> None:
        """Record that an effect begins; kill this process if it has to die before this effect."""
        super().before(effect)
        if self._way == "before" and self.under_way[-1] == self._number:
            self._die()

    def during(self, effect: str, pid: int) -> None:
        """Record that a program performs an effect.

        If this process has to die during it, stop the program and kill this process.
        """
        super().during(effect, pid)
        if self._way.startswith("during") and self.under_way[-1] == self._number:
            os.kill(pid, signal.SIGSTOP)
            self._die()

    def after(self, effect: str) -> None:
        """Record that an effect has ended; kill this process if it has to die after this effect."""
        number = self.under_way[-1]
        super().after(effect)
        if self._way == "after" and number == self._number:
            self._die()

    def _die(self) -> None:
        """Write the pid of the program that still runs into the pipe, and kill this process."""
        if self.program:
            os.write(self._pipe, str(self.program).encode())
        os.kill(os.getpid(), signal.SIGKILL)

"""How a job's progress is shown: live in a terminal, as lines in a pipe, as JSON lines for programs."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from fleet.model.results.jobs import ItemChanged, JobProgress
from fleet.model.text import jsontext
from fleet.model.text.times import SECOND, age
from fleet.surfaces.cli.ui import terminal
from fleet.surfaces.cli.ui.streams import ESCAPE

if TYPE_CHECKING:
    from types import FrameType
    from typing import Self

    from fleet.model.states import ItemState
    from fleet.verbs.jobs.progress import Event, Tell

_BAR = 30
_SHOWN: tuple[ItemState, ...] = ("done", "running", "merging", "waiting", "dead", "parked", "skipped")
_WORST = ("dead", "parked", "skipped")


class Wish:
    """Whether the job is still wanted: the first Ctrl-C asks it to stop, the second does not ask."""

    def __init__(self) -> None:
        self._wanted = True

    def __enter__(self) -> Self:
        """Listen."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def __call__(self) -> bool:
        """Whether it is."""
        return self._wanted

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        if not self._wanted:
            raise KeyboardInterrupt
        self._wanted = False


def chosen(*, as_json: bool) -> Tell:
    """The view for whoever looks."""
    if as_json:
        return _as_json
    return Live() if terminal.is_terminal() else _as_line


def _as_json(event: Event) -> None:
    sys.stdout.write(f"{jsontext.dumps(event)}\n")
    sys.stdout.flush()


def _as_line(event: Event) -> None:
    line = in_words(event)
    if line:
        terminal.say(line)
        sys.stdout.flush()


def in_words(event: Event) -> str:
    """An event in one line; nothing for those that say nothing new."""
    if isinstance(event, JobProgress):
        return ""
    reason = f": {event.reason}" if event.reason else ""
    if not isinstance(event, ItemChanged):
        return f"job {event.job} ({event.name}) {event.state}, {event.phase}{reason}"
    if event.state == "merging":
        return ""
    again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
    state = "will be tried again" if event.state == "waiting" else event.state
    return f"{event.item}  {event.label}  {state}{again}{reason}"


def progress(event: JobProgress) -> str:
    """How far it is, in one line."""
    filled = _BAR * event.ended // event.total if event.total else 0
    states = "  ".join(event.in_words(_SHOWN))
    rate = f"  {event.rate * 60:.1f}/min" if event.rate else ""
    eta = f"  {age(event.eta * SECOND)} left" if event.eta else ""
    return f"{'█' * filled}{'░' * (_BAR - filled)} {event.ended}/{event.total}  {states}{rate}{eta}"


class Live:
    """A few lines that are drawn anew: how far it is, and what is worked on."""

    def __init__(self) -> None:
        self._running: dict[str, str] = {}
        self._last: JobProgress | None = None
        self._drawn = 0

    def __call__(self, event: Event) -> None:
        """Draw it anew; what is worth keeping stays above."""
        kept = ""
        if isinstance(event, JobProgress):
            self._last = event
        elif isinstance(event, ItemChanged):
            kept = self._item(event)
        else:
            kept = in_words(event)
        self._draw(kept)

    def _item(self, event: ItemChanged) -> str:
        if event.state in {"running", "merging"}:
            self._running[event.item] = f"{event.item}  {event.label}  {event.state}"
            return ""
        self._running.pop(event.item, None)
        return in_words(event) if event.state in _WORST else ""

    def _draw(self, kept: str) -> None:
        over = f"{ESCAPE}[{self._drawn}F{ESCAPE}[J" if self._drawn else ""
        lines = [progress(self._last)] if self._last else []
        lines += [f"  {line}" for line in list(self._running.values())[:10]]
        room = terminal.columns() - 1
        shown = "".join(f"{terminal.shortened(line, room)}\n" for line in lines)
        above = f"{terminal.shortened(kept, 4 * room)}\n" if kept else ""
        sys.stdout.write(f"{over}{above}{shown}")
        sys.stdout.flush()
        self._drawn = len(lines)

"""Show the progress of a job: live in a terminal, as lines in a pipe, as JSON lines for programs."""

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
    from fleet.verbs.jobs.progress import JobEvent, Tell

# Columns for the progress bar.
_BAR = 30
# The states of items in the order in which their counts are shown.
STATES: tuple[ItemState, ...] = ("done", "running", "merging", "waiting", "dead", "parked", "skipped")
# The states of an item whose line stays on the screen above the bar.
_KEPT_STATES = ("dead", "parked", "skipped")


class StopOnSignal:
    """Tells a job's runner whether to go on: not after a Ctrl-C or SIGTERM. The second one raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self._wanted = True

    def __enter__(self) -> Self:
        """Install handlers for SIGINT and SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        """Install Python's default handlers for SIGINT and SIGTERM."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def __call__(self) -> bool:
        """Whether the job should keep running."""
        return self._wanted

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal: let the job stop; at the second signal raise KeyboardInterrupt."""
        if not self._wanted:
            raise KeyboardInterrupt
        self._wanted = False


def choose_view(*, as_json: bool) -> Tell:
    """Return the function that shows a job's events: as JSON lines, live on a terminal, or as plain lines."""
    if as_json:
        return _print_json
    return Live() if terminal.is_terminal() else ProgressLines()


def _print_json(event: JobEvent) -> None:
    sys.stdout.write(f"{jsontext.dumps(event)}\n")
    sys.stdout.flush()


class ProgressLines:
    """Prints a line for each change of a job. What the job waits for is printed when it changes."""

    def __init__(self) -> None:
        self._waits: str | None = None

    def __call__(self, event: JobEvent) -> None:
        """Print an event of the job as a line, if people need to see it."""
        line = event_line(event)
        if isinstance(event, JobProgress):
            line = waits_line(event) if event.waits != self._waits else ""
            self._waits = event.waits
        if line:
            terminal.say(line)
            sys.stdout.flush()


def waits_line(event: JobProgress) -> str:
    """Return a line about what a job waits for; "" when it waits for nothing."""
    return f"job {event.job} waits: {event.waits}" if event.waits else ""


def event_line(event: JobEvent) -> str:
    """Return an event of a job as one line; "" for an event that people need not see."""
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


def progress_line(event: JobProgress) -> str:
    """Return a job's progress as one line: bar, counts, rate and remaining time."""
    filled = _BAR * event.ended // event.total if event.total else 0
    states = "  ".join(event.in_words(STATES))
    rate = f"  {event.rate * 60:.1f}/min" if event.rate else ""
    eta = f"  {age(event.eta * SECOND)} left" if event.eta else ""
    return f"{'█' * filled}{'░' * (_BAR - filled)} {event.ended}/{event.total}  {states}{rate}{eta}"


class Live:
    """Shows a job's progress and its running items (ten at most) in a few lines that are redrawn in place."""

    def __init__(self) -> None:
        self._running: dict[str, str] = {}
        self._last: JobProgress | None = None
        self._drawn = 0

    def __call__(self, event: JobEvent) -> None:
        """Take in an event and redraw. A line about the job itself, or a failed or skipped item, stays above."""
        kept = ""
        if isinstance(event, JobProgress):
            self._last = event
        elif isinstance(event, ItemChanged):
            kept = self._update_item(event)
        else:
            kept = event_line(event)
        self._draw(kept)

    def _update_item(self, event: ItemChanged) -> str:
        """Update which items run. Returns the line to keep on the screen for a failed or skipped item, else ""."""
        if event.state in {"running", "merging"}:
            self._running[event.item] = f"{event.item}  {event.label}  {event.state}"
            return ""
        self._running.pop(event.item, None)
        return event_line(event) if event.state in _KEPT_STATES else ""

    def _draw(self, kept: str) -> None:
        """Redraw the lines in place, and print `kept` above them; "" prints nothing."""
        over = f"{ESCAPE}[{self._drawn}F{ESCAPE}[J" if self._drawn else ""
        lines = [line for line in (progress_line(self._last), waits_line(self._last)) if line] if self._last else []
        lines += [f"  {line}" for line in list(self._running.values())[:10]]
        room = terminal.layout_width() - 1
        shown = "".join(f"{terminal.shortened(line, room)}\n" for line in lines)
        above = f"{terminal.shortened(kept, 4 * room)}\n" if kept else ""
        sys.stdout.write(f"{over}{above}{shown}")
        sys.stdout.flush()
        self._drawn = len(lines)

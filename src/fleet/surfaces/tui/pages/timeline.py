"""The timeline page: a bar for each agent, from its launch to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from fleet.model.text.times import HOUR, MINUTE, age, minute_of_day, since_epoch
from fleet.surfaces.tui.pages.live_page import LivePage

if TYPE_CHECKING:
    from fleet.api.fleet import Fleet
    from fleet.model.results.views import Span
    from fleet.model.states import Tone
    from fleet.surfaces.tui.look import ScreenLook

# The lengths of time that the page can show, shortest first.
_WINDOWS = (15 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR)
_TONES: dict[str, Tone] = {"working": "cyan", "done": "green", "failed": "red", "blocked": "yellow"}
# The sign at the end of a bar, for each outcome.
_ENDS = {"working": "▶", "done": "✓", "failed": "✕", "blocked": "⏸"}
# The word for a dispatch that has not ended. Whether its agent works, waits or is gone is only shown on the board.
_NOT_ENDED = "not ended"
# Columns for the name before a bar, and for the outcome behind it.
_NAME, _MARGIN = 26, 17


class TimelinePage(LivePage):
    """The page that shows when agents worked."""

    KEYS = (("+ -", "longer, shorter"), *LivePage.KEYS)

    def __init__(self, look: ScreenLook, home: str) -> None:
        super().__init__("Timeline", look, home)
        # The place in _WINDOWS of the length of time that is shown.
        self._window = 1

    def press(self, key: str) -> None:
        """Show a longer or shorter time on + and -; handle other keys as every page does."""
        step = {"plus": 1, "equals_sign": 1, "minus": -1}.get(key, 0)
        if step:
            self._window = max(0, min(self._window + step, len(_WINDOWS) - 1))
            self.fetch_anew()
            return
        super().press(key)

    def fetch(self, fleet: Fleet) -> list[Text]:
        """Return the axis, and a line with a bar for each agent, newest first."""
        now = fleet.clock.now()
        since = now - _WINDOWS[self._window]
        spans = fleet.views.timeline(since=since)
        room = max(self.size.width - _NAME - _MARGIN, 20)
        lines = [self._axis(since, now, room), Text("")]
        lines += [self._line(span, since, now, room) for span in reversed(spans)]
        return lines if spans else [*lines, Text("no agent has worked in this time", style=self.look.style("dim"))]

    def _axis(self, since: int, now: int, room: int) -> Text:
        """Return the first line: the length of time, and the clock times at the start, the middle and the end."""
        text = f"the last {age(now - since)}"
        first, middle, last = (minute_of_day(at) for at in (since, (since + now) // 2, now))
        gap = room - len(first) - len(middle) - len(last)
        axis = f"{text:<{_NAME}}{first}{' ' * (gap // 2)}{middle}{' ' * (gap - gap // 2)}{last} UTC"
        return Text(axis, style=self.look.style("dim"))

    def _line(self, span: Span, since: int, now: int, room: int) -> Text:
        """Return the line of one agent: its task, its bar, its outcome and how long it worked."""
        start, end = since_epoch(span.started_at), since_epoch(span.ended_at) if span.ended_at else now
        left = max(start - since, 0) * (room - 1) // (now - since)
        right = max((end - since) * (room - 1) // (now - since), left)
        tone = _TONES[span.outcome]
        name = f"{span.project}/{span.slug}" if span.slug else f"{span.project} coordinator"
        line = Text()
        shown = name if len(name) <= _NAME - 2 else f"{name[: _NAME - 3]}…"
        line.append(f"{shown:<{_NAME}}", style=self.look.style(""))
        line.append(" " * left)
        line.append("━" * (right - left) + _ENDS[span.outcome], style=self.look.style(tone, bold=True))
        line.append(" " * (room - right - 1))
        word = span.outcome if span.ended_at else _NOT_ENDED
        line.append(f" {word} {age(end - start)}", style=self.look.style(tone))
        return line

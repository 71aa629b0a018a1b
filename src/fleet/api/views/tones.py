"""The glyph and the colour (tone) of each state. A glyph always stands beside its word: colour alone says nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.states import Tone

# The tone and the glyph of each state of a task.
TASK_TONES: dict[str, Tone] = {
    "ready": "green",
    "waiting": "dim",
    "open": "green",
    "in_progress": "cyan",
    "blocked": "yellow",
    "done": "blue",
    "failed": "red",
    "abandoned": "dim",
}
TASK_MARKS = {
    "ready": "○",
    "waiting": "·",
    "open": "○",
    "in_progress": "▶",
    "blocked": "■",
    "done": "✓",
    "failed": "✗",
    "abandoned": "–",
}
# The tone of each state of an agent. A state that is not listed is that of an agent at work.
AGENT_TONES: dict[str, Tone] = {
    "working": "cyan",
    "asks": "yellow",
    "idle": "yellow",
    "limit": "red",
    "login": "red",
    "silent": "yellow",
    "stopped": "yellow",
    "exited": "red",
    "interrupted": "red",
    "unknown": "red",
}
# Glyphs of the screen, by group.
_GLYPHS = {
    "needs you": "◐",
    "to review": "◐",
    "in the way": "✕",
    "failed": "✕",
    "not released": "!",
    "ended": "✕",
    "parked": "⏸",
    "to merge": "◇",
    "jobs": "●",
    "no room": "·",
    "working": "●",
    "ready": "○",
    "waiting": "·",
    "done": "✓",
    "abandoned": "–",
}
_GLYPHS_OF_STATES = {"unknown": "?", "idle": "○", "limit": "⏸", "login": "✕", "none": "·"}
# The tone of each group.
_TONES: dict[str, Tone] = {
    "needs you": "yellow",
    "to review": "yellow",
    "in the way": "red",
    "failed": "red",
    "not released": "yellow",
    "ended": "red",
    "parked": "yellow",
    "to merge": "blue",
    "jobs": "cyan",
    "no room": "dim",
    "working": "cyan",
    "ready": "green",
    "waiting": "dim",
    "done": "blue",
    "abandoned": "dim",
}


def agent_tone(state: str) -> Tone:
    """Return the tone of an agent's state."""
    return AGENT_TONES.get(state, "cyan")


def glyph_of(group: str, state: str) -> str:
    """Return the glyph of a row of the board: that of its state if the state has one, else that of its group.

    In the group "needs you" it is always that of the group.
    """
    return _GLYPHS[group] if group == "needs you" else _GLYPHS_OF_STATES.get(state) or _GLYPHS[group]


def tone_of(group: str, state: str) -> Tone:
    """Return the tone (colour) of a row of the board.

    In the group "working" it follows from the agent's state, else from the group.
    """
    return _TONES[group] if group != "working" else agent_tone(state)

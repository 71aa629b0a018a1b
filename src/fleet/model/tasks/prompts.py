"""A prompt as a task: its first line is the title."""

from __future__ import annotations

_LONGEST = 120


def split_prompt(text: str) -> tuple[str, str]:
    """Return the title of a prompt and its description; the description is empty when the title says everything."""
    text = text.strip()
    first, _, rest = text.partition("\n")
    is_whole = not rest and len(first) <= _LONGEST
    title = first if len(first) <= _LONGEST else f"{first[: _LONGEST - 1]}…"
    return title, "" if is_whole else text

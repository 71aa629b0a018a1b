"""Turn a prompt into a task: its first line becomes the title."""

from __future__ import annotations

_LONGEST = 120


def split_prompt(text: str) -> tuple[str, str]:
    """Return the title and the description for a prompt: its first line, cut to 120 characters, and the whole prompt.

    The description is empty when the title holds the whole prompt.
    """
    text = text.strip()
    first, _, rest = text.partition("\n")
    is_whole = not rest and len(first) <= _LONGEST
    title = first if len(first) <= _LONGEST else f"{first[: _LONGEST - 1]}…"
    return title, "" if is_whole else text

"""Write a setting into the text of a settings file: one line is changed or added, everything else stays, comments too."""

from __future__ import annotations

import json
import re


def with_value(text: str, name: str, value: str) -> str:
    """Return the text with a top-level setting in it. An existing line is changed; a new one goes before the tables."""
    lines = text.splitlines(keepends=True)
    wanted = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    head = _first_table(lines)
    for number, line in enumerate(lines[:head]):
        if re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=", line):
            lines[number] = f"{wanted}{_comment(line)}\n"
            return "".join(lines)
    return "".join([*_without_blank_end(lines[:head]), f"{wanted}\n", *_after_blank_line(lines[head:])])


def _first_table(lines: list[str]) -> int:
    """Return the line at which the tables begin, including the comment above the first; the end when there are none."""
    found = next((number for number, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    while 0 < found < len(lines) and lines[found - 1].lstrip().startswith("#"):
        found -= 1
    return found


def _comment(line: str) -> str:
    """Return the comment behind a value, or empty."""
    found = re.search(r"(?:\"[^\"]*\"|'[^']*'|[^\"'#\s]+)\s*(#.*)?$", line.partition("=")[2].rstrip("\r\n"))
    return f"  {found[1]}" if found and found[1] else ""


def _without_blank_end(lines: list[str]) -> list[str]:
    """Return the lines without empty ones at the end, the last one with a newline."""
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return [*kept[:-1], kept[-1].rstrip("\r\n") + "\n"] if kept else []


def _after_blank_line(tables: list[str]) -> list[str]:
    return ["\n", *tables] if tables else []

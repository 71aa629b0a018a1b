"""Write a setting into the text of a settings file: change or add one line and keep all other lines and comments."""

from __future__ import annotations

import json
import re


def with_value(text: str, name: str, value: str | list[str]) -> str:
    """Return the text of a settings file with a top-level setting changed, or added in a new line before the tables.

    A value that stands on several lines is not replaced as a whole: the caller has to read the result and compare.
    """
    lines = text.splitlines(keepends=True)
    wanted = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    head = _first_table(lines)
    for number, line in enumerate(lines[:head]):
        if re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=", line):
            lines[number] = f"{wanted}{_comment(line)}\n"
            return "".join(lines)
    return "".join([*_without_blank_end(lines[:head]), f"{wanted}\n", *_after_blank_line(lines[head:])])


def _first_table(lines: list[str]) -> int:
    """Return the index of the line with the first table, or of the comments directly above it.

    Without a table, return the number of lines.
    """
    first = next((number for number, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    while 0 < first < len(lines) and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first


def _comment(line: str) -> str:
    """Return the comment at the end of a line, with two spaces before it; empty when there is none."""
    match = re.search(r"(?:\"[^\"]*\"|'[^']*'|[^\"'#\s]+)\s*(#.*)?$", line.partition("=")[2].rstrip("\r\n"))
    return f"  {match[1]}" if match and match[1] else ""


def _without_blank_end(lines: list[str]) -> list[str]:
    """Return the lines without blank lines at the end. The last line ends with a newline."""
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return [*kept[:-1], kept[-1].rstrip("\r\n") + "\n"] if kept else []


def _after_blank_line(tables: list[str]) -> list[str]:
    """Return the lines of the tables with a blank line before them; empty when there are no tables."""
    return ["\n", *tables] if tables else []

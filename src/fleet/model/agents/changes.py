"""Show the file change that a tool call would make as a diff, from the tool's input and the file's present text. Pure."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from fleet.model.text import jsontext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    # Returns the text of a file; empty when there is none, None when that is unknown.
    Read = Callable[[str], str | None]

_PATHS = ("file_path", "notebook_path", "path")
_TEXTS = ("content", "new_source")
# The input fields of tools that only write files. A call with any other field may do more, and is shown as it is.
_FIELDS = frozenset(
    (
        *_PATHS,
        *_TEXTS,
        "old_string",
        "new_string",
        "replace_all",
        "edits",
        "cell_id",
        "cell_type",
        "edit_mode",
        "instruction",
    )
)


def change_of(command: str | None, read: Read) -> str | None:
    """Return the diff of what a tool call would write; None when the tool's input does not tell.

    `command` is the input as JSON; `read` returns the present text of a file: "" when there is no file, None when that
    is unknown. The input does not tell when it is incomplete, names no file to write, or has a field that is no field
    of tools which only write files.
    """
    call = _tool_input(command)
    if not call.keys() <= _FIELDS:
        return None
    path = next((call[name] for name in _PATHS if isinstance(call.get(name), str)), None)
    if not isinstance(path, str):
        return None
    whole = next((call[name] for name in _TEXTS if isinstance(call.get(name), str)), None)
    edits = _replacements_in(call)
    if not isinstance(whole, str):
        return _diff_of_edits(path, read(path), edits) if edits else None
    before = read(path)
    note = "" if before is not None else "(what the file holds now is not known here)\n"
    return note + _diff_of_texts(path, before or "", whole)


def _replacements_in(call: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the text replacements in a tool's input: the input itself if it is one, else the entries of its list `edits`."""
    if "old_string" in call:
        return [call]
    listed = call.get("edits")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _tool_input(command: str | None) -> Mapping[str, object]:
    """Return a tool's input, parsed from the stored JSON; {} when the text is None, not JSON, or cut off."""
    if not command or not command.startswith("{"):
        return {}
    try:
        found: object = jsontext.loads(command)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _diff_of_edits(path: str, before: str | None, edits: list[Mapping[str, object]]) -> str:
    """Return the diff of text replacements in a file. `before` is its present text; None if that is unknown.

    The diff is that of the whole file if `before` contains each old text; otherwise it compares each old text with its
    new text.
    """
    pairs = [(str(each.get("old_string", "")), str(each.get("new_string", ""))) for each in edits]
    after = before or ""
    for (old, new), each in zip(pairs, edits, strict=True):
        if before is None or not old or old not in after:
            return "".join(_diff_of_texts(path, one, other) for one, other in pairs)
        after = after.replace(old, new) if each.get("replace_all") else after.replace(old, new, 1)
    return _diff_of_texts(path, before or "", after)


def _diff_of_texts(path: str, before: str, after: str) -> str:
    """Return the diff of two texts of a file; a sentence that nothing would change when they are equal."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="")
    return "".join(f"{line}\n" for line in lines) or f"{path}: nothing would change\n"

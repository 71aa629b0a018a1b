"""Write docs/reference/api.md from the signatures and docstrings of class Fleet and its parts; with --check compare it."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.api.fleet import PARTS, Fleet, part_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "api.md"
OWN = ("open", "close", "project_here", "task_here", "gate")
HEAD = """\
# The Python API

`fleet.open()` gives a `Fleet`: one actor at one fleet home. What it can do is in its parts, named by what they are about;
commands, hooks and jobs call the same methods. [Use fleet from Python](../how-to/use-from-python.md) shows them at work.
This page is made from the source by `make api`.

A method that changes something asks first whether the speaker's [role](roles.md) may do it (`NotAllowed`). `key` is an
idempotency key: a request that is repeated under its key is applied once. What a method refuses is an error of
`fleet.errors`, with a hint. What it returns is a value with attributes; [`--json`](json.md) prints the same fields, and lists them.
"""


def page() -> str:
    """Return the text of the page: a section for class Fleet and one for each of its parts."""
    own = "".join(_entry(f"Fleet.{name}", getattr(Fleet, name)) for name in OWN)
    table = "".join(f"| [`fleet.{name}`](#fleet{name}) | {about} |\n" for name, (_folder, about) in PARTS.items())
    rest = "".join(f"\n## fleet.{name}\n{''.join(_part(name))}" for name in PARTS)
    return f"{HEAD}\n| part | what it is about |\n|---|---|\n{table}\n## Fleet\n{own}{rest}"


def _part(name: str) -> Iterator[str]:
    """Yield the entry of each public method of a part of Fleet."""
    for method, function in vars(part_class(name)).items():
        if not method.startswith("_"):
            yield _entry(f"fleet.{name}.{method}", function)


def _entry(name: str, function: Callable[..., object]) -> str:
    """Return the entry of a method: its signature and its docstring, as a list item."""
    plain = getattr(function, "__func__", function)
    docstring = inspect.getdoc(plain) or ""
    parameters = [each for each in inspect.signature(plain).parameters.values() if each.name not in {"self", "cls"}]
    returned = str(inspect.signature(plain).return_annotation)
    signature = f"{name}{inspect.Signature(parameters)} -> {returned}"
    return f"\n- `{_plain(signature)}`\n  {' '.join(docstring.split())}\n"


def _plain(signature: str) -> str:
    """Return a signature without quotes around annotations and without the addresses of default functions."""
    text = re.sub(r"(: |-> )'((?:[^'\\]|\\')*)'", r"\1\2", signature)
    text = re.sub(r"-> (\w+View)s\b", r"-> list[\1]", text)
    text = re.sub(r"<function [^>]*<lambda> at 0x\w+>", "…", text).replace("-> Words", "-> list[str]")
    return re.sub(r"frozenset\(\{[^}]*\}\)", "…", text)


def main() -> int:
    """Write the page, or with --check compare it; return the exit code."""
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == page():
        return 0
    print("docs/reference/api.md does not match the source: run `make api`")
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""The examples of docs/reference/protocol.md are played with a real daemon, line by line."""

import json
import re
from pathlib import Path

import pytest

from fleet.model import VERSION

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "protocol.md"


def exchanges() -> list[tuple[str, dict]]:
    """Every line of the page that is sent (>) or received (<), in order."""
    lines = re.findall(r"^([<>]) (\{.*\})$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [(direction, json.loads(text)) for direction, text in lines]


def shape(document: dict, expected: dict) -> dict:
    """A received line with what differs each time replaced by what the page has."""
    if "pid" in expected:
        return {**document, "pid": expected["pid"], "fleet": expected["fleet"]}
    for mine, theirs in zip(document.get("operations", []), expected.get("operations", []), strict=True):
        mine["at"] = theirs["at"]
        mine["what"] = theirs["what"]
    return document


@pytest.mark.req("IPC-4")
def test_the_examples_of_the_page_are_what_the_daemon_says(fleet, served, monkeypatch):
    door = served.connect()
    told: list[dict] = [door.greeting]
    for direction, expected in exchanges():
        if direction == ">":
            door._socket.sendall(json.dumps(expected).encode() + b"\n")
            continue
        found = next(
            (line for line in told if line.get("id") == expected.get("id") and same_kind(line, expected)), None
        )
        while found is None:
            told.append(door.receive())
            found = told[-1] if told[-1].get("id") == expected.get("id") and same_kind(told[-1], expected) else None
        told.remove(found)
        assert shape(found, expected) == expected
    door.close()
    assert told == []
    assert f'"fleet": "{VERSION}"' in PAGE.read_text(encoding="utf-8")


def same_kind(line: dict, expected: dict) -> bool:
    return ("push" in line) == ("push" in expected)


def test_the_page_names_every_method_of_the_daemon_itself():
    page = PAGE.read_text(encoding="utf-8")
    for method in ("daemon.status", "daemon.reload", "daemon.stop", "command", "subscribe"):
        assert f"| `{method}` |" in page

"""The stub in Google's words: one command after another, counted by the results that a request carries."""

import pytest

from fleet.testing.stub_model import LAST_WORDS, contents

COMMANDS = ("one", "two")


def request(*results: tuple[str, str]) -> dict:
    given = [{"functionResponse": {"id": ident, "response": {"output": said}}} for ident, said in results]
    return {"contents": [{"role": "user", "parts": [{"text": "go"}, *given]}], "tools": [{}]}


def part_of(answer) -> dict:
    (event,) = answer.events
    return event["candidates"][0]["content"]["parts"][0]


@pytest.mark.req("ENG-4")
def test_each_result_brings_the_next_command_and_one_told_twice_counts_once():
    assert part_of(contents(request(), COMMANDS))["functionCall"]["args"]["command"] == "one"
    again = contents(request(("a", "ok"), ("a", "ok")), COMMANDS)
    assert part_of(again)["functionCall"]["args"]["command"] == "two"
    last = contents(request(("a", "ok"), ("b", "no\nExit Code: 1")), COMMANDS)
    assert (part_of(last)["text"], last.last) == (LAST_WORDS, True)
    assert ["Exit Code: 1" in each for each in last.trouble] == [True]


@pytest.mark.req("ENG-4")
def test_a_request_without_tools_takes_no_turn():
    answer = contents(request() | {"tools": []}, COMMANDS)
    assert "functionCall" not in part_of(answer)
    assert not answer.last

"""How `fleet questions` shows what an agent asks."""

import pytest

from fleet.model.results.agents import Choice, Question
from fleet.surfaces.cli.commands.agents.messages import _print_question


def asked(**more: object) -> Question:
    facts = {
        "id": "5c0ffee1",
        "agent": "3f2a9c01",
        "project": "p",
        "task": "t",
        "kind": "permission",
        "text": "Write: a.py",
        "command": "{}",
        "change": None,
        "choices": [Choice(question="", options=["allow", "deny"], descriptions=[], many=False)],
        "asked_at": None,
        "answerable": True,
    }
    return Question(**{**facts, **more})


@pytest.mark.req("ASK-1")
def test_a_long_diff_is_folded_and_what_is_left_out_is_said(capsys):
    change = "".join(f"+line {number}\n" for number in range(100))
    _print_question(asked(change=change), whole=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "          +line 0"
    assert lines[-2:] == ["          … 40 more lines: fleet questions 5c0ffee1", "          1 allow, 2 deny"]
    _print_question(asked(change=change), whole=True)
    assert "+line 99" in capsys.readouterr().out


def test_a_command_is_shown_whole(capsys):
    command = "\n".join(f"echo {number}" for number in range(200))
    _print_question(asked(text="Bash: echo 0", command=command), whole=False)
    assert "echo 199" in capsys.readouterr().out


def test_choices_come_with_their_descriptions(capsys):
    choice = Choice(question="Which?", options=["A", "B"], descriptions=["the first", ""], many=False)
    _print_question(asked(kind="question", text="Which?", command=None, choices=[choice]), whole=False)
    assert capsys.readouterr().out.splitlines()[1:] == ["          1 A: the first", "          2 B"]

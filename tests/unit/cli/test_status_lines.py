"""The line below a task that has stopped, on the page of `fleet status`."""

import shlex
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.model.results.agents import Cost
from fleet.model.results.tasks import NextStep
from fleet.model.results.views import Failure, LeftOut, NeedView, Obstacle, Overview
from fleet.surfaces.cli.commands.views import status
from fleet.surfaces.cli.ui import terminal


def lines_below(monkeypatch, command: str | None, room: int) -> list[str]:
    monkeypatch.setattr(terminal, "cut_width", lambda: room)
    step = NextStep(says="so", command=command)
    task = Failure(project="web", slug="api", title="t", reason="no", changed_at="", next_step=step)
    return status._failure_entry(task, 0).split("\n")[1:]


def test_a_command_that_does_not_fit_is_continued_so_that_the_shell_can_read_it(monkeypatch):
    command = "git -C /home/ann/.fleet/projects/web/worktrees/api checkout -B worker/api"
    below = lines_below(monkeypatch, command, 70)
    assert len(below) == 2
    assert max(map(len, below)) <= 70
    assert shlex.split("\n".join(below).replace("\\\n", "")) == shlex.split(command)  # as a shell continues a line


@pytest.mark.parametrize(
    ("command", "below"),
    [
        (None, []),
        ("fleet resume api -p web", ["    fleet resume api -p web"]),
        (f"git -C /{'x' * 90} branch a", ["    fleet task why api -p web"]),
    ],
)
def test_nothing_to_run_has_no_line_and_what_is_too_long_is_shown_elsewhere(monkeypatch, command, below):
    assert lines_below(monkeypatch, command, 80) == below


@pytest.mark.req("ASK-1")
@pytest.mark.parametrize(("obstacles", "questions"), [(40, 3), (3, 40), (25, 25), (1, 1)])
def test_many_obstacles_hide_no_question_and_many_questions_hide_no_obstacle(obstacles, questions, capsys):
    nothing = Cost(tokens=0, dollars=0.0, unpriced=0)
    page = {name: [] for name in Overview._names} | {"today": nothing, "left_out": LeftOut()}
    page["in_the_way"] = [
        Obstacle(project=f"p{number}", kind="Uncoordinated", text="nobody coordinates") for number in range(obstacles)
    ]
    page["needs_you"] = [
        NeedView(project="web", slug=f"t{number}", dispatch="aaaaaaaa", kind="question", text=f"why {number}?", command=None,
                 question=f"q{number}", since="2026-01-01T00:00:00.000Z", source="hook")
        for number in range(questions)
    ]  # fmt: skip
    status._print_page(Overview(**page), 0)
    out = capsys.readouterr().out
    assert f"Needs you {obstacles + questions}" in out
    shown = (out.count("nobody coordinates"), out.count("why "))
    assert sum(shown) == min(obstacles + questions, 20)
    assert shown[0] >= min(obstacles, 5)
    assert shown[1] >= min(questions, 15)
    left = obstacles + questions - 20
    assert (f"and {left} more" in out) == (left > 0)


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(st.sampled_from("ab-  \t\n\u00a0\u2003é"), max_size=14), room=st.integers(1, 16), whole=st.booleans()
)
def test_a_text_is_wrapped_as_textwrap_does(text, room, whole):
    theirs = textwrap.wrap(text, room, break_long_words=not whole, break_on_hyphens=not whole)
    assert status.wrapped(text, room, break_words=not whole) == theirs

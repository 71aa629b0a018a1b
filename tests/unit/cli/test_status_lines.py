"""The line below a task that has stopped, on the page of `fleet status`."""

import shlex

import pytest

from fleet.model.results.tasks import NextStep
from fleet.model.results.views import Failure
from fleet.surfaces.cli.commands.views import status
from fleet.surfaces.cli.ui import terminal


def lines_below(monkeypatch, command: str | None, room: int) -> list[str]:
    monkeypatch.setattr(terminal, "room", lambda: room)
    step = NextStep(says="so", command=command)
    task = Failure(project="web", slug="api", title="t", reason="no", changed_at="", next_step=step)
    return status._failure_entry(task).split("\n")[1:]


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

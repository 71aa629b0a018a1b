"""The tour of the README is played with a real agent in tmux, and its output compared."""

import subprocess

import pytest
from staging.pages import ROOT, Step, agrees, blocks, play, steps

WAIT = Step("while fleet ps --json | grep -q worker; do sleep 0.2; done", [])
SHOWN = 4  # of the line of `fleet ps`: what the agent does by then is a matter of time


def is_right(step: Step, printed: list[str]) -> bool:
    if step.command != "fleet ps":
        return agrees(step.printed, printed)
    return [len(step.printed), *step.printed[0].split()] == [len(printed), *printed[0].split()] and agrees(
        [" ".join(line.split()[:SHOWN]) for line in step.printed], [" ".join(line.split()[:SHOWN]) for line in printed]
    )


@pytest.mark.slow("an agent works, and its work is merged")
def test_the_tour_prints_what_the_readme_says(tmux, tmp_path):
    first, second, *_others = [text for _mark, kind, text in blocks(ROOT / "README.md") if kind == "console"]
    try:
        done = play("", [*steps(first), WAIT, *steps(second)], tmp_path)
    finally:
        server = ["tmux", "-S", str(tmp_path / "home/.fleet/tmux.sock"), "kill-server"]
        subprocess.run(server, check=False, capture_output=True)
    wrong = [(step.command, step.printed, printed) for step, printed in done if not is_right(step, printed)]
    assert wrong == []

"""The screen in a real terminal, inside a tmux of the person's own: a day with scripted agents, joining them, and coming back."""

import os
import subprocess
from pathlib import Path

import pytest
from screen.driving import Terminal
from staging.stage import FLEET

SETTINGS = 'engine = "scripted"\nautonomy = "edits"\nreview = "person"\n'


@pytest.mark.req("TUI-1")
def test_fleet_alone_opens_the_screen_and_leaves_the_terminal_as_it_was(scene, terminal):
    terminal.runs("echo before; stty -a >before.txt; fleet; stty -a >after.txt; echo code $?")
    terminal.sees("fleet", "coordinator  no coordinator", "q quit")
    terminal.presses("q")
    shown = terminal.sees("code 0")
    assert "before" in shown
    assert "coordinator" not in shown, "the shell's screen is back"
    stty = [Path(scene.repository, name).read_text() for name in ("before.txt", "after.txt")]
    assert stty[0] == stty[1]


@pytest.mark.req("TUI-1")
@pytest.mark.parametrize("around", [{"TERM": "dumb"}, {"FLEET_DISPATCH_ID": "0a1b2c3d"}])
def test_fleet_alone_prints_the_help_where_no_person_sits_at_a_terminal(scene, terminal, around):
    words = " ".join(f"{name}={value}" for name, value in around.items())
    terminal.resizes(120, 60)
    terminal.runs(f"clear; {words} fleet; echo over $?")
    assert "Every day" in terminal.sees("over 0")


@pytest.mark.req("TUI-1")
def test_fleet_alone_prints_the_help_into_a_pipe(scene):
    said = scene.program()
    assert said.code == 0
    assert "Run many coding agents" in said.out
    refused = scene.program("tui")
    assert refused.code == 14
    assert "fleet status" in refused.err


@pytest.mark.req("TUI-6")
def test_joining_an_agent_and_coming_back_leaves_screen_and_terminal_clean(scene, terminal):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "works", engine="scripted", script="say hello there\nhang")
        scene.launched(fleet, ident)
        options = {name: terminal.shows_option(name) for name in ("status", "mouse", "prefix", "default-terminal")}
        terminal.runs("echo before; fleet; echo code $?")
        terminal.sees("working 1")
        terminal.presses("G")
        terminal.until(lambda: "attach" in terminal.text.splitlines()[-1], "the agent's row")
        for _ in range(2):
            terminal.presses("o")
            shown = terminal.sees("Ctrl+Q detaches", "hello there")
            assert "q quit" not in shown
            terminal.presses("C-q")
            terminal.sees("q quit", "works")
            assert "detached" not in terminal.text
        terminal.resizes(100, 30)
        terminal.sees("q quit")
        terminal.presses("q")
        shown = terminal.sees("code 0")
        assert "detached" not in shown
        assert "before" in shown
        assert {name: terminal.shows_option(name) for name in options} == options
        assert fleet.context.dispatch(ident).exec_state == "in_flight", "the agent works on"


@pytest.mark.req("TUI-6")
def test_an_agent_that_ends_while_it_is_joined_gives_the_terminal_back(scene, terminal):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "works", engine="scripted", script="say hello there\nhang")
        scene.launched(fleet, ident)
        terminal.runs("fleet")
        terminal.sees("working 1")
        terminal.presses("G")
        terminal.until(lambda: "attach" in terminal.text.splitlines()[-1], "the agent's row")
        terminal.presses("Enter")
        terminal.sees("Ctrl+Q detaches")
        fleet.dispatches.kill(ident, "a test")
        terminal.sees("q quit", "failed 1")
        terminal.presses("q")
        terminal.sees("own-shell>")


@pytest.mark.req("CLI-2", "TUI-1")
def test_up_opens_the_screen_on_a_terminal_unless_it_is_told_not_to(led):
    terminal = Terminal(led)
    try:
        Path(led.repository, "fleet.toml").write_text(SETTINGS)
        terminal.runs("fleet up --target main")
        terminal.sees("q quit", "● coordinator")
        terminal.presses("a")
        terminal.sees("Ctrl+Q detaches")
        terminal.presses("C-q")
        terminal.sees("q quit", "● coordinator")
        terminal.presses("q")
        terminal.sees("next: fleet add")
        terminal.runs("clear; fleet up --no-tui; echo code $?")
        shown = terminal.sees("code 0")
        assert "nothing was changed" in shown
    finally:
        terminal.close()


PROMPT = "Paint the door\n\n```script\nask rm -rf old\nwrite door.py red = 1\ncommit Paint it\ndone\n```\n"


@pytest.mark.req("TUI-2", "TUI-4", "ASK-1", "CLI-2")
def test_a_whole_day_at_the_screen(led):
    """Begin, add, dispatch, answer, review, send back, mend, accept, merge and land, without leaving the screen."""
    terminal = Terminal(led, columns=140, rows=40)
    try:
        Path(led.repository, "fleet.toml").write_text(SETTINGS)
        begin = [FLEET, "up", "--target", "main", "--json"]
        subprocess.run(begin, env=led.around(), cwd=led.repository, check=True, capture_output=True)
        terminal.runs("fleet")
        terminal.sees("● coordinator")
        add_and_approve(terminal)
        send_back(terminal)
        accept_and_land(terminal)
        look_around(terminal)
        assert led.git("show", "main:door.py") == "red = 1"
        assert os.path.exists(f"{led.repository}/door.py")
    finally:
        terminal.close()


def add_and_approve(terminal: Terminal) -> None:
    terminal.presses("n")
    terminal.sees("New task in p")
    terminal.pastes(PROMPT)
    terminal.sees("write door.py red = 1")
    terminal.presses("Enter")
    terminal.sees("paint-the-door", "needs you 1")
    terminal.presses("Space")
    terminal.sees("Bash: rm -rf old", "y approve   ! deny")
    terminal.presses("y")


def send_back(terminal: Terminal) -> None:
    terminal.sees("to review 1")
    terminal.presses("Space")
    terminal.sees("R review")
    terminal.presses("R")
    terminal.sees("+red = 1", "A accept")
    terminal.presses("j", "j", "j", "c")
    terminal.sees("Comment on door.py:1")
    terminal.types("make it blue")
    terminal.presses("Enter")
    terminal.sees("✎ make it blue")
    terminal.presses("S")
    terminal.sees("An agent gets these comments")
    terminal.presses("Enter")
    terminal.sees("is sent back")
    terminal.misses("to review 1")


def accept_and_land(terminal: Terminal) -> None:
    terminal.sees("to review 1")
    terminal.presses("Space")
    terminal.sees("R review")
    terminal.presses("R")
    terminal.sees("A accept", "MENDED")
    terminal.presses("A")
    terminal.sees("is accepted", "L land")
    terminal.presses("L")
    terminal.sees("Land", "commits on main?")
    terminal.presses("y")
    terminal.sees("main is now at fleet/main")


def look_around(terminal: Terminal) -> None:
    for key, page in (
        ("g", "Graph of p"),
        ("t", "the last 1h"),  # not what a message on the board may say, too
        ("?", "Join the agent's terminal; Ctrl+Q comes back."),
    ):
        terminal.presses(key)
        terminal.sees(page)
        terminal.presses("q")
        terminal.sees("q quit")
    terminal.presses("q")
    terminal.sees("own-shell>")

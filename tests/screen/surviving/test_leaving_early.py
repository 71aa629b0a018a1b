"""Pages and dialogs that are left before they were drawn, or before what they wait for has arrived."""

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from rich.text import Text
from screen.driving import sit_down
from textual import events

from fleet.api.tasks.reviews import Reviews
from fleet.surfaces.tui.dialogs.asking import Ask, Way
from fleet.surfaces.tui.dialogs.leaving import leave
from fleet.surfaces.tui.dialogs.picking import Pick, PickedChoice
from fleet.surfaces.tui.dialogs.writing import Write
from fleet.surfaces.tui.pages.graph import GraphPage
from fleet.surfaces.tui.pages.help import HelpPage
from fleet.surfaces.tui.pages.review import ReviewPage
from fleet.surfaces.tui.pages.timeline import TimelinePage
from fleet.testing.crash.scenarios import until

# How often the loop of the screen goes around before the page is left: some of it is drawn by then, or nothing.
MOMENTS = range(16)
SCREENS = {
    "help": lambda app: HelpPage(app.keys, app.look),
    "graph": lambda app: GraphPage("p", app.look, app.home, rows=dict),
    "timeline": lambda app: TimelinePage(app.look, app.home),
    "review": lambda app: ReviewPage(app.board, "p", "door"),
    "ask": lambda _app: Ask("End it?", [Way("y", "end")], lines=["a line"]),
    "write": lambda _app: Write("New task"),
    "pick": lambda app: Pick("What?", [PickedChoice("graph", "graph")], app.look),
}
BROKEN = """
from fleet.surfaces.tui import start
from fleet.surfaces.tui.board import Board
def breaks(board):
    raise ZeroDivisionError("a fault of fleet")
Board.open_help = breaks
from fleet.surfaces.cli.entry import main
main()
"""


@pytest.mark.req("TUI-5")
@pytest.mark.parametrize("name", SCREENS)
def test_a_page_that_is_opened_and_left_in_one_burst_leaves_the_board(scene, name):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="Paint the door", slug="door")

    async def act(person):
        await person.sees("door")
        for moment in MOMENTS:
            page = SCREENS[name](person.app)
            person.app.push_screen(page)
            for _ in range(moment):
                await asyncio.sleep(0)
            leave(page)
            await person.until(lambda: person.app.screen is person.app.board)
        await person.presses("j")
        await person.sees("q quit")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-5")
def test_a_key_and_lines_that_arrive_after_a_page_was_left_do_nothing(scene):
    async def act(person):
        board = person.app.board
        await person.sees("coordinator")
        page = TimelinePage(person.app.look, person.app.home)
        await person.app.push_screen(page)
        await person.sees("no agent has worked in this time")
        await person.presses("q")
        await person.until(lambda: person.app.screen is board and not page.is_attached)
        page.on_key(events.Key("j", None))
        page.on_live_page_fetched(page.Fetched([Text("too late")]))
        await person.presses("j")
        await person.sees("q quit")

    sit_down(scene.home, act)


@pytest.fixture
def slow_work(monkeypatch):
    """What a review reads arrives when this is set."""
    arrives, really = threading.Event(), Reviews.work

    def work(self, **given):
        assert arrives.wait(60)
        return really(self, **given)

    monkeypatch.setattr(Reviews, "work", work)
    yield arrives
    arrives.set()


@pytest.mark.req("TUI-4", "TUI-5")
def test_work_that_arrives_after_the_review_was_left_is_not_drawn(scene, slow_work):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="Paint the door", slug="door")

    async def act(person):
        board = person.app.board
        await person.sees("door")
        first, second = (ReviewPage(board, "p", "door") for _ in range(2))
        person.app.push_screen(first)
        await person.sees("reading the work …")
        await person.presses("q")
        await person.until(lambda: person.app.screen is board)
        person.app.push_screen(second)
        await person.sees("reading the work …")
        slow_work.set()
        await person.sees("Review p/door  Paint the door", "it changes nothing")
        assert second.work is not None, "each page reads for itself"
        await person.until(lambda: not board.acts.running)
        await person.presses("q")
        await person.sees("q quit")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-5")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_screen_and_leaves_the_terminal_as_it_was(scene, terminal, number):
    terminal.runs("echo before; stty -a >before.txt; fleet; echo code $?; stty -a >after.txt; echo over")
    terminal.sees("coordinator", "q quit")
    terminal.presses("?")
    terminal.sees("On the board")
    os.kill(terminal.program(), number)
    shown = terminal.sees(f"code {128 + number}", "over")
    assert "before" in shown
    assert "On the board" not in shown, "the shell's screen is back"
    assert terminal.shows("#{alternate_on} #{mouse_any_flag} #{cursor_flag}") == "0 0 1"
    assert Path(scene.repository, "before.txt").read_text() == Path(scene.repository, "after.txt").read_text()


@pytest.mark.req("TUI-5")
def test_a_fault_of_the_screen_is_said_in_plain_words_and_leaves_the_terminal_as_it_was(scene, terminal):
    Path(scene.repository, "broken.py").write_text(BROKEN)
    terminal.runs(f"clear; {sys.executable} broken.py tui; echo code $?")
    terminal.sees("coordinator", "q quit")
    terminal.presses("?")
    shown = "".join(terminal.sees("code 1").splitlines())
    assert "the screen was ended by a fault of fleet: ZeroDivisionError: a fault of fleet" in shown
    assert "agents work on" in shown
    assert "Traceback" not in shown
    assert terminal.shows("#{alternate_on} #{mouse_any_flag} #{cursor_flag}") == "0 0 1"


@pytest.mark.req("TUI-5")
@pytest.mark.parametrize("name", SCREENS)
def test_ctrl_c_leaves_every_page_and_dialog_but_not_the_screen(scene, name):
    async def act(person):
        board = person.app.board
        await person.sees("coordinator")
        await person.app.push_screen(SCREENS[name](person.app))
        await person.until(lambda: person.app.screen is not board)
        await person.presses("ctrl+c")
        await person.until(lambda: person.app.screen is board)
        assert person.app.is_running

    sit_down(scene.home, act)


@pytest.mark.req("TUI-4", "TUI-5")
def test_a_review_says_why_the_work_cannot_be_read(scene):
    async def act(person):
        await person.sees("coordinator")
        person.app.push_screen(ReviewPage(person.app.board, "p", "nowhere"))
        await person.sees("Review p/nowhere: the work cannot be read", "no task 'nowhere'")
        assert "reading the work" not in person.text

    sit_down(scene.home, act)


LONG = "It is red.\n送料 too\n" + "and more " * 40 + "\nfour\nfive"


@pytest.mark.req("TUI-4")
def test_a_review_shows_the_description_and_what_is_done_in_the_background(scene, monkeypatch):
    arrives = threading.Event()

    def rehearse(*_words, **_given):
        assert arrives.wait(60)
        raise ZeroDivisionError

    monkeypatch.setattr(Reviews, "rehearse", rehearse)
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="Paint the door", slug="door", description=LONG)

    async def act(person):
        await person.sees("door")
        person.app.push_screen(ReviewPage(person.app.board, "p", "door"))
        await person.sees(
            "It is red.", "送料 too", "and more and more", "… 2 more lines: the task tab of the board shows all"
        )
        assert "four" not in person.text
        await person.presses("V")
        await person.sees("trying to merge p/door, and running its verify command if it has one …")
        arrives.set()
        await person.until(lambda: "trying to merge" not in person.text)

    sit_down(scene.home, act)


@pytest.mark.req("TUI-5")
def test_a_terminal_that_is_closed_ends_the_screen(terminal):
    terminal.runs("fleet")
    terminal.sees("coordinator", "q quit")
    screen = terminal.program()
    terminal.close()
    until(lambda: not os.path.exists(f"/proc/{screen}"))

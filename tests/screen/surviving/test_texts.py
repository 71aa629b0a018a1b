"""What a person has written is never lost: not while something else is sent, not when its act fails, not when they leave."""

import threading
from pathlib import Path

import pytest
from screen.driving import sit_down

from fleet import errors
from fleet.api.tasks.tasks import Tasks
from fleet.surfaces.tui.acts.texts import Enclosed
from fleet.surfaces.tui.dialogs.writing import Write
from fleet.surfaces.tui.pages.review_lines import Spot, comments_as_text


@pytest.fixture
def slow_add(monkeypatch):
    """Tasks are added when the event is set; their titles, in order."""
    arrives, added, really = threading.Event(), [], Tasks.add

    def add(self, **given):
        assert arrives.wait(60)
        added.append(given["title"])
        return really(self, **given)

    monkeypatch.setattr(Tasks, "add", add)
    yield arrives, added
    arrives.set()


async def asks_for(person, title: str) -> None:
    await person.presses("n")
    await person.sees("New task in p")
    await person.writes(title)
    await person.presses("enter")
    await person.until(lambda: person.app.screen is person.app.board)


@pytest.mark.req("TUI-2")
def test_tasks_that_are_written_while_another_is_added_are_added_after_it(scene, slow_add):
    arrives, added = slow_add

    async def act(person):
        await person.sees("coordinator")
        for title in ("First of three", "Second of three", "Third of three"):
            await asks_for(person, title)
        await person.sees("adding to p … · adding to p … · adding to p …")
        await person.presses("q")
        await person.sees("This still runs; 2 texts wait for it. Leave?", "waits has not begun and is lost")
        assert person.text.count("adding to p (waits)") == 2, "only what runs is finished by others"
        await person.presses("escape")
        arrives.set()
        await person.sees("first-of-three", "second-of-three", "third-of-three")
        assert "it is being done" not in person.told

    sit_down(scene.home, act)
    assert added == ["First of three", "Second of three", "Third of three"]


@pytest.mark.req("TUI-2")
def test_a_text_whose_act_fails_is_shown_again_in_its_dialog(scene):
    async def act(person):
        await person.sees("coordinator")
        await person.presses("N")
        await person.sees("Prompt for a new agent in p")
        await person.writes("paint the door")
        await person.presses("enter")
        await person.is_told("engine")
        await person.sees("Prompt for a new agent in p", "paint the door")
        await person.presses("escape", "N")
        await person.sees("Prompt for a new agent in p", "paint the door")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-2")
def test_a_prompt_whose_task_was_added_without_an_agent_is_not_asked_for_again(scene):
    Path(scene.repository, "fleet.toml").write_text('engine = "scripted"\nautonomy = "edits"\n')
    settings = Path(scene.home, "config.toml")
    settings.write_text(f"{settings.read_text()}\n[limits]\nagents = 1\n")

    async def act(person):
        await person.sees("coordinator")
        for title in ("Paint the door", "Paint the roof"):
            await person.presses("N")
            await person.sees("Prompt for a new agent in p")
            await person.writes(f"# {title}\nhang")
            await person.presses("enter")
            await person.until(lambda: person.app.screen is person.app.board)
            await person.until(lambda: not person.app.board.acts.unfinished)
        await person.is_told("works on p/paint-the-door (scripted)")
        await person.is_told("task p/paint-the-roof was added, but no agent was started: ")
        await person.is_told("`fleet dispatch paint-the-roof -p p` starts one")
        await person.until(lambda: person.app.board.row.slug == "paint-the-door", "its task is selected")
        assert person.app.screen is person.app.board
        assert not person.app.board.texts.unsent

    sit_down(scene.home, act)
    with scene.fleet() as fleet:
        assert {each.slug: each.status for each in fleet.tasks.list(project="p")} == {
            "paint-the-door": "in_progress",
            "paint-the-roof": "open",
        }


@pytest.mark.req("TUI-2")
def test_texts_that_fail_while_the_person_is_elsewhere_are_kept_for_the_next_dialogs(scene, monkeypatch):
    arrives, really = threading.Event(), Tasks.add

    def add(_self, **_given):
        assert arrives.wait(60)
        raise errors.FleetError(what="the store is busy")

    monkeypatch.setattr(Tasks, "add", add)

    async def act(person):
        await person.sees("coordinator")
        await asks_for(person, "First of two")
        await asks_for(person, "Second of two")
        await person.presses("?")
        await person.sees("On the board")
        arrives.set()
        await person.is_told("the store is busy\nyour text is kept: the same key shows it again")
        await person.until(lambda: not person.app.board.acts.unfinished)
        await person.presses("q")
        for title in ("First of two", "Second of two", "First of two"):
            await person.until(lambda: person.app.screen is person.app.board)
            await person.presses("n")
            await person.sees("New task in p", title)
            await person.presses("escape")
        await person.until(lambda: person.app.screen is person.app.board)
        await person.presses("q")
        await person.sees("2 texts were not sent. Leave?", "the texts are lost", "First of two", "Second of two")
        await person.presses("escape")
        await person.until(lambda: person.app.screen is person.app.board)
        monkeypatch.setattr(Tasks, "add", really)
        for slug in ("second-of-two", "first-of-two"):
            await person.presses("n")
            await person.sees("New task in p")
            await person.presses("enter")
            await person.sees(slug)
        assert not person.app.board.texts.unsent, "what was sent is not kept"

    sit_down(scene.home, act)


@pytest.mark.req("TUI-4")
def test_leaving_asks_when_comments_were_not_sent(scene):
    async def act(person):
        board = person.app.board
        await person.sees("coordinator")
        board.drafts["p", "door"] = {("door.py", 1, False): "make it blue", ("door.py", 2, False): "and this"}
        board.drafts["p", "roof"] = {}
        await person.presses("q")
        await person.sees("2 comments were not sent. Leave?", "the comments are lost")
        await person.presses("escape")
        await person.sees("q quit")
        board.drafts.clear()
        await person.presses("q")
        await person.until(lambda: not person.app.is_running)

    sit_down(scene.home, act)


ROOF = ("p", "roof")
FIRST, SECOND = Spot("roof.py", 1, is_removed=False), Spot("roof.py", 2, is_removed=False)


class Post:
    """Sends texts that enclose the comments on a task: each waits until it may arrive, and fails while `why` says so."""

    def __init__(self) -> None:
        self.arrives, self.why, self.sent = threading.Event(), "", []

    def ask(self, board) -> None:
        enclosed = Enclosed(board.drafts, ROOF, lambda comments: comments_as_text([], comments))
        board.texts.ask(
            Write("To the roofer"), "to the roofer", "sending", self._send, lambda _: None, enclosed=enclosed
        )

    def _send(self, _fleet, text: str) -> None:
        assert self.arrives.wait(60)
        if self.why:
            raise errors.FleetError(what=self.why)
        self.sent.append(text)


@pytest.mark.req("TUI-4")
def test_a_text_that_is_shown_again_gets_the_comments_that_it_lacks(scene):
    post = Post()
    post.why = "it is away"

    async def act(person):
        board = person.app.board
        await person.sees("coordinator")
        board.drafts[ROOF] = {FIRST: "make it blue"}
        post.ask(board)
        await person.sees("To the roofer", "roof.py:1 make it blue")
        await person.presses("enter")
        await person.until(lambda: board.acts.unfinished)
        await person.presses("?")
        await person.sees("On the board")
        post.arrives.set()
        await person.is_told("your text is kept")
        await person.presses("q")
        board.drafts[ROOF][SECOND] = "and this"
        post.why = ""
        post.ask(board)
        await person.sees("roof.py:1 make it blue", "roof.py:2 and this")
        await person.presses("enter")
        await person.until(lambda: not board.drafts, "the comments that were sent are dropped")

    sit_down(scene.home, act)
    assert post.sent == ["roof.py:1 make it blue\nroof.py:2 and this"]


@pytest.mark.req("TUI-4")
def test_comments_that_are_written_while_a_text_is_sent_are_kept(scene):
    post = Post()

    async def act(person):
        board = person.app.board
        await person.sees("coordinator")
        board.drafts[ROOF] = {FIRST: "make it blue", SECOND: "and this"}
        post.ask(board)
        await person.sees("To the roofer", "roof.py:2 and this")
        await person.presses("enter")
        await person.until(lambda: board.acts.unfinished)
        third = Spot("roof.py", 3, is_removed=False)
        board.drafts[ROOF] |= {SECOND: "rather that", third: "one more"}
        post.arrives.set()
        await person.until(lambda: not board.acts.unfinished)
        assert board.drafts[ROOF] == {SECOND: "rather that", third: "one more"}

    sit_down(scene.home, act)

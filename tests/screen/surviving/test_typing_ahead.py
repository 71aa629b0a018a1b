"""What is typed faster than the screen draws goes where the person meant it: keys may arrive together."""

import pytest
from screen.driving import sit_down
from textual import events

TITLE = "fix the yard, then sweep it"


def type_at_once(person, text: str) -> None:
    """Let all keys arrive together, as a slow connection brings them."""
    for char in text:
        key = {" ": "space", "\n": "enter", ",": "comma", "/": "slash"}.get(char, char)
        person.app._driver.send_message(events.Key(key, None if char == "\n" else char))


@pytest.mark.req("TUI-2", "TUI-5")
def test_keys_after_the_one_that_opens_a_dialog_are_for_the_dialog(scene):
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "asks", engine="scripted", script="ask rm -rf build\nhang")

    async def act(person):
        await person.goes_to("p/asks")
        await person.sees("Bash: rm -rf build", "y approve")
        type_at_once(person, f"n{TITLE}")
        await person.sees("New task in p", TITLE)
        assert person.app.board.question is not None, "the key y did not approve"
        assert person.told == "", "no key did anything else"
        type_at_once(person, "\nn")
        await person.sees("fix-the-yard-then-sweep-it", "New task in p")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-2", "TUI-5")
def test_a_paste_after_the_key_that_opens_a_dialog_is_for_the_dialog(scene):
    async def act(person):
        await person.sees("coordinator")
        type_at_once(person, "n")
        person.app._driver.send_message(events.Paste("Sweep the yard\nand the street"))
        await person.sees("New task in p", "Sweep the yard", "and the street")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-2", "TUI-5")
def test_keys_after_the_end_of_a_filter_are_for_the_rows(scene):
    with scene.fleet() as fleet:
        for priority, slug in enumerate(("two", "two-more", "one")):
            fleet.tasks.add(project="p", title=f"Title {slug}", slug=slug, priority=priority)

    async def act(person):
        await person.sees("two-more")
        type_at_once(person, "/two\nG")
        await person.until(lambda: person.app.board.row and person.app.board.row.key == "p/two", "the last row")

    sit_down(scene.home, act)

"""Tables, widths and colours."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.api.views import tones
from fleet.model.text import escapes
from fleet.surfaces.cli.hot.table import HOT
from fleet.surfaces.cli.ui import streams, terminal

TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20)


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("abc", 3), ("äöü", 3), ("漢字", 4), ("e\u0301", 1), ("🚀", 2), ("→", 1)]
)
def test_a_text_is_as_wide_as_a_terminal_draws_it(text, width):
    assert terminal.width_of(text) == width


def test_colours_take_no_room(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    line = f"  3f2a9c01 {terminal.paint('working', 'cyan')}  {'x' * 59}"
    assert terminal.shortened(line, 79) == line
    assert terminal.width_of(terminal.shortened(line + "yz", 79)) == 79


@given(text=TEXT, room=st.integers(1, 25))
def test_a_shortened_text_fits_and_says_that_it_was_cut(text, room):
    short = terminal.shortened(text, room)
    assert terminal.width_of(short) <= room
    whole = escapes.line(text)
    assert short == whole or (short.endswith("…") and whole.startswith(short[:-1]))


def test_a_shortened_text_keeps_all_of_its_colours(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    short = terminal.shortened(f"ab{terminal.paint('cdef', 'red')}gh\033[8mij", 5)
    assert streams.escape_controls(short) == "ab\033[31mcd…\033[0m"


@given(rows=st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=6))
def test_the_columns_of_a_table_begin_at_the_same_place(rows):
    head, *lines = list(terminal.table(("ONE", "TWO", "THREE"), rows))
    starts = [terminal.width_of(head[: head.index(name)]) for name in ("ONE", "TWO", "THREE")]
    assert starts[1] == 2 + max([3, *(terminal.width_of(row[0]) for row in rows)])
    assert starts[2] == starts[1] + 2 + max([3, *(terminal.width_of(row[1]) for row in rows)])
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert line.startswith(escapes.line(row[0]).rstrip())
        assert not line.endswith(" ")


def test_a_table_keeps_to_one_line_a_row_whatever_is_in_a_cell():
    assert list(terminal.table(("A", "B"), [("x\ny", "1\n2")])) == ["A    B", "x y  1 2"]


def test_a_terminal_that_does_not_know_its_width_gets_whole_lines(monkeypatch):
    """0 columns, as under `script` or a pseudo-terminal that nobody sized."""
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((0, 0)))
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    title = "a title of some length"
    assert list(terminal.table(("SLUG", "TITLE"), [("a", title)]))[1] == f"a     {title}"


def test_a_list_is_one_json_document_even_when_it_is_empty(capsys):
    terminal.say_json_list(iter([]))
    assert json.loads(capsys.readouterr().out) == []
    terminal.say_json_list({"n": n} for n in range(3))
    assert json.loads(capsys.readouterr().out) == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_colour_is_a_matter_of_the_reader(monkeypatch):
    assert terminal.paint("x", "red") == "x"
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert streams.escape_controls(terminal.paint("x", "red")) == "\033[31mx\033[0m"
    assert terminal.paint("x", "") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.paint("x", "red") == "x"


def test_every_state_has_a_mark_and_a_colour():
    states = {"ready", "waiting", "open", "in_progress", "blocked", "done", "failed", "abandoned"}
    assert set(tones.TASK_MARKS) == set(tones.TASK_TONES) == states
    assert len({mark for state, mark in tones.TASK_MARKS.items() if state != "open"}) == len(states) - 1


def test_progress_is_silent_when_nobody_looks(capsys):
    bar = terminal.Progress("importing", 10)
    bar(5)
    bar.close()
    assert capsys.readouterr() == ("", "")


class Screen:
    """A terminal that remembers."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_progress_is_drawn_for_whoever_looks_and_wiped_at_the_end(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(terminal.sys, "stderr", screen)
    bar = terminal.Progress("importing", 4)
    for done in (1, 1, 4, 9):
        bar(done)
    bar.close()
    assert streams.escape_controls(screen.text).count("\033[G") == 3
    assert " 25% " in screen.text
    assert "100% " in screen.text
    assert streams.escape_controls(screen.text).endswith("\033[G\033[K")


@pytest.mark.parametrize("hot", HOT, ids=lambda hot: hot.name)
def test_what_a_hot_command_says_is_made_of_what_it_answers(hot):
    answer = {"project": "web", "task": "a", "status": "done", "assignee": "bob", "artifact": "x.md"}
    assert "web/a" in hot.sentence.format(**answer)

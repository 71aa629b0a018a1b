"""Characters that a terminal would obey or hide are shown instead."""

import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.model.text import escapes, jsontext
from fleet.surfaces.cli.ui import streams

# Visible although Unicode calls them formats, or needed to write Persian and emoji.
DRAWN = {0x200C, 0x200D, *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
LAYOUT = {*range(0x13430, 0x13440), *range(0x1BCA0, 0x1BCA4)}  # of hieroglyphs and shorthand


@pytest.mark.req("SEC-4")
def test_every_control_and_every_hidden_character_of_unicode_is_shown():
    for point in range(0x110000):
        char = chr(point)
        if char in "\n\t" or point in DRAWN | LAYOUT or unicodedata.category(char) not in {"Cc", "Cf", "Zl", "Zp"}:
            continue
        assert escapes.text(char).isprintable(), hex(point)


@pytest.mark.req("SEC-4")
@pytest.mark.parametrize(
    ("char", "picture"),
    [("\x1b", "␛"), ("\r", "␍"), ("\0", "␀"), ("\x7f", "␡"), ("\x9b", "\\u009b"), ("\u202e", "\\u202e"), ("\b", "␈")],
)
def test_a_person_sees_which_one_it_was(char, picture):
    assert escapes.text(f"a{char}b") == f"a{picture}b"


@pytest.mark.req("SEC-4")
def test_a_line_break_in_one_line_is_shown_and_in_a_text_it_breaks():
    assert escapes.line("done\n\tfleet: merged") == "done␤ fleet: merged"
    assert escapes.text("a\n\tb") == "a\n\tb"


@given(st.text())
def test_to_show_it_once_more_changes_nothing(text):
    assert escapes.text(escapes.text(text)) == escapes.text(text)


@pytest.mark.req("SEC-4")
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_that_is_printed_still_says_the_same(text):
    printed = streams.escape_controls(jsontext.dumps({"x": text}))
    assert json.loads(printed) == {"x": text}
    assert "\x7f" not in printed
    assert "\x9b" not in printed


@pytest.mark.req("SEC-4")
def test_a_screen_sends_fleets_own_sequences_and_no_others():
    file = io.StringIO()
    screen = streams.Screen(file)
    screen.write(f"{streams.ESCAPE}[31mred{streams.ESCAPE}[0m \x1b[31mnot\x1b[0m\n")
    screen.writelines(["\x1b]0;title\a", "\r"])
    print("\x1bc", file=screen)
    assert file.getvalue() == "\x1b[31mred\x1b[0m ␛[31mnot␛[0m\n␛]0;title␇␍␛c\n"
    assert not hasattr(screen, "buffer")


def test_what_is_cut_says_how_much():
    assert escapes.cut("abc", 3) == "abc"
    assert escapes.tail("abc", 3) == "abc"
    assert escapes.tail("abcde", 3) == "(2 characters before this left out) …cde"
    assert escapes.cut("x" * 1_300, 3, more="fleet logs a") == "xxx… (1,297 more characters: fleet logs a)"

"""Which lines of a growing text are new."""

import pytest

from fleet.model.text.following import new_lines


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ("", "a b", "a b"),
        ("a b", "a b", ""),
        ("a b", "a b c", "c"),
        ("a b c d", "b c d e", "e"),  # the terminal has forgotten the oldest line
        ("a b c d", "c d e", "c d e"),  # and here too many to be sure
        ("a b", "a x y", "x y"),  # drawn anew
        ("a a a", "a a a a", "a"),
        ("a", "", ""),
    ],
)
def test_only_what_came_since_the_last_look_is_new(before, now, new):
    assert new_lines(before.split(), now.split()) == new.split()

"""Comments of a reviewer: those about a line carry the line."""

import pytest

from fleet.model.tasks.comments import quote_lines

FILE = ["def login(user):", "    return True"]


def line_of(file: str, line: int) -> str | None:
    return FILE[line - 1] if file == "src/login.py" and line <= len(FILE) else None


def test_a_comment_about_a_line_is_followed_by_that_line():
    said = "On the whole fine.\nsrc/login.py:2 check the user\nsrc/login.py:1: name it differently\n"
    assert quote_lines(said, line_of) == (
        "On the whole fine.\n"
        "src/login.py:2 check the user\n    > return True\n"
        "src/login.py:1: name it differently\n    > def login(user):"
    )


@pytest.mark.parametrize(
    "said", ["src/login.py:99 too far", "other.py:1 not there", "at 12:30 we meet", "src/login.py:2", "x:0 none", ""]
)
def test_what_is_about_no_line_of_the_work_stays_as_it_is(said):
    assert quote_lines(said, line_of) == said

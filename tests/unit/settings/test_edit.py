"""A setting is written into a file; everything else in it stays as it was."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.model.settings.edit import with_value

LINES = st.lists(
    st.sampled_from(
        ["", "# review is for people", 'verify = "make test"', "target = 'main'  # ours", 'engine="claude" # so', "  "]
    ),
    unique=True,
    max_size=6,
)
TABLES = st.sampled_from(["", "[task]\npriority = 2\nreview = 'not this one'\n", '# about tasks\n[task]\nverify = "x"'])
SAID = st.sampled_from(["", "review = 'none'", 'review="agent"   # because', '"review" = "none"'])


@given(before=LINES, said=SAID, after=LINES, tables=TABLES, value=st.sampled_from(["person", 'a "b" \\c', "é"]))
def test_one_setting_changes_and_nothing_else(before, said, after, tables, value):
    lines = [*before, *([said] if said else []), *[line for line in after if line not in before or not line.strip()]]
    text = "\n".join([*lines, tables]) if tables else "\n".join(lines)
    was, now = tomllib.loads(text), tomllib.loads(with_value(text, "review", value))
    assert now == {**was, "review": value}
    kept = [line for line in text.splitlines() if line.strip() and line != said]
    assert [line for line in with_value(text, "review", value).splitlines() if line in kept] == kept


@given(before=LINES, tables=TABLES)
def test_to_say_it_again_changes_nothing(before, tables):
    once = with_value("\n".join([*before, tables]), "review", "person")
    assert with_value(once, "review", "person") == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'review = "x"\n'),
        ("# hi", '# hi\nreview = "x"\n'),
        ("review = 'none'  # because\na = 1\n", 'review = "x"  # because\na = 1\n'),
        ("a = 1\n\n# about tasks\n[task]\nb = 2\n", 'a = 1\nreview = "x"\n\n# about tasks\n[task]\nb = 2\n'),
        ("reviewer = 1\n", 'reviewer = 1\nreview = "x"\n'),
    ],
)
def test_it_stands_where_a_person_would_put_it(text, expected):
    assert with_value(text, "review", "x") == expected

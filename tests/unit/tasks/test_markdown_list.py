"""Markdown lists as people write them: items, what they come after, and the text below them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.model.tasks.markdown_list import Item, read_list

PLAN = """\
# Plan

Some words about it.

- [ ] Design the API
      Use REST.

      Really.
  - [ ] Write the server
    With tests,
on two lines.
  * Write the client
\t+ Deep
- [x] Old thing
  - After the old thing
1. Write the docs
2) Ship it
"""


def told(items: list[Item]) -> list[tuple[str, str | None]]:
    """Each title with that of the item it is indented under."""
    return [(item.title, None if item.parent is None else items[item.parent].title) for item in items]


def test_an_indented_item_comes_after_the_one_above_it():
    assert told(read_list(PLAN.splitlines()).items) == [
        ("Design the API", None),
        ("Write the server", "Design the API"),
        ("Write the client", "Design the API"),
        ("Deep", "Write the client"),
        ("After the old thing", None),
        ("Write the docs", None),
        ("Ship it", None),
    ]


def test_the_text_below_an_item_is_its_description():
    items = {item.title: item.description for item in read_list(PLAN.splitlines()).items}
    assert items["Design the API"] == "Use REST.\n\nReally."
    assert items["Write the server"] == "With tests,\non two lines."
    assert items["Write the client"] == ""


def test_what_is_left_out_is_counted():
    assert read_list(PLAN.splitlines()).left_out == 3, "the heading, the words above, and what is ticked"


def test_an_item_knows_its_line():
    assert [item.line for item in read_list(PLAN.splitlines()).items] == [5, 9, 12, 13, 15, 16, 17]


def test_what_is_indented_under_a_ticked_item_comes_after_whatever_that_came_after():
    items = read_list(["- a", "  - [x] b", "    - c"]).items
    assert told(items) == [("a", None), ("c", "a")]


def test_code_in_a_description_holds_no_items():
    items = read_list(["- a", "  ```sh", "  - b", "  ```", "  - c"]).items
    assert told(items) == [("a", None), ("c", "a")]
    assert items[0].description == "```sh\n- b\n```"


def test_code_around_a_list_holds_no_items():
    assert told(read_list(["```", "- a", "```", "- b"]).items) == [("b", None)]


def test_text_at_the_margin_behind_a_blank_line_is_not_part_of_the_item():
    reading = read_list(["- a", "", "So much for that.", "  - b"])
    assert told(reading.items) == [("a", None), ("b", None)]
    assert (reading.items[0].description, reading.left_out) == ("", 1)


@pytest.mark.parametrize("line", ["-a", "- ", "-", "[ ] a", "1 a", "", "text", "- [ ]"])
def test_what_is_no_item_is_none(line):
    assert [item.title for item in read_list([line]).items] in ([], ["[ ]"])


DEPTHS = st.lists(st.integers(0, 5), min_size=1, max_size=30)


@given(depths=DEPTHS, step=st.integers(1, 4), words=st.lists(st.sampled_from(["", "words", "more"]), max_size=3))
def test_every_item_is_read_once_below_the_nearest_one_that_is_less_indented(depths, step, words):
    lines = []
    for number, depth in enumerate(depths):
        pad = " " * depth * step
        lines += [f"{pad}- item {number}", *(f"{pad}  {word}".rstrip() for word in words)]
    items = read_list(lines).items
    assert [item.title for item in items] == [f"item {number}" for number in range(len(depths))]
    for number, item in enumerate(items):
        above = [other for other in range(number) if depths[other] < depths[number]]
        assert item.parent == (above[-1] if above else None)
        assert item.description.split() == " ".join(words).split()


def test_braces_at_the_end_of_an_item_say_what_it_waits_for_its_model_and_its_slug():
    first, second, third = read_list(
        [
            "- Design the API {slug: api}",
            "- Write {x: 1} docs {model: haiku} {after: api, tests}",
            "- Ship it {after: write-x-1-docs,} { after : api }",
        ]
    ).items
    assert (first.title, first.slug) == ("Design the API", "api")
    assert (second.title, second.model, second.after) == ("Write {x: 1} docs", "haiku", ("api", "tests"))
    assert (third.title, third.after) == ("Ship it", ("write-x-1-docs", "api"))


def test_other_braces_stay_in_the_title():
    titles = ["Fix {after}", "{after: api}", "Use {afer: api}", "Close {after: api} now"]
    assert [item.title for item in read_list(f"- {title}" for title in titles).items] == titles


def test_nothing_waits_for_a_ticked_item():
    (item,) = read_list(
        ["- [x] Design the API {slug: api}", "- [x] Buy milk", "- Ship {after: api, buy-milk, b}"]
    ).items
    assert item.after == ("b",)

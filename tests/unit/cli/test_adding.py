"""`fleet task add` without click reads what click reads, or leaves the words to click."""

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors.families import BadInput
from fleet.surfaces.cli.commands.tasks.write import COMMANDS
from fleet.surfaces.cli.hot import adding

WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6)
NAMES = ["--slug", "-d", "--description", "-a", "--after", "-t", "--tag", "-p", "--project", "--as", "--key", "--json"]
OTHERS = ["--priority", "--not-before", "--verify", "--engine", "--model", "-h", "--help", "--", "-", "web/api", "5"]
WORDS = st.lists(st.one_of(WORD, st.sampled_from(NAMES), st.sampled_from(OTHERS)), max_size=7)


def by_click(words):
    """What click reads; None when it sees a mistake or a question."""
    try:
        context = COMMANDS["task add"].make_context("x", list(words), help_option_names=["-h", "--help"])
    except (click.UsageError, click.exceptions.Exit, BadInput):
        return None
    return {name: value for name, value in context.params.items() if value not in (None, False, "", ())}


def by_fleet(words):
    """What fleet reads, as click gives it."""
    values = adding.parse(list(words))
    if values is None:
        return None
    many = {name: (values.pop(own),) for own, name in (("after", "after"), ("tag", "tags")) if own in values}
    named = {"slug": values.pop("named")} if "named" in values else {}
    return {name: value for name, value in (values | many | named).items() if value not in (None, False, "")}


@settings(max_examples=400, deadline=None)
@given(words=WORDS)
def test_what_is_read_is_what_click_reads(words):
    found = by_fleet(words)
    assert found is None or found == by_click(words)


@pytest.mark.parametrize(
    "words",
    [
        ["Fix it"],
        ["Fix it", "-p", "web", "--json"],
        ["Fix it", "-p", "web", "--slug", "other/fix"],
        ["--slug", "fix", "Fix it", "-d", "all of it", "--after", "parser", "--tag=api", "--as", "me", "--key", "k"],
    ],
)
def test_common_words_do_not_need_click(words):
    assert by_fleet(words) == by_click(words) != None  # noqa: E711 - both are the same, and something


@pytest.mark.parametrize(
    "words",
    [
        ["-"],
        ["T", "-d", "-"],
        ["T", "-a", "web/parser"],
        ["T", "-a", "one", "-a", "other"],
        ["T", "--priority", "5"],
        ["T", "--not-before", "2h"],
        ["T", "--help"],
        [],
    ],
)
def test_other_words_are_left_to_click(words):
    assert adding.parse(words) is None

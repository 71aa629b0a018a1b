"""The fast way through the hot commands and click agree on every argument list."""

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.surfaces.cli.commands.tasks.hot import COMMANDS
from fleet.surfaces.cli.hot import fast
from fleet.surfaces.cli.hot.table import COMMON, HOT, Hot, find

WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
PLAIN_WORD = WORD.filter(lambda word: not word.startswith("-"))
FORMS = [(hot, short) for hot in HOT for short in (False, True) if hot.short or not short]
every_form = pytest.mark.parametrize(
    ("hot", "short"), FORMS, ids=[f"{'' if short else 'task '}{hot.name}" for hot, short in FORMS]
)


def by_click(hot: Hot, words: list[str], *, short: bool) -> dict | None:
    """What click reads; None when it sees a mistake or a question."""
    command = COMMANDS[hot.name if short else f"task {hot.name}"]
    try:
        context = command.make_context("x", list(words), help_option_names=["-h", "--help"])
    except (click.UsageError, click.exceptions.Exit):
        return None
    return {name: value for name, value in context.params.items() if value not in (None, False)}


@st.composite
def well_formed(draw, hot: Hot, *, short: bool) -> list[str]:
    """Arguments and options in any order, as somebody might type them."""
    count = (not short) + bool(hot.argument)
    parts = [[draw(PLAIN_WORD)] for _ in range(count)]
    for option in hot.options + COMMON:
        if option.required or draw(st.booleans()):
            name = draw(st.sampled_from(option.names))
            value = draw(WORD)
            if option.flag:
                parts.append([name])
            elif name.startswith("--") and draw(st.booleans()):
                parts.append([f"{name}={value}"])
            else:
                parts.append([name, value])
    return [word for part in draw(st.permutations(parts)) for word in part]


@every_form
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_well_formed_is_read_alike(hot, short, data):
    words = data.draw(well_formed(hot, short=short))
    values = fast.parse(hot, words, short=short)
    assert values is not None
    assert values == by_click(hot, words, short=short)


def anything(hot: Hot) -> st.SearchStrategy[str]:
    names = [name for option in hot.options + COMMON for name in option.names]
    odd = [
        "--",
        "-",
        "",
        "-x",
        "--help",
        "-h",
        "--unknown",
        "-pweb",
        "-p=web",
        "--json=1",
        "--jso",
        "--over",
        "-",
        "=",
        "--=",
    ]
    return st.sampled_from([*names, *odd, *(f"{name}=v" for name in names)]) | WORD


@every_form
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_the_fast_way_answers_click_would_have_read_alike(hot, short, data):
    words = data.draw(st.lists(anything(hot), max_size=6))
    values = fast.parse(hot, words, short=short)
    if values is not None:
        assert values == by_click(hot, words, short=short)


@every_form
@pytest.mark.parametrize("question", ["--help", "-h"])
def test_a_question_is_left_to_click(hot, short, question):
    reason = ["--reason", "x"] if any(option.required for option in hot.options) else []
    words = ["a"] * ((not short) + bool(hot.argument))
    assert fast.parse(hot, [*words, *reason], short=short) is not None
    assert fast.parse(hot, [*words, *reason, question], short=short) is None


@every_form
def test_a_dash_is_left_to_click_which_reads_standard_input(hot, short):
    if hot.argument:
        assert fast.parse(hot, [*([] if short else ["a"]), "-"], short=short) is None


def test_an_option_given_twice_is_left_to_click():
    [log] = [hot for hot in HOT if hot.name == "log"]
    assert fast.parse(log, ["a", "hi", "-p", "x", "-p", "y"], short=False) is None


@pytest.mark.parametrize(
    ("words", "name", "short", "rest"),
    [
        (["log", "hi"], "log", True, ["hi"]),
        (["task", "log", "a", "hi"], "log", False, ["a", "hi"]),
        (["task", "claim", "a"], "claim", False, ["a"]),
        (["done"], "done", True, []),
        (["task", "done"], "done", False, []),
    ],
)
def test_a_hot_command_is_known_by_its_first_words(words, name, short, rest):
    hot, found_short, found_rest = find(words)
    assert (hot.name, found_short, found_rest) == (name, short, rest)


@pytest.mark.parametrize(
    "words", [[], ["task"], ["claim", "a"], ["status"], ["--json", "log", "x"], ["task", "list"], [""]]
)
def test_other_words_are_not_hot(words):
    assert find(words) is None

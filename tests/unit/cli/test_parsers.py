"""The fast way through the hot commands and click agree on every argument list."""

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors.families import BadInput
from fleet.surfaces.cli.commands.reads import COMMANDS as READ_COMMANDS
from fleet.surfaces.cli.commands.tasks.hot import COMMANDS
from fleet.surfaces.cli.hot import fast
from fleet.surfaces.cli.hot.read_table import READS, Read
from fleet.surfaces.cli.hot.read_table import find as find_read
from fleet.surfaces.cli.hot.table import COMMON, HOT, Hot, Option, find

WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
# A slash divides a project from a slug: test_a_project_before_the_slug_is_read_alike.
PLAIN_WORD = WORD.filter(lambda word: not word.startswith("-") and "/" not in word)
FORMS = [(hot, short) for hot in HOT for short in (False, True) if hot.short or not short]
every_form = pytest.mark.parametrize(
    ("hot", "short"), FORMS, ids=[f"{'' if short else 'task '}{hot.name}" for hot, short in FORMS]
)


def by_click(hot: Hot, words: list[str], *, short: bool) -> dict | None:
    """What click reads; None when it sees a mistake or a question."""
    command = COMMANDS[hot.name if short else f"task {hot.name}"]
    try:
        context = command.make_context("x", list(words), help_option_names=["-h", "--help"])
    except (click.UsageError, click.exceptions.Exit, BadInput):
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


@pytest.mark.slow("click reads every example")
@every_form
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_well_formed_is_read_alike(hot, short, data):
    words = data.draw(well_formed(hot, short=short))
    values = fast.parse(hot, words, short=short)
    assert values is not None
    assert values == by_click(hot, words, short=short)


@pytest.mark.parametrize("slug", ["web/api", "web/", "/api", "/", "a/b/c"])
@pytest.mark.parametrize("project", [[], ["-p", "web"], ["-p", "other"]])
@pytest.mark.parametrize("last", [False, True])
def test_a_project_before_the_slug_is_read_alike(slug, project, last):
    hot = next(hot for hot in HOT if hot.name == "done")
    words = [slug, *project] if last else [*project, slug]
    assert fast.parse(hot, words, short=False) == by_click(hot, words, short=False)


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


@pytest.mark.slow("click reads every example")
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


every_read = pytest.mark.parametrize("read", READS, ids=[read.name for read in READS])


def read_by_click(read: Read, words: list[str]) -> dict | None:
    try:
        context = READ_COMMANDS[read.name].make_context("x", list(words), help_option_names=["-h", "--help"])
    except (click.UsageError, click.exceptions.Exit, BadInput):
        return None
    return {name: value for name, value in context.params.items() if value not in (None, False)}


def value_of(option: Option) -> st.SearchStrategy[str]:
    if option.choices:
        return st.sampled_from(option.choices)
    return st.integers(1, 10**18 - 1).map(str) if option.is_count else WORD


@st.composite
def well_formed_read(draw, read: Read) -> list[str]:
    parts = [[draw(PLAIN_WORD)]] if read.argument else []
    for option in read.options:
        if draw(st.booleans()) and not (option.into and any("--mermaid" in part for part in parts)):
            name = draw(st.sampled_from(option.names))
            parts.append([name] if option.flag else [name, draw(value_of(option))])
    return [word for part in draw(st.permutations(parts)) for word in part]


@pytest.mark.slow("click reads every example")
@every_read
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_well_formed_read_is_read_alike(read, data):
    words = data.draw(well_formed_read(read))
    values = read.parse(words)
    assert values is not None
    assert values == read_by_click(read, words)


@pytest.mark.slow("click reads every example")
@every_read
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_the_fast_way_reads_click_would_have_read_alike(read, data):
    names = [name for option in read.options for name in option.names]
    numbers = [
        "0",
        "1",
        "-1",
        "+1",
        " 1",
        "1_0",
        "٣",
        "9" * 18,
        "9" * 19,
        "open",
        "OPEN",
        "--",
        "-",
        "",
        "-n1",
        "--help",
        "-x",
    ]
    anything = st.sampled_from([*names, *numbers, *(f"{name}={number}" for name in names for number in numbers)]) | WORD
    words = data.draw(st.lists(anything, max_size=5))
    values = read.parse(words)
    if values is not None:
        assert values == read_by_click(read, words)


@pytest.mark.parametrize(
    ("words", "name", "rest"),
    [
        (["status"], "status", []),
        (["ps", "-p", "web"], "ps", ["-p", "web"]),
        (["agents", "list"], "agents list", []),
        (["task", "show", "a"], "task show", ["a"]),
    ],
)
def test_a_read_is_known_by_its_first_words(words, name, rest):
    found, found_rest = find_read(words)
    assert (found.name, found_rest) == (name, rest)


@pytest.mark.parametrize(
    "words", [[], ["task"], ["agents"], ["task", "add"], ["--json", "status"], ["task list"], ["show"]]
)
def test_other_words_are_no_read(words):
    assert find_read(words) is None

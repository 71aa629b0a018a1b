"""A request that is repeated under its key is known again, whenever and wherever it is repeated; and no other request is."""

import pytest

TASK = b'{"slug": "%s", "title": "T"}\n'


def twice(fleet, *words: str) -> None:
    first = fleet(*words, "--key", "same").ok()
    assert fleet(*words, "--key", "same").ok() == first


@pytest.mark.req("STORE-16")
@pytest.mark.parametrize(
    "words",
    [["task", "add", "T"], ["add", "T"], ["task", "edit", "a"], ["task", "archive", "--ended", "--older-than", "2h"]],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_time_that_is_counted_from_now_does_not_make_a_repetition_another_request(words, either, time_passes):
    either.add("a")
    how = [] if "archive" in words else ["--not-before", "2h"]
    first = either(*words, *how, "--key", "same").ok()
    before = either.ask("task", "list")
    assert either(*words, *how, "--key", "same").ok() == first
    assert either.ask("task", "list") == before, "the second try has made no other task and changed no time"


@pytest.mark.req("STORE-16")
def test_another_time_under_the_same_key_is_refused(either):
    either("task", "add", "T", "--not-before", "2h", "--key", "same").ok()
    either("task", "add", "T", "--not-before", "3h", "--key", "same").refused(14, "same")


@pytest.mark.req("STORE-16")
def test_what_is_emptied_is_known_again_by_every_process(either, program):
    either.add("a", "--verify", "true")
    words = ("task", "edit", "a", "--verify", "none", "--engine", "none", "--not-before", "none", "--key", "same")
    assert {program(*words, env={"PYTHONHASHSEED": seed}).ok().out for seed in "0123"} == {"changed web/a\n"}


@pytest.mark.req("STORE-16")
def test_a_key_that_imported_one_file_does_not_answer_for_another(either):
    first = either("task", "import", "-", "--key", "same", stdin=TASK % b"a").ok()
    assert either("task", "import", "-", "--key", "same", stdin=TASK % b"a").ok() == first
    either("task", "import", "-", "--key", "same", stdin=TASK % b"b").refused(14, "same")


@pytest.mark.parametrize("words", [["run", "Do it"], ["dispatch", "a"]], ids=lambda words: words[0])
def test_what_is_more_than_one_transaction_takes_no_key(words, fleet):
    fleet.add("a")
    fleet(*words, "--key", "same").refused(2, "--key")

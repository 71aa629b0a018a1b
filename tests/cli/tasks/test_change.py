"""What a person says to a task, and what fleet says back. On both stores."""

import os
import shlex

import pytest

STORY = [
    ("add 'Write the parser' --slug parser", "added web/parser"),
    ("add 'Fix the Login-Page!'", "added web/fix-the-login-page"),
    ("add 'Fix the login page'", "added web/fix-the-login-page-2"),
    (
        "add 'Write the tests' --slug tests --after parser --after fix-the-login-page",
        "added web/tests, after parser, fix-the-login-page",
    ),
    ("edit tests --not-after fix-the-login-page --tag qa", "changed web/tests"),
    ("edit tests --tag qa", "nothing to change on web/tests"),
    ("log parser 'half of it'", "logged on web/parser"),
    ("artifact parser docs/grammar.md", "registered docs/grammar.md for web/parser"),
    ("claim parser", "web/parser is yours, ME"),
    ("claim parser", "web/parser is yours, ME (it was already)"),
    ("unclaim parser", "web/parser is open again"),
    ("claim parser", "web/parser is yours, ME"),
    ("block parser --reason 'no grammar'", "web/parser is blocked"),
    ("block parser --reason 'no grammar'", "web/parser is blocked (it was already)"),
    ("retry parser", "web/parser is open again (it was blocked)"),
    ("fail parser --reason 'wrong idea'", "web/parser is failed"),
    ("retry parser", "web/parser is open again (it was failed)"),
    ("done parser --message 'green'", "web/parser is done; now ready: tests"),
    ("done parser", "web/parser is done (it was already)"),
    ("archive parser", "web/parser is archived"),
    ("archive parser", "web/parser is archived (it was already)"),
    ("retry parser", "web/parser is open again (it was done)"),
    ("abandon parser --reason 'bought one'", "web/parser is abandoned; now ready: tests"),
    ("pause tests", "web/tests is paused"),
    ("pause tests", "web/tests is paused (it was already)"),
    ("unpause tests", "web/tests is not paused"),
    ("archive --ended --older-than 0s", "1 ended task of web archived"),
]


def me() -> str:
    return f"ann@{os.uname().nodename}"


@pytest.mark.req("GRAPH-1", "GRAPH-6")
def test_the_life_of_a_task_is_told_line_by_line(either):
    for words, told in STORY:
        answer = either("task", *shlex.split(words)).ok()
        assert (words, answer.out) == (words, told.replace("ME", me()) + "\n")


@pytest.mark.req("GRAPH-1")
def test_show_has_everything_that_was_said(either):
    either.add("context")
    words = ["--slug", "house", "--after", "context", "--tag", "b", "--tag", "a", "--priority", "7", "--engine", "any"]
    either("task", "add", "Build it", *words, "--verify", "make test", "-d", "-", stdin="Höher\n".encode()).ok()
    either("task", "log", "house", "erste Zeile\nzweite").ok()
    either("task", "artifact", "house", "plan.pdf").ok()
    shown = either.show("house")
    assert shown["title"] == "Build it"
    assert shown["description"].strip() == "Höher"
    assert (shown["after"], shown["tags"], shown["priority"]) == (["context"], ["a", "b"], 7)
    assert (shown["engine"], shown["verify"], shown["state"]) == ("any", "make test", "waiting")
    [said] = shown["log"]
    assert (said["actor"], said["message"]) == (me(), "erste Zeile\nzweite")
    [made] = shown["artifacts"]
    assert (made["actor"], made["path"]) == (me(), "plan.pdf")
    assert either.show("context")["dependents"] == ["house"]
    page = either("task", "show", "house").ok().out
    for word in (
        "Build it  · waiting",
        "web/house",
        "priority    7",
        "tags        a, b",
        "after       context",
        "Höher",
    ):
        assert word in page
    assert f"{me()}: erste Zeile\n      zweite\n" in page
    assert f"{me()}: plan.pdf" in page


@pytest.mark.req("GRAPH-6")
def test_a_message_on_standard_input_is_logged(either):
    either.add("a")
    either("task", "log", "a", "-", stdin=b"from a pipe\n").ok()
    assert [each["message"].strip() for each in either.show("a")["log"]] == ["from a pipe"]


def test_one_trailing_newline_of_standard_input_is_no_part_of_the_message(fleet):
    """`echo hi | fleet task log a -` says hi, not hi and an empty line."""
    fleet.add("a")
    fleet("task", "log", "a", "-", stdin=b"hi\n").ok()
    assert [each["message"] for each in fleet.show("a")["log"]] == ["hi"]


@pytest.mark.req("GRAPH-6")
def test_only_tasks_that_can_be_started_are_called_ready(either):
    """Success is printed for what happened: a task that is paused, or not due yet, did not become ready."""
    either.add("base")
    either.add("free", "--after", "base")
    either.add("held", "--after", "base")
    either.add("later", "--after", "base", "--not-before", "2d")
    either("task", "pause", "held").ok()
    told = either("task", "done", "base").ok().out
    assert [task["slug"] for task in either.ask("task", "ready")] == ["free"]
    assert told == "web/base is done; now ready: free\n"


@pytest.mark.req("GRAPH-6")
@pytest.mark.parametrize(("ending", "frees"), [("done", True), ("abandon", True), ("fail", False), ("block", False)])
def test_a_dependency_frees_those_who_wait_when_it_is_done_or_abandoned_only(ending, frees, either):
    either.add("base")
    either.add("house", "--after", "base")
    either("task", ending, "base", *(["--reason", "so"] if ending in {"fail", "block"} else [])).ok()
    assert [task["slug"] for task in either.ask("task", "ready")] == (["house"] if frees else [])
    assert either("task", "claim", "house").code == (0 if frees else 14)
    either("task", "retry", "base").ok()
    assert "house" not in [task["slug"] for task in either.ask("task", "ready")]


@pytest.mark.req("GRAPH-6")
def test_a_task_that_is_not_ready_is_claimed_only_with_override(either):
    either.add("a", "--not-before", "1d")
    either("task", "claim", "a").refused(14, "not ready", "waits until", "fleet task why a")
    either("task", "claim", "a", "--override").ok()
    assert either.show("a")["status"] == "in_progress"


def test_what_is_not_said_comes_from_the_projects_own_file(fleet):
    (fleet.where / "fleet.toml").write_text('[task]\nverify = "make check"\nengine = "any"\npriority = 4\n')
    fleet("trust", "--yes").ok()
    fleet.add("a")
    fleet.add("b", "--priority", "0", "--verify", "true")
    assert [fleet.show("a")[name] for name in ("verify", "engine", "priority")] == ["make check", "any", 4]
    assert [fleet.show("b")[name] for name in ("verify", "engine", "priority")] == ["true", "any", 0]


@pytest.mark.req("GRAPH-1")
def test_edit_changes_what_it_names_and_none_empties_it(either):
    either.add("a", "--verify", "true", "--not-before", "1d", "--engine", "any", "--tag", "x")
    either("task", "edit", "a", "--title", "Another", "--priority=-3", "--untag", "x", "-t", "y", "-d", "why").ok()
    shown = either.show("a")
    assert [shown[name] for name in ("title", "priority", "tags", "description")] == ["Another", -3, ["y"], "why"]
    either("task", "edit", "a", "--verify", "none", "--not-before", "none", "--engine", "none").ok()
    assert [either.show("a")[name] for name in ("verify", "not_before", "engine", "title")] == [
        None,
        None,
        None,
        "Another",
    ]


@pytest.mark.req("GRAPH-1")
def test_a_request_repeated_under_its_key_is_applied_once(either):
    either.add("a")
    first = either("task", "log", "a", "once", "--key", "k-1").ok()
    assert either("task", "log", "a", "once", "--key", "k-1").ok() == first
    assert len(either.show("a")["log"]) == 1


@pytest.mark.req("GRAPH-5")
@pytest.mark.parametrize(
    "words",
    [("task", "log", "a", "two"), ("task", "log", "b", "one"), ("task", "artifact", "a", "one")],
    ids=["another message", "another task", "another verb"],
)
def test_a_key_that_was_used_for_another_request_is_refused(words, either):
    """Otherwise success would be printed for something that did not happen."""
    either.add("a")
    either.add("b")
    either("task", "log", "a", "one", "--key", "k-1").ok()
    before = either.everything()
    either(*words, "--key", "k-1").refused(14, "k-1", "another request")
    assert either.everything() == before

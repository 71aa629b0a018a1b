"""Bad input: one clear line, the right exit code, nothing changed."""

import pytest

LONG = 5_000_000_000_000_000_000_000
PATH_LIKE = [
    "../x",
    "a/b",
    "-x",
    ".hidden",
    "x.lock",
    "..",
    "a..b",
    "x.",
    "",
    "A",
    "a b",
    "ä",
    "a\n",
    "x" * 81,
    "a:b",
    "~",
    "*",
]

# Each is refused with this code, and these words are in the message.
REFUSALS = {
    "an empty title": (["add", ""], 2, ["title is empty"]),
    "a blank title": (["add", "  "], 2, ["title is empty"]),
    "a long title": (["add", "x" * 501], 2, ["501 characters", "500 at most"]),
    "two lines of title": (["add", "a\nb"], 2, ["more than one line", "--description"]),
    "a colour in a title": (["add", "\x1b[31mred"], 2, ["U+001B", "control characters"]),
    "a C1 control character": (["add", "a\x9bb"], 2, ["U+009B"]),
    "a bell in a message": (["log", "a", "ding\x07"], 2, ["U+0007"]),
    "a NUL in a message": (["log", "a", "x\x00y"], 2, ["U+0000"]),
    "an empty message": (["log", "a", ""], 2, ["message is empty"]),
    "a blank message": (["log", "a", " \n\t"], 2, ["message is empty"]),
    "a huge message": (["log", "a", "x" * 65_000], 2, ["65000 characters", "64000 at most", "fleet artifact"]),
    "a huge reason": (["fail", "a", "-r", "x" * 65_000], 2, ["reason has 65000"]),
    "an empty reason": (["fail", "a", "-r", ""], 2, ["reason is empty"]),
    "a huge description": (["add", "x", "-d", "x" * 1_000_001], 2, ["description has 1000001"]),
    "an empty artifact": (["artifact", "a", ""], 2, ["path is empty"]),
    "an artifact of two lines": (["artifact", "a", "x\ny"], 2, ["more than one line"]),
    "an empty key": (["log", "a", "x", "--key", ""], 2, ["key", "empty"]),
    "a strange key": (["log", "a", "x", "--key", "a b"], 2, ["key 'a b'"]),
    "a strange tag": (["add", "x", "-t", "Not A Tag"], 2, ["tag 'Not A Tag'"]),
    "a strange engine": (["add", "x", "--engine", "Claude Code"], 2, ["engine 'Claude Code'"]),
    "a priority out of range": (["add", "x", "--priority", "1001"], 2, ["priority", "1001"]),
    "a priority that is no number": (["add", "x", "--priority", "high"], 2, ["priority", "high"]),
    "a time that is none": (["add", "x", "--not-before", "soon"], 2, ["'soon' is not a time", "18:00"]),
    "an age that is none": (["archive", "--ended", "--older-than", "long"], 2, ["'long' is not a time"]),
    "neither a task nor --ended": (["archive"], 2, ["name a task", "--ended"]),
    "a task and --ended": (["archive", "a", "--ended"], 2, ["name a task", "--ended"]),
    "a status that is none": (["list", "--status", "ready"], 2, ["ready", "in_progress"]),
    "a limit of nothing": (["ready", "--limit", "0"], 2, ["limit", "0"]),
    "an unknown dependency": (["add", "x", "--after", "nope"], 11, ["'nope'", "fleet task list -p web"]),
    "a dependency on an unknown task": (["edit", "a", "--after", "nope"], 11, ["'nope'"]),
    "a cycle": (["edit", "a", "--after", "c"], 14, ["a → c → b → a"]),
    "a cycle of one": (["edit", "a", "--after", "a"], 14, ["a → a"]),
    "a new task after itself": (["add", "x", "--slug", "x", "--after", "x"], 14, ["x → x"]),
    "a slug that is taken": (["add", "x", "--slug", "a"], 14, ["'a'", "--slug", "fleet task edit a"]),
    "a step that is none": (["unclaim", "a"], 14, ["cannot unclaim", "it is open"]),
    "a task that is not ready": (["claim", "b"], 14, ["1 dependency is not done"]),
    "an open task archived": (["archive", "a"], 14, ["cannot archive", "it is open", "abandon"]),
    "an open task retried": (["retry", "a"], 14, ["cannot retry", "it is open"]),
    "no title": (["add"], 2, ["TITLE", "--help"]),
    "no reason": (["fail", "a"], 2, ["--reason", "--help"]),
    "too many words": (["done", "a", "b"], 2, ["b", "--help"]),
    "an unknown option": (["list", "--jsn"], 2, ["--jsn", "--json", "--help"]),
    "an option without its value": (["log", "a", "hi", "-p"], 2, ["-p", "--help"]),
    "an unknown command": (["lst"], 2, ["'lst'", "'list'"]),
}


@pytest.fixture
def chain(either):
    """c waits for b, and b for a."""
    either.add("a")
    either.add("b", "--after", "a")
    either.add("c", "--after", "b")
    return either


@pytest.mark.req("GRAPH-5", "GRAPH-7")
def test_what_is_refused_says_so_in_one_line_and_writes_nothing(chain):
    before = chain.everything()
    for words, code, told in REFUSALS.values():
        answer = chain("task", *words).refused(code, *told)
        assert answer.out == ""
    assert chain.everything() == before


def test_the_same_refusals_are_objects_for_programs(fleet):
    fleet.add("a")
    fleet.add("b", "--after", "a")
    fleet.add("c", "--after", "b")
    wrong = []
    for case, (words, code, _told) in REFUSALS.items():
        answer = fleet("task", *words, "--json").refused(code)
        hint = f" — {answer.error['hint']}" if answer.error["hint"] else ""
        if (answer.error["code"], f"fleet: {answer.error['message']}{hint}\n") != (code, answer.err):
            wrong.append(case)
    assert wrong == []


@pytest.mark.parametrize("slug", PATH_LIKE)
def test_a_slug_that_means_something_to_a_shell_git_or_a_file_system_is_refused(slug, fleet):
    before = fleet.everything()
    fleet("task", "add", "T", f"--slug={slug}").refused(2, "task slug")
    # A slash stands between the name of a project and a slug, where a task is named that exists.
    code, told = {"../x": (2, "project name"), "a/b": (11, "no project")}.get(slug, (2, "task slug"))
    fleet("task", "log", "--", slug, "hi").refused(code, told)
    fleet("task", "show", "--", slug).refused(code, told)
    fleet("task", "add", "T", f"--after={slug}").refused(code, told)
    assert fleet.everything() == before


@pytest.mark.req("GRAPH-7")
def test_a_long_cycle_is_named_from_end_to_end(either):
    for number in range(9):
        either.add(f"t{number}", *(["--after", f"t{number - 1}"] if number else []))
    told = "t0 → " + " → ".join(f"t{n}" for n in range(8, -1, -1))
    either("task", "edit", "t0", "--after", "t8").refused(14, f"that would make a cycle: {told} ")


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["taks"], "task"),
        (["stauts"], "status"),
        (["task", "claimm"], "claim"),
        (["task", "abandn"], "abandon"),
        (["project", "lst"], "list"),
        (["config", "shw"], "show"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_unknown_command_suggests_the_nearest(words, near, fleet):
    fleet(*words).refused(2, f"'{words[-1]}'", f"Did you mean '{near}'?", "--help")


def test_a_mistyped_slug_project_or_agent_suggests_the_nearest(fleet):
    fleet("task", "add", "Write the parser").ok()
    for words in (["task", "show"], ["task", "why"], ["task", "claim"], ["task", "pause"]):
        fleet(*words, "write-teh-parser").refused(11, "did you mean 'write-the-parser'?", "fleet task list")
    fleet("task", "log", "write-teh-parser", "half way").refused(11, "did you mean 'write-the-parser'?")
    fleet("task", "show", "write-the-parser", "-p", "wbe").refused(11, "did you mean 'web'?", "fleet project list")
    answer = fleet("task", "show", "write-teh-parser", "--json")
    assert answer.error["near"] == "write-the-parser"
    assert "mean" not in fleet("task", "show", "xyzzy").refused(11, "'xyzzy'").err


def test_an_unknown_command_far_from_all_suggests_none(fleet):
    assert "mean" not in fleet("xyzzy").refused(2, "'xyzzy'", "fleet --help").err


@pytest.mark.parametrize(
    "words",
    [
        ["task", "ready", "--limit", str(LONG)],
        ["task", "list", "--limit", str(LONG)],
        ["ops", "--limit", str(LONG)],
        ["task", "watch", "--after", str(LONG), "--limit", "1"],
        ["task", "add", "x", "--not-before", "9999999d"],
        ["task", "add", "x", "--not-before", "999999w"],
        ["task", "add", "x", "--not-before", "0001-01-01"],
        ["ops", "--since", "999999w"],
    ],
    ids=" ".join,
)
def test_a_number_or_time_beyond_all_measure_is_no_traceback_and_no_nonsense(words, fleet):
    """Refused, or understood; but what is shown afterwards can be read, and imported again."""
    answer = fleet(*words)
    assert answer.code == 0 or answer.refused(2)
    exported = fleet("task", "export").ok().out
    fleet("task", "import", "-", stdin=exported.replace('"slug": "x', '"slug": "y').encode()).ok()


@pytest.mark.parametrize("title", ["a\rb", "a\u2028b", "a\u2029b"])
def test_a_title_is_one_line_whatever_breaks_it(title, fleet):
    fleet("task", "add", title).refused(2, "title")


@pytest.mark.parametrize(
    "text",
    ["ひらがな 漢字", "🚀 go", "naïve “quotes”", "a\tb", "<b>&amp;</b>", "'; DROP TABLE tasks; --", "%s {0} $HOME"],
)
def test_whatever_people_write_is_kept_as_it_is(text, either):
    either("task", "add", text, "--slug", "a", "-d", text).ok()
    either("task", "log", "a", text).ok()
    shown = either.show("a")
    assert [shown["title"], shown["description"], shown["log"][0]["message"]] == [text] * 3
    assert text.replace("\t", " ") in either("task", "list").ok().out.replace("\t", " ")

"""Wherever an agent is expected, a slug, a unique prefix or @last will do; several are listed."""

import pytest
from staging.stage import FLEET, Terminal, answer, status_of

from fleet.errors.absent import NoSuchDispatch
from fleet.errors.given import Ambiguous
from fleet.world.ids import Ids


@pytest.fixture
def ids(monkeypatch) -> list[str]:
    given = ["abcd0001", "abcd0002", "ef000003"]
    left = list(given)
    monkeypatch.setattr(Ids, "dispatch", lambda _ids: left.pop(0))
    return given


@pytest.mark.req("CLI-1")
def test_an_id_a_unique_prefix_a_slug_and_the_last_are_found_and_ambiguity_lists_the_candidates(either, ids):
    with either.fleet() as fleet:
        for slug in ("one", "two", "three"):
            either.dispatch(fleet, slug, "sleep", "1000")
        given = {"abcd0002": ids[1], "abcd0001": ids[0], "ef": ids[2], "two": ids[1], "@last": ids[2]}
        assert {text: fleet.dispatches.find(text) for text in given} == given
        with pytest.raises(Ambiguous, match=r"abcd0001.*abcd0002|abcd0002.*abcd0001"):
            fleet.dispatches.find("abcd")
        with pytest.raises(NoSuchDispatch):
            fleet.dispatches.find("nothing-like-it")
    said = answer(either.start(FLEET, "peek", "abcd"))
    assert said.code == 2
    assert "abcd0001" in said.err
    assert "abcd0002" in said.err


@pytest.mark.req("CLI-1")
@pytest.mark.parametrize(
    "words", [("peek",), ("logs",), ("dispatches", "show"), ("attach",), ("stop",), ("kill", "--reason", "x")]
)
def test_every_command_that_takes_an_agent_takes_a_slug_and_refuses_what_is_ambiguous(scene, ids, words):
    with scene.fleet() as fleet:
        for slug in ("one", "two"):
            scene.launched(fleet, scene.dispatch(fleet, slug, "sleep", "1000"))
    assert answer(scene.start(FLEET, *words, "abcd")).code == 2
    said = answer(scene.start(FLEET, *words, "one"))
    assert said.code in ({0} if words != ("attach",) else {0, 1}), said
    assert "no dispatch" not in said.err


@pytest.mark.req("CLI-1", "OBS-1")
@pytest.mark.parametrize("given", ["one", "abcd", "@last"])
def test_an_archived_dispatch_is_found_in_the_same_ways(scene, ids, given):
    with scene.fleet() as fleet:
        scene.killed(fleet, "one")
        fleet.tasks.archive(project="p", slug="one")
        scene.swept(fleet)
        assert fleet.dispatches.list() == []
    said = answer(scene.start(FLEET, "dispatches", "show", given, "--json"))
    assert said.code == 0, said
    assert said.json["id"] == ids[0]


@pytest.fixture
def troubled(scene, ids):
    """An agent at work, and one that was started later and has exited without anybody noticing."""
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        scene.launched(fleet, scene.dispatch(fleet, "fine", "sh", "-c", "echo all is well; exec sleep 1000"))
        scene.shows(fleet, ids[0], "all is well")
        scene.exited(fleet, scene.dispatch(fleet, "dead", "sh", "-c", "echo it broke"))
    return scene


@pytest.mark.req("CLI-1")
@pytest.mark.parametrize("words", [("peek",), ("logs",)])
@pytest.mark.parametrize(
    ("keys", "shown"), [("\n", "it broke"), ("2\n", "all is well")], ids=["the first", "the second"]
)
def test_without_an_argument_on_a_terminal_a_picker_opens_with_the_problems_first(troubled, ids, words, keys, shown):
    screen = Terminal(troubled, *words)
    screen.shows("which (q: none) [1]: ")
    first, second = [line.split() for line in screen.screen.splitlines()[:2]]
    assert first[:4] == ["1", ids[1], "exited", "p/dead"]
    assert second[:2] == ["2", ids[0]]
    assert second[-1] == "p/fine"
    screen.type(keys)
    said = screen.ended()
    assert said.code == 0, said
    assert shown in said.out.partition("which")[2]


@pytest.mark.req("CLI-1")
@pytest.mark.parametrize("words", [("stop",), ("kill", "--reason", "x"), ("dispatches", "show"), ("attach",)])
def test_the_picker_asks_again_for_what_is_not_on_its_list_and_chooses_for_every_command(troubled, ids, words):
    screen = Terminal(troubled, *words)
    screen.shows("which (q: none)")
    screen.type("3\n")
    screen.shows("Error: '3' is not one of")
    screen.type("2\n")
    if words == ("attach",):
        screen.shows("open terminal failed")  # a dumb one cannot be joined; that tmux was asked is enough
        assert screen.ended().code == 1
        return
    said = screen.ended()
    assert said.code == 0, said
    assert ids[0] in said.out.rpartition("which")[2]
    with troubled.fleet() as fleet:
        expected = {"stop": "blocked", "kill": "failed"}.get(words[0], "in_progress")
        assert status_of(fleet, "fine")[0] == expected
        assert status_of(fleet, "dead")[0] == "in_progress", "nobody touched the other"


@pytest.mark.req("CLI-1")
def test_an_empty_answer_ends_nobody_and_q_leaves_the_picker(troubled):
    screen = Terminal(troubled, "stop")
    screen.shows("which (q: none): ")
    screen.type("\n")
    screen.screen = ""
    screen.shows("which (q: none): ")
    screen.type("q\n")
    said = screen.ended()
    assert (said.code, "nothing was chosen" in said.out) == (0, True), said
    with troubled.fleet() as fleet:
        assert [status_of(fleet, slug)[0] for slug in ("fine", "dead")] == ["in_progress", "in_progress"]


@pytest.mark.req("CLI-1")
@pytest.mark.parametrize(
    "words", [("peek",), ("stop",), ("kill", "--reason", "x"), ("dispatches", "show"), ("attach",)]
)
def test_without_an_argument_nothing_is_guessed_where_nobody_can_be_asked_or_there_is_nothing_to_choose(scene, words):
    scene.program(*words).refused(2, "name an agent", "@last")
    said = Terminal(scene, *words).ended()
    assert said.code == 2
    assert "no agents are running" in said.out


@pytest.mark.req("CLI-1")
def test_logs_without_an_argument_are_those_of_the_last_agent_when_none_is_at_work(scene, ids):
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "one", "sh", "-c", "echo the last words")
        scene.ended(fleet)
    for said in (scene.program("logs"), Terminal(scene, "logs").ended()):
        assert said.code == 0
        assert "the last words" in said.out

"""Wherever an agent is expected, a slug, a unique prefix or @last will do; several are listed."""

import pytest
from dispatch.stage import FLEET, answer

from fleet.errors import Ambiguous, NoSuchDispatch
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
        assert {text: fleet.find(text) for text in given} == given
        with pytest.raises(Ambiguous, match=r"abcd0001.*abcd0002|abcd0002.*abcd0001"):
            fleet.find("abcd")
        with pytest.raises(NoSuchDispatch):
            fleet.find("nothing-like-it")
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
        fleet.archive(project="p", slug="one")
        scene.swept(fleet)
        assert fleet.dispatches() == []
    said = answer(scene.start(FLEET, "dispatches", "show", given, "--json"))
    assert said.code == 0, said
    assert said.json["id"] == ids[0]

"""An engine that cannot be told a name for its conversation: resumed in the one that it kept, if that is clear."""

import json
from pathlib import Path

import pytest

from fleet.engines.reader import read
from fleet.model.text import times
from fleet.verbs.resume import conversation

KEEPER = """
summary = "an agent that keeps what was said"
program = "sh"
start = ["{{program}}", "-c", "echo started; exec sleep 1000"]
resume = ["{{program}}", "-c", "echo resumed $0; exec sleep 1000", "{{conversation}}"]

[kept]
files = "{folder}/*.jsonl"
id = ["id"]
directory = ["cwd"]
begun = ["begun"]
"""


@pytest.fixture
def talks(either) -> Path:
    """Where it keeps them."""
    folder, engines = Path(either.root, "talks"), Path(either.home, "engines")
    folder.mkdir()
    engines.mkdir(exist_ok=True)
    (engines / "keeper.toml").write_text(KEEPER.format(folder=folder))
    return folder


def started(stage, fleet, slug: str) -> str:
    ident = stage.dispatch(fleet, slug, engine="keeper")
    stage.launched(fleet, ident)
    stage.shows(fleet, ident, "started")
    return ident


def keep(stage, fleet, talks: Path, name: str, slug: str) -> None:
    """As the program does it when it begins a conversation."""
    head = {"id": name, "cwd": str(stage.tree(slug)), "begun": times.iso(fleet.clock.now())}
    (talks / f"{name}.jsonl").write_text(json.dumps(head) + "\n")


@pytest.mark.req("RES-10")
def test_each_goes_on_in_the_one_that_was_begun_in_its_own_worktree(either, talks):
    with either.fleet() as fleet:
        agents = {slug: started(either, fleet, slug) for slug in ("t", "u")}
        for slug, ident in agents.items():
            keep(either, fleet, talks, f"of-{slug}", slug)
            fleet.dispatches.stop(ident)
        assert [each.conversation for each in fleet.dispatches.resumable()] == [True, True]
        for slug, ident in agents.items():
            done = fleet.dispatches.resume(ident)
            either.shows(fleet, done.id, f"resumed of-{slug}")
            assert (done.conversation, fleet.dispatches.show(done.id).resumes) == (True, "conversation")
            assert conversation.recorded_conversation(fleet.context, done.id) == f"of-{slug}"


@pytest.mark.req("RES-10")
def test_resumed_again_it_goes_on_in_the_same(either, talks):
    with either.fleet() as fleet:
        ident = started(either, fleet, "t")
        keep(either, fleet, talks, "first", "t")
        for _ in range(2):
            fleet.dispatches.stop(ident)
            ident = fleet.dispatches.resume(ident).id
            either.shows(fleet, ident, "resumed first")


@pytest.mark.req("RES-10")
def test_that_of_the_agent_before_it_in_the_worktree_is_not_its_own(either, talks):
    with either.fleet() as fleet:
        first = started(either, fleet, "t")
        keep(either, fleet, talks, "of-the-first", "t")
        fleet.dispatches.stop(first)
        (talks / "of-the-first.jsonl").rename(talks / "hidden")
        second = fleet.dispatches.resume(first).id
        either.shows(fleet, second, "started")
        fleet.dispatches.stop(second)
        (talks / "hidden").rename(talks / "of-the-first.jsonl")
        assert [each.conversation for each in fleet.dispatches.resumable()] == [False]
        third = fleet.dispatches.resume(second)
        either.shows(fleet, third.id, "started")
        assert (third.conversation, fleet.dispatches.show(third.id).resumes) == (False, "again")


@pytest.mark.req("RES-10")
def test_of_two_in_one_worktree_neither_is_taken(either, talks):
    with either.fleet() as fleet:
        old = started(either, fleet, "t")
        keep(either, fleet, talks, "one", "t")
        keep(either, fleet, talks, "two", "t")
        fleet.dispatches.stop(old)
        done = fleet.dispatches.resume(old)
        either.shows(fleet, done.id, "started")
        assert (done.conversation, fleet.dispatches.show(done.id).resumes) == (False, "again")


@pytest.mark.req("RES-10")
@pytest.mark.parametrize(("file", "there"), [("t-01234567.jsonl", True), ("t-01234568.jsonl", False)])
def test_a_file_may_be_named_by_the_beginning_of_an_id(tmp_path, file, there):
    path = tmp_path / "mine.toml"
    words = '["{program}", "{session}"]\nresume = ["{program}", "{conversation}"]\nsession = ["{conversation}"]'
    path.write_text(
        f'summary = "mine"\nprogram = "sh"\nstart = {words}\ntranscript = ["{tmp_path}/*-{{conversation:8}}.jsonl"]\n'
    )
    (tmp_path / file).touch()
    assert conversation.can_continue(read(path), "01234567-89ab-4cde-8f01-23456789abcd") == there

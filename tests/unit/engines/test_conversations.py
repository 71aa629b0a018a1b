"""The conversations that a program keeps in files: which of them is an agent's, and when nobody can tell."""

import json
import os
from pathlib import Path

import pytest

from fleet.engines.kept import conversations
from fleet.engines.kept.conversations import Kept
from fleet.engines.reader import BUILT_IN, engine, read
from fleet.errors.given import BadSetting

BEGAN, ENDED = 1_794_736_000_000, 1_794_739_600_000
WITHIN = "2026-11-15T10:00:00.250Z"
TABLE = """summary = "mine"
program = "mine"
start = ["{program}"]
[kept]
files = "~/talks/*.jsonl"
id = ["id"]
directory = ["at", "cwd"]
begun = ["begun"]
"""


class Shelf:
    """A folder with conversations, and a worktree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = str(root / "tree")
        self.table = Kept(files=f"{root}/talks/*.jsonl", id=("id",), directory=("at", "cwd"), begun=("begun",))
        (root / "talks").mkdir()

    def keeps(self, ident: object, cwd: object = None, begun: object = WITHIN, *, written: int = ENDED) -> None:
        head = {"id": ident, "at": {"cwd": cwd or self.tree}, "begun": begun}
        self.writes(json.dumps(head) + "\n{not json\n", written=written)

    def writes(self, text: str, *, written: int = ENDED) -> None:
        path = self.root / "talks" / f"{len(os.listdir(self.root / 'talks'))}.jsonl"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (written / 1000, written / 1000))

    def only_conversation(self) -> str | None:
        return conversations.only_conversation(self.table, self.tree, since=BEGAN, until=ENDED)


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path)


@pytest.mark.req("RES-10")
def test_the_one_that_was_begun_in_the_worktree_in_that_time_is_found(shelf):
    shelf.keeps("mine")
    shelf.keeps("of-another-worktree", shelf.tree + "2")
    shelf.keeps("of-a-folder-in-it", shelf.tree + "/src")
    shelf.keeps("of-the-agent-before", begun="2026-11-15T09:40:00Z")
    shelf.keeps("of-a-person-later", begun="2026-11-15T10:50:00Z")
    assert shelf.only_conversation() == "mine"


@pytest.mark.req("RES-10")
def test_of_several_it_is_none(shelf):
    shelf.keeps("one")
    shelf.keeps("two")
    assert shelf.only_conversation() is None


@pytest.mark.req("RES-10")
def test_sub_agents_that_bear_its_name_are_no_others(shelf):
    shelf.keeps("one")
    shelf.keeps("one")
    assert shelf.only_conversation() == "one"


@pytest.mark.req("RES-10")
@pytest.mark.parametrize("told", [5, None, "", "--last", "../x", "a b", "x\n", ["x"], {"x": "y"}])
def test_what_is_no_name_is_not_given_to_a_program(shelf, told):
    shelf.keeps(told)
    assert shelf.only_conversation() is None


@pytest.mark.req("RES-10")
@pytest.mark.parametrize(
    "text",
    ["", "\n", "[]\n", "{\n", '"x"\n', '{"id": "x", "at": []}\n', "\x00\n", pytest.param("[" * 200_000, id="deep")],
)
def test_a_file_that_says_nothing_is_passed_over(shelf, text):
    shelf.writes(text)
    assert shelf.only_conversation() is None
    shelf.keeps("mine")
    assert shelf.only_conversation() == "mine"


@pytest.mark.req("RES-10")
def test_a_pipe_is_passed_over_and_nobody_waits_for_its_writer(shelf):
    shelf.keeps("mine")
    os.mkfifo(shelf.root / "talks" / "pipe.jsonl")
    assert shelf.only_conversation() == "mine"


@pytest.mark.req("RES-10")
@pytest.mark.parametrize("cwd", ["/a\0b", "/\ud800", 5, ["x"]])
def test_a_directory_that_cannot_be_is_another_one(shelf, cwd):
    shelf.keeps("other", cwd)
    shelf.keeps("mine")
    assert shelf.only_conversation() == "mine"


@pytest.mark.req("RES-10")
@pytest.mark.parametrize("begun", [None, "yesterday", 5, True])
def test_a_time_that_cannot_be_read_is_no_time(shelf, begun):
    shelf.keeps("mine", begun=begun)
    assert shelf.only_conversation() is None


@pytest.mark.req("RES-10")
def test_one_that_was_last_written_before_is_not_read(shelf):
    shelf.keeps("old", written=BEGAN - 1)
    assert shelf.only_conversation() is None


@pytest.mark.req("RES-10")
def test_a_link_leads_to_the_same_worktree(shelf):
    Path(shelf.tree).mkdir()
    link = shelf.root / "link"
    link.symlink_to(shelf.tree)
    shelf.keeps("mine", str(link))
    assert shelf.only_conversation() == "mine"


@pytest.mark.req("RES-10")
def test_codex_keeps_it_where_its_variable_says(tmp_path, monkeypatch):
    """The first line of a real file of Codex 0.166.0, without its instructions."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    ident = "01a1dea6-24bd-7291-8834-48dceaf0d7ef"
    payload = {"session_id": ident, "id": "01a1dea6-2570-7191-8c13-bd8615d3a263", "cwd": "/w", "timestamp": WITHIN}
    path = tmp_path / f"sessions/2026/11/15/rollout-2026-11-15T10-00-00-{payload['id']}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"type": "session_meta", "payload": payload}) + "\n")
    os.utime(path, (ENDED / 1000, ENDED / 1000))
    table = engine("", "codex").kept
    assert table is not None
    assert conversations.only_conversation(table, "/w", since=BEGAN, until=ENDED) == ident


@pytest.mark.req("ENG-1")
@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ('begun = ["begun"]\n', "", 4, "[kept] lacks 'begun'"),
        ('id = ["id"]', "id = []", 6, "id is [], but should be a list of words, at least one"),
        ('id = ["id"]', 'id = "id"', 6, "id is 'id', but should be a list of words"),
        ('files = "~/talks/*.jsonl"', "files = 5", 5, "files is 5, but should be a text"),
        ('begun = ["begun"]', 'begun = ["begun"]\nended = ["x"]', 9, "unknown key 'ended' in [kept]"),
    ],
)
def test_a_broken_table_is_named_with_its_line(tmp_path, old, new, line, why):
    path = tmp_path / "mine.toml"
    path.write_text(TABLE)
    assert read(path).kept is not None
    path.write_text(TABLE.replace(old, new))
    with pytest.raises(BadSetting) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line}: {why}")


@pytest.mark.req("RES-10")
@pytest.mark.parametrize("path", sorted(BUILT_IN.glob("*.toml")), ids=lambda path: path.stem)
def test_an_engine_that_goes_on_in_a_named_conversation_has_a_way_to_its_name(path):
    made = read(path)
    if any("{conversation}" in word for word in made.resume):
        assert made.session or made.kept
        assert made.transcript, "a conversation that is not there is not asked for"
    if made.session:
        assert "{session}" in made.start

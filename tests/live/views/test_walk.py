"""fleet review and fleet up at a real terminal."""

from pathlib import Path

import pytest
from live.merge.test_review import configured, place, worked
from staging.person import Person

QUESTION = "quit (q)? "


def editor(scene, text: str) -> str:
    """An editor in which somebody writes this above what is there."""
    script = Path(scene.root, "editor")
    script.write_text(f'#!/bin/sh\nprintf \'%s\\n\' \'{text}\' | cat - "$1" > "$1.new" && mv "$1.new" "$1"\n')
    script.chmod(0o700)
    return str(script)


@pytest.mark.req("PIPE-2")
def test_a_person_is_walked_through_all_that_waits(scene):
    with scene.fleet() as fleet:
        for number, slug in enumerate(("one", "two", "three", "four")):
            worked(scene, fleet, slug, path=f"{slug}.txt", more="verify = 'test -f one.txt'\n")
            assert len(fleet.reviews.waiting()) == number + 1
        ann = Person(scene, "review", EDITOR=editor(scene, "two.txt:1 say more"))
        seen = ann.sees(QUESTION)
        for words in ("1 of 4", "one  p/one, by", "a word", "one.txt | 1 +"):
            assert words in seen
        ann.says("d")
        assert "+one two" in ann.sees(QUESTION)
        ann.says("v")
        assert "verify passes on the merged tree" in ann.sees(QUESTION)
        ann.says("a")
        assert "p/one is accepted" in ann.sees("2 of 4")
        ann.sees(QUESTION)
        ann.says("s")
        assert "p/two is sent back" in ann.sees("3 of 4")
        ann.sees(QUESTION)
        ann.says("k")
        ann.sees("4 of 4")
        ann.sees(QUESTION)
        ann.says("q")
        ann.ends()
        assert place(fleet, "one") == ("in_progress", "finisher")
        assert place(fleet, "two") == ("blocked", "fix")
        assert fleet.tasks.show(project="p", slug="two").reason == "two.txt:1 say more\n    > one two"
        assert [each.slug for each in fleet.reviews.waiting()] == ["three", "four"]


@pytest.mark.req("PIPE-2")
def test_nothing_is_sent_back_without_a_word_and_one_that_somebody_else_judged_does_not_end_the_walk(scene):
    with scene.fleet() as fleet:
        worked(scene, fleet, "one", path="one.txt")
        worked(scene, fleet, "two", path="two.txt")
        ann = Person(scene, "review", EDITOR="true")
        ann.sees(QUESTION)
        ann.says("s")
        assert "nothing was sent back" in ann.sees(QUESTION)
        fleet.reviews.judge(project="p", slug="one", verdict="accept")
        ann.says("a")
        assert "cannot review task p/one" in ann.sees("2 of 2")
        ann.sees(QUESTION)
        ann.says("a")
        assert "p/two is accepted" in ann.ends()
        assert "nothing waits for your review" in Person(scene, "review").ends()


@pytest.mark.req("PIPE-2")
def test_without_an_editor_the_comments_are_a_line_at_the_terminal(scene):
    with scene.fleet() as fleet:
        worked(scene, fleet, "one", path="one.txt")
        ann = Person(scene, "review", EDITOR="/nowhere/editor")
        ann.sees(QUESTION)
        ann.says("s")
        assert "set EDITOR to the editor to use" in ann.sees("in one line: ")
        ann.says("one.txt:1 say more")
        assert "p/one is sent back" in ann.ends()
        assert fleet.tasks.show(project="p", slug="one").reason.startswith("one.txt:1 say more")


@pytest.mark.req("CLI-2")
def test_up_asks_for_engine_autonomy_and_review_and_writes_what_was_said(scene):
    configured(scene, "# ours\nverify = 'true'  # quick\n\n[task]\npriority = 2\n")
    mine = Path(scene.home, "engines", "mine.toml")
    mine.parent.mkdir()
    mine.write_text('summary = "ours"\nprogram = "sh"\nstart = ["sh", "-c", "exec sleep 1000"]\ninteractive = false\n')
    ann = Person(scene, "up", "--no-tui")
    ann.sees("Which engine")
    ann.sees("choice: ")
    ann.says("shell")  # whose command comes with each dispatch, so that no coordinator could start one
    ann.sees("choice: ")
    ann.says("mine")
    ann.sees("What may agents do")
    ann.sees("choice: ")
    ann.says("everything")
    ann.sees("choice: ")
    ann.says("edits")
    ann.sees("Who reviews work")
    ann.sees("choice: ")
    ann.says("person")
    said = ann.ends()
    assert "written into fleet.toml" in said
    assert "is started" in said
    assert Path(scene.repository, "fleet.toml").read_text() == (
        '# ours\nverify = \'true\'  # quick\nengine = "mine"\nautonomy = "edits"\nreview = "person"\n\n[task]\npriority = 2\n'
    )
    again = Person(scene, "up", "--no-tui").ends()
    assert "nothing was changed" in again
    with scene.fleet() as fleet:
        assert fleet.coord.stop("p", "the test is over").stopped

"""Questions are answered on the screen, and work is reviewed there, with comments on lines."""

import threading
from pathlib import Path

import pytest
from live.merge.test_review import steady
from screen.driving import sit_down

from fleet import errors
from fleet.api.tasks.merge import Merge
from fleet.api.tasks.reviews import Reviews
from fleet.api.views.diffs import parse_diff, side_by_side
from fleet.surfaces.tui.feeds.tabs import diff_lines
from fleet.surfaces.tui.look import DARK, ScreenLook
from fleet.surfaces.tui.pages.review_lines import Spot, review_lines

ASKS = "ask rm -rf build\nsay went on\nhang"
CHOOSES = "choose Which database? | SQLite | PostgreSQL\nhang"


async def asked(person) -> None:
    await person.sees("needs you 1")
    await person.goes_to("p/t")


@pytest.mark.req("TUI-4", "ASK-1")
def test_a_permission_is_given_with_one_key_and_nothing_is_typed(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", engine="scripted", script=ASKS)

        async def act(person):
            await asked(person)
            await person.sees("Bash: rm -rf build", "y approve   ! deny")
            await person.presses("y")
            await person.is_told("rm -rf build → allow")
            await person.until(lambda: person.app.board.question is None)

        sit_down(scene.home, act)
        scene.shows(fleet, ident, "went on")
        assert "y" not in fleet.agents.screen(ident).split()


@pytest.mark.req("TUI-4", "OBS-3")
def test_the_task_of_an_agent_that_asks_says_that_the_person_is_next(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", engine="scripted", script=ASKS)

        async def act(person):
            await asked(person)
            await person.presses("tab", "tab")
            await person.sees(f"next: {ident} needs you — Bash: rm -rf build")
            await person.presses("y")
            await person.sees(f"next: {ident} works on it")

        sit_down(scene.home, act)


@pytest.mark.req("TUI-4", "ASK-1")
def test_a_permission_is_denied_with_the_reason_that_the_agent_gets(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", engine="scripted", script=ASKS)

        async def act(person):
            await asked(person)
            await person.sees("y approve   ! deny")
            await person.presses("!")
            await person.sees("Deny it")
            await person.writes("never that")
            await person.presses("enter")
            await person.is_told("→ deny: never that")

        sit_down(scene.home, act)
        scene.shows(fleet, ident, "never that")


@pytest.mark.req("TUI-4", "ASK-1")
@pytest.mark.parametrize(("keys", "words"), [(("2",), ""), (("w",), "MariaDB, please")])
def test_a_question_is_answered_by_its_number_or_in_words(scene, keys, words):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "t", engine="scripted", script=CHOOSES)

        async def act(person):
            await asked(person)
            await person.sees("Which database?", "1 SQLite", "2 PostgreSQL")
            await person.presses("home", "1")
            await person.is_told("there is no question to answer here")
            await person.goes_to("p/t")
            await person.sees("Which database?", "1 SQLite", "2 PostgreSQL")
            await person.presses("9")
            await person.is_told("there is no answer 9")
            await person.presses(*keys)
            if words:
                await person.sees("Answer")
                await person.writes(words)
                await person.presses("enter")
            await person.is_told(words or "→ PostgreSQL")

        sit_down(scene.home, act)
        scene.shows(fleet, ident, words or "PostgreSQL")


@pytest.mark.req("TUI-4", "ASK-1")
def test_a_late_answer_is_told_that_another_came_first(scene):
    with scene.fleet() as fleet:
        scene.dispatch(fleet, "t", engine="scripted", script=ASKS)

        async def act(person):
            await asked(person)
            await person.sees("y approve   ! deny")
            await person.presses("1")
            await person.is_told("this is answered with y (approve) or ! (deny)")
            question = person.app.board.row.question
            fleet.messages.answer(question, ["deny"])
            person.app.board.act("late", "late", lambda other: other.messages.approve(question), lambda _: None)
            await person.until(lambda: any("answered" in each.message for each in person.app._notifications))

        sit_down(scene.home, act)
        with pytest.raises(errors.FleetError):
            fleet.messages.approve("t")


def reported(scene, fleet, *, script: str = "") -> None:
    Path(scene.repository, "fleet.toml").write_text('review = "person"\n')
    steady(scene, fleet)
    work = script or "write src/door.py red = 1\ncommit Paint the door\nlog it is red\ndone"
    scene.dispatch(fleet, "door", engine="scripted", script=work)
    scene.ended(fleet)


@pytest.mark.req("TUI-4")
def test_work_is_sent_back_with_comments_on_its_lines(scene):
    with scene.fleet() as fleet:
        reported(scene, fleet)

        async def act(person):
            await person.sees("to review 1")
            await person.goes_to("p/door")
            await person.sees("R review")
            await person.presses("c")
            await person.sees("+red = 1", "q back")
            await person.presses("c")
            await person.sees("Comment on src/door.py:1")
            await person.writes("make it\nred")
            await person.presses("enter")
            await person.is_told("the lines of the comment were joined to one")
            await person.sees("✎ make it red")
            await person.presses("q")
            await person.sees("R review")
            await person.presses("R")
            await person.sees("Review p/door", "src/door.py", "+red = 1", "it is red", "✎ make it red")
            await person.presses("j", "j", "j")
            await person.presses("c")
            await person.sees("Comment on src/door.py:1", "make it red")
            await person.presses(*["backspace"] * 3)
            await person.writes("blue")
            await person.presses("enter")
            await person.sees("✎ make it blue", "1 comment, not sent")
            await person.resizes(80, 24)
            await person.sees("q close")
            assert "since" not in person.text.splitlines()[-1], "it was not reviewed before"
            await person.presses("q")
            await person.sees("R review")
            await person.presses("R")
            await person.sees("✎ make it blue")
            await person.presses("S")
            await person.sees("src/door.py:1 make it blue")
            await person.presses("enter")
            await person.is_told("p/door is sent back")

        sit_down(scene.home, act)
        task = fleet.tasks.show(project="p", slug="door")
        assert task.stage == "fix"
        verdict = fleet.reviews.work(project="p", slug="door").verdicts[-1]
        assert (verdict.verdict, verdict.comments) == ("send back", "src/door.py:1 make it blue\n    > red = 1")


@pytest.mark.req("TUI-4")
def test_the_cursor_of_a_review_begins_on_a_line_of_the_work_and_stays_on_it_side_by_side(scene):
    with scene.fleet() as fleet:
        reported(scene, fleet, script="write a.py a = 1\nwrite b.py b = 1\ncommit Two files\ndone")

    async def comments_on(person, line: str) -> None:
        await person.presses("c")
        await person.sees(f"Comment on {line}")
        await person.presses("escape")
        await person.until(lambda: f"Comment on {line}" not in person.text)

    async def act(person):
        await person.goes_to("p/door")
        await person.sees("R review")
        await person.presses("R")
        await person.sees("+a = 1", "+b = 1")
        await comments_on(person, "a.py:1")
        await person.presses("tab")
        await comments_on(person, "b.py:1")
        await person.presses("v")
        await person.sees("│     1 +b = 1")
        await comments_on(person, "b.py:1")
        await person.presses("j")
        await comments_on(person, "b.py:1")
        await person.presses("tab", "v")
        await comments_on(person, "a.py:1")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-4")
@pytest.mark.parametrize(("keys", "told"), [(["S", "enter"], "sent back"), (["A", "y"], "accepted")])
def test_a_verdict_drops_only_the_comments_that_there_were_when_it_was_given(scene, monkeypatch, keys, told):
    arrives, judge = threading.Event(), Reviews.judge
    monkeypatch.setattr(Reviews, "judge", lambda self, **given: arrives.wait(60) and judge(self, **given))
    before, since = Spot("src/door.py", 1, is_removed=False), Spot("src/door.py", 2, is_removed=False)
    with scene.fleet() as fleet:
        reported(scene, fleet)

        async def act(person):
            board = person.app.board
            await person.goes_to("p/door")
            await person.sees("R review")
            board.drafts["p", "door"] = {before: "make it blue"}
            await person.presses("R")
            await person.sees("✎ make it blue")
            page = person.app.screen
            for key in keys:
                await person.until(lambda: person.app.screen.is_current)
                await person.presses(key)
            await person.until(lambda: board.acts.unfinished and person.app.screen is page)
            page.comments[since] = "and this"
            arrives.set()
            await person.is_told(f"p/door is {told}")
            assert board.drafts == {("p", "door"): {since: "and this"}}

        sit_down(scene.home, act)


@pytest.mark.req("TUI-4")
def test_work_is_accepted_at_the_commit_that_was_shown(scene):
    with scene.fleet() as fleet:
        reported(scene, fleet)
        commit = fleet.reviews.work(project="p", slug="door").commit

        async def act(person):
            await person.goes_to("p/door")
            await person.sees("R review")
            await person.presses("R")
            await person.sees("+red = 1")
            await person.presses("v")
            await person.sees("│")
            await person.presses("A")
            await person.is_told("p/door is accepted")
            await person.sees("to merge 1", "M merge")
            await person.presses("M")
            await person.sees("Merge p/door?", "worktree is removed then, uncommitted work is kept")
            await person.presses("y")
            await person.is_told("p/door is merged")
            await person.sees("L land")
            await person.presses("L")
            await person.sees("Land 2 commits on main?")
            assert fleet.merge.land(project="p", here=scene.repository).moved  # meanwhile, at another terminal
            await person.presses("y")
            await person.is_told("main has all of fleet/main by now")

        sit_down(scene.home, act)
        assert fleet.reviews.work(project="p", slug="door").verdicts[-1].work == commit
        assert scene.git("show", "fleet/main:src/door.py") == "red = 1"


def to_land(scene) -> None:
    """A commit of the integration branch waits to land, and the person has another branch checked out."""
    scene.git("symbolic-ref", "refs/fleet/target", "refs/heads/main")
    work = scene.git("commit-tree", "-p", "main", "-m", "Paint the door", "main^{tree}")
    scene.git("update-ref", "refs/heads/fleet/main", work)
    scene.git("checkout", "--quiet", "-b", "mine")


async def lands(person) -> None:
    await person.sees("L land")
    await person.presses("L")
    await person.sees("Land 1 commit on main?", " Paint the door", "main moves to fleet/main")


@pytest.mark.req("TUI-4", "MERGE-6")
def test_the_commits_that_are_shown_land_when_the_person_says_yes_and_not_before(scene):
    to_land(scene)
    before = scene.git("rev-parse", "main")

    async def act(person):
        await lands(person)
        await person.presses("escape")
        await person.sees("L land")
        assert scene.git("rev-parse", "main") == before
        await lands(person)
        await person.presses("y")
        await person.is_told("main is now at fleet/main (1 commit)")

    sit_down(scene.home, act)
    assert scene.git("rev-parse", "main") == scene.git("rev-parse", "fleet/main")


@pytest.mark.req("TUI-4", "MERGE-6")
def test_a_target_that_somebody_has_checked_out_is_not_moved_and_the_command_that_lands_is_said(scene):
    to_land(scene)
    scene.git("checkout", "--quiet", "main")
    before = scene.git("rev-parse", "main")

    async def act(person):
        await lands(person)
        await person.presses("y")
        await person.is_told(
            f"main is checked out in {scene.repository}, so it was not touched; "
            f"to land, run: git -C {scene.repository} merge --ff-only fleet/main"
        )

    sit_down(scene.home, act)
    assert scene.git("rev-parse", "main") == before


@pytest.mark.req("TUI-4")
def test_work_that_has_landed_before_it_could_be_shown_is_not_asked_about(scene, monkeypatch):
    really = Merge.land

    def land(self, **given):
        scene.git("update-ref", "refs/heads/main", "fleet/main")  # meanwhile, at another terminal
        return really(self, **given)

    to_land(scene)
    monkeypatch.setattr(Merge, "land", land)

    async def act(person):
        await person.sees("L land")
        await person.presses("L")
        await person.is_told("nothing to land: main has all of fleet/main")
        assert "Land" not in person.text

    sit_down(scene.home, act)


DIFF = """\
diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
diff --git a/b c.txt b/b c.txt
deleted file mode 100644
--- a/b c.txt
+++ /dev/null
@@ -1 +0,0 @@
---- gone
"""


@pytest.mark.req("TUI-4")
def test_a_diff_is_taken_apart_with_the_numbers_of_its_lines():
    first, second = parse_diff(DIFF)
    assert (first.path, first.added, first.removed) == ("a.py", 1, 1)
    assert [(line.kind, line.old, line.new) for line in first.lines[4:]] == [
        ("hunk", None, None),
        ("same", 1, 1),
        ("removed", 2, None),
        ("added", None, 2),
        ("same", 3, 3),
    ]
    assert first.line_for(6) == 2, "a comment on a removed line is about what stands in its place"
    assert (second.path, second.removed) == ("b c.txt", 1)
    assert second.lines[-1].text == "--- gone", "a removed line that looks like a head is a line"
    rows = [(old and old.text, new and new.text) for _, old, new in side_by_side(first)]
    assert rows[5:] == [("one", "one"), ("two", "TWO"), ("three", "three")]


@pytest.mark.req("TUI-4")
def test_a_changed_line_that_looks_like_the_name_of_a_file_is_drawn_as_what_it_is():
    look = ScreenLook(DARK)
    red, green = (
        look.style(tone) + look.diff_background(kind) for tone, kind in (("red", "removed"), ("green", "added"))
    )
    diff = DIFF.replace("-two\n+TWO\n", "--- two\n+++ TWO\n")
    drawn = {line.plain: line.style for line in diff_lines(diff, look)}
    assert (drawn["--- two"], drawn["+++ TWO"], drawn["---- gone"]) == (red, green, red)
    assert drawn["--- a/a.py"] == drawn["+++ b/a.py"] == look.style("dim")
    for line in review_lines(parse_diff(diff), {}, look, width=60, split=False):
        if line.text.plain.endswith(("--- two", "+++ TWO")):
            assert line.text.spans[-1].style == (red if "--- two" in line.text.plain else green)


@pytest.mark.req("TUI-4")
@pytest.mark.parametrize("split", [False, True], ids=["in one column", "side by side"])
def test_a_comment_on_a_removed_line_is_shown_however_the_diff_is_drawn(split):
    removed, added = (Spot("a.py", 2, is_removed=is_removed) for is_removed in (True, False))
    comments = {removed: "why does it go?", added: "why loud?"}
    lines = review_lines(parse_diff(DIFF), comments, ScreenLook(DARK), width=60, split=split)
    notes = [(line.text.plain.strip(), line.spot) for line in lines if "✎" in line.text.plain]
    assert notes == [("✎ why does it go?", removed), ("✎ why loud?", added)]

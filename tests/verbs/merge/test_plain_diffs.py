"""Diffs are read by fleet, too: they have git's own form, whatever a person has set for their own eyes."""

import pytest

from fleet.api.views.diffs import parse_diff
from fleet.surfaces.tui.feeds.tabs import diff_lines
from fleet.surfaces.tui.look import DARK, ScreenLook
from fleet.surfaces.tui.pages.review_lines import comments_as_text, spot_of
from fleet.testing.simulated.scene import PROJECT

TASK = {"project": PROJECT, "slug": "a"}


@pytest.mark.req("TUI-4")
@pytest.mark.parametrize(("setting", "value"), [("diff.noprefix", "true"), ("diff.external", "echo")])
def test_a_diff_names_its_files_whatever_the_person_has_set(scene, setting, value):
    scene.git("config", setting, value)
    ident = scene.work("a")
    scene.commit("a", "door.py", "red = 1\n")
    scene.report(ident, "a")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    for text in (scene.fleet.dispatches.diff(**TASK), scene.fleet.reviews.work(**TASK).diff):
        [file] = parse_diff(text)
        assert (file.path, file.added) == ("door.py", 1)


ODD = ("日本語.txt", 'a "quoted" name.txt', "a\ttab.txt", "back\\slash b.txt", "b c.txt")


@pytest.mark.req("TUI-4")
def test_every_file_of_a_review_has_its_own_name_and_comments_name_it(scene):
    ident = scene.work("a")
    for name in ODD:
        scene.commit("a", name, "one\n")
    scene.report(ident, "a")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    diff = scene.fleet.reviews.work(**TASK).diff
    files = parse_diff(diff)
    assert sorted(file.path for file in files) == sorted(ODD)
    assert "日本語.txt" in scene.fleet.dispatches.diff(**TASK, stat=True)
    drawn = parse_diff("\n".join(line.plain for line in diff_lines(diff, ScreenLook(DARK))))
    assert [file.path for file in drawn] == [file.path for file in files], (
        "a comment in the diff tab is about the same file"
    )
    spots = [spot_of(file, len(file.lines) - 1) for file in files]
    comments = comments_as_text(files, dict.fromkeys(spots, "why?"))
    assert sorted(comments.split("\n")) == sorted(f"{name}:1 why?" for name in ODD)


def test_a_quoted_name_is_read_where_a_diff_has_no_other():
    [file] = parse_diff(
        'diff --git "a/\\346\\227\\245 \\"x\\".sh" "b/\\346\\227\\245 \\"x\\".sh"\nold mode 100644\nnew mode 100755\n'
    )
    assert file.path == '日 "x".sh'

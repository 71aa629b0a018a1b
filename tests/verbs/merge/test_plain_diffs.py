"""Diffs are read by fleet, too: they have git's own form, whatever a person has set for their own eyes."""

import pytest

from fleet.api.views.diffs import parse_diff
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

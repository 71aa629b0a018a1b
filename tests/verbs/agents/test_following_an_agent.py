"""fleet logs --follow, over the simulated world."""

from fleet.testing.simulated.scene import PROJECT


def test_lines_are_yielded_as_they_come_and_the_last_one_when_the_agent_has_ended(scene):
    ident = scene.work("a")
    pane = scene.pane(ident)
    pane.screen = "one\ntwo\nthr"
    follow = scene.fleet.agents.follow(ident)
    assert next(follow) == ["one", "two"]
    scene.clock.later(5, lambda: setattr(pane, "screen", "one\ntwo\nthree\nfour\n"))
    assert next(follow) == ["three"]
    scene.clock.later(5, lambda: scene.exit(ident))
    assert list(follow) == [["four"]]


def test_an_agent_is_found_by_project_and_slug(scene):
    ident = scene.work("a")
    assert scene.fleet.dispatches.find(f"{PROJECT}/a") == ident
    scene.fleet.dispatches.stop(ident)
    assert scene.fleet.dispatches.resume(f"{PROJECT}/a").predecessor == ident

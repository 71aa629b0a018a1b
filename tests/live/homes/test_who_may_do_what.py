"""An agent does not decide for its person: real agents, real commands, on both stores."""

import json
from pathlib import Path

import pytest
from live.coord.seats import seated, speaking
from staging.stage import FLEET, raw

from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted

DECISIONS = [
    ["approve", "0123abcd"],
    ["answer", "0123abcd", "yes"],
    ["deny", "0123abcd"],
    ["land"],
    ["pr", "t"],
    ["up", "--engine", "shell", "--autonomy", "full", "--review", "none"],
    ["init", "."],
    ["project", "remove", "p", "--with-tasks"],
    ["trust", "--yes"],
    ["limits", "lift", "claude"],
    ["hooks", "install"],
    ["clean", "--yes"],
    ["coord", "start"],
    ["coord", "stop"],
    ["rc", "up", "p"],
    ["resume", "--all"],
]
OF_OTHERS = [
    ["kill", "other", "--reason", "x"],
    ["stop", "other"],
    ["handoff", "other"],
    ["message", "other", "do this"],
    ["resume", "other"],
    ["task", "edit", "other", "--verify", "true"],
    ["task", "add", "More"],
    ["task", "retry", "other"],
    ["task", "pause", "other"],
    ["run", "x", "--engine", "shell", "--", "true"],
    ["dispatch", "other", "--engine", "shell", "--", "true"],
    ["merge", "other"],
    ["review", "other", "--accept"],
    ["dispatch", "--coord-spawn", "-p", "p", "--engine", "shell", "true"],
]


def state(fleet) -> tuple:
    """What an agent could have changed."""
    tasks = [(each.slug, each.status, each.assignee) for each in fleet.tasks.list(project="p")]
    return tasks, [each.id for each in fleet.dispatches.list()], [each.name for each in fleet.projects.list()]


@pytest.fixture
def staffed(either):
    """A worker on `t`, another on `other`, and a task that nobody has."""
    with either.fleet() as fleet:
        idents = [either.dispatch(fleet, slug, "sleep", "1000") for slug in ("t", "other")]
        for ident in idents:
            either.launched(fleet, ident)
        fleet.tasks.add(project="p", title="Spare", slug="spare")
        yield either, fleet, idents[0]


def worker(stage, ident: str, *words: str):
    env = stage.around(FLEET_DISPATCH_ID=ident, FLEET_PROJECT="p", FLEET_TASK="t")
    return stage.program(*words, env=env)


@pytest.mark.req("SEC-1")
def test_a_worker_decides_nothing_and_touches_nobody_else(staffed):
    stage, fleet, ident = staffed
    before = state(fleet)
    for words in DECISIONS + OF_OTHERS:
        said = worker(stage, ident, *words)
        assert (said.code, "may not" in said.err, f"worker {ident}" in said.err) == (14, True, True), (words, said)
        assert "fleet block --reason" in said.err, words
    said = worker(stage, ident, "task", "claim", "spare")
    assert (said.code, "was started on" in said.err) == (14, True), said
    assert state(fleet) == before
    said = worker(stage, ident, "approve", "0123abcd", "--json")
    facts = said.json["error"]
    assert (facts["name"], facts["role"], facts["act"]) == ("NotAllowed", "worker", "messages.approve")


@pytest.mark.req("SEC-1")
def test_a_worker_speaks_for_itself(staffed):
    stage, fleet, ident = staffed
    for words in (
        ["log", "hi"],
        ["artifact", "a.md"],
        ["inbox"],
        ["status"],
        ["ps"],
        ["task", "show", "other"],
        ["done"],
    ):
        assert worker(stage, ident, *words).code == 0, words
    assert fleet.dispatches.show(ident).report == "done"
    assert worker(stage, ident, "task", "done", "other").code == 13


@pytest.mark.req("SEC-1")
def test_a_reviewer_judges_its_own_task_and_nothing_more(staffed):
    stage, fleet, ident = staffed
    raw(fleet, "UPDATE dispatches SET kind = 'reviewer' WHERE slug = 't'")
    raw(fleet, "UPDATE tasks SET stage = 'review' WHERE slug IN ('t', 'other')")
    assert worker(stage, ident, "review", "other", "--accept").code == 13
    said = worker(stage, ident, "task", "add", "More")
    assert (said.code, f"reviewer {ident}" in said.err) == (14, True)
    assert worker(stage, ident, "review", "t", "--accept").code == 0


@pytest.mark.req("SEC-1")
def test_a_dispatch_that_nobody_knows_has_the_least_role(either):
    for words in (["approve", "0123abcd"], ["task", "add", "More", "-p", "p"], ["land", "-p", "p"]):
        assert worker(either, "0a1b2c3d", *words).code == 14, words


@pytest.mark.req("SEC-1")
def test_a_coordinator_that_is_an_agent_plans_and_starts_within_its_own_freedom(staffed):
    stage, fleet, _ident = staffed
    ident = seated(stage, fleet)
    raw(fleet, f"UPDATE dispatches SET autonomy = 'edits' WHERE id = '{ident}'")
    for words in (
        ["task", "add", "More", "--slug", "more"],
        ["task", "edit", "more", "--title", "Much more"],
        ["task", "pause", "more"],
        ["task", "abandon", "more", "--reason", "not wanted"],
        ["message", "other", "go on"],
        ["stop", "other"],
    ):
        said = speaking(stage, ident, *words)
        assert said.code == 0, (words, said)
    assert fleet.tasks.show(project="p", slug="more").status == "abandoned"
    for words, rule in (
        (["task", "add", "Evil", "--verify", "true"], "only a person says the verify"),
        (["task", "edit", "spare", "--verify", "true"], "only a person says the verify"),
        (["task", "edit", "spare", "--verify", "none"], "only a person says the verify"),
        (["task", "edit", "spare", "--engine", "shell"], "only a person says the engine"),
        (["dispatch", "spare", "--engine", "shell", "--", "true"], "held back by nothing"),
        (["dispatch", "spare", "--engine", "claude", "--autonomy", "full"], "freer than its own, edits"),
        (["message", "hi all", "--all"], "its own project only, p"),
        (["coord", "replace", "--engine", "shell"], "held back by nothing"),
        (["land"], "only a person"),
        (["trust", "--yes"], "only a person"),
    ):
        said = speaking(stage, ident, *words)
        assert (said.code, f"coordinator {ident}" in said.err, rule in said.err) == (14, True, True), (words, said)
    assert [each["slug"] for each in fleet.tasks.list(project="p") if each.slug == "evil"] == []


@pytest.mark.req("SEC-1")
def test_a_coordinator_stays_in_its_project(staffed):
    stage, fleet, _ident = staffed
    where = f"{stage.root}/elsewhere"
    stage.git("init", "--quiet", "--initial-branch=main", where, cwd=stage.root)
    stage.git("commit", "--quiet", "--allow-empty", "--message=first", cwd=where)
    fleet.projects.register(where, "q")
    fleet.tasks.add(project="q", title="Theirs", slug="theirs")
    theirs = fleet.dispatches.start(Wanted(project="q", slug="theirs", engine="shell", command=("sleep", "1000"))).id
    stage.launched(fleet, theirs)
    ident = seated(stage, fleet)
    for words in (
        ["kill", theirs, "--reason", "x"],
        ["handoff", theirs],
        ["message", theirs, "x"],
        ["task", "add", "X", "-p", "q"],
        ["task", "abandon", "theirs", "-p", "q"],
        ["merge", "theirs", "-p", "q"],
    ):
        said = speaking(stage, ident, *words)
        assert (said.code, "its own project only, p" in said.err) == (14, True), (words, said)


@pytest.mark.req("SEC-1")
def test_an_agent_does_not_become_a_person_or_another_by_changing_its_environment(staffed):
    """A real agent in its pane, whose shell loses or changes FLEET_DISPATCH_ID: the processes above it tell who it is."""
    stage, fleet, other = staffed
    out = Path(stage.root, "said")
    lost = f"env -u FLEET_DISPATCH_ID {FLEET}"
    tries = {
        "approve": f"{lost} approve 0123abcd",
        "trust": f"{lost} trust -p p --yes",
        "done": f"{lost} task done other -p p --override",
        "abandon": f"{lost} task abandon spare -p p",
        "edit": f"{lost} task edit spare -p p --verify true",
        "run": f"{lost} run x -p p --engine shell -- true",
        "other": f"FLEET_DISPATCH_ID={other} FLEET_TASK=t {FLEET} done",
        "log": f"{FLEET} log hi",
    }
    script = "; ".join(f"{words} >>{out}.text 2>&1; echo {name} $? >>{out}" for name, words in tries.items())
    before = state(fleet)
    ident = stage.dispatch(fleet, "evil", "sh", "-c", f"{script}; exec sleep 1000")
    until(lambda: out.exists() and "log " in out.read_text())
    codes = dict(line.split() for line in out.read_text().splitlines())
    assert codes == {name: "0" if name == "log" else "14" for name in tries}, Path(f"{out}.text").read_text()
    told = Path(f"{out}.text").read_text()
    assert f"worker {ident} may not report a task as done: it speaks as {other}" in told
    assert f"worker {ident} may not report a task as done: it speaks as a person" in told
    mine = [each for each in state(fleet)[0] if each[0] != "evil"]
    assert mine == before[0]
    assert fleet.dispatches.show(other).report is None


@pytest.mark.req("SEC-1")
def test_what_fleet_starts_by_itself_for_an_agent_goes_on(either):
    """A handoff is carried on by a process that speaks for nobody; the tick's merge by another."""
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sh", "-c", "fleet handoff --reason full; exec sleep 1000")
        until(lambda: any(each.successor for each in fleet.coord.handoffs("p")))
        (entry,) = fleet.coord.handoffs("p")
        assert (entry.dispatch, entry.state) == (ident, "done"), json.dumps(entry)

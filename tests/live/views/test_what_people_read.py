"""What people read of agents at work: no more, no less, and nothing that did not happen."""

import pytest
from staging.person import Person
from staging.stage import claim_of

from fleet.verbs.dispatch.plan import Wanted

SPAWN = ("dispatch", "--coord-spawn", "-p", "p", "--engine", "shell", "--", "sleep", "1000")
COORD = Wanted(project="p", slug=None, kind="coord", engine="shell", command=("sleep", "1000"))


@pytest.mark.parametrize("end", ["exit 0", "exit 3", "kill -9 $$"])
def test_logs_and_peek_show_what_an_agent_showed_and_not_what_tmux_adds_when_it_dies(scene, end):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "sh", "-c", f"echo one; echo; echo two; {end}")
        scene.exited(fleet, ident)
        scene.shows(fleet, ident, "two")
        live = [scene.program(verb, ident).out for verb in ("logs", "peek")]
        fleet.sessions.settle(ident)
    assert live == ["one\n\ntwo\n"] * 2
    assert scene.program("logs", ident).out == "one\n\ntwo\n"


@pytest.mark.parametrize("verb", ["logs", "peek"])
def test_what_a_wide_terminal_showed_is_no_mess_on_a_narrow_one(scene, verb):
    with scene.fleet() as fleet:
        shown = "printf '%190s\\n' '' | sed 's/ /─/g'; printf 'a word   \\n%90s\\n' end; exec sleep 1000"
        ident = scene.dispatch(fleet, "t", "sh", "-c", shown)
        scene.shows(fleet, ident, "end")
        said = Person(scene, verb, ident, columns=80).ends().splitlines()
    assert said[:2] == ["─" * 80, "a word"]
    assert said[2:] == [f"{'end':>90}"], "text is never cut"


def test_the_agents_fit_a_narrow_terminal_and_a_wide_one_shows_more_of_them(scene):
    with scene.fleet() as fleet:
        scene.launched(fleet, scene.dispatch(fleet, "a-task-with-a-long-name-of-its-own", "sleep", "1000"))
        narrow = Person(scene, "ps", columns=80).ends().splitlines()
        wide = Person(scene, "ps", columns=180).ends().splitlines()
    assert narrow[0].split() == ["AGENT", "TASK", "STATE", "AGE", "CONTEXT", "COST"]
    assert (max(len(line) for line in narrow) <= 80, "a-task-with-a-long-name-of-its-own" in narrow[1]) == (True, True)
    assert wide[0].split()[:6] == ["AGENT", "KIND", "TASK", "ENGINE", "AUTONOMY", "STATE"]


def test_an_agent_that_showed_nothing_has_an_empty_log(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        ident = scene.dispatch(fleet, "t", "true")
        scene.exited(fleet, ident)
        fleet.sessions.settle(ident)
    assert scene.program("logs", ident).ok().out == ""


def test_a_coordinator_coordinates_and_stopping_it_says_how_it_ended(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
    said = either.program(*SPAWN)
    ident = said.out.split()[1]
    assert said.out.startswith(f"agent {ident} coordinates p (shell)\n")
    with either.fleet() as fleet:
        either.launched(fleet, ident)
    assert either.program("stop", ident).ok().out == f"{ident}, the coordinator of p, is ended (blocked)\n"


@pytest.mark.req("AGENT-9")
def test_stopping_says_the_same_when_somebody_else_has_settled_and_archived_it_meanwhile(either, once):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = fleet.coord.start(COORD).id
        either.launched(fleet, ident)
        fleet.funnel.watcher = once("before", "publish logs/", lambda: either.program("settle", ident).ok())
        assert fleet.dispatches.stop(ident).as_json() == {
            "id": ident,
            "settled": True,
            "exec_state": "blocked",
            "left": [],
        }
        assert fleet.dispatches.list() == []


@pytest.mark.req("MERGE-6")
def test_land_counts_the_commits_that_it_lists(scene):
    with scene.fleet() as fleet:
        script = "write a.txt 1\ncommit Add one\nwrite a.txt 2\ncommit Add two\ndone\n"
        scene.dispatch(fleet, "t", engine="scripted", script=script)
        scene.ended(fleet)
        fleet.merge.task(project="p", slug="t")
    *titles, last = scene.program("land", "-p", "p", "--dry-run").ok().out.splitlines()
    assert [title.split(maxsplit=1)[1] for title in titles] == ["Merge t", "Add two", "Add one"]
    assert last == "3 commits of fleet/main would land on main"


@pytest.mark.req("MERGE-1")
def test_merging_work_without_commits_says_that_there_was_nothing_to_merge(either):
    with either.fleet() as fleet:
        either.dispatch(fleet, "t", engine="scripted", script="done\n")
        either.ended(fleet)
    said = either.program("merge", "t", "-p", "p").ok()
    assert said.out == "p/t has no unmerged work; it is archived\n"
    with either.fleet() as fleet:
        assert fleet.tasks.show(project="p", slug="t").archived


@pytest.mark.req("ADO-11", "SWEEP-8")
def test_a_why_worktree_busy_is_listed_once_and_its_claim_stays_as_it_was(either):
    either.forgiven = {"worktree", "claim work", "journal", "workers", "lock"}
    with either.fleet() as fleet:
        either.killed(fleet, "t")
        fleet.tasks.retry(project="p", slug="t")
        either.killed(fleet, "t")
        (either.tree("t") / "new.txt").write_text("precious")
        fleet.tasks.archive(project="p", slug="t")
        for _ in range(2):
            said = either.program("clean", "--yes").ok().out
            assert said.count("has uncommitted work") == 1, said
            claim = claim_of(fleet, "worktree", slug="t")
            assert (claim.state, claim.failures) == ("live", 0)


@pytest.mark.req("OBS-1")
def test_the_things_of_a_bundle_count_among_those_of_its_owner(either):
    with either.fleet() as fleet:
        first = either.killed(fleet, "t")
        assert {each.id: each.claims for each in fleet.dispatches.list()} == {first: 2}, "its tree and its directory"
        fleet.tasks.retry(project="p", slug="t")
        second = either.dispatch(fleet, "t", "sleep", "1000")
        either.launched(fleet, second)  # it has taken its environment, which was a claim until then
        counts = {each.id: each.claims for each in fleet.dispatches.list()}
        held = 4 + sum(each.kind == "cgroup" for each in fleet.claims.list())  # where the system has control groups
        assert counts[second] == held, "with its session and its prompt"
        assert counts.get(first, 0) == 0
    line = next(line for line in either.program("dispatches", "list").out.splitlines() if line.startswith(second))
    assert line.split()[5] == str(held)


@pytest.mark.parametrize("words", [("stop",), ("kill", "--reason", "x")])
def test_what_has_ended_and_is_archived_has_ended_already(scene, words):
    with scene.fleet() as fleet:
        ident = scene.killed(fleet, "t")
        fleet.tasks.archive(project="p", slug="t")
        scene.swept(fleet)
        assert fleet.dispatches.list(ended=True) == []
    scene.program(*words, ident).refused(14, f"{ident} has ended already: failed")

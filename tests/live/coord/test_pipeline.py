"""The pipeline: the coordinator's ticks lead each task from worker to merged, through review, mending and bringing up to date."""

import json
from pathlib import Path

import pytest
from live.coord.seats import asked, newest, seated, ticked, until
from staging.speaking import scripted
from staging.stage import is_alive, process_of

from fleet.verbs.tasks.review import ACCEPT

SAVE = 'save() { git add -A; git -c user.name=a -c user.email=a@localhost commit -q -m "$1"; }\n'
WORKS = "echo $FLEET_TASK >$FLEET_TASK.txt; save work; fleet done"


def hands(stage, *, worker: str = WORKS, reviewer: str = "", fix: str = "", rebase: str = "") -> None:
    """What agents of each kind do; they know themselves by the head of their prompt."""
    cases = {"# Review:": reviewer, "# Mend:": fix, "# Bring up": rebase}
    told = "".join(f'"{head}"*) {does or "fleet fail -r unexpected"};;\n' for head, does in cases.items())
    Path(stage.home, "hand.sh").write_text(
        f'{SAVE}case "$(head -1 $FLEET_PROMPT_FILE)" in\n{told}*) {worker};;\nesac\n'
    )


def configured(stage, **settings: str) -> None:
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in ({"engine": "hand"} | settings).items()]
    Path(stage.repository, "fleet.toml").write_text("".join(lines))


def place(fleet, slug: str) -> tuple[str, str]:
    task = fleet.tasks.show(project="p", slug=slug)
    return task.status, task.stage


def merged(fleet, slug: str) -> bool:
    task = fleet.tasks.show(project="p", slug=slug)
    return bool(task.archived) and task.status == "done"


def log_of(fleet, slug: str) -> str:
    return "\n".join(each.message for each in fleet.tasks.show(project="p", slug=slug).log)


def at_rest(stage, fleet, ident: str) -> None:
    """Ticked until a tick finds nothing to do."""

    def quiet() -> bool:
        ticked(stage, ident)
        at = newest(fleet)
        ticked(stage, ident)
        return newest(fleet) == at and len(fleet.agents.list()) == 1

    until(quiet)


@pytest.mark.req("PIPE-1", "GRAPH-13")
@pytest.mark.parametrize("review", ["none", "agent", "person"])
def test_a_task_goes_from_worker_to_merged_and_only_then_are_its_dependents_ready(either, review):
    hands(
        either,
        worker=f"test $FLEET_TASK = a || test -e a.txt || fleet fail -r 'not merged'; {WORKS}",
        reviewer="fleet review $FLEET_TASK --accept; fleet done",
    )
    configured(either, review=review)
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        fleet.tasks.add(project="p", title="A", slug="a")
        fleet.tasks.add(project="p", title="B", slug="b", after=["a"])
        seen = set()

        def walked() -> bool:
            ticked(either, ident)
            if review == "person" and place(fleet, "a") == ("in_progress", "review") and not fleet.agents.list()[1:]:
                fleet.reviews.judge(project="p", slug="a", verdict=ACCEPT)
            if place(fleet, "b") != ("open", "worker"):
                assert merged(fleet, "a"), "ready only when what it waits for is merged"
            seen.add(place(fleet, "a"))
            return merged(fleet, "a") and place(fleet, "b") not in {("open", "worker"), ("in_progress", "worker")}

        until(walked)
        assert fleet.tasks.show(project="p", slug="b").reason is None
        after = {("in_progress", "finisher"), *([("in_progress", "review")] if review != "none" else [])}
        assert place(fleet, "b") in after or merged(fleet, "b")
        assert either.git("show", "fleet/main:a.txt") == "a"
        assert ("done", "finisher") in seen
        said = [each.actor for each in fleet.reviews.work(project="p", slug="a").verdicts]
        assert len(said) == (0 if review == "none" else 1)


@pytest.mark.req("PIPE-1")
def test_red_work_is_mended_with_the_output_in_the_prompt_and_sent_back_work_with_the_comments(either):
    hands(
        either,
        reviewer='if test -e small.txt; then fleet review $FLEET_TASK --accept; else fleet review $FLEET_TASK --send-back --comments "say it small"; fi; fleet done',
        fix='grep -q "say it small" $FLEET_PROMPT_FILE && touch small.txt; grep -q "alarm: no big" $FLEET_PROMPT_FILE && touch big.txt; save mended; fleet done',
    )
    configured(either, review="agent", verify="test -e big.txt || { echo alarm: no big; exit 1; }")
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        fleet.tasks.add(project="p", title="T", slug="t")
        until(lambda: ticked(either, ident) and merged(fleet, "t"))
        assert either.git("ls-tree", "--name-only", "fleet/main").split() == ["README", "big.txt", "small.txt", "t.txt"]
        assert [row["fixes"] for row in asked(fleet, "SELECT fixes FROM tasks")] == [2]
        assert [each.verdict for each in fleet.reviews.work(project="p", slug="t").verdicts] == [
            "send back",
            "accept",
            "accept",
        ]
        assert "alarm: no big" in log_of(fleet, "t")


@pytest.mark.req("PIPE-1")
def test_what_three_menders_could_not_mend_waits_for_a_person(either):
    hands(either, fix="date +%N >>more.txt; save again; fleet done")
    configured(either, verify="echo still red; exit 1")
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        fleet.tasks.add(project="p", title="T", slug="t")
        until(
            lambda: ticked(either, ident) and [row["fixes"] for row in asked(fleet, "SELECT fixes FROM tasks")] == [3]
        )
        until(lambda: ticked(either, ident) and place(fleet, "t") == ("blocked", "fix") and not fleet.agents.list()[1:])
        at_rest(either, fleet, ident)
        assert place(fleet, "t") == ("blocked", "fix")
        assert [row["fixes"] for row in asked(fleet, "SELECT fixes FROM tasks")] == [3]
        assert "still red" in fleet.tasks.show(project="p", slug="t").reason
        assert [each["task"] for each in ticked(either, ident)["next"]["trouble"]] == ["t"]


@pytest.mark.req("PIPE-1")
def test_work_that_conflicts_is_brought_up_to_date_and_merged(either):
    hands(
        either,
        worker="echo $FLEET_TASK >same.txt; save work; fleet done",
        rebase="git -c user.name=a -c user.email=a@localhost merge -q fleet/main; echo both >same.txt; save both; fleet done",
    )
    configured(either)
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        for slug in ("x", "y"):
            fleet.tasks.add(project="p", title=slug, slug=slug)
        told: list[str] = []
        until(lambda: told.extend(ticked(either, ident)["done"]) or (merged(fleet, "x") and merged(fleet, "y")))
        assert any("(rebase of" in line for line in told), told
        assert either.git("show", "fleet/main:same.txt") == "both"
        assert "conflict in same.txt" in log_of(fleet, "x") + log_of(fleet, "y")


@pytest.mark.req("PIPE-1")
def test_a_tick_without_change_does_nothing(either):
    hands(either, worker="exec sleep 1000")
    configured(either)
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        fleet.tasks.add(project="p", title="T", slug="t")
        first = ticked(either, ident)
        either.launched(fleet, fleet.dispatches.find("t"))
        assert [line.split(" ")[0] for line in first["done"]] == ["started"]
        at = newest(fleet)
        second = ticked(either, ident)
        assert (second["done"], second["troubles"], newest(fleet)) == ([], [], at)


@pytest.mark.req("PIPE-1")
def test_a_broken_step_does_not_stop_the_others(either):
    hands(either, worker="exit 7")
    configured(either)
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = seated(either, fleet)
        fleet.tasks.add(project="p", title="T", slug="t")
        ticked(either, ident)
        either.exited(fleet, fleet.dispatches.find("t"))
        hands(either, worker="exec sleep 1000")
        fleet.tasks.add(project="p", title="U", slug="u")
        Path(either.home, "logs").write_text("in the way: what it showed cannot be kept")
        state = Path(either.home, "projects", "p", "coord-state.json")
        state.unlink(missing_ok=True)
        state.mkdir()
        told = ticked(either, ident)
        assert len(told["troubles"]) == 2, told
        assert ["(worker of u," in line for line in told["done"]] == [True], told
        assert place(fleet, "u") == ("in_progress", "worker")
        state.rmdir()
        Path(either.home, "logs").unlink()
        until(lambda: ticked(either, ident)["troubles"] == [])
        assert place(fleet, "t") == ("failed", "worker")
        assert json.loads(state.read_text())["worker_agent_ids"] == {"u": fleet.dispatches.find("u")}


@pytest.mark.req("DER-3")
def test_the_tick_computes_what_is_derived_and_ending_a_dispatch_never_does(either):
    hands(either, worker="exec sleep 1000")
    configured(either)
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        fleet.tasks.add(project="p", title="T", slug="t")
        ticked(either, ident)
        worker = fleet.dispatches.find("t")
        either.launched(fleet, worker)
        state = Path(either.home, "projects", "p", "coord-state.json")
        supervised = {"t": {"agent_id": worker, "kind": "worker"}}
        derived = {"coordinator": ident, "supervisor": supervised, "worker_agent_ids": {"t": worker}}
        assert json.loads(state.read_text()) == derived
        before = state.stat()
        fleet.dispatches.kill(worker, "a test")
        assert (state.stat().st_ino, state.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        ticked(either, ident)
        assert json.loads(state.read_text()) == {"coordinator": ident, "supervisor": {}, "worker_agent_ids": {}}
        state.write_text("{}")
        fleet.sweep.run(kill=True)
        assert json.loads(state.read_text())["coordinator"] == ident


@pytest.mark.req("GRAPH-13")
def test_a_persons_word_ends_the_task_whatever_its_stage_and_is_recorded(either):
    hands(either)
    configured(either, review="person")
    with either.fleet("ann") as fleet:
        ident = seated(either, fleet)
        fleet.tasks.add(project="p", title="A", slug="a")
        fleet.tasks.add(project="p", title="B", slug="b", after=["a"])
        until(
            lambda: (
                ticked(either, ident) and place(fleet, "a") == ("in_progress", "review") and not fleet.agents.list()[1:]
            )
        )
        assert place(fleet, "b") == ("open", "worker"), "an agent's done ends its stage only"
        until(lambda: not either.helpers())
        fleet.tasks.done(project="p", slug="a", message="good enough", override=True)
        assert fleet.tasks.show(project="p", slug="a").status == "done"
        assert [row.slug for row in fleet.tasks.ready(project="p", limit=5)] == ["b"]
        said = asked(fleet, "SELECT actor, what FROM operations ORDER BY seq DESC LIMIT 1")[0]
        assert (said["actor"], "good enough" in log_of(fleet, "a")) == ("ann", True)


def test_a_limit_is_kept_and_the_rest_waits(either):
    hands(either, worker="exec sleep 1000")
    configured(either)
    config = Path(either.home, "config.toml")
    config.write_text(f"{config.read_text()}[limits]\nagents = 2\n")
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        for slug in ("t", "u", "v"):
            fleet.tasks.add(project="p", title=slug, slug=slug)
        told = ticked(either, ident)
        assert len(fleet.agents.list()) == 3
        assert (told["troubles"], told["next"]["ready"]) == ([], ["v"])
        fleet.dispatches.kill(fleet.dispatches.find("t"), "a test")
        ticked(either, ident)
        assert is_alive(either.launched(fleet, fleet.dispatches.find("v")).pid)
        assert process_of(fleet, ident)


@pytest.mark.req("AGENT-8")
@pytest.mark.parametrize(("turn", "over"), [("stop", True), ("hook PostToolUse", False)], ids=["over", "under way"])
def test_an_agent_whose_turn_is_over_after_its_report_is_asked_to_exit_at_once(either, turn, over):
    """With an hour of grace: one that is still in its turn has that; one at its prompt has nothing left to do."""
    config = Path(either.home, "config.toml")
    config.write_text(config.read_text().replace('report_grace = "1s"', 'report_grace = "1h"'))
    configured(either, engine="scripted", review="person")
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        worker = scripted(either, fleet, "done", turn, "say all was told", "hang")
        either.shows(fleet, worker, "all was told")
        [heard] = asked(fleet, f"SELECT state FROM agents WHERE dispatch = '{worker}'")
        assert heard["state"] == ("idle" if over else "working")
        said = ticked(either, ident)["done"]
        assert said == ([f"{worker} (worker of t): asked to exit"] if over else [])


@pytest.mark.req("PIPE-1", "MERGE-5")
def test_work_whose_branch_is_gone_does_not_keep_the_coordinator_from_merging_the_rest(either):
    hands(either, worker=f"{WORKS.removesuffix('fleet done')} test $FLEET_TASK = b || git branch -m saved; fleet done")
    configured(either, review="none")
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        fleet.tasks.add(project="p", title="A", slug="a", priority=9)
        fleet.tasks.add(project="p", title="B", slug="b")
        until(lambda: ticked(either, ident) and merged(fleet, "b") and place(fleet, "a")[0] == "blocked")
        assert place(fleet, "a") == ("blocked", "finisher")
        assert "worker/a" in fleet.tasks.show(project="p", slug="a").reason
        assert either.git("show", "saved:a.txt") == "a"
        either.git("branch", "-m", "saved", "worker/a")
        fleet.tasks.retry(project="p", slug="a")
        until(lambda: ticked(either, ident) and merged(fleet, "a"))

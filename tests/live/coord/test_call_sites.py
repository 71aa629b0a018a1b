"""All ways to change a coordinator are the one Replace, also from inside the old one's own session; and old ones are fenced off."""

import os
import signal
from pathlib import Path

import pytest
from live.coord.seats import (
    SLEEP,
    STUBBORN,
    asked,
    candidate,
    coordinator,
    newest,
    nonce_of,
    on,
    replacing,
    rested,
    seat,
    seated,
    speaking,
    ticked,
    until,
)
from staging.stage import FLEET, answer, is_alive, process_of


def says(fleet, ident: str) -> str:
    return fleet.agents.screen(ident, history=True)


@pytest.mark.req("REP-12")
def test_coord_replace_from_inside_the_old_ones_own_session(either):
    with either.fleet() as fleet:
        old = seated(either, fleet, "sh", "-c", "fleet coord replace --engine proves; exec sleep 1000")
        until(lambda: seat(fleet).holder != old)
        new = seat(fleet).holder
        assert (fleet.dispatches.show(new).predecessor, seat(fleet).epoch) == (old, 2)
        until(lambda: ticked(either, new) and [agent.id for agent in fleet.agents.list()] == [new])


@pytest.mark.req("REP-12", "HAND-2", "HAND-5", "HAND-6")
def test_a_coordinators_handoff_from_inside_is_a_replace_with_what_it_wrote(either):
    with either.fleet() as fleet:
        words = "fleet coord tick; test -e $FLEET_HOME/second || { touch $FLEET_HOME/second; echo 'mind the gap' | fleet handoff --doc - -r tired; }; exec sleep 1000"
        old = seated(either, fleet, "sh", "-c", words)
        until(lambda: seat(fleet).holder != old)
        new = seat(fleet).holder
        until(lambda: fleet.coord.handoffs("p")[0].state == "done")
        [entry] = fleet.coord.handoffs("p")
        assert (entry.dispatch, entry.successor, entry.reason) == (old, new, "tired")
        assert (fleet.dispatches.show(new).predecessor, fleet.dispatches.show(new).handoffs) == (old, 1)
        [prompt] = asked(fleet, "SELECT * FROM messages WHERE kind = 'resume'")
        assert (prompt["dispatch"], "mind the gap" in prompt["text"]) == (new, True)
        assert "the coordinator of p" in fleet.coord.handoff(old).text


@pytest.mark.req("REP-12", "HAND-2")
def test_a_coordinators_handoff_and_drain_by_a_person(either):
    with either.fleet() as fleet:
        old = rested(either, fleet, fleet.coord.start(on("proves")).id)
        said = answer(either.start(FLEET, "handoff", old, "-r", "enough", "--json"))
        assert (said.code, said.json["state"], said.json["successor"]) == (0, "done", seat(fleet).holder), said
        second = rested(either, fleet, seat(fleet).holder)
        fleet.coord.hand_off(second, reason="again")
        said = answer(either.start(FLEET, "drain", "-p", "p", "--wait"))
        third = seat(fleet).holder
        assert f"{second} (coordinator of p) was handed off to {third}" in said.out
        assert fleet.dispatches.show(third).handoffs == 2
        assert answer(either.start(FLEET, "drain", "-p", "p")).out == "no handoffs wait\n"


@pytest.mark.req("GATE-8", "HAND-3")
def test_a_drain_behind_somebody_elses_coord_spawn_puts_the_entry_off_and_spawns_nothing(either):
    with either.fleet() as fleet:
        old = rested(either, fleet, fleet.coord.start(on("proves")).id)
        fleet.coord.hand_off(old, reason="enough")
        for name in ("coord-spawn", "swap"):
            gate = fleet.world.project_gate("p", name)
            gate.take()
            [entry] = fleet.coord.drain("p")
            gate.give()
            assert (entry.state, "in progress" in entry.deferred or "held by" in entry.deferred) == (
                "queued",
                True,
            )
            assert [agent.id for agent in fleet.agents.list()] == [old]
            assert seat(fleet).candidate is None
        until(lambda: fleet.coord.drain("p") == [])  # later it is completed
        assert fleet.coord.handoffs("p")[0].successor == seat(fleet).holder != old


@pytest.mark.req("HAND-3", "REP-5")
def test_a_handoff_whose_successors_never_prove_themselves_is_given_up_until_somebody_asks_again(either):
    with either.fleet() as fleet:
        old = fleet.coord.start(on("silent")).id
        either.launched(fleet, old)
        fleet.coord.hand_off(old, reason="enough")
        until(lambda: "did not prove themselves" in (fleet.coord.drain("p")[0].deferred or ""))
        assert seat(fleet).holder == old
        whys = [row["why"] for row in asked(fleet, "SELECT why FROM operations")]
        assert len([why for why in whys if why.startswith("withdraw the candidate")]) == 3
        assert is_alive(process_of(fleet, old).pid)
        # Each drain retires the withdrawn candidates, also while the old coordinator never ticks.
        until(lambda: fleet.coord.drain("p") and [agent.id for agent in fleet.agents.list()] == [old])
        at = newest(fleet)
        assert "did not prove themselves" in fleet.coord.drain("p")[0].deferred
        assert newest(fleet) == at, "it rests"
        assert fleet.coord.hand_off(old, reason="once more").changed is False
        assert "has to prove itself" in fleet.coord.drain("p")[0].deferred
        fleet.coord.stop("p", "the test is over")
        [entry] = fleet.coord.drain("p")
        assert entry.state == "dropped"


@pytest.mark.req("HAND-2")
def test_a_coordinator_that_dies_before_its_handoff_is_drained_is_followed_all_the_same(either):
    with either.fleet() as fleet:
        old = rested(either, fleet, fleet.coord.start(on("proves")).id)
        fleet.coord.hand_off(old, reason="tired", written="the last words")
        who = process_of(fleet, old)
        os.kill(who.pid, signal.SIGKILL)
        until(lambda: fleet.world.processes.life(who) == "dead")
        either.swept(fleet)
        assert fleet.dispatches.show(old).archived is True
        until(lambda: fleet.coord.drain("p") == [])
        assert fleet.coord.handoffs("p")[0].successor == seat(fleet).holder != old
        assert "the last words" in asked(fleet, "SELECT text FROM messages WHERE kind = 'resume'")[0]["text"]


@pytest.mark.req("REP-4")
def test_the_session_start_hook_proves_too_and_is_answered_with_the_resume_prompt(either):
    Path(either.home, "prompts").mkdir()
    Path(either.home, "prompts", "coord.md").write_text("```script\nhook SessionStart {}\nsay there\nhang\n```\n")
    with either.fleet() as fleet:
        old = seated(either, fleet)
        new = fleet.coord.replace(on("scripted")).id
        assert seat(fleet).holder == new
        either.shows(fleet, new, "there")
        assert f"You coordinate p now, after {old}" in says(fleet, new).replace("\n", "")
        until(lambda: asked(fleet, "SELECT * FROM messages WHERE acknowledged_at IS NULL") == [])
        assert ticked(either, new)["messages"] == [], "it was applied"


LATE = (
    ["task", "add", "Late", "-p", "p"],
    ["task", "log", "t", "late", "-p", "p"],
    ["dispatch", "t", "-p", "p", "--engine", "shell", "--", "sleep", "1000"],
    ["merge", "made", "-p", "p"],
    ["coord", "tick", "-p", "p"],
    ["handoff", "-r", "late"],
)


@pytest.mark.req("GATE-11")
def test_late_writes_of_the_old_one_are_refused_and_change_nothing(either):
    Path(either.repository, "fleet.toml").write_text('merge = "pr"\n')  # so that no tick merges
    with either.fleet() as fleet:
        fleet.tasks.add(project="p", title="T", slug="t")
        either.dispatch(fleet, "made", engine="scripted", script="write a.txt a\ncommit Add a\ndone\n")
        either.ended(fleet)
        old = seated(either, fleet, *STUBBORN)
        new = fleet.coord.replace(coordinator()).id
        until(lambda: asked(fleet, "SELECT delivered_at FROM messages")[0]["delivered_at"])  # its first tick is over
        assert fleet.context.dispatch(old).asked_for == "replaced"

        def refused() -> None:
            until(lambda: not either.helpers())
            at, tip = newest(fleet), either.git("rev-parse", "fleet/main")
            panes = len(fleet.world.tmux.listing().panes)
            for words in LATE:
                said = speaking(either, old, *words)
                assert said.code in ({13} if words[0] != "handoff" else {11, 13}), (words, said)
            assert newest(fleet) == at
            assert (either.git("rev-parse", "fleet/main"), len(fleet.world.tmux.listing().panes)) == (tip, panes)
            assert not either.tree("t").exists()

        assert is_alive(process_of(fleet, old).pid)
        refused()
        until(lambda: ticked(either, new) and not fleet.coord.show("p").retiring)
        assert fleet.dispatches.show(old).archived is True
        refused()


@pytest.mark.req("GATE-11")
def test_a_tick_that_loses_the_seat_in_the_middle_changes_nothing_more(either):
    with either.fleet() as fleet:
        old = seated(either, fleet)
        fleet.tasks.add(project="p", title="T", slug="t", engine="hand")
        Path(either.home, "hand.sh").write_text("exec sleep 1000\n")
        ticking = either.halted("before", "tmux list", "tick", FLEET_DISPATCH_ID=old, FLEET_PROJECT="p")
        replacing(either, *SLEEP)
        new = candidate(either, fleet)
        refused = speaking(either, new, "coord", "tick", nonce=nonce_of(either, fleet, new))
        assert (refused.code, seat(fleet).holder) == (12, new), "it proves itself, and ticks later"
        at = newest(fleet)
        os.kill(ticking.pid, signal.SIGCONT)
        assert "NotSeated" in answer(ticking).err
        assert newest(fleet) == at
        assert fleet.tasks.show(project="p", slug="t").status == "open"
        ticked(either, new)
        assert fleet.tasks.show(project="p", slug="t").status == "in_progress"


@pytest.mark.req("GATE-13")
def test_ticks_are_serialised_and_the_loser_exits_12_having_changed_nothing(either):
    with either.fleet() as fleet:
        ident = seated(either, fleet)
        Path(either.home, "hand.sh").write_text("exec sleep 1000\n")
        fleet.tasks.add(project="p", title="T", slug="t", engine="hand")
        ticking = either.halted("before", "tmux new-session", "tick", FLEET_DISPATCH_ID=ident, FLEET_PROJECT="p")
        at = newest(fleet)
        refused = speaking(either, ident, "coord", "tick")
        assert (refused.code, f"pid={ticking.pid}" in refused.err) == (12, True), refused
        assert newest(fleet) == at
        os.kill(ticking.pid, signal.SIGCONT)
        assert answer(ticking).code == 0
        told = ticked(either, ident)
        assert [each["task"] for each in told["next"]["working"]] == ["t"]
        assert os.path.exists(f"{either.home}/projects/p/.locks/coordinator.lock")

"""Handoff: persisted first, then one successor in the same bundle, whoever drains and whatever dies."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
from live.coord.seats import asked, newest, seated, speaking, ticked, until
from staging.stage import FLEET, HALTING, answer, bundle_of, claim_of, is_alive, process_of, raw

import fleet.world.tmux as tmux_module
from fleet.errors.families import FleetError, Refused
from fleet.verbs.dispatch.plan import Wanted

TASK = {"project": "p", "slug": "t"}
SHOW = ("sh", "-c", 'cat "$FLEET_PROMPT_FILE"; exec sleep 1000')
COMMITS = "git -c user.name=a -c user.email=a@localhost commit --quiet --allow-empty"
WORKS = (
    "sh",
    "-c",
    f"test -e a.txt || {{ echo a >a.txt; git add .; {COMMITS} -m 'Add a'; }}; cat $FLEET_PROMPT_FILE; exec sleep 1000",
)


def at_work(stage, fleet, *words: str) -> str:
    ident = stage.dispatch(fleet, "t", *(words or SHOW))
    stage.launched(fleet, ident)
    return ident


def drained(fleet) -> dict:
    """Drained until nothing waits; what became of the entry."""
    until(lambda: fleet.coord.drain("p") == [])
    return fleet.coord.handoffs("p")[-1]


@pytest.mark.req("HAND-1", "HAND-2", "HAND-5", "DEL-3")
def test_a_worker_is_ended_and_its_successor_goes_on_in_its_bundle_with_its_inbox_rewritten(either):
    with either.fleet() as fleet:
        old = at_work(either, fleet, *WORKS)
        until(lambda: either.git("log", "--format=%s", "worker/t").startswith("Add a"))
        before = bundle_of(fleet, "t")
        fleet.tasks.log(**TASK, message="half-way")
        entry = fleet.coord.hand_off(old, reason="full", written="look at b.txt next")
        assert (entry.state, entry.changed) == ("queued", True)
        assert fleet.context.dispatch(old).asked_for is None, "nothing is ended by writing it down"
        assert os.path.exists(f"{either.home}/{entry.document}")
        done = drained(fleet)
        new = done.successor
        assert (done.state, done.dispatch) == ("done", old)
        assert (fleet.tasks.show(**TASK).assignee, fleet.tasks.show(**TASK).status) == (new, "in_progress")
        assert (bundle_of(fleet, "t").owner, before.owner) == (new, old)
        assert (either.tree("t") / "a.txt").read_text() == "a\n"
        claim = claim_of(fleet, "coord_prompt_inbox", new)
        assert (claim.name, claim.state, claim.data["rewritten_from"]) == (f"inbox/{old}.md", "live", old)
        assert fleet.files.names("inbox") == [f"{old}.md"]
        until(lambda: "look at b.txt next" in fleet.agents.screen(new, history=True))
        assert f"agent {new}" in fleet.agents.screen(new, history=True), "its own prompt, not its predecessor's"
        assert (fleet.dispatches.show(old).exec_state, fleet.dispatches.show(old).blocked_reason) == (
            "blocked",
            "handed off",
        )
        assert (fleet.dispatches.show(new).predecessor, fleet.dispatches.show(new).handoffs) == (old, 1)
        third = answer(either.start(FLEET, "handoff", "t", "--json")).json["successor"]
        assert (fleet.dispatches.show(third).predecessor, fleet.dispatches.show(third).handoffs) == (new, 2)
        assert [each.successor for each in fleet.coord.handoffs("p")] == [new, third]
        shown = either.program("dispatches", "show", third).out
        assert re.search(rf"predecessor +{new}", shown), shown
        assert re.search(r"handoffs +2", shown), shown
        assert f"was handed off to {third}" in either.program("handoffs", "list", "-p", "p").out
        fleet.dispatches.kill(third, "a test")
        assert fleet.files.names("inbox") == []


@pytest.mark.req("HAND-6")
def test_the_document_has_front_matter_and_the_sections_a_successor_needs(either):
    with either.fleet() as fleet:
        old = at_work(either, fleet, *WORKS)
        until(lambda: either.git("log", "--format=%s", "worker/t").startswith("Add a"))
        fleet.tasks.log(**TASK, message="decided to use one file")
        entry = fleet.coord.hand_off(old, reason='it said "stop"', written="mind the gap")
        text = fleet.coord.handoff(entry.id).text
        head, body = text.removeprefix("---\n").split("---\n", 1)
        front = {name: json.loads(value) for name, value in (line.split(": ", 1) for line in head.splitlines())}
        assert {name: front[name] for name in ("agent", "task", "project", "reason")} == {
            "agent": old, "task": "t", "project": "p", "reason": 'it said "stop"'
        }  # fmt: skip
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", front["time"])
        parts = dict(re.findall(r"^## (.+)\n\n((?:.|\n)*?)(?=\n## |\Z)", body, re.MULTILINE))
        assert list(parts)[:5] == ["Completed", "Next steps", "Open questions", "Key decisions", "Files"]
        assert re.search(r"- commit: \w+ Add a\n", parts["Completed"])
        assert "decided to use one file" in parts["Key decisions"]
        assert parts["Files"].strip() == "- A a.txt"
        assert "mind the gap" in body
        assert either.program("handoffs", "show", old).out == text


@pytest.mark.req("HAND-1")
def test_a_handoff_that_cannot_be_written_down_ends_nothing(either):
    with either.fleet() as fleet:
        old = at_work(either, fleet)
        Path(either.home, "handoffs").write_text("in the way")
        at = newest(fleet)
        with pytest.raises((OSError, FleetError)):
            fleet.coord.hand_off(old, reason="full")
        said = answer(either.start(FLEET, "handoff", old))
        assert said.code != 0
        assert (newest(fleet), fleet.coord.handoffs("p")) == (at, [])
        assert is_alive(process_of(fleet, old).pid)
        Path(either.home, "handoffs").unlink()


@pytest.mark.req("HAND-4")
def test_many_drainers_make_one_successor(either):
    with either.fleet() as fleet:
        old = at_work(either, fleet)
        fleet.coord.hand_off(old, reason="full")
        said = [answer(child) for child in [either.start(FLEET, "drain", "--wait") for _ in range(6)]]
        assert {each.code for each in said} == {0}, said
        done = drained(fleet)
        followers = asked(fleet, f"SELECT id FROM dispatches WHERE predecessor = '{old}'")
        assert followers == [{"id": done.successor}]
        assert len(fleet.coord.handoffs("p")) == 1
        assert fleet.tasks.show(**TASK).assignee == done.successor


@pytest.mark.req("HAND-3", "HAND-4")
def test_a_drainer_that_is_at_it_keeps_others_out_and_one_that_died_is_followed_up(either):
    with either.fleet() as fleet:
        old = at_work(either, fleet)
        fleet.coord.hand_off(old, reason="full")
        until(lambda: (fleet.coord.drain("p") and not is_alive(process_of(fleet, old).pid)) or True)
        child = either.start(os.sys.executable, HALTING, "before", "tmux new-session", "drain")
        line = child.stdout.readline()
        while not line.startswith("halted"):  # the old one had to be given time
            child.wait(60)
            child = either.start(os.sys.executable, HALTING, "before", "tmux new-session", "drain")
            line = child.stdout.readline()
        [entry] = fleet.coord.drain("p")
        assert (entry.state, entry.deferred) == ("queued", "another process is draining it")
        os.kill(child.pid, signal.SIGKILL)
        child.wait(60)
        done = drained(fleet)
        assert done.state == "done"
        assert [each.id for each in fleet.agents.list()] == [done.successor]
        until(lambda: "handed over" in fleet.agents.screen(done.successor, history=True))


@pytest.mark.req("HAND-2", "HAND-3")
def test_unknown_puts_a_handoff_off_and_nothing_is_started(either, monkeypatch):
    with either.fleet() as fleet:
        old = at_work(either, fleet)
        who, here = process_of(fleet, old), fleet.world.host.id
        fleet.coord.hand_off(old, reason="full")
        raw(fleet, f"UPDATE dispatches SET host = 'elsewhere', process = REPLACE(process, '{here}', 'elsewhere')")
        [entry] = fleet.coord.drain("p")
        assert (entry.state, "host elsewhere" in entry.deferred) == ("queued", True)
        raw(fleet, f"UPDATE dispatches SET host = '{here}', process = REPLACE(process, 'elsewhere', '{here}')")
        server = either.server(fleet)
        monkeypatch.setattr(tmux_module, "LIMIT", 1.0)
        os.kill(server, signal.SIGSTOP)
        os.kill(who.pid, signal.SIGKILL)
        until(lambda: fleet.world.processes.life(who) == "dead")
        [entry] = fleet.coord.drain("p")
        assert (entry.state, "tmux server" in entry.deferred) == ("queued", True), entry
        at = newest(fleet)
        fleet.coord.drain("p")
        assert newest(fleet) == at, "put off again for the same reason: nothing to write down"
        os.kill(server, signal.SIGCONT)
        monkeypatch.setattr(tmux_module, "LIMIT", 5.0)
        assert fleet.tasks.show(**TASK).assignee == old
        assert drained(fleet).state == "done"


def test_one_that_reports_before_it_is_drained_needs_no_successor(either):
    with either.fleet() as fleet:
        either.without_hint(fleet)
        ident = either.dispatch(fleet, "t", engine="scripted", script="write a.txt a\ncommit Add a\ndone\nhang\n")
        until(lambda: fleet.context.dispatch(ident).report)
        entry = fleet.coord.hand_off(ident, reason="full")
        done = drained(fleet)
        assert (done.id, done.state, done.successor) == (entry.id, "dropped", None)
        assert fleet.tasks.show(**TASK).stage == "finisher"
        assert fleet.agents.list() == []
        with pytest.raises(Refused, match="ended already"):
            fleet.coord.hand_off(ident, reason="too late")


def test_a_worker_that_is_still_starting_is_not_made_to_fail(either):
    with either.fleet() as fleet:
        fleet.tasks.add(**TASK, title="T")
        child = either.halted("before", "tmux new-session", "dispatch", "t")
        ident = fleet.agents.list()[0].id
        fleet.coord.hand_off(ident, reason="early")
        [entry] = fleet.coord.drain("p")
        assert entry.state == "queued"
        assert fleet.context.dispatch(ident).asked_for is None
        os.kill(child.pid, signal.SIGCONT)
        assert answer(child).code == 0
        assert drained(fleet).state == "done"
        assert fleet.tasks.show(**TASK).status == "in_progress"


def test_an_entry_that_cannot_be_drained_does_not_keep_the_others_from_it(either):
    with either.fleet() as fleet:
        broken, whole = at_work(either, fleet), either.dispatch(fleet, "u", *SHOW)
        either.launched(fleet, whole)
        lost = fleet.coord.hand_off(broken, reason="full")
        fleet.coord.hand_off(whole, reason="full")
        os.unlink(f"{either.home}/{lost.document}")
        until(
            lambda: (
                [entry.state for entry in fleet.coord.drain("p")] == ["queued"]
                and fleet.coord.handoffs("p")[1].state == "done"
            )
        )
        assert "No such file" in fleet.coord.handoffs("p")[0].deferred
        Path(either.home, lost.document).write_text("---\n---\nwritten anew\n")
        assert drained(fleet).state == "done"
        assert fleet.coord.handoffs("p")[0].state == "done"


@pytest.mark.req("PIPE-1", "HAND-2")
def test_the_handoff_of_a_mender_is_no_further_attempt_and_keeps_what_is_to_be_mended(either):
    with either.fleet() as fleet:
        script = "write a.txt a\ncommit Add a\ndone\n"
        fleet.tasks.add(**TASK, title="T", verify="echo it is red; exit 1", description=script)
        either.dispatch(fleet, "t", engine="scripted")
        either.ended(fleet)
        with pytest.raises(FleetError, match="it is red"):
            fleet.merge.task(**TASK)
        old = fleet.dispatches.start(Wanted(**TASK, engine="shell", command=SHOW)).id
        either.launched(fleet, old)
        assert [row["fixes"] for row in asked(fleet, "SELECT fixes FROM tasks")] == [1]
        fleet.coord.hand_off(old, reason="full")
        new = drained(fleet).successor
        assert fleet.dispatches.show(new).kind == "fix"
        assert [row["fixes"] for row in asked(fleet, "SELECT fixes FROM tasks")] == [1]
        until(lambda: "it is red" in fleet.agents.screen(new, history=True))


def test_what_is_handed_off_is_carried_on_by_the_drain_and_not_started_anew_by_the_tick(either):
    with either.fleet() as fleet:
        Path(either.home, "hand.sh").write_text(f"{SHOW[2]}\n")
        ident = seated(either, fleet)
        fleet.tasks.add(**TASK, title="T", engine="hand")
        ticked(either, ident)
        old = fleet.dispatches.find("t")
        either.launched(fleet, old)
        entry = fleet.coord.hand_off(old, reason="full")
        raw(fleet, f"UPDATE handoffs SET document = 'handoffs/nowhere.md' WHERE id = '{entry.id}'")
        until(lambda: "No such file" in str(ticked(either, ident)["done"]))
        raw(fleet, "UPDATE tasks SET status = 'open', assignee = NULL")  # as after a successor that could not start
        told = ticked(either, ident)
        assert [each.kind for each in fleet.agents.list()] == ["coord"], told
        raw(fleet, f"UPDATE handoffs SET document = '{entry.document}'")
        until(lambda: ticked(either, ident)["next"]["handoffs"] == [])
        assert fleet.coord.handoffs("p")[0].successor == fleet.tasks.show(**TASK).assignee


@pytest.mark.req("HAND-2", "GRAPH-5")
def test_one_that_a_person_stops_while_it_is_handed_off_is_stopped_and_has_no_successor(either):
    stubborn = ("sh", "-c", "trap '' TERM HUP; echo I stay; while :; do sleep 1; done")
    with either.fleet() as fleet, either.fleet("ann") as ann:
        old = at_work(either, fleet, *stubborn)
        either.shows(fleet, old, "I stay")
        fleet.coord.hand_off(old, reason="full")
        [entry] = fleet.coord.drain("p")
        assert (entry.state, fleet.context.dispatch(old).asked_for) == ("queued", "handoff")
        ann.dispatches.stop(old)
        assert (fleet.dispatches.show(old).exec_state, fleet.dispatches.show(old).blocked_reason) == (
            "blocked",
            "stopped",
        )
        done = drained(fleet)
        assert (done.id, done.state, done.successor) == (entry.id, "dropped", None)
        task = fleet.tasks.show(**TASK)
        assert (task.status, task.reason) == ("blocked", "stopped")
        assert asked(fleet, f"SELECT id FROM dispatches WHERE predecessor = '{old}'") == []
        assert fleet.agents.list() == []


@pytest.mark.req("MSG-1", "HAND-2")
def test_what_the_old_one_was_not_told_yet_waits_for_its_successor_once(either):
    with either.fleet() as fleet:
        old = at_work(either, fleet)
        [one] = fleet.messages.send("use the new name", agent=old)
        assert one.delivered is False
        fleet.coord.hand_off(old, reason="full")
        new = drained(fleet).successor
        assert speaking(either, new, "inbox").out == f"[fleet message {one.id}] from tester: use the new name\n"
        assert speaking(either, new, "inbox").out == "no messages wait for you\n"
        fleet.coord.hand_off(new, reason="full again")
        third = drained(fleet).successor
        assert speaking(either, third, "inbox").out == "no messages wait for you\n", "it was read"

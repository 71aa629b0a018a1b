"""Resume: a new dispatch where the old one stopped. Never of one that lives, never of one that has finished."""

import os
import signal
import uuid
from pathlib import Path

import pytest
from staging.stage import bundle_of, is_alive, process_of, raw, status_of

from fleet.errors.absent import NoSuchDispatch
from fleet.errors.families import BadInput, FleetError
from fleet.errors.refused import LimitReached, NotResumable
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.resume import conversation

SLEEP = ("sleep", "1000")
COMMIT = "git add . && git -c user.name=a -c user.email=a@b commit --quiet --message 'Add a'"
WORK = ("sh", "-c", f"test -e a.txt || (echo a >a.txt && {COMMIT}); echo b >b.txt; echo farewell; exec sleep 1000")
HALF = ("sh", "-c", "echo half >half.txt; exec sleep 1000")
# A tool of the agent that outlives it, as those of killed agents do.
DAEMON = ("sh", "-c", "setsid sh -c 'echo $$ >child.new; mv child.new child; exec sleep 2000' & exec sleep 1000")


def stopped(stage, fleet, slug: str, *command: str) -> str:
    ident = stage.dispatch(fleet, slug, *(command or SLEEP))
    stage.launched(fleet, ident)
    fleet.dispatches.stop(ident)
    return ident


def tidied(stage, fleet, ident: str, name: str) -> None:
    """Uncommitted work is never deleted, so the test does it."""
    stage.launched(fleet, ident)
    fleet.dispatches.kill(ident, "enough")
    (stage.tree("t") / name).unlink()


def prompt_of(stage, ident: str) -> str:
    return Path(stage.home, "inbox", f"{ident}.md").read_text(encoding="utf-8")


@pytest.mark.req("RES-1", "RES-10")
@pytest.mark.parametrize("called", ["id", "prefix", "session", "slug"])
def test_a_stopped_agent_is_resumed_in_its_own_worktree_by_a_new_dispatch(either, called):
    with either.fleet() as fleet:
        old = either.dispatch(fleet, "t", *HALF)
        either.launched(fleet, old)
        until((either.tree("t") / "half.txt").exists)
        fleet.dispatches.stop(old)
        name = {"id": old, "prefix": old[:6], "session": f"fleet-{old}", "slug": "t"}[called]
        done = fleet.dispatches.resume(name)
        new = done.id
        assert (done.predecessor, done.conversation, done.stopped) == (old, False, None)
        assert new != old
        assert fleet.dispatches.show(new).predecessor == old
        assert fleet.tasks.show(project="p", slug="t").assignee == new
        assert status_of(fleet, "t") == ("in_progress", None)
        assert (bundle_of(fleet, "t").owner, bundle_of(fleet, "t").generation) == (new, 2)
        pid = either.launched(fleet, new).pid
        until(lambda: os.readlink(f"/proc/{pid}/cwd") == str(either.tree("t")))
        tidied(either, fleet, new, "half.txt")


@pytest.mark.req("RES-10")
def test_the_successor_is_told_what_happened(either):
    with either.fleet() as fleet:
        old = either.dispatch(fleet, "t", *WORK, script="Add a and b.")
        either.shows(fleet, old, "farewell")
        fleet.dispatches.stop(old)
        new = fleet.dispatches.resume(old).id
        told = prompt_of(either, new)
        tidied(either, fleet, new, "b.txt")
    for words in (old, "stopped", "Add a", "?? b.txt", "you start anew", "Add a and b."):
        assert words in told
    log = Path(either.home, "logs", f"{old}.log")
    assert str(log) in told
    assert "farewell" in log.read_text()


@pytest.mark.req("RES-10")
def test_an_agent_that_was_killed_from_outside_can_be_resumed(either):
    with either.fleet() as fleet:
        old = either.dispatch(fleet, "t", *SLEEP)
        who = either.launched(fleet, old)
        os.kill(who.pid, signal.SIGKILL)
        until(lambda: fleet.world.processes.life(who) == "dead")
        new = fleet.dispatches.resume(old).id
        assert fleet.dispatches.show(old).exec_state in {"blocked", "failed"}, "the old journal is settled first"
        either.launched(fleet, new)
        assert [agent.id for agent in fleet.agents.list()] == [new]


@pytest.mark.req("RES-10")
def test_what_a_dead_agent_left_running_is_ended_before_the_successor_starts(scene):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        old = scene.dispatch(fleet, "t", *DAEMON)
        who = scene.launched(fleet, old)
        until((scene.tree("t") / "child").exists)
        child = int((scene.tree("t") / "child").read_text())
        os.kill(who.pid, signal.SIGKILL)
        until(lambda: fleet.world.processes.life(who) == "dead")
        fleet.dispatches.resumable()
        assert is_alive(child), "looking ends nobody"
        new = fleet.dispatches.resume(old).id
        assert not is_alive(child)
        until(lambda: int((scene.tree("t") / "child").read_text()) != child)
        tidied(scene, fleet, new, "child")


@pytest.mark.req("RES-10")
def test_a_living_agent_is_not_resumed_and_how_to_attach_is_told(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", *SLEEP)
        who = either.launched(fleet, ident)
        with pytest.raises(NotResumable, match="alive") as caught:
            fleet.dispatches.resume(ident)
        assert caught.value.code == 14
        assert f"fleet attach {ident}" in caught.value.next_step
        assert is_alive(who.pid)
        assert len(fleet.dispatches.list()) == 1


@pytest.mark.req("RES-8", "RES-10", "RES-13")
def test_an_agent_of_another_host_is_unknown_and_not_resumed(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", *SLEEP)
        who = either.launched(fleet, ident)
        here = fleet.world.host.id
        raw(
            fleet, f"UPDATE dispatches SET host = 'elsewhere', process = 'elsewhere/b/{who.pid}/1' WHERE id = '{ident}'"
        )
        with pytest.raises(NotResumable, match="elsewhere"):
            fleet.dispatches.resume(ident)
        assert is_alive(who.pid)
        raw(fleet, f"UPDATE dispatches SET host = '{here}', process = '{who}' WHERE id = '{ident}'")


@pytest.mark.req("RES-10", "RES-13")
def test_a_process_that_cannot_be_judged_is_not_resumed(either, monkeypatch):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", *SLEEP)
        either.launched(fleet, ident)
        monkeypatch.setattr(fleet.world.processes, "life", lambda _who: "unknown")
        with pytest.raises(NotResumable, match="unknown"):
            fleet.dispatches.resume(ident)
        monkeypatch.undo()
        assert is_alive(process_of(fleet, ident).pid)


@pytest.mark.req("RES-10")
@pytest.mark.parametrize(
    ("ending", "why"),
    [
        ("done", "reported done"),
        ("fail --reason no", "reported failed"),
        ("killed", "on purpose"),
        ("abandoned", "abandoned"),
    ],
)
def test_a_finished_one_is_refused(either, ending, why):
    with either.fleet() as fleet:
        if ending in {"killed", "abandoned"}:
            ident = either.killed(fleet, "t") if ending == "killed" else stopped(either, fleet, "t")
            if ending == "abandoned":
                fleet.tasks.abandon(project="p", slug="t")
        else:
            ident = either.dispatch(fleet, "t", "sh", "-c", f"fleet {ending}")
            either.ended(fleet)
        before = status_of(fleet, "t")
        with pytest.raises(NotResumable, match=why):
            fleet.dispatches.resume(ident)
        assert status_of(fleet, "t") == before
        assert fleet.agents.list() == []


@pytest.mark.req("RES-10")
def test_an_old_attempt_is_refused_when_another_has_followed_it(either):
    with either.fleet() as fleet:
        first = stopped(either, fleet, "t")
        fleet.tasks.retry(project="p", slug="t")
        second = stopped(either, fleet, "t")
        with pytest.raises(NotResumable, match=second):
            fleet.dispatches.resume(first)
        third = fleet.dispatches.resume(second).id
        either.launched(fleet, third)
        fleet.dispatches.stop(third)
        fourth = fleet.dispatches.resume(second).id  # what was started to resume it is the same work
        assert fleet.dispatches.show(fourth).predecessor == third


@pytest.mark.req("RES-10")
def test_the_limits_hold_for_a_resume_too(narrow):
    with narrow.fleet() as fleet:
        old = stopped(narrow, fleet, "t")
        for slug in ("a", "b"):
            narrow.dispatch(fleet, slug, *SLEEP)
        with pytest.raises(LimitReached):
            fleet.dispatches.resume(old)
        assert status_of(fleet, "t") == ("blocked", "stopped")


@pytest.mark.req("RES-10")
def test_a_resume_that_could_not_start_leaves_the_work_to_be_resumed(either, once):
    with either.fleet() as fleet:
        old = stopped(either, fleet, "t")

        def fail() -> None:
            raise OSError("no more sessions")

        fleet.funnel.watcher = once("before", "tmux new-session", fail)
        with pytest.raises(OSError, match="no more sessions"):
            fleet.dispatches.resume(old)
        fleet.funnel.watcher = None
        status, reason = status_of(fleet, "t")
        assert status == "blocked"
        assert "its resume did not start" in reason
        assert [each.interrupted for each in fleet.dispatches.resumable()] == [True]
        new = fleet.dispatches.resume(old).id
        either.launched(fleet, new)
        assert [agent.id for agent in fleet.agents.list()] == [new]


@pytest.mark.req("RES-9")
@pytest.mark.parametrize(
    "given", ["../../etc/passwd", "/etc/passwd", "a/b/c", "..", "", "a b", "x\n", "%", "-rf", "a\0b"]
)
def test_no_path_can_be_smuggled_in_as_an_id(scene, given):
    before = {str(path) for path in Path(scene.root).rglob("*")}
    with scene.fleet() as fleet, pytest.raises(BadInput):
        fleet.dispatches.resume(given)
    made = {str(path) for path in Path(scene.root).rglob("*")} - before
    assert not [path for path in made if "lock" in path]


@pytest.mark.req("RES-9")
def test_an_id_that_nobody_has_is_absent(scene):
    with scene.fleet() as fleet, pytest.raises(NoSuchDispatch, match="0badc0de"):
        fleet.dispatches.resume("0badc0de")


@pytest.mark.req("RES-10")
def test_the_command_line_tells_what_goes_on_where(scene):
    with scene.fleet() as fleet:
        old = stopped(scene, fleet, "t")
    listed = scene.program("resume", "--list")
    assert old in listed.out
    assert "stopped" in listed.out
    said = scene.program("resume", "t", "-p", "p")
    assert said.code == 0, said
    assert f"after {old}, " in said.out
    assert scene.program("resume", "--list").out == "nothing can be resumed\n"
    again = scene.program("resume", "t", "-p", "p")
    assert (again.code, "fleet attach" in again.err) == (14, True)
    for words in ((), ("t", "--all"), ("--all", "--list"), ("--all", "--force")):
        assert scene.program("resume", *words).code == 2


# conversations ----------------------------------------------------------------------------------------------------------
TALKER = """
summary = "an agent that remembers"
program = "sh"
start = ["{program}", "-c", "echo started $0; exec sleep 1000", "{session}"]
resume = ["{program}", "-c", "echo resumed $0; exec sleep 1000", "{conversation}"]
session = ["{conversation}"]
"""


def talker(stage, *more: str) -> None:
    folder = Path(stage.home, "engines")
    folder.mkdir(exist_ok=True)
    (folder / "talker.toml").write_text(TALKER + "\n".join(more) + "\n")


@pytest.mark.req("RES-10")
def test_an_engine_that_can_goes_on_in_the_same_conversation_again_and_again(either):
    talker(either)
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", engine="talker")
        talk = conversation.recorded_conversation(fleet.context, ident)
        assert uuid.UUID(talk).version == 4
        either.shows(fleet, ident, f"started {talk}")
        for _ in range(2):
            fleet.dispatches.stop(ident)
            assert [each.conversation for each in fleet.dispatches.resumable()] == [True]
            done = fleet.dispatches.resume(ident)
            ident = done.id
            assert done.conversation is True
            either.shows(fleet, ident, f"resumed {talk}")
            assert "its own conversation" in prompt_of(either, ident)
            assert fleet.dispatches.show(ident).resumes == "conversation"


@pytest.mark.req("RES-10")
def test_a_conversation_that_was_never_kept_is_begun_anew_under_another_name(either):
    kept = Path(either.root, "kept")
    kept.mkdir()
    talker(either, f'transcript = ["$NO_SUCH_VARIABLE/{{conversation}}.jsonl", "{kept}/*/{{conversation}}.jsonl"]')
    with either.fleet() as fleet:
        old = either.dispatch(fleet, "t", engine="talker")
        either.shows(fleet, old, "started")
        fleet.dispatches.stop(old)
        assert [each.conversation for each in fleet.dispatches.resumable()] == [False]
        done = fleet.dispatches.resume(old)
        talk = conversation.recorded_conversation(fleet.context, done.id)
        assert (done.conversation, talk != conversation.recorded_conversation(fleet.context, old)) == (False, True)
        either.shows(fleet, done.id, f"started {talk}")
        assert fleet.dispatches.show(done.id).resumes == "again"
        fleet.dispatches.stop(done.id)
        (kept / "some").mkdir()
        (kept / "some" / f"{talk}.jsonl").touch()
        again = fleet.dispatches.resume("t")
        assert again.conversation is True
        either.shows(fleet, again.id, f"resumed {talk}")


@pytest.mark.req("RES-10")
def test_what_the_hooks_tell_of_the_conversation_counts(either):
    talker(either)
    with either.fleet() as fleet:
        old = either.dispatch(fleet, "t", engine="talker")
        either.shows(fleet, old, "started")
        raw(fleet, f"UPDATE agents SET conversation = 'another-one' WHERE dispatch = '{old}'")
        fleet.dispatches.stop(old)
        either.shows(fleet, fleet.dispatches.resume(old).id, "resumed another-one")


@pytest.mark.req("RES-10")
def test_a_coordinator_that_died_is_resumed_in_its_seat_and_a_living_one_is_not(either):
    with either.fleet() as fleet:
        old = fleet.coord.start(Wanted(project="p", slug=None, kind="coord", engine="shell", command=SLEEP)).id
        who = either.launched(fleet, old)
        with pytest.raises(FleetError, match="alive") as caught:
            fleet.dispatches.resume(old)
        assert caught.value.code == 14
        assert f"fleet attach {old}" in caught.value.next_step
        assert is_alive(who.pid)

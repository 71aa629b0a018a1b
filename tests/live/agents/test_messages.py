"""Messages: kept until acknowledged, applied once, and never typed where Enter could approve something."""

import json
import os
import signal

import pytest
from staging.speaking import call, hook, known, messages_of, scripted, until_state
from staging.stage import answer, raw

from fleet.errors.families import Refused
from fleet.testing.crash.scenarios import until


def sent(fleet, ident, text="look here"):
    (one,) = fleet.messages.send(text, agent=ident)
    return one


@pytest.mark.req("MSG-1")
def test_a_busy_agent_is_told_with_its_next_tool_result_once(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "wait-message", "hang")
        either.shows(fleet, ident, "working: wait-message")
        one = sent(fleet, ident, "use the new name")
        either.shows(fleet, ident, f"told: [fleet message {one.id}] from tester: use the new name")
        until(lambda: not messages_of(fleet, ident))
        assert hook(either, ident, "PostToolUse", tool_name="Bash", tool_input={}) is None


@pytest.mark.req("MSG-1")
def test_an_agent_that_stops_is_told_then_and_is_not_asked_for_its_report_yet(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        one = sent(fleet, ident)
        assert one.delivered is False
        assert "is busy" in one.how
        said = hook(either, ident, "Stop", last_assistant_message="done?")
        assert said["decision"] == "block"
        assert f"[fleet message {one.id}]" in said["reason"]
        assert messages_of(fleet, ident) == []
        assert "fleet done" in hook(either, ident, "Stop")["reason"]


@pytest.mark.req("MSG-1")
def test_what_waits_at_the_start_of_a_session_is_told_there(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        one = sent(fleet, ident)
        said = hook(either, ident, "SessionStart", source="resume")["hookSpecificOutput"]
        assert said["hookEventName"] == "SessionStart"
        assert one.id in said["additionalContext"]


@pytest.mark.req("MSG-1")
def test_of_many_hooks_at_once_one_carries_the_message(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        one = sent(fleet, ident)
        children = [call(either, ident, "PostToolUse", tool_name="Bash", tool_input={}) for _ in range(6)]
        said = [answer(child) for child in children]
        assert [each.code for each in said] == [0] * 6
        assert sum(one.id in each.out for each in said) == 1


@pytest.mark.req("MSG-1")
def test_a_message_whose_bearer_died_is_told_again_under_its_id(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        one = sent(fleet, ident)
        now = fleet.clock.now()
        raw(fleet, f"UPDATE messages SET delivered_at = {now} WHERE id = '{one.id}'")
        assert hook(either, ident, "PostToolUse") is None, "somebody is just handing it out"
        raw(fleet, f"UPDATE messages SET delivered_at = {now - 61_000} WHERE id = '{one.id}'")
        assert one.id in json.dumps(hook(either, ident, "PostToolUse"))


@pytest.mark.req("MSG-1")
@pytest.mark.parametrize("text", ["two\nlines", "!touch pwned", "/exit"])
def test_an_idle_agent_is_typed_to_in_one_piece_behind_the_mark(either, text):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "stop one", "stop two", "idle", "hang")
        either.shows(fleet, ident, "[scripted] idle")
        one = sent(fleet, ident, text)
        assert (one.delivered, one.how) == (True, "typed")
        typed = json.dumps(f"[fleet message {one.id}] from tester: {text}")
        either.shows(fleet, ident, f"typed: {typed}")
        until(lambda: not messages_of(fleet, ident))
        until_state(fleet, ident, "working")


@pytest.mark.req("MSG-1")
@pytest.mark.parametrize(
    ("step", "why"),
    [("say $ half a shell", "is not recognised"), ("say [scripted] asks: delete everything?", "says asks")],
)
def test_nothing_is_typed_at_a_dialog_or_into_what_is_not_recognised(either, step, why):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "stop one", "stop two", step, "hang")
        either.shows(fleet, ident, "working: hang")
        until(lambda: known(fleet, ident).state == "stopped")
        either.tmux("send-keys", "-t", f"=fleet-{ident}:", "-R")
        either.tmux("clear-history", "-t", f"=fleet-{ident}:")
        until(lambda: fleet.agents.screen(ident).strip() == "")
        if "asks" in why:
            either.tmux("send-keys", "-t", f"=fleet-{ident}:", "-l", step.removeprefix("say "))
            until(lambda: "delete everything?" in fleet.agents.screen(ident))
        before = fleet.agents.screen(ident, history=True)
        one = sent(fleet, ident)
        assert one.delivered is False
        assert why in one.how
        fleet.agents.tend("p")
        assert fleet.agents.screen(ident, history=True) == before
        assert [row.id for row in messages_of(fleet, ident)] == [one.id]


@pytest.mark.req("MSG-1")
def test_what_could_not_be_delivered_is_delivered_by_a_later_tick(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "stop one", "stop two", "wait 3", "idle", "hang")
        until_state(fleet, ident, "stopped, no report")
        one = sent(fleet, ident)
        either.shows(fleet, ident, "[scripted] idle")
        if not one.delivered:
            fleet.agents.tend("p")
        either.shows(fleet, ident, f'typed: "[fleet message {one.id}]')


@pytest.mark.req("MSG-1")
def test_an_agent_reads_its_inbox_and_has_then_read_it(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", "sleep", "1000")
        one = sent(fleet, ident, "read me")
        assert one.delivered is False
        env = either.around(FLEET_DISPATCH_ID=ident, FLEET_TASK="t", FLEET_PROJECT="p")
        assert either.program("inbox", env=env).out == f"[fleet message {one.id}] from tester: read me\n"
        assert either.program("inbox", env=env).out == "no messages wait for you\n"
        assert messages_of(fleet, ident) == []
        assert either.program("inbox").code == 14


@pytest.mark.req("MSG-1")
def test_all_agents_or_those_of_a_project_are_told_and_ended_ones_are_refused(either):
    with either.fleet() as fleet:
        idents = {either.dispatch(fleet, slug, "sleep", "1000") for slug in ("a", "b")}
        said = either.program("message", "--all", "mind the gap")
        assert (said.code, said.out.count("waiting:")) == (0, 2), said
        assert {each.agent for each in fleet.messages.send("again", project="p")} == idents
        assert all(len(messages_of(fleet, ident)) == 2 for ident in idents)
        either.launched(fleet, min(idents))
        fleet.dispatches.kill(min(idents), "enough")
        with pytest.raises(Refused, match="has ended"):
            fleet.messages.send("hello?", agent=min(idents))
        assert either.program("message", "a", "b", "c").code == 2
        assert either.program("message", "--project", "nowhere", "x").code == 11


@pytest.mark.req("MSG-1", "RES-10")
@pytest.mark.parametrize("handed", [False, True], ids=["waiting", "handed out"])
@pytest.mark.parametrize("end", ["stopped", "died"])
def test_what_an_agent_has_not_acknowledged_waits_for_the_one_that_resumes_it_once(either, end, handed):
    with either.fleet() as fleet:
        old = either.dispatch(fleet, "t", "sleep", "1000")
        who = either.launched(fleet, old)
        one = sent(fleet, old, "read me")
        if handed:  # to one that died before it could say so
            raw(fleet, f"UPDATE messages SET delivered_at = {fleet.clock.now()} WHERE id = '{one.id}'")
        if end == "stopped":
            fleet.dispatches.stop(old)
        else:
            os.kill(who.pid, signal.SIGKILL)
            until(lambda: fleet.world.processes.life(who) == "dead")
        new = fleet.dispatches.resume(old).id
        assert [row.id for row in messages_of(fleet, new)] == [one.id]
        assert messages_of(fleet, old) == []
        env = either.around(FLEET_DISPATCH_ID=new, FLEET_TASK="t", FLEET_PROJECT="p")
        assert either.program("inbox", env=env).out == f"[fleet message {one.id}] from tester: read me\n"
        assert either.program("inbox", env=env).out == "no messages wait for you\n"
        either.launched(fleet, new)
        fleet.dispatches.stop(new)
        assert messages_of(fleet, fleet.dispatches.resume(new).id) == [], "it was read"

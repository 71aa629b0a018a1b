"""What agents' hooks tell, ask and are told, on each kind of store: turns, questions, messages, limits."""

from pathlib import Path

import pytest

from fleet.api.hooking import Hooking
from fleet.errors.families import BadInput
from fleet.errors.refused import EngineHeld
from fleet.errors.superseded import AnsweredBefore
from fleet.model.agents.dialect import Dialect
from fleet.model.agents.questions import answer_of
from fleet.model.names import DispatchId
from fleet.model.text.times import MINUTE, SECOND
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents import messages, questions
from fleet.verbs.agents.failed_turns import REST
from fleet.verbs.agents.hook import Reply
from fleet.verbs.dispatch.plan import Wanted

HOOKED = """
summary = "a test's agent with hooks"
program = "sh"
start = ["{program}", "-c", "sleep 1000"]
interactive = true
[hooks]
wakes = ["Stop"]
[hooks.events]
Stop = "stopped"
[[screen]]
state = "idle"
match = '^ready$'
[[screen]]
state = "dialog"
match = '^really[?]$'
"""
DIALECT = {
    "engine": "hooked",
    "events": {
        "Start": "started", "Failed": "failed", "Worked": "worked", "Prompt": "prompted", "Stop": "stopped", "Asks": "asks",
        "Status": "status", "Notice": "notified", "Compacts": "compacting", "End": "ended",
    },
    "errors": {"login": "login", "limit": "limit", "overloaded": "again"},
    "notices": {"idle": "idle"},
    "shell": "Bash",
}  # fmt: skip
TASK = {"project": PROJECT, "slug": "a"}


@pytest.fixture
def hooked(scene: SimulatedScene) -> SimulatedScene:
    Path(scene.home, "engines").mkdir()
    Path(scene.home, "engines", "hooked.toml").write_text(HOOKED)
    return scene


def works(scene: SimulatedScene, slug: str = "a") -> str:
    scene.clock.wait(1)
    scene.fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    ident = scene.fleet.dispatches.start(Wanted(project=PROJECT, slug=slug, engine="hooked")).id
    scene.launch(ident)
    return ident


def hears(scene: SimulatedScene, ident: str, event: str, *, ago: int = 0, **payload: object) -> Reply:
    """An event of the agent's hook, a second after the one before; it is older when it arrives late."""
    scene.clock.wait(1)
    hook = Hooking(scene.home, DispatchId(ident), scene.fleet.store, scene.fleet.funnel)
    hook._committer.clock = scene.clock
    return hook.handle_event(Dialect(DIALECT), event, payload, scene.clock.now() - ago)


def known(scene: SimulatedScene, ident: str) -> q.LivingAgent:
    return scene.fleet.store.read(lambda rows: q.heard_agent(rows, dispatch=ident))


def waiting(scene: SimulatedScene, ident: str) -> list[str]:
    return [row.text for row in scene.fleet.store.read(lambda rows: q.waiting_messages(rows, dispatch=ident))]


@pytest.mark.req("AGENT-8")
def test_a_turn_without_a_report_is_sent_back_once_and_then_needs_the_person(hooked):
    ident = works(hooked)
    reply = hears(hooked, ident, "Stop", last_assistant_message="I think I am done")
    assert (reply.payload["decision"], "fleet done" in reply.payload["reason"]) == ("block", True)
    assert hears(hooked, ident, "Stop", last_assistant_message="I think I am done").payload is None
    found = known(hooked, ident)
    assert (found.state, found.detail) == ("stopped", "I think I am done")
    hears(hooked, ident, "Prompt", prompt="go on")
    assert hears(hooked, ident, "Stop").payload is not None, "a new turn is sent back anew"


@pytest.mark.req("AGENT-8")
def test_background_tasks_count_as_work_and_one_that_has_reported_may_stop(hooked):
    ident = works(hooked)
    assert hears(hooked, ident, "Stop", background_tasks=[{"status": "running"}, {"status": "done"}]).payload is None
    assert (known(hooked, ident).state, known(hooked, ident).detail) == ("working", "1 background task")
    hooked.commit("a")
    hooked.report(ident, "a")
    assert hears(hooked, ident, "Stop").payload is None
    assert known(hooked, ident).state == "idle"


@pytest.mark.req("AGENT-1", "HOOK-2")
def test_a_report_that_arrives_late_changes_neither_state_nor_facts(hooked):
    ident = works(hooked)
    hears(hooked, ident, "Worked", context_window={"used_percentage": 20})
    hears(hooked, ident, "Stop", context_window={"used_percentage": 21})
    before = known(hooked, ident)
    hears(hooked, ident, "Worked", ago=10 * SECOND, context_window={"used_percentage": 3})
    after = known(hooked, ident)
    assert (after.state, after.state_at, after.context) == (before.state, before.state_at, 21)
    assert (after.heartbeat_at, after.engine) == (before.heartbeat_at, "hooked")


@pytest.mark.req("HOOK-2")
def test_a_hook_of_an_ended_agent_changes_nothing(hooked):
    ident = works(hooked)
    hooked.exit(ident, 1)
    hooked.fleet.sessions.settle(ident)
    before = hooked.fleet.operations.newest()
    assert hears(hooked, ident, "Asks", tool_name="Bash", tool_input={"command": "rm"}).question is None
    assert hears(hooked, ident, "Stop").payload is None
    assert hooked.fleet.messages.questions() == []
    assert hooked.fleet.operations.newest() == before


@pytest.mark.req("HOOK-2")
def test_news_are_recorded_and_the_same_again_only_every_fifteen_seconds(hooked):
    ident = works(hooked)
    hears(hooked, ident, "Worked")
    before = hooked.fleet.operations.newest()
    for _ in range(5):
        hears(hooked, ident, "Worked")
    assert hooked.fleet.operations.newest() == before
    hooked.clock.wait(15)
    hears(hooked, ident, "Worked")
    assert hooked.fleet.operations.newest() == before + 1


@pytest.mark.req("MSG-1")
def test_a_message_is_given_once_and_again_under_its_id_when_its_bearer_died(hooked):
    ident = works(hooked)
    [sent] = hooked.fleet.messages.send("/use the new name", agent=ident)
    first = hears(hooked, ident, "Worked")
    assert first.messages == (sent.id,)
    given = first.payload["hookSpecificOutput"]["additionalContext"]
    assert given.startswith(f"[fleet message {sent.id}] from tester: /use the new name")
    assert hears(hooked, ident, "Worked").messages == (), "who took it has a minute to bring it"
    hooked.clock.wait(60)
    assert hears(hooked, ident, "Worked").messages == (sent.id,)
    assert hooked.fleet.commit(messages.acknowledge(ident, [sent.id])) == [sent.id]
    hooked.clock.wait(120)
    assert hears(hooked, ident, "Worked").messages == ()
    assert waiting(hooked, ident) == []


@pytest.mark.req("MSG-1")
def test_two_processes_that_hand_out_at_once_give_a_message_once(hooked):
    ident = works(hooked)
    [sent] = hooked.fleet.messages.send("once", agent=ident)
    facts = {"id": sent.id, "dispatch": ident, "how": "a test"}

    def hand_out(tx) -> int:
        return q.hand_out_message(tx, **facts, at=tx.at, before=tx.at - messages.LEASE, after=tx.at + messages.LEASE)

    # Both have seen that it waits.
    assert [hooked.fleet.commit(Change("hand out", hand_out)) for _ in range(2)] == [1, 0]


@pytest.mark.req("MSG-1")
def test_messages_are_given_in_their_order_and_a_prompt_acknowledges_what_it_carries(hooked):
    ident = works(hooked)
    sent = []
    for text in ("one", "two", "three"):
        sent += [each.id for each in hooked.fleet.messages.send(text, agent=ident)]
        hooked.clock.wait(1)
    assert waiting(hooked, ident) == ["one", "two", "three"]
    hears(hooked, ident, "Prompt", prompt=f"[fleet message {sent[1]}] from tester: two")
    assert waiting(hooked, ident) == ["one", "three"]
    reply = hears(hooked, ident, "Stop")
    assert (reply.messages, reply.payload["decision"]) == ((sent[0], sent[2]), "block")


def message(scene: SimulatedScene, ident: str, text: str = "hello") -> str:
    """Send a message; how it was delivered, or why it waits."""
    (sent,) = scene.fleet.messages.send(text, agent=ident)
    assert sent.delivered == (sent.how == "typed")
    return sent.how


@pytest.mark.req("MSG-1")
def test_a_message_that_waits_says_for_what(hooked):
    ident = works(hooked)
    inbox = "the agent's next `fleet inbox` shows the message"
    assert message(hooked, ident) == f"nothing is typed while the agent's screen is not recognised; {inbox}"
    hooked.pane(ident).screen = "really?"
    assert message(hooked, ident) == f"nothing is typed while the agent's screen says dialog; {inbox}"
    hears(hooked, ident, "Worked")
    hooked.clock.wait(60)
    assert message(hooked, ident).startswith("the agent is busy and gets the message with its next tool result")
    hears(hooked, ident, "Asks", tool_name="Bash", tool_input={"command": "make"})
    assert message(hooked, ident) == "the agent waits for an answer to its question and gets the message after that"
    hears(hooked, ident, "End")
    assert message(hooked, ident) == "the agent's session is ending"
    assert hooked.pane(ident).typed == []


@pytest.mark.req("MSG-1")
def test_an_idle_agent_whose_hook_does_not_wake_it_is_typed_to_one_message_at_a_time(hooked):
    ident, pane = works(hooked), hooked.pane
    hears(hooked, ident, "Stop")
    hears(hooked, ident, "Stop")
    pane(ident).screen = "ready"
    assert message(hooked, ident, "one") == "the agent is woken in a moment"
    hooked.clock.wait(20)
    assert message(hooked, ident, "two") == "more messages wait; fleet types one at a time"
    (typed,) = pane(ident).typed
    assert typed.endswith("] from tester: one")


@pytest.mark.req("MSG-1")
def test_without_a_terminal_or_an_engine_a_message_waits_for_the_inbox(hooked, monkeypatch):
    ident = works(hooked)
    inbox = "the agent's next `fleet inbox` shows the message"
    hooked.pane(ident).screen = "ready"
    with monkeypatch.context() as patched:
        patched.setattr(type(hooked.fleet.world.tmux), "paste", lambda *_typed: False)
        assert message(hooked, ident) == "tmux did not take the message; fleet tries again"
    Path(hooked.home, "engines", "hooked.toml").rename(Path(hooked.home, "moved.toml"))
    assert message(hooked, ident) == f"the agent's engine is not known; {inbox}"
    Path(hooked.home, "moved.toml").rename(Path(hooked.home, "engines", "hooked.toml"))
    hooked.server.panes.clear()
    assert message(hooked, ident) == f"tmux does not show the agent's session; {inbox}"


@pytest.mark.req("SEC-3", "MSG-1")
def test_the_hook_of_an_agent_that_has_only_the_daemon_looks_for_messages_until_they_wake_it(hooked):
    ident = works(hooked)
    with hooked.speaking(ident) as agent:
        assert agent.hooks.messages(engine="hooked").over, "it is at work"
        assert not agent.hooks.messages(engine="hooked", settling=True).over, "it may be about to stop"
        for _ in range(2):  # the first time it is sent back
            hears(hooked, ident, "Stop")
        looked = agent.hooks.messages(engine="hooked")
        assert (looked.over, looked.text, looked.messages) == (False, "", ())
        (sent,) = hooked.fleet.messages.send("go on", agent=ident)
        woken = agent.hooks.messages(engine="hooked")
        assert (woken.over, woken.messages) == (True, (sent.id,))
        assert woken.text.startswith(f"[fleet message {sent.id}] from tester: go on\n")
        agent.hooks.acknowledge(messages=[sent.id])
        assert waiting(hooked, ident) == []


@pytest.mark.req("SEC-3")
def test_only_an_agent_calls_its_hooks_and_only_those_of_its_own_engine(hooked):
    ident = works(hooked)
    with hooked.speaking(ident) as agent, pytest.raises(BadInput, match="only an agent on claude calls its hooks"):
        agent.hooks.messages(engine="claude")
    with pytest.raises(BadInput, match="only an agent on its engine calls its hooks"):
        hooked.fleet.hooks.acknowledge(messages=[])


@pytest.mark.req("ASK-1")
def test_the_first_answer_counts_and_a_late_one_is_told(hooked):
    ident = works(hooked)
    asked = hears(hooked, ident, "Asks", tool_name="Bash", tool_input={"command": "make deploy"}).question
    [shown] = hooked.fleet.messages.questions()
    assert (shown.id, shown.agent, shown.command) == (asked, ident, "make deploy")
    hooked.fleet.commit(questions.answer(asked, ["yes"]))
    with pytest.raises(AnsweredBefore, match="tester answered"):
        hooked.fleet.commit(questions.answer(asked, ["no"]))
    row = hooked.fleet.store.read(lambda rows: q.question_by_id(rows, id=asked))
    assert str(answer_of(row.answer)) == "allow"
    assert [each.id for each in hooked.fleet.messages.questions() if each.answerable] == []


@pytest.mark.req("ASK-1")
def test_a_question_is_over_when_its_agent_goes_on_or_ends(hooked):
    ident = works(hooked)
    first = hears(hooked, ident, "Asks", tool_name="Bash", tool_input={"command": "make"}).question
    hears(hooked, ident, "Prompt", prompt="answered at the terminal")
    with pytest.raises(AnsweredBefore, match="terminal"):
        hooked.fleet.commit(questions.answer(first, ["yes"]))
    second = hears(hooked, ident, "Asks", tool_name="Bash", tool_input={"command": "make"}).question
    hooked.exit(ident, 1)
    hooked.fleet.sessions.settle(ident)
    assert hooked.fleet.messages.questions() == []
    with pytest.raises(AnsweredBefore, match="ended"):
        hooked.fleet.commit(questions.answer(second, ["yes"]))


@pytest.mark.req("LIMIT-1")
def test_a_limit_holds_the_engine_back_and_after_the_reset_one_tries_first(hooked):
    first, second = works(hooked, "a"), works(hooked, "b")
    for ident in (first, second):
        hears(hooked, ident, "Failed", error="limit", last_assistant_message="limit reached")
    [hold] = hooked.fleet.engines.limits().holds
    assert known(hooked, first).state == "limit"
    row = hooked.fleet.store.read(lambda rows: q.hold_of(rows, engine="hooked"))
    assert (hold.kind, row.until - row.since) == ("limit", 5 * MINUTE)
    with pytest.raises(EngineHeld, match="limit reached"):
        works(hooked, "c")
    hooked.fleet.agents.tend(PROJECT)
    assert [waiting(hooked, each) for each in (first, second)] == [[], []], "not before the reset"
    hooked.clock.wait(5 * 60)
    hooked.fleet.agents.tend(PROJECT)
    assert [len(waiting(hooked, each)) for each in (first, second)] == [1, 0], "one trial"
    with pytest.raises(EngineHeld) as refused:
        hooked.fleet.dispatches.start(Wanted(project=PROJECT, slug="c", engine="hooked"))
    assert f"{first} tries whether it is over" in refused.value.next_step
    hears(hooked, first, "Prompt", prompt="go on")
    hears(hooked, first, "Worked")
    assert hooked.fleet.engines.limits().holds == []
    hooked.fleet.agents.tend(PROJECT)
    assert len(waiting(hooked, second)) == 1


@pytest.mark.req("LIMIT-1")
def test_at_ninety_percent_of_a_window_nothing_new_is_started_until_its_reset(hooked):
    ident = works(hooked)
    resets = hooked.clock.now() // SECOND + 3_600
    for percent, held in ((89, False), (90, True)):
        hears(hooked, ident, "Status", rate_limits={"five_hour": {"used_percentage": percent, "resets_at": resets}})
        if held:
            with pytest.raises(EngineHeld, match="90 % of its window five_hour"):
                works(hooked, f"t{percent}")
        else:
            works(hooked, f"t{percent}")
    hooked.clock.wait(3_600)
    works(hooked, "later")


@pytest.mark.req("ENG-7")
def test_an_overloaded_model_is_tried_again_after_growing_rests_five_times(hooked):
    assert REST == (10, 30, 60, 120, 300)
    ident = works(hooked)
    for turn in range(1, 7):
        hears(hooked, ident, "Failed", error="overloaded", last_assistant_message="529")
        found = known(hooked, ident)
        assert (found.state, found.detail, found.failed_turns) == ("failed_turn", "overloaded: 529", turn), "never idle"
        hears(hooked, ident, "Notice", notification_type="idle")
        assert known(hooked, ident).state == "failed_turn"
        rest = REST[min(turn, 5) - 1]
        hooked.clock.wait(rest - 3)
        hooked.fleet.agents.tend(PROJECT)
        assert waiting(hooked, ident) == [], "it rests first"
        hooked.clock.wait(4)
        hooked.fleet.agents.tend(PROJECT)
        rows = hooked.fleet.store.read(lambda each: q.waiting_messages(each, dispatch=ident))
        assert len(rows) == (1 if turn <= 5 else 0), "the sixth time it needs the person"
        hears(hooked, ident, "Prompt", prompt="".join(f"[fleet message {row.id}] go" for row in rows))
    assert hooked.fleet.engines.limits().holds == []


@pytest.mark.req("ENG-7")
def test_a_failed_login_holds_the_engine_back_until_a_person_says_otherwise(hooked):
    ident = works(hooked)
    hears(hooked, ident, "Failed", error="login", last_assistant_message="Please log in")
    assert known(hooked, ident).state == "login"
    hooked.clock.wait(24 * 3_600)
    hooked.fleet.agents.tend(PROJECT)
    assert waiting(hooked, ident) == []
    with pytest.raises(EngineHeld) as refused:
        works(hooked, "b")
    assert "fleet limits lift hooked" in refused.value.next_step
    assert hooked.fleet.engines.lift("hooked").continued == [ident]

"""Questions: asked through the engine's hook, answered once from one list, nothing typed."""

import json

import pytest
from staging.speaking import agent, call, hook, scripted, until_state
from staging.stage import FLEET, answer, raw

from fleet.api.hooking import Hooking
from fleet.errors.absent import NoSuchQuestion
from fleet.errors.refused import CannotAnswer
from fleet.errors.superseded import AnsweredBefore
from fleet.model.agents.dialect import Dialect
from fleet.store import queries as q
from fleet.testing.crash.scenarios import until
from fleet.verbs.agents import questions
from fleet.verbs.context import Committer
from fleet.world.clock import Clock

QUESTION = "0123abcd"


class Over(Clock):
    """Its time is over after the first wait."""

    def __init__(self) -> None:
        self.act = lambda: None
        self.time = 0.0

    def ticks(self) -> float:
        return self.time

    def wait(self, seconds: float) -> None:
        self.time += 1_000_000 * seconds
        self.act()


class Closing(Committer):
    """Commits what a hook writes down; somebody acts just before."""

    def __init__(self, hook: "Waiting") -> None:
        super().__init__(store=hook.store, actor=hook.ident, dispatch=hook.ident, clock=hook.clock, ids=hook.ids)
        self.hook = hook

    def commit(self, change, key=None):
        self.hook.act()
        return super().commit(change, key)


class Waiting(Hooking):
    """A hook that waits for an answer; somebody acts at the end of its wait, or just before it writes that down."""

    def __init__(self, fleet, ident: str) -> None:
        super().__init__(fleet.home, ident, fleet.store, fleet.funnel)
        self.clock = Over()
        self.act = lambda: None
        self._committer = Closing(self)

    def said(self):
        told = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
        dialect = Dialect({"engine": "scripted", "events": {}, "wait": 10})
        return self.wait_for_answer(dialect, "PermissionRequest", told, QUESTION, lambda: False)


def asked(fleet):
    until(fleet.messages.questions)
    (one,) = fleet.messages.questions()
    return one


@pytest.mark.req("ASK-1")
def test_a_permission_is_listed_with_its_command_and_approved(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "ask rm -rf build", "hang")
        one = asked(fleet)
        assert (one.agent, one.kind, one.command, one.answerable) == (
            ident,
            "permission",
            "rm -rf build",
            True,
        )
        found = agent(fleet, ident)
        assert (found.state, found.source, found.detail) == ("asks", "hook", "Bash: rm -rf build")
        said = either.program("questions").out
        assert (one.id in said, "1 allow, 2 deny" in said) == (True, True), said
        assert either.program("approve", "t").out == f"{ident} asked: Bash: rm -rf build → allow\n"
        either.shows(fleet, ident, 'verdict {"behavior": "allow"}')
        until_state(fleet, ident, "working")
        assert fleet.messages.questions() == []


@pytest.mark.req("ASK-1")
def test_a_denial_tells_the_agent_why(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "ask drop table users", "hang")
        asked(fleet)
        assert either.program("deny", ident, "--reason", "never in production").code == 0
        either.shows(fleet, ident, "verdict")
        assert "A person has said no to this: never in production" in fleet.agents.screen(ident, history=True)


@pytest.mark.req("ASK-1")
def test_a_question_of_the_model_is_answered_with_a_choice_or_words(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "choose Which? | Red | Blue", "choose And now? | Up | Down", "hang")
        one = asked(fleet)
        assert [each.as_json() for each in one.choices] == [
            {"question": "Which?", "options": ["Red", "Blue"], "descriptions": [], "many": False}
        ]
        shown = either.program("questions").out.splitlines()
        assert shown == [f"{one.id}  {ident} on p/t: Which?", "          1 Red, 2 Blue"]
        assert either.program("approve", one.id).code == 2
        assert either.program("answer", one.id, "2").code == 0
        either.shows(fleet, ident, '"answers": {"Which?": "Blue"}')
        until(lambda: [each.text for each in fleet.messages.questions()] == ["And now?"])
        assert either.program("answer", "t", "sideways").code == 0
        either.shows(fleet, ident, '"answers": {"And now?": "sideways"}')


@pytest.mark.req("ASK-1")
def test_the_first_answer_wins_and_a_late_one_is_told(either):
    with either.fleet() as fleet:
        scripted(either, fleet, "ask ls", "hang")
        one = asked(fleet)
        fleet.messages.answer(one.id, ["allow"])
        late = either.program("deny", one.id, "--json")
        assert late.code == 13
        assert json.loads(late.out)["error"]["name"] == "AnsweredBefore"
        assert "tester answered 'allow'" in late.err
        with pytest.raises(AnsweredBefore):
            fleet.messages.answer(one.id, ["allow"])
        with pytest.raises(NoSuchQuestion):
            fleet.messages.answer("t", ["allow"])


@pytest.mark.req("ASK-1")
def test_a_question_is_named_by_the_beginning_of_its_id_and_never_guessed(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "ask ls", "hang")
        other = either.dispatch(fleet, "other", "sleep", "1000")
        one = asked(fleet)
        begin, like = one.id[:7], one.id[:7] + ("1" if one.id[7] == "0" else "0")
        told = f"VALUES ('{like}', '{other}', 'permission', 'May I?', 'rm -rf /', 1)"
        raw(fleet, f"INSERT INTO questions (id, dispatch, kind, text, command, asked_at) {told}")
        said = either.program("approve", begin)
        assert (said.code, one.id in said.err, like in said.err) == (2, True, True), said
        assert len(fleet.messages.questions()) == 2, "nothing was answered"
        raw(fleet, f"DELETE FROM questions WHERE id = '{like}'")
        assert either.program("approve", begin).out == f"{ident} asked: Bash: ls → allow\n"


@pytest.mark.req("ASK-1")
@pytest.mark.parametrize("given", ["beef", "nobody", "@last"])
def test_what_nobody_asks_is_said_and_where_to_look(scene, given):
    said = scene.program("approve", given)
    assert said.code == 11
    assert said.err == f"fleet: no agent asks '{given}' — `fleet questions` lists the open questions\n"


@pytest.mark.req("ASK-1")
def test_of_many_answers_at_once_one_counts(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        waiting = call(either, ident, "PermissionRequest", tool_name="Bash", tool_input={"command": "ls"})
        one = asked(fleet)
    said = [
        answer(child)
        for child in [either.start(FLEET, word, one.id) for word in ("approve", "deny", "approve", "deny")]
    ]
    assert sorted(each.code for each in said) == [0, 13, 13, 13], said
    verdict = json.loads(answer(waiting).out)["hookSpecificOutput"]["decision"]["behavior"]
    assert verdict == ("allow" if 0 in (said[0].code, said[2].code) else "deny")


@pytest.mark.req("ASK-1")
@pytest.mark.parametrize("event", ["Stop", "UserPromptSubmit", "PostToolUse"])
def test_one_that_was_answered_at_the_terminal_is_over_and_its_hook_waits_no_longer(either, event):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        tool = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
        waiting = call(either, ident, "PermissionRequest", **tool)
        one = asked(fleet)
        hook(either, ident, "PostToolUse", tool_name="Bash", tool_input={"command": "another one"})
        assert agent(fleet, ident).state == "asks", "a tool beside it changes nothing"
        hook(either, ident, event, **tool)
        said = answer(waiting)
        assert (said.code, said.out) == (0, "")
        with pytest.raises(AnsweredBefore, match="at the agent's terminal"):
            fleet.messages.answer(one.id, ["allow"])


@pytest.mark.req("ASK-1")
def test_a_question_whose_agent_has_ended_is_closed(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "ask ls", "hang")
        one = asked(fleet)
        fleet.dispatches.kill(ident, "enough")
        assert fleet.messages.questions() == []
        late = either.program("approve", one.id)
        assert (late.code, "its agent has ended" in late.err) == (13, True), late
        fleet.agents.tend("p")
        row = fleet.store.read(lambda rows: q.question_by_id(rows, id=one.id))
        assert row.closed_at is not None


@pytest.mark.req("ASK-1", "ENG-2")
def test_a_question_on_a_screen_is_listed_and_answered_only_there(scene):
    with scene.fleet() as fleet:
        ident = scripted(scene, fleet, "say [scripted] asks: delete it?", "wait 1000", begin=False)
        scene.shows(fleet, ident, "working: wait")
        scene.tmux("send-keys", "-t", f"=fleet-{ident}:", "-R")
        scene.tmux("clear-history", "-t", f"=fleet-{ident}:")
        scene.tmux("send-keys", "-t", f"=fleet-{ident}:", "-l", "[scripted] asks: delete it?")
        until(lambda: [each.text for each in fleet.messages.questions()] == ["delete it?"])
        (one,) = fleet.messages.questions()
        assert (one.id, one.text, one.answerable) == (None, "delete it?", False)
        assert f"fleet attach {ident}" in scene.program("questions").out
        with pytest.raises(CannotAnswer, match="delete it"):
            fleet.messages.answer(ident, ["allow"])


@pytest.mark.req("ASK-1")
@pytest.mark.parametrize("moment", ["the last wait", "the closing"])
def test_an_answer_that_is_given_while_the_wait_for_it_ends_reaches_the_agent(either, moment):
    with either.fleet() as fleet, either.fleet("ann") as ann:
        ident = scripted(either, fleet, "hang")
        told = f"VALUES ('{QUESTION}', '{ident}', 'permission', 'May I?', 'ls', 1)"
        raw(fleet, f"INSERT INTO questions (id, dispatch, kind, text, command, asked_at) {told}")
        waiting, given = Waiting(fleet, ident), []

        def act() -> None:
            if not given:
                given.append(ann.commit(questions.answer(QUESTION, ["allow"])))

        (waiting.clock if moment == "the last wait" else waiting).act = act
        said = waiting.said()
        assert given, "somebody has answered, and was not told that it was too late"
        assert said == {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}
        row = fleet.store.read(lambda rows: q.question_by_id(rows, id=QUESTION))
        assert row.closed_at is not None
        assert waiting.said() is None, "once"


@pytest.mark.req("ASK-1")
def test_one_that_nobody_answers_in_time_is_over_and_an_answer_after_that_is_refused(either):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "hang")
        told = f"VALUES ('{QUESTION}', '{ident}', 'permission', 'May I?', 'ls', 1)"
        raw(fleet, f"INSERT INTO questions (id, dispatch, kind, text, command, asked_at) {told}")
        assert Waiting(fleet, ident).said() is None
        with pytest.raises(AnsweredBefore, match="went on without it"):
            fleet.messages.answer(QUESTION, ["allow"])

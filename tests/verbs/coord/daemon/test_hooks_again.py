"""A hook that is done again under the key of a request whose reply was lost: the same reply, and nothing twice."""

import pytest

from fleet.api.hooking import Hooking
from fleet.model.agents.dialect import Dialect
from fleet.model.names import DispatchId

DIALECT = Dialect(
    {"engine": "shell", "events": {"Stop": "stopped", "Asks": "asks", "Worked": "worked"}, "shell": "Bash", "wait": 10}
)
ASKED = {"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}


def hooking(scene, ident: str) -> Hooking:
    """A hook's process: each has its own."""
    hook = Hooking(scene.home, DispatchId(ident), scene.fleet.store, scene.fleet.funnel)
    hook.clock = hook._committer.clock = scene.clock
    return hook


def handles(scene, ident: str, key: str, event: str, **payload: object):
    hook = hooking(scene, ident)
    with hook.under(key):
        return hook.handle_event(DIALECT, event, payload, scene.clock.now())


@pytest.mark.req("MSG-1", "IPC-3")
def test_messages_that_a_lost_reply_carried_are_in_the_next_one_and_in_no_other(scene):
    ident = scene.work("a")
    [sent] = scene.fleet.messages.send("hello", agent=ident)
    first = handles(scene, ident, "k1", "Stop")
    written = scene.fleet.operations.newest()
    assert (first.messages, first.payload["decision"]) == ((sent.id,), "block")
    assert handles(scene, ident, "k1", "Stop") == first
    assert scene.fleet.operations.newest() == written
    assert sent.id not in handles(scene, ident, "k2", "Stop").messages


@pytest.mark.req("ASK-1", "IPC-3")
def test_a_question_is_asked_once_and_its_answer_reaches_the_agent_although_a_reply_was_lost(scene):
    ident = scene.work("a")
    question = handles(scene, ident, "k1", "Asks", **ASKED).question
    assert handles(scene, ident, "k1", "Asks", **ASKED).question == question
    assert [each.id for each in scene.fleet.messages.questions()] == [question]
    scene.fleet.messages.approve(question)

    def looks(key: str):
        hook = hooking(scene, ident)
        with hook.under(key):
            return hook.look_for_answer(DIALECT, "Asks", ASKED, question, last=False)

    first = looks("k2")
    assert first.payload["hookSpecificOutput"]["decision"]["behavior"] == "allow"
    assert looks("k2") == first
    assert (looks("k3").over, looks("k3").payload) == (True, None), "another request does not take it again"

"""The one decision about a dispatch, over its whole input space: every combination of the facts that it reads.

The facts are equivalence classes already (`verbs/dispatch/facts.py` turns ages, settings and processes into them), so that the product is walked whole.
"""

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from sqlcompiler.schema import literals

from fleet.model import states
from fleet.model.dispatch import remedies
from fleet.model.dispatch.remedies import (
    MAY_APPLY,
    STANDING,
    AgentKind,
    Asker,
    Cause,
    Condition,
    Dismiss,
    KillRest,
    Leave,
    Press,
    Remains,
    RemedyAct,
    ReportAge,
    SeatPlace,
    Seen,
    Settle,
    Withdraw,
    decide,
    remedy_for,
)

pytestmark = pytest.mark.slow("walks the whole space of inputs")

ASKED_FOR = literals(Path(states.__file__))["AskedFor"]
FACTS = {
    "condition": get_args(Condition),
    "kind": get_args(AgentKind),
    "is_of_this_home": (True, False),
    "remains": get_args(Remains),
    "report": get_args(ReportAge),
    "asked_for": (None, *ASKED_FOR),
    "exit_grace_over": (True, False),
    "task_taken": (True, False),
    "place": get_args(SeatPlace),
    "handoff_queued": (True, False),
    "is_daemon_duty": (False, True),
}
ASKERS = get_args(Asker)


def every_input() -> Iterator[Seen]:
    for facts in itertools.product(*FACTS.values()):
        yield Seen(**dict(zip(FACTS, facts, strict=True)), why="a reason", asked_reason="so", handoff_reason="full")


@pytest.fixture(scope="module")
def decided() -> list[tuple[Seen, object]]:
    return [(seen, decide(seen)) for seen in every_input()]


def test_the_facts_of_the_test_are_all_that_decide():
    words = {"why", "strangers", "way", "unreadable", "asked_reason", "handoff_reason", "proof"}
    assert set(Seen.__dataclass_fields__) == set(FACTS) | words


def test_every_input_has_one_remedy_and_every_remedy_and_cause_is_reachable(decided):
    assert len(decided) == 290_304
    assert {type(remedy) for _, remedy in decided} == {Settle, KillRest, Press, Dismiss, Withdraw, Leave}
    assert {remedy.act for _, remedy in decided if not isinstance(remedy, Leave)} == set(get_args(RemedyAct))
    causes = {remedy.cause for _, remedy in decided if isinstance(remedy, Leave)}
    assert causes | {"not_permitted"} == set(get_args(Cause))
    pressed = {(remedy.asked_for, remedy.stage) for _, remedy in decided if isinstance(remedy, Press)}
    assert {asked for asked, _ in pressed} == set(ASKED_FOR)
    assert {stage for _, stage in pressed} == {"ask", "wait", "kill"}


def test_only_a_proven_death_is_settled(decided):
    for seen, remedy in decided:
        if isinstance(remedy, Settle):
            assert seen.is_of_this_home
            assert seen.condition == "unstarted" or (seen.condition, seen.remains) == ("dead", "none")
            assert remedies.may_settle(seen)
        elif remedies.may_settle(seen):
            assert isinstance(remedy, Withdraw), "a candidate is taken out of the seat before it is settled"


def test_settle_itself_ends_whatever_death_is_proven_when_it_asks_nothing_about_the_seat(decided):
    for seen, _remedy in decided:
        if seen.place == "none":
            assert isinstance(remedy_for("settle", seen), Settle) == remedies.may_settle(seen)


def test_processes_are_killed_at_once_only_when_their_agent_is_proven_dead(decided):
    for seen, remedy in decided:
        if isinstance(remedy, KillRest):
            assert (seen.is_of_this_home, seen.condition, seen.remains) == (True, "dead", "ours")


def test_what_is_unknown_or_anothers_is_left_alone(decided):
    for seen, remedy in decided:
        if seen.condition == "unknown" or not seen.is_of_this_home:
            in_seat = seen.place in {"candidate", "late"}
            # The seat is a row of the store: taking a candidate out of it touches no process.
            assert isinstance(remedy, Leave) or (isinstance(remedy, Withdraw) and in_seat)
            assert not isinstance(remedy, Withdraw) or seen.condition == "ended" or seen.place == "late"


def test_a_living_agent_is_pressed_only_for_a_reason_and_killed_only_when_it_was_asked_before(decided):
    for seen, remedy in decided:
        if not isinstance(remedy, Press):
            continue
        assert seen.is_of_this_home
        assert seen.condition in {"alive", "starting"}
        was_asked = seen.asked_for not in {None, "report"}
        out = seen.place in {"withdrawn", "out"} and remedy.act == "retire"
        lost = seen.kind == "worker" and (seen.task_taken or seen.handoff_queued)
        assert was_asked or seen.report == "over" or out or lost
        if remedy.stage == "kill":
            assert seen.asked_for is not None
            assert seen.exit_grace_over
        if seen.condition == "starting":
            assert out, "what is starting is pressed only when it has no seat to start for"


def test_a_duty_of_the_daemon_is_dismissed_where_an_agent_is_pressed_and_never_pressed(decided):
    others = {
        tuple(getattr(seen, name) for name in FACTS if name != "is_daemon_duty"): remedy
        for seen, remedy in decided
        if not seen.is_daemon_duty
    }
    for seen, remedy in decided:
        if seen.is_daemon_duty:
            other = others[tuple(getattr(seen, name) for name in FACTS if name != "is_daemon_duty")]
            assert not isinstance(remedy, Press)
            assert isinstance(remedy, Dismiss) == isinstance(other, Press)
            assert remedy == other or (remedy.asked_for, remedy.reason, remedy.act) == (
                other.asked_for,
                other.reason,
                other.act,
            )


def test_an_agent_that_is_at_work_is_left_alone(decided):
    calm = {"report": "none", "asked_for": None, "task_taken": False, "handoff_queued": False}
    for seen, remedy in decided:
        at_work = all(getattr(seen, name) == value for name, value in calm.items())
        if seen.condition == "alive" and at_work and seen.place in {"none", "holder", "candidate"}:
            assert isinstance(remedy, Leave)


def test_a_dead_agent_is_never_called_alive(decided):
    for seen, remedy in decided:
        if isinstance(remedy, Leave) and remedy.cause in {"alive", "starting", "unknown"}:
            assert seen.condition == remedy.cause


def test_no_two_askers_contradict_each_other_and_each_applies_what_the_table_allows(decided):
    used = {asker: set() for asker in ASKERS}
    for seen, remedy in decided:
        for asker in ASKERS:
            answer = remedy_for(asker, seen)
            if isinstance(answer, Leave) and answer.cause == "not_permitted":
                assert answer.instead == remedy
                assert remedy.act not in MAY_APPLY[asker]
            else:
                assert answer == remedy
                used[asker] |= set() if isinstance(answer, Leave) else {answer.act}
    assert used == MAY_APPLY, "each entry of the table is used, and nothing else"


def test_every_asker_asks_somewhere():
    source = Path(remedies.__file__).parents[2]
    askers = set()
    for path in (path for layer in ("verbs", "api", "surfaces") for path in (source / layer).rglob("*.py")):
        calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
        asking = (each for each in calls if getattr(each.func, "id", "") in {"remedy_for", "decide_and_apply"})
        askers |= {node.value for call in asking for node in call.args if isinstance(node, ast.Constant)}
    assert askers == set(ASKERS)


def test_a_request_is_owed_only_to_the_dead_that_nobody_asked_and_that_cannot_be_settled_yet(decided):
    for seen, remedy in decided:
        assert not remedies.is_owed_a_request(seen, asked=True)
        if remedies.is_owed_a_request(seen, asked=False):
            assert seen.condition == "dead"
            assert not isinstance(remedy, Settle)
        elif seen.condition == "dead":
            assert isinstance(remedy, Settle | Withdraw)


def test_an_agent_is_gone_when_it_is_settled_or_proven_dead_and_then_never_pressed(decided):
    for seen, remedy in decided:
        assert remedies.is_gone(seen) == (seen.condition in {"ended", "dead"})
        assert not (remedies.is_gone(seen) and isinstance(remedy, Press | Dismiss))


def test_what_stands_is_what_a_person_has_to_look_at():
    assert {"foreign", "unknown", "strangers", "silent"} == STANDING
    for asker in ("resume", "resumable", "job", "merge", "dispatch", "restart", "settle"):
        assert not MAY_APPLY[asker] & {"press", "hand_over", "retire", "withdraw"}

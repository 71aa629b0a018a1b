"""GRAPH-4: an attempt speaks while the task is its own, and its first report counts. On both stores."""

import pytest

FIRST, SECOND = "0a1b2c3d", "deadbeef"
WAYS_TO_LOSE_IT = {
    "a person took it": ["task", "claim", "a", "--override"],
    "a person gave it back": ["task", "unclaim", "a", "--override"],
    "a person finished it": ["task", "done", "a", "--override"],
    "a person failed it": ["task", "fail", "a", "-r", "enough", "--override"],
    "a person parked it": ["task", "block", "a", "-r", "wait", "--override"],
    "a person abandoned it": ["task", "abandon", "a", "--override"],
    "a person rewrote it": ["task", "edit", "a", "--title", "Something else", "--override"],
}
REPORTS = {"done": ["done"], "fail": ["fail", "-r", "no"], "block": ["block", "-r", "no"]}
WORDS = {"log": ["log", "hi"], "artifact": ["artifact", "a.md"], **REPORTS}
STATUS = {"done": "done", "fail": "failed", "block": "blocked"}


def agent(dispatch: str = FIRST) -> dict[str, str]:
    return {"FLEET_DISPATCH_ID": dispatch, "FLEET_PROJECT": "web", "FLEET_TASK": "a"}


@pytest.fixture
def held(either):
    """A task that an agent works on, and one that waits for it."""
    either.add("a")
    either.add("b", "--after", "a")
    either("task", "claim", "a", env=agent()).ok()
    return either


@pytest.mark.req("GRAPH-4", "GRAPH-5")
@pytest.mark.parametrize("way", WAYS_TO_LOSE_IT.values(), ids=WAYS_TO_LOSE_IT)
def test_a_person_takes_a_task_away_only_with_override_and_the_attempt_is_superseded(way, held):
    before, operations = held.everything(), held("ops", "--json").ok().objects
    held(*way[:-1]).refused(12 if "claim" in way else 14, FIRST)
    assert held.everything() == before
    held(*way).ok()
    [taken] = held("ops", "--json").ok().objects[len(operations) :]  # one operation, so one transaction
    assert taken["what"]["superseded"] == FIRST
    assert held.show("a")["assignee"] != FIRST
    before = held.everything()
    for words in (*WORDS.values(), ["task", "unclaim", "a"]):
        held(*words, env=agent()).refused(13, FIRST, "web/a", "nothing was changed")
    assert held.everything() == before


@pytest.mark.req("GRAPH-4")
def test_the_refusal_names_who_has_it_now(held):
    held("task", "unclaim", "a", "--override").ok()
    held("task", "claim", "a", env=agent(SECOND)).ok()
    held("log", "hi", env=agent()).refused(13, f"dispatch {FIRST} no longer has task web/a", f"with {SECOND}")
    held("log", "hi", env=agent(SECOND)).ok()


@pytest.mark.req("GRAPH-4")
def test_an_attempt_that_never_had_the_task_is_refused(held):
    before = held.everything()
    for words in WORDS.values():
        held(*words, env=agent(SECOND)).refused(13, SECOND)
    assert held.everything() == before


@pytest.mark.req("GRAPH-4")
@pytest.mark.parametrize("first", REPORTS)
def test_the_first_report_counts_the_same_again_succeeds_and_a_different_one_is_superseded(first, held):
    held(*REPORTS[first], env=agent()).ok()
    reported = held.show("a")
    assert reported["status"] == STATUS[first]
    assert held(*REPORTS[first], env=agent()).ok().out == f"web/a is {STATUS[first]} (it was already)\n"
    for words in (words for other, words in REPORTS.items() if other != first):
        held(*words, env=agent()).refused(13, f"it was reported {STATUS[first]} before", "nothing was changed")
    assert held.show("a") == reported


@pytest.mark.req("GRAPH-4")
def test_after_its_report_an_attempt_may_still_log(held):
    held("done", env=agent()).ok()
    held("log", "one more thing", env=agent()).ok()
    assert [each["message"] for each in held.show("a")["log"]] == ["one more thing"]


@pytest.mark.req("GRAPH-4")
def test_a_person_may_log_register_and_rank_beside_a_living_attempt(held):
    held("task", "log", "a", "keep going").ok()
    held("task", "artifact", "a", "spec.md").ok()
    held("task", "edit", "a", "--priority", "9", "--tag", "soon").ok()
    held("task", "pause", "a").ok()
    held("done", env=agent()).ok()
    assert held.show("a")["assignee"] == FIRST


@pytest.mark.req("GRAPH-4")
def test_whoever_named_themselves_reports_on_what_they_claimed_without_override(either):
    either.add("a")
    either("task", "claim", "a", "--as", "bob").ok()
    either("task", "done", "a", "--as", "eve").refused(14, "bob", "--override")
    either("task", "done", "a", "--as", "bob").ok()


def test_a_message_given_with_a_repeated_report_is_not_lost_without_a_word(fleet):
    """Printed success means it happened: either the message is in the log, or the command says that it is not."""
    fleet.add("a")
    fleet("task", "done", "a", "-m", "first").ok()
    answer = fleet("task", "done", "a", "-m", "second")
    kept = "second" in [each["message"] for each in fleet.show("a")["log"]]
    assert kept or answer.code != 0 or "message" in answer.out

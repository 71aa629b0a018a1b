"""Comments of a reviewer whose verdict does not count are kept, and told to whoever goes on."""

from pathlib import Path

import pytest

from fleet.errors.refused import IllegalStep, NotAllowed
from fleet.errors.superseded import VerdictTooLate
from fleet.store import queries as q
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.tasks.review import ACCEPT, SEND_BACK

TASK = {"project": PROJECT, "slug": "a"}


@pytest.fixture
def reviewed(scene: SimulatedScene) -> SimulatedScene:
    """A scene in which the work of task `a` waits for a verdict."""
    Path(scene.repository, "fleet.toml").write_text('review = "person"\n', encoding="utf-8")
    ident = scene.work("a")
    scene.server.open("mine", ["sh"], {}, "/")
    scene.commit("a")
    scene.report(ident, "a")
    scene.exit(ident)
    assert scene.fleet.sessions.settle(ident).exec_state == "done"
    return scene


def started(scene: SimulatedScene, kind: str) -> str:
    worker = scene.fleet.tasks.show(**TASK).assignee
    wanted = Wanted(**TASK, kind=kind, engine="shell", command=("sleep", "1"), predecessor=worker)
    ident = scene.fleet.dispatches.start(wanted).id
    scene.launch(ident)
    return ident


def said(scene: SimulatedScene) -> list[tuple[str, str, bool]]:
    return [(each.actor, each.comments, each.counted) for each in scene.fleet.reviews.work(**TASK).verdicts]


@pytest.mark.req("PIPE-1")
def test_the_second_reviewers_comments_are_in_the_log_and_in_the_next_agents_prompt(reviewed):
    scene = reviewed
    scene.open("ann").reviews.judge(**TASK, verdict=SEND_BACK, comments="too short")
    with pytest.raises(VerdictTooLate, match=r"does not count .*its comments are kept"):
        scene.open("bob").reviews.judge(**TASK, verdict=SEND_BACK, comments="work:1 misspelt")
    assert said(scene) == [("ann", "too short", True), ("bob", "work:1 misspelt\n    > work", False)]
    task = scene.fleet.tasks.show(**TASK)
    assert (task.status, task.stage, task.reason) == ("blocked", "fix", "too short"), "the first verdict counts"
    assert task.log[-1].message == "commented, beside the verdict (send back): work:1 misspelt\n    > work"
    fix = started(scene, "fix")
    prompt = scene.fleet.files_of_home(f"inbox/{fix}.md")
    assert "too short\n\nAlso said of this work, by bob (send back):\nwork:1 misspelt" in prompt


def test_an_agent_that_mends_the_work_already_is_told(reviewed):
    scene = reviewed
    scene.open("ann").reviews.judge(**TASK, verdict=SEND_BACK, comments="too short")
    fix = started(scene, "fix")
    bob = scene.open("bob")
    for _ in range(2):
        with pytest.raises(VerdictTooLate):
            bob.reviews.judge(**TASK, verdict=SEND_BACK, comments="misspelt")
    (message,) = scene.fleet.store.read(lambda rows: q.waiting_messages(rows, dispatch=fix))
    assert (message.sender, "misspelt" in message.text) == ("bob", True)
    assert len(said(scene)) == 2, "the same again is kept once"


def test_a_superseded_reviewer_and_a_person_beside_a_reviewer_are_heard(reviewed):
    scene = reviewed
    reviewer = started(scene, "reviewer")
    with pytest.raises(VerdictTooLate, match="works on"):
        scene.open("ann").reviews.judge(**TASK, verdict=SEND_BACK, comments="from ann")
    with scene.speaking(reviewer) as fleet:
        scene.fleet.tasks.block(**TASK, reason="a person takes it", override=True)
        with pytest.raises(VerdictTooLate):
            fleet.reviews.judge(**TASK, verdict=SEND_BACK, comments="from the reviewer")
    assert said(scene) == [("ann", "from ann", False), (reviewer, "from the reviewer", False)]


def test_without_comments_and_without_a_review_the_refusal_is_as_it_was(reviewed):
    scene = reviewed
    scene.open("ann").reviews.judge(**TASK, verdict=ACCEPT)
    with pytest.raises(IllegalStep):
        scene.open("bob").reviews.judge(**TASK, verdict=ACCEPT)
    scene.fleet.tasks.add(project=PROJECT, title="b", slug="b")
    with pytest.raises(IllegalStep):
        scene.fleet.reviews.judge(project=PROJECT, slug="b", verdict=SEND_BACK, comments="of what")
    other = scene.work("c")
    with scene.speaking(other) as fleet, pytest.raises(NotAllowed):
        fleet.reviews.judge(**TASK, verdict=SEND_BACK, comments="a stranger's")
    assert len(said(scene)) == 1
    assert scene.fleet.reviews.work(project=PROJECT, slug="b").verdicts == []


def test_an_acceptance_that_did_not_count_accepts_nothing(reviewed):
    scene = reviewed
    scene.open("ann").reviews.judge(**TASK, verdict=SEND_BACK, comments="too short")
    with pytest.raises(VerdictTooLate):
        scene.open("bob").reviews.judge(**TASK, verdict=ACCEPT, comments="fine with me")
    work = scene.fleet.reviews.work(**TASK)
    assert scene.fleet.store.read(lambda rows: q.accepted_work(rows, **TASK, work=str(work.commit))) is None

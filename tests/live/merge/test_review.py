"""Reviews: a verdict is one transaction, the first one counts, and an agent's counts only while it is the task's reviewer."""

import os
from pathlib import Path

import pytest
from staging.stage import FLEET, answer, raw

from fleet.errors.families import BadInput, Contested
from fleet.errors.refused import IllegalStep
from fleet.testing.crash.scenarios import until
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.tasks.review import ACCEPT, SEND_BACK

TASK = {"project": "p", "slug": "t"}


def configured(scene, text: str) -> None:
    Path(scene.repository, "fleet.toml").write_text(text)


def steady(scene, fleet) -> None:
    """A session of nobody's keeps the tmux server, which would go with its last session."""
    if "session" not in scene.forgiven:
        fleet.world.tmux.ensure_server()
        scene.tmux("new-session", "-d", "-s", "by-itself", "sleep 1000")
        scene.forgiven.add("session")


def worked(scene, fleet, slug: str = "t", *, path: str = "a.txt", review: str = "person", more: str = "") -> None:
    """A task whose agent committed a file and said done; it waits for review."""
    configured(scene, f'review = "{review}"\n{more}')
    steady(scene, fleet)
    scene.dispatch(
        fleet, slug, engine="scripted", script=f"write {path} one two\nlog a word\ncommit Add {slug}\ndone\n"
    )
    scene.ended(fleet)
    assert place(fleet, slug) == ("in_progress", "review")


def place(fleet, slug: str = "t") -> tuple[str, str]:
    task = fleet.tasks.show(project="p", slug=slug)
    return task.status, task.stage


@pytest.mark.req("PIPE-1", "PIPE-2")
def test_accepted_work_goes_on_to_be_merged(either):
    with either.fleet("ann") as fleet:
        worked(either, fleet)
        assert [each.slug for each in fleet.reviews.waiting()] == ["t"]
        done = fleet.reviews.judge(**TASK, verdict=ACCEPT, comments="well done")
        assert (done.changed, place(fleet)) == (True, ("in_progress", "finisher"))
        assert fleet.reviews.waiting() == []
        said = [(each.actor, each.verdict, each.comments) for each in fleet.reviews.work(**TASK).verdicts]
        assert said == [("ann", "accept", "well done")]
        fleet.merge.task(**TASK)
        assert either.git("show", "fleet/main:a.txt") == "one two"


@pytest.mark.req("PIPE-1", "PIPE-2")
def test_work_that_is_sent_back_waits_to_be_mended_with_the_comments_in_the_next_prompt(either):
    with either.fleet("ann") as fleet:
        worked(either, fleet)
        fleet.reviews.judge(**TASK, verdict=SEND_BACK, comments="say more\na.txt:1 in capitals")
        assert place(fleet) == ("blocked", "fix")
        assert fleet.tasks.show(**TASK).reason == "say more\na.txt:1 in capitals\n    > one two"
        made = fleet.dispatches.start(Wanted(**TASK, engine="shell", command=("sleep", "1000")))
        assert (made.kind, place(fleet)) == ("fix", ("in_progress", "fix"))
        prompt = fleet.files_of_home(f"inbox/{made.id}.md")
        assert "a.txt:1 in capitals\n    > one two" in prompt
        fleet.dispatches.kill(made.id, "the test is over")


@pytest.mark.req("PIPE-1")
def test_the_first_verdict_counts_and_the_same_again_is_fine(either):
    with either.fleet("ann") as ann, either.fleet("bob") as bob:
        worked(either, ann)
        with pytest.raises(BadInput, match="--comments"):
            ann.reviews.judge(**TASK, verdict=SEND_BACK, comments="  ")
        ann.reviews.judge(**TASK, verdict=SEND_BACK, comments="no")
        assert ann.reviews.judge(**TASK, verdict=SEND_BACK, comments="no").changed is False
        with pytest.raises(IllegalStep, match="blocked, at the stage fix"):
            bob.reviews.judge(**TASK, verdict=ACCEPT)
        assert len(ann.reviews.work(**TASK).verdicts) == 1


@pytest.mark.req("PIPE-1")
def test_of_many_verdicts_at_once_one_counts(either):
    with either.fleet() as fleet:
        worked(either, fleet)
        words = [["--accept"], ["--send-back", "--comments", "no"]] * 4
        racers = [either.start(FLEET, "review", "t", *each, "--as", f"r{n}", "-p", "p") for n, each in enumerate(words)]
        codes = [answer(racer).code for racer in racers]
        said = fleet.reviews.work(**TASK).verdicts
        [verdict] = [each for each in said if each.counted]
        late = 3 if verdict.verdict == "send back" else 4
        assert sorted(codes) == [0] + [13] * late + [14] * (7 - late), codes
        assert len(said) == 1 + late, "comments are kept, also of a verdict that does not count"
        assert place(fleet) == (("in_progress", "finisher") if verdict.verdict == "accept" else ("blocked", "fix"))


@pytest.mark.req("PIPE-1")
@pytest.mark.parametrize(
    ("words", "after"),
    [("--accept", ("in_progress", "finisher")), ("--send-back --comments 'do more'", ("blocked", "fix"))],
)
def test_an_agent_that_reviews_gives_its_verdict_by_the_same_command(either, words, after):
    with either.fleet() as fleet:
        worked(either, fleet, review="agent")
        assert fleet.reviews.waiting() == [], "it is not a person's"
        command = ("sh", "-c", f"fleet review {words}")
        made = fleet.dispatches.start(
            Wanted(**TASK, kind="reviewer", engine="shell", command=command, predecessor=_worker(fleet))
        )
        either.ended(fleet)
        assert place(fleet) == after
        assert fleet.dispatches.show(made.id).report == "done"
        assert [each.actor for each in fleet.reviews.work(**TASK).verdicts] == [made.id]


def _worker(fleet) -> str:
    return fleet.tasks.show(**TASK).assignee


@pytest.mark.req("PIPE-1")
def test_only_the_tasks_own_reviewer_and_a_person_may_judge_it(either):
    with either.fleet() as fleet:
        worked(either, fleet)
        worker = _worker(fleet)
        either.dispatch(fleet, "other", "sleep", "1000")
        either.launched(fleet, fleet.dispatches.find("other"))
        for speaker in (worker, fleet.dispatches.find("other"), "0a1b2c3d"):
            said = either.program("review", "t", "--accept", "-p", "p", env=either.around(FLEET_DISPATCH_ID=speaker))
            assert said.code == 14, said
        raw(fleet, "UPDATE dispatches SET kind = 'reviewer' WHERE slug = 'other'")
        env = either.around(FLEET_DISPATCH_ID=fleet.dispatches.find("other"), FLEET_TASK="t", FLEET_PROJECT="p")
        assert either.program("review", "--accept", env=env).code == 13, "another task's reviewer"
        assert place(fleet) == ("in_progress", "review")


@pytest.mark.req("PIPE-1")
def test_a_person_waits_while_an_agent_reviews(either):
    with either.fleet() as fleet:
        worked(either, fleet, review="agent")
        wanted = Wanted(**TASK, kind="reviewer", engine="shell", command=("sleep", "1000"), predecessor=_worker(fleet))
        ident = fleet.dispatches.start(wanted).id
        either.launched(fleet, ident)
        with pytest.raises(Contested, match=ident):
            fleet.reviews.judge(**TASK, verdict=ACCEPT)
        fleet.dispatches.stop(ident)
        assert place(fleet) == ("blocked", "review")
        assert [each.slug for each in fleet.reviews.waiting()] == ["t"], "a review that came to nothing is a person's"
        assert fleet.reviews.judge(**TASK, verdict=ACCEPT).changed
        assert place(fleet) == ("in_progress", "finisher")


def test_a_reviewer_that_ended_unnoticed_is_not_waited_for(either):
    with either.fleet() as fleet:
        worked(either, fleet)
        either.without_hint(fleet)
        wanted = Wanted(**TASK, kind="reviewer", engine="shell", command=("true",), predecessor=_worker(fleet))
        either.exited(fleet, fleet.dispatches.start(wanted).id)
        assert fleet.reviews.judge(**TASK, verdict=ACCEPT).changed


@pytest.mark.req("PIPE-2")
@pytest.mark.parametrize("green", [True, False])
def test_verify_is_tried_in_a_tree_of_fleets_own_and_its_result_is_kept(either, green):
    with either.fleet() as fleet:
        worked(
            either, fleet, more=f"verify = 'pwd > {either.root}/where; cat a.txt; {'true' if green else 'exit 3'}'\n"
        )
        tip = either.git("rev-parse", "fleet/main")
        found = fleet.reviews.rehearse(**TASK)
        assert found.ok is green
        assert green or "one two" in found.says
        where = Path(either.root, "where").read_text().strip()
        assert where.startswith(f"{either.home}/projects/p/merges/")
        assert not os.path.exists(where)
        assert either.git("rev-parse", "fleet/main") == tip
        assert either.git("status", "--porcelain") == "?? fleet.toml"
        assert found.says.strip() in fleet.tasks.show(**TASK).log[-1].message
        assert place(fleet) == ("in_progress", "review"), "a try moves nothing"


@pytest.mark.req("PIPE-2")
def test_work_that_verify_does_not_pass_is_not_accepted_with_verify(either):
    with either.fleet() as fleet:
        worked(either, fleet, more="verify = 'test -f b.txt'\n")
        said = either.program("review", "t", "--accept", "--verify", "-p", "p")
        assert said.code == 14
        assert "verify is red" in said.err
        assert either.program("review", "t", "--send-back", "-c", "no", "--verify", "-p", "p").code == 2
        assert either.program("review", "--accept", "-p", "p").code == 2, "a person names the task"
        assert place(fleet) == ("in_progress", "review")
        configured(either, "review = 'person'\nverify = 'test -f a.txt'\n")
        assert either.program("review", "t", "--accept", "--verify", "-p", "p").code == 0
        assert place(fleet) == ("in_progress", "finisher")


@pytest.mark.req("PIPE-2")
def test_a_try_that_is_killed_leaves_nothing(either):
    with either.fleet() as fleet:
        pipe = Path(either.root, "pipe")
        os.mkfifo(pipe)
        worked(either, fleet, more=f"verify = 'echo > {either.root}/here; cat {pipe}'\n")
        trying = either.start(FLEET, "review", "t", "--verify", "-p", "p")
        until(Path(either.root, "here").exists)
        trying.kill()
        trying.wait()
        pipe.write_text("go\n")
        either.swept(fleet)
        assert fleet.files.names("projects/p/merges") == []
        assert place(fleet) == ("in_progress", "review")
        assert fleet.reviews.judge(**TASK, verdict=ACCEPT).changed


@pytest.mark.req("PIPE-2")
def test_what_a_reviewer_is_shown_is_what_was_asked_said_and_changed(either):
    with either.fleet() as fleet:
        worked(either, fleet)
        said = either.program("review", "t", "-p", "p")
        assert said.code == 0
        for words in ("t  p/t, by", "a word", "Add t", "a.txt | 1 +", "+one two"):
            assert words in said.out
        assert "p/t" in either.program("review").out
        assert either.program("review", "--list", "--json").json == [each.as_json() for each in fleet.reviews.waiting()]


@pytest.mark.req("MERGE-5", "PIPE-1", "GRAPH-13")
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_rehearsal_that_was_killed_moves_nothing_not_even_a_task_whose_branch_has_no_commits(either, where):
    with either.fleet() as fleet:
        configured(either, 'review = "person"\nverify = "true"\n')
        either.dispatch(fleet, "t", engine="scripted", script="log nothing to change\ndone\n")
        either.ended(fleet)
        assert place(fleet) == ("in_progress", "review")
        child = either.halted(where, "verify", "rehearse", "t")
        child.kill()
        child.wait(60)
        either.swept(fleet)
        assert place(fleet) == ("in_progress", "review")
        assert not fleet.tasks.show(**TASK).archived
        assert [each.slug for each in fleet.reviews.waiting()] == ["t"]

"""What a person reads when they review, land and clean up by command, at the home of a simulated scene."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.commandline import Program

from fleet.errors.families import StoreError
from fleet.errors.superseded import NotSeated, SpeakerEnded
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.merge import pull_requests

REFUSED = 14
BAD_INPUT = 2


@pytest.fixture
def program(scene: SimulatedScene, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    """The real program, in the checkout of the scene's project."""
    monkeypatch.setenv("USER", "ann")
    program = Program(Path(scene.home), Path(scene.repository))
    yield program
    program.end()


def finish(scene: SimulatedScene, slug: str, *, settings: str = "") -> str:
    """Let an agent commit its work and report it; return the commit."""
    if settings:
        Path(scene.repository, "fleet.toml").write_text(settings)
    ident = scene.work(slug)
    commit = scene.commit(slug, name=f"{slug}.txt", text=f"{slug} was here\n")
    scene.report(ident, slug)
    scene.exit(ident)
    assert scene.fleet.sessions.settle(ident).settled
    return commit


def merge(scene: SimulatedScene, slug: str) -> None:
    finish(scene, slug)
    assert scene.fleet.merge.task(project=PROJECT, slug=slug).changed


def elsewhere(scene: SimulatedScene) -> None:
    """Let the person leave the target branch, which is checked out nowhere then."""
    scene.git("checkout", "--quiet", "-b", "mine")


# land -----------------------------------------------------------------------------------------------------------------
@pytest.mark.req("MERGE-6")
def test_land_says_what_would_land_what_has_landed_and_that_nothing_is_left(scene, program):
    merge(scene, "a")
    elsewhere(scene)
    *titles, last = program("land", "--dry-run").ok().out.splitlines()
    assert [title.split(maxsplit=1)[1] for title in titles] == ["Merge a", "a.txt"]
    assert last == "2 commits of fleet/main would land on main"
    assert scene.git("rev-list", "--count", "main") == "1", "a dry run moves nothing"
    assert program("land").ok().out.splitlines()[-1] == "main is now at fleet/main (2 commits)"
    assert scene.git("rev-parse", "main") == scene.git("rev-parse", "fleet/main")
    assert program("land").ok().out == "nothing to land: main has all of fleet/main\n"


@pytest.mark.req("MERGE-6")
def test_one_commit_is_counted_as_one(scene, program):
    merge(scene, "a")
    elsewhere(scene)
    program("land").ok()
    scene.git(
        "update-ref", "refs/heads/fleet/main", scene.git("commit-tree", "-p", "main", "-m", "By hand", "main^{tree}")
    )
    assert program("land", "--dry-run").ok().out.splitlines()[-1] == "1 commit of fleet/main would land on main"
    assert program("land").ok().out.splitlines()[-1] == "main is now at fleet/main (1 commit)"


@pytest.mark.req("MERGE-6")
def test_a_target_that_is_checked_out_elsewhere_is_not_touched_and_the_command_that_lands_is_printed(
    scene, program, tmp_path
):
    merge(scene, "a")
    before = scene.git("rev-parse", "main")
    said = program("land", "-p", PROJECT, where=tmp_path)
    assert (said.code, said.err) == (REFUSED, "")
    *_titles, why, command = said.out.splitlines()
    assert why.startswith("main is checked out in ")
    assert why.endswith(", so it was not touched; to land, run:")
    assert command == f"  git -C {scene.repository} merge --ff-only fleet/main"
    assert program("land", "-p", PROJECT, "--json", where=tmp_path).json["run"] == command.strip()
    assert scene.git("rev-parse", "main") == before


@pytest.mark.req("MERGE-6")
def test_a_target_with_commits_of_its_own_is_said_to_be_a_merge_and_left_to_the_person(scene, program):
    merge(scene, "a")
    scene.git("commit", "--quiet", "--allow-empty", "--message=my own")
    said = program("land")
    assert said.code == REFUSED
    assert "main has commits of its own, so this is a merge; agents start from it afterwards\n" in said.out
    assert said.out.endswith(f"  git -C {scene.repository} merge fleet/main\n")
    elsewhere(scene)
    program("land").refused(REFUSED, "check out main and run `git merge fleet/main`")


# review ---------------------------------------------------------------------------------------------------------------
@pytest.mark.req("PIPE-2")
def test_without_a_terminal_a_review_lists_what_waits_and_shows_the_work(scene, program):
    assert program("review").ok().out == "nothing waits for your review\n"
    finish(scene, "a", settings='review = "person"\n')
    _heads, row = program("review").ok().out.splitlines()
    assert row.split()[0] == "p/a"
    assert row.endswith(" a")
    shown = program("review", "a").ok().out
    assert shown.startswith("a  p/a, by ")
    for words in (" a.txt\n", "a.txt | 1 +", "+a was here"):
        assert words in shown


@pytest.mark.req("PIPE-2")
@pytest.mark.parametrize(
    ("words", "state", "then"),
    [
        (["--accept"], "accepted", "the coordinator merges it, or `fleet merge a`"),
        (["--send-back", "-c", "say more"], "sent back", "the coordinator has it fixed, or `fleet dispatch a`"),
    ],
)
def test_a_verdict_says_what_happens_next_and_the_same_again_that_it_was_given(scene, program, words, state, then):
    finish(scene, "a", settings='review = "person"\n')
    assert program("review", "a", *words).ok().out == f"p/a is {state}: {then}\n"
    assert program("review", "a", *words).ok().out == f"p/a is {state} (it was already): {then}\n"


@pytest.mark.req("PIPE-2")
def test_a_verdict_without_a_task_or_a_reason_is_refused_and_gives_none(scene, program):
    finish(scene, "a", settings='review = "person"\n')
    program("review", "--accept").refused(BAD_INPUT, "name the task; `fleet review --list` lists the work that waits")
    program("review", "a", "--send-back").refused(BAD_INPUT, "say what has to change: --comments TEXT")
    back = program("review", "a", "--send-back", "--verify", "-c", "no")
    back.refused(BAD_INPUT, "leave it out to send work back")
    assert scene.fleet.reviews.work(project=PROJECT, slug="a").verdicts == []
    assert [work.slug for work in scene.fleet.reviews.waiting()] == ["a"]


@pytest.mark.req("PIPE-2")
def test_work_that_does_not_pass_verify_is_not_accepted_and_waits_on(scene, program):
    finish(scene, "a", settings='review = "person"\nverify = "echo it is red; exit 3"\n')
    said = program("review", "a", "--accept", "--verify")
    assert said.code == REFUSED
    assert said.err.startswith("fleet: p/a was not accepted: ")
    assert "it is red" in said.err
    assert [work.slug for work in scene.fleet.reviews.waiting()] == ["a"]


# recorded merges ------------------------------------------------------------------------------------------------------
def states(program: Program) -> list[tuple[str, str]]:
    """The task and the state of each recorded merge, as listed."""
    _head, *rows = program("merges", "list").ok().out.splitlines()
    return [(row.split()[0], row.split("UTC", 1)[1].strip()) for row in rows]


def rewind(scene: SimulatedScene) -> None:
    """Let somebody set the integration branch back to before the last merge."""
    scene.git("update-ref", "refs/heads/fleet/main", "refs/heads/fleet/main~1")


@pytest.mark.req("MERGE-5")
def test_a_merge_that_is_missing_is_listed_in_words_and_restored_once(scene, program):
    assert program("merges", "list").ok().out == "nothing was merged yet\n"
    assert program("merges", "restore").ok().out == "nothing is missing\n"
    for slug in ("a", "b"):
        merge(scene, slug)
    assert states(program) == [("b", "contained"), ("a", "contained")]
    rewind(scene)
    (_, missing), kept = states(program)
    assert (missing.split(":")[0], kept) == ("missing", ("a", "contained"))
    tip = program("merges", "restore").ok().out
    assert tip == f"restored b: the integration branch is at {scene.git('rev-parse', 'fleet/main')[:12]}\n"
    assert states(program) == [("b", "contained"), ("a", "contained")]
    assert program("merges", "restore", "--json").ok().json["restored"] == []


@pytest.mark.req("MERGE-5")
def test_a_merge_that_is_gone_on_purpose_is_acknowledged_once_with_its_reason(scene, program):
    for slug in ("a", "b"):
        merge(scene, slug)
    rewind(scene)
    program("merges", "acknowledge").refused(BAD_INPUT, "--reason")
    said = program("merges", "acknowledge", "--reason", "squashed into main").ok().out
    assert said == "acknowledged that b is gone from the integration branch\n"
    assert states(program) == [("b", "acknowledged: squashed into main"), ("a", "contained")]
    assert program("merges", "acknowledge", "--reason", "again").ok().out == "nothing is missing\n"


# pr -------------------------------------------------------------------------------------------------------------------
@pytest.mark.req("MERGE-7")
def test_a_task_that_is_sent_back_meanwhile_keeps_no_other_from_being_checked(scene, monkeypatch):
    finish(scene, "a", settings='merge = "pr"\n')
    finish(scene, "b")
    note = pull_requests._record_check_time

    def send_back(context, project, last_checks, slug):
        """The first task is sent back just before its turn."""
        note(context, project, last_checks, slug)
        if slug == "a":
            scene.open().tasks.abandon(project=PROJECT, slug=slug, override=True)

    monkeypatch.setattr(pull_requests, "_record_check_time", send_back)
    first, second = scene.fleet.merge.tend_pulls(project=PROJECT)
    assert (first.task, first.state, second.task, second.state) == ("a", "unknown", "b", "unknown")
    assert first.why == f"cannot open a pull request for task {PROJECT}/a: it is abandoned"
    assert "no remote 'origin'" in second.why


@pytest.mark.req("MERGE-7")
@pytest.mark.parametrize(
    "error",
    [
        StoreError(what="the database does not answer"),
        NotSeated(dispatch="0a1b2c3d", project=PROJECT, holder="nobody"),
        SpeakerEnded(dispatch="0a1b2c3d"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_store_that_fails_or_a_coordinator_that_has_ended_during_the_check_is_no_tasks_fault(
    scene, monkeypatch, error
):
    tried = []

    def fail(_context, _project, slug):
        tried.append(slug)
        raise error

    finish(scene, "a", settings='merge = "pr"\n')
    finish(scene, "b")
    monkeypatch.setattr(pull_requests, "open_pull_request", fail)
    with pytest.raises(type(error)):
        scene.fleet.merge.tend_pulls(project=PROJECT)
    assert tried == ["a"], "nothing is pushed for the other task"

"""A finisher's way, over the simulated world: how it ends, and that it leaves nothing."""

from pathlib import Path

import pytest

from fleet.errors.families import Refused
from fleet.errors.refused import NotMergeable
from fleet.model.dispatch.settling import Outcome
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.dispatch import settle
from fleet.verbs.dispatch.end import ask
from fleet.verbs.merge.finisher import finish, order_for
from fleet.verbs.views.operations import OperationFilter

TASK = {"project": PROJECT, "slug": "a"}


@pytest.fixture
def work(scene):
    """The commit of a task that is to be merged."""
    ident = scene.work("a")
    commit = scene.commit("a")
    scene.report(ident, "a")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    return commit


def ends(scene) -> list[tuple[str, str | None, str | None]]:
    """State, reason and stage of each finisher that has ended."""
    told = scene.fleet.operations.list(OperationFilter(**TASK), limit=100)
    return [
        (each.what["exec_state"], each.what["reason"], each.what["stage"])
        for each in told
        if each.why.startswith("end finisher")
    ]


def assert_nothing_left(scene) -> None:
    assert scene.fleet.claims.list(kind="merge_tree") == []
    assert scene.fleet.files.names("projects/p/merges") == []


@pytest.mark.parametrize("verb", ["merge", "rehearse"])
def test_one_that_is_interrupted_ends_at_once_and_the_task_can_be_merged_again(scene, work, monkeypatch, verb):
    def interrupt(*_words, **_options):
        raise KeyboardInterrupt

    act = scene.fleet.merge.task if verb == "merge" else scene.fleet.reviews.rehearse
    with monkeypatch.context() as patched:
        patched.setattr(scene.fleet.world.git, "merge", interrupt)
        with pytest.raises(KeyboardInterrupt):
            act(**TASK)
    assert ends(scene) == [("failed", "interrupted", None)]
    assert_nothing_left(scene)
    assert scene.fleet.merge.task(**TASK).changed


def test_a_conflict_parks_the_task_of_a_merge_and_not_the_one_of_a_rehearsal(scene, work):
    other = scene.work("b")
    scene.commit("b", text="other\n")
    scene.report(other, "b")
    scene.exit(other)
    scene.fleet.sessions.settle(other)
    assert scene.fleet.merge.task(project=PROJECT, slug="b").changed
    assert scene.fleet.reviews.rehearse(**TASK).as_json() == {"ok": False, "says": "conflict in work", "commit": work}
    with pytest.raises(NotMergeable) as refused:
        scene.fleet.merge.task(**TASK)
    assert ends(scene) == [("done", None, None), ("failed", str(refused.value), "rebase")]
    assert_nothing_left(scene)


def ask_finisher(scene) -> str:
    """Record that the running finisher is asked to exit; return its id."""
    [finisher] = [each for each in scene.fleet.dispatches.list(ended=False) if each.kind == "finisher"]
    ask(scene.fleet.context, scene.fleet.context.dispatch(finisher.id), asked_for="kill", reason="enough")
    return finisher.id


@pytest.mark.req("STORE-4")
@pytest.mark.parametrize("answer", ["merged", "conflict"])
def test_one_that_was_asked_to_exit_meanwhile_still_ends_with_what_it_did(scene, work, monkeypatch, answer):
    git, asked = scene.fleet.world.git, []
    merge = git.merge

    def merge_late(*words, **options):
        asked.append(ask_finisher(scene))
        if answer == "conflict":
            raise NotMergeable(**TASK, why="conflict in work", advice="", stage="rebase")
        return merge(*words, **options)

    monkeypatch.setattr(git, "merge", merge_late)
    try:
        assert scene.fleet.merge.task(**TASK).changed == (answer == "merged")
    except NotMergeable:
        assert answer == "conflict"
    [ident] = asked
    assert scene.fleet.dispatches.show(ident).exec_state == {"merged": "done", "conflict": "failed"}[answer]
    assert_nothing_left(scene)


@pytest.mark.parametrize("verb", ["merge", "rehearse"])
def test_one_that_was_asked_to_exit_and_then_interrupted_is_left_to_who_asked(scene, work, monkeypatch, verb):
    def interrupt(*_words, **_options):
        ask_finisher(scene)
        raise KeyboardInterrupt

    monkeypatch.setattr(scene.fleet.world.git, "merge", interrupt)
    with pytest.raises(KeyboardInterrupt):
        (scene.fleet.merge.task if verb == "merge" else scene.fleet.reviews.rehearse)(**TASK)
    assert ends(scene) == []
    assert [each.kind for each in scene.fleet.dispatches.list(ended=False)] == ["finisher"]


@pytest.mark.req("STORE-4")
def test_one_that_was_ended_meanwhile_parks_no_task_and_records_no_end(scene, work, monkeypatch):
    def ended_meanwhile(*_words, **_options):
        [finisher] = [each for each in scene.fleet.dispatches.list(ended=False) if each.kind == "finisher"]
        row = scene.fleet.context.dispatch(finisher.id)
        end = Outcome(exec_state="blocked", reason="disowned")
        assert scene.fleet.commit(settle._record_end(row, end, None, scene.fleet.context, None))
        raise NotMergeable(**TASK, why="conflict in work", advice="", stage="rebase")

    monkeypatch.setattr(scene.fleet.world.git, "merge", ended_meanwhile)
    before = scene.fleet.tasks.show(**TASK)
    with pytest.raises(NotMergeable):
        scene.fleet.merge.task(**TASK)
    after = scene.fleet.tasks.show(**TASK)
    assert (after.status, after.stage) == (before.status, before.stage)
    assert ends(scene) == []
    assert_nothing_left(scene)


def test_a_branch_that_cannot_be_moved_fails_it_with_no_word_about_the_task(scene, work):
    context, base = scene.fleet.context, scene.git("rev-parse", "main")
    scene.git("branch", "elsewhere", base)
    order = order_for(context, **TASK, integration="elsewhere", base=base, work=work)
    with pytest.raises(Refused, match="the branch elsewhere moved meanwhile; nothing was merged, try again") as refused:
        finish(context, order, move=lambda _made: False, verify=False)
    assert ends(scene) == [("failed", str(refused.value), None)]
    assert scene.git("rev-parse", "elsewhere") == base
    assert_nothing_left(scene)
    assert scene.fleet.merge.task(**TASK).changed


@pytest.mark.parametrize(
    ("verify", "says"),
    [("", "it merges; it has no verify command"), ("true", "it merges, and verify passes on the merged tree")],
)
def test_a_rehearsal_names_verify_only_where_there_is_a_verify_command(scene, verify, says):
    Path(scene.repository, "fleet.toml").write_text(f'[task]\nverify = "{verify}"\n' if verify else "")
    ident = scene.work("a")
    scene.commit("a")
    scene.report(ident, "a")
    scene.exit(ident)
    scene.fleet.sessions.settle(ident)
    assert scene.fleet.reviews.rehearse(**TASK).says == says

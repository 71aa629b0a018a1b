"""Tasks that are merged together, and merges that wait for each other, over the simulated world."""

from pathlib import Path

import pytest

from fleet.errors.contested import BeingMerged
from fleet.errors.families import Refused
from fleet.errors.refused import NotMergeable
from fleet.model.branches import INTEGRATION
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.coord.stages import advance_tasks
from fleet.verbs.tasks.edit import Edit


class Several:
    """Tasks that wait to be merged. The verify command counts its runs, and is red when a file `red` is there."""

    def __init__(self, scene) -> None:
        self.scene = scene
        self.log = Path(scene.root, "verified")
        self.settings("")

    def settings(self, more: str) -> None:
        text = f'verify = "echo run >>{self.log} && test ! -e red"\n{more}'
        Path(self.scene.repository, "fleet.toml").write_text(text, encoding="utf-8")

    def task(self, slug: str, name: str = "", text: str = "work\n") -> None:
        ident = self.scene.work(slug)
        self.scene.commit(slug, name or slug, text)
        self.scene.report(ident, slug)
        self.scene.exit(ident)
        self.scene.fleet.sessions.settle(ident)

    def merge(self, *slugs: str):
        return self.scene.open().merge.together(project=PROJECT, slugs=list(slugs))

    def merges(self) -> list[str]:
        """The titles of the merge commits of the integration branch, oldest first."""
        return self.scene.git("log", "--first-parent", "--merges", "--reverse", "--format=%s", INTEGRATION).splitlines()

    @property
    def verified(self) -> int:
        return len(self.log.read_text(encoding="utf-8").splitlines()) if self.log.exists() else 0

    def state(self, slug: str) -> tuple[str, str | None]:
        task = self.scene.open().tasks.show(project=PROJECT, slug=slug)
        return task.status, task.stage

    def nothing_left(self) -> bool:
        fleet = self.scene.open()
        finishers = [each for each in fleet.dispatches.list() if each.kind == "finisher"]
        return fleet.claims.list(kind="merge_tree") == [] and finishers == []


@pytest.fixture
def several(scene) -> Several:
    made = Several(scene)
    for slug in ("a", "b", "c"):
        made.task(slug)
    return made


def test_tasks_are_verified_once_and_each_has_its_own_merge_commit(several):
    done = several.merge("a", "b", "c")
    assert [each.task for each in done.merged] == ["a", "b", "c"]
    assert (several.verified, several.merges(), done.refused) == (1, ["Merge a", "Merge b", "Merge c"], [])
    recorded = several.scene.fleet.merge.recorded(project=PROJECT)
    assert [each.made for each in reversed(recorded)] == [each.commit for each in done.merged]
    assert recorded[1].made == recorded[0].base
    assert several.nothing_left()


def test_of_a_red_batch_only_the_task_to_blame_is_parked(several):
    several.task("d", "red")
    done = several.merge("a", "d", "b", "c")
    assert sorted(each.task for each in done.merged) == ["a", "b", "c"]
    assert [each.task for each in done.refused] == ["d"]
    assert "verify is red" in done.refused[0].why
    assert several.state("d") == ("blocked", "fix")
    assert several.verified <= len("adbc") + 1
    assert several.nothing_left()


def test_a_task_in_conflict_with_one_before_it_is_tried_after_that_one_and_parked(several):
    several.task("d", "a", "other\n")
    done = several.merge("a", "d", "b")
    assert [each.task for each in done.merged] == ["a", "b"]
    assert several.state("d") == ("blocked", "rebase")
    assert several.merges() == ["Merge a", "Merge b"]


def test_a_task_with_its_own_verify_is_verified_alone(several):
    several.scene.open().tasks.edit(Edit(project=PROJECT, slug="b", verify=f"echo own >>{several.log}"))
    assert len(several.merge("a", "b", "c").merged) == len("abc")
    assert sorted(several.log.read_text(encoding="utf-8").split()) == ["own", "run"]


def test_the_setting_says_how_many_are_merged_together(several):
    several.settings("merge_batch = 1\n")
    assert len(several.merge("a", "b", "c").merged) == len("abc")
    assert several.verified == len("abc")


def test_a_task_that_cannot_be_merged_does_not_keep_the_others(several):
    several.scene.fleet.tasks.add(project=PROJECT, title="Open", slug="open")
    done = several.merge("a", "open", "b")
    assert [each.task for each in done.merged] == ["a", "b"]
    assert [each.task for each in done.refused] == ["open"]


def test_a_tick_starts_one_merge_of_all_that_wait(several):
    assert advance_tasks(several.scene.fleet.context, PROJECT, []) == ["merging a, b, c"]
    assert ("merge", "a", "b", "c", "-p", PROJECT) in several.scene.machine.started


def test_a_batch_that_is_interrupted_leaves_nothing_and_can_be_merged_again(several, monkeypatch):
    def interrupt(*_words, **_options):
        raise KeyboardInterrupt

    fleet = several.scene.open()
    with monkeypatch.context() as patched:
        patched.setattr(fleet.world.git, "merge", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fleet.merge.together(project=PROJECT, slugs=["a", "b"])
    assert several.nothing_left()
    assert len(several.merge("a", "b").merged) == len("ab")


def test_one_that_is_interrupted_while_the_branch_moves_is_finished_and_not_called_failed(several, monkeypatch):
    fleet = several.scene.open()
    move = fleet.world.proofs.move_and_protect

    def moved(*words, **options):
        assert move(*words, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(fleet.world.proofs, "move_and_protect", moved)
    with pytest.raises(KeyboardInterrupt):
        fleet.merge.together(project=PROJECT, slugs=["a", "b"])
    several.scene.machine.table.exit(several.scene.process_of(fleet))
    several.merge("c")
    assert {each.task for each in several.scene.fleet.merge.recorded(project=PROJECT)} == {"a", "b", "c"}
    assert several.nothing_left()


def die(several, monkeypatch, *slugs: str, before_moving: bool) -> None:
    """Merge in a process that dies just before or just after it moved the branch."""
    fleet = several.scene.open()
    move = fleet.world.proofs.move_and_protect

    class Death(BaseException):
        pass

    def moved(*words, **options):
        if not before_moving:
            assert move(*words, **options)
        raise Death

    with monkeypatch.context() as patched:
        patched.setattr(fleet.world.proofs, "move_and_protect", moved)
        with pytest.raises(Death):
            fleet.merge.together(project=PROJECT, slugs=list(slugs))
    several.scene.machine.table.exit(several.scene.process_of(fleet))


@pytest.mark.parametrize("before_moving", [True, False])
def test_a_killed_batch_is_finished_by_the_next_merge(several, monkeypatch, before_moving):
    die(several, monkeypatch, "a", "b", before_moving=before_moving)
    done = several.merge("c")
    assert [each.task for each in done.merged] == ["c"]
    if before_moving:
        several.merge("a", "b")
    assert sorted(several.merges()) == ["Merge a", "Merge b", "Merge c"]
    assert {each.task for each in several.scene.fleet.merge.recorded(project=PROJECT)} == {"a", "b", "c"}
    assert several.nothing_left()


def test_a_decision_before_the_branch_moves_counts(several):
    """A person's word after verify and before the move: nothing of the task is merged, and the others are."""
    fleet = several.scene.open()
    announce = fleet.context.__class__.commit
    decided = []

    def commit(context, change, key=None):
        if change.why.startswith("announce the merge") and not decided:
            decided.append(several.scene.open().tasks.abandon(project=PROJECT, slug="b", override=True))
        return announce(context, change, key)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fleet.context.__class__, "commit", commit)
        done = fleet.merge.together(project=PROJECT, slugs=["a", "b"])
    assert [each.task for each in done.merged] == ["a"]
    assert "was changed meanwhile, it is abandoned now" in done.refused[0].why
    assert several.merges() == ["Merge a"]


@pytest.mark.parametrize("act", ["abandon", "unclaim"])
def test_a_decision_while_the_branch_moves_is_refused_and_not_lost_in_silence(several, monkeypatch, act):
    fleet = several.scene.open()
    move = fleet.world.proofs.move_and_protect

    def moved(*words, **options):
        with pytest.raises(BeingMerged, match=f"{PROJECT}/a is being merged at this moment, by [0-9a-f]+") as refused:
            getattr(several.scene.open().tasks, act)(project=PROJECT, slug="a", override=True)
        assert "try again" in refused.value.next_step
        return move(*words, **options)

    monkeypatch.setattr(fleet.world.proofs, "move_and_protect", moved)
    assert fleet.merge.task(project=PROJECT, slug="a").changed


def test_what_was_announced_by_a_merge_that_failed_keeps_nobody_from_deciding(several, monkeypatch):
    fleet = several.scene.open()
    monkeypatch.setattr(fleet.world.proofs, "move_and_protect", lambda *_words, **_options: False)
    with pytest.raises(Refused, match="moved meanwhile"):
        fleet.merge.task(project=PROJECT, slug="a")
    several.scene.open().tasks.abandon(project=PROJECT, slug="a", override=True)


@pytest.mark.parametrize("verb", ["merge", "rehearse"])
def test_the_second_of_two_waits_for_its_turn_and_says_for_whom(several, verb):
    gate = several.scene.fleet.world.project_gate(PROJECT, "merge")
    gate.take()
    second = several.scene.open()
    assert "pid=" in (second.merge.ahead(project=PROJECT) or "")
    several.scene.clock.later(7, gate.give)
    if verb == "merge":
        assert second.merge.task(project=PROJECT, slug="a").changed
    else:
        assert second.reviews.rehearse(project=PROJECT, slug="a").ok
    assert second.merge.ahead(project=PROJECT) is None


def test_one_that_is_interrupted_while_it_waits_leaves_nothing(several):
    def interrupt() -> None:
        raise KeyboardInterrupt

    with several.scene.fleet.world.project_gate(PROJECT, "merge"):
        several.scene.clock.later(3, interrupt)
        with pytest.raises(KeyboardInterrupt):
            several.scene.open().merge.task(project=PROJECT, slug="a")
    assert several.nothing_left()
    assert several.scene.open().merge.task(project=PROJECT, slug="a").changed


def test_a_task_that_the_merge_ahead_has_merged_is_merged_already(several):
    gate = several.scene.fleet.world.project_gate(PROJECT, "merge")
    first, second = several.scene.open(), several.scene.open()

    def finish() -> None:
        gate.give()
        first.merge.task(project=PROJECT, slug="a")

    gate.take()
    several.scene.clock.later(1, finish)
    assert not second.merge.task(project=PROJECT, slug="a").changed


def test_one_task_alone_raises_its_own_error(several):
    several.task("d", "red")
    with pytest.raises(NotMergeable, match="verify is red"):
        several.scene.open().merge.task(project=PROJECT, slug="d")

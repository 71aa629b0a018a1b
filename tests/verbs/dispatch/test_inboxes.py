"""The file of a prompt: whole and durable, rewritten once, released as its claim says."""

import json
import os
from pathlib import Path

import pytest

from fleet.errors.families import Contested, LeftAlone
from fleet.model.dispatch.claim import Claim
from fleet.store import queries as q
from fleet.store.row import Query
from fleet.testing.simulated import SimulatedScene
from fleet.testing.simulated.scene import PROJECT
from fleet.verbs.agents import prompts
from fleet.verbs.agents.prompts import WantedPrompt
from fleet.verbs.dispatch.acquire import release

A, B, C = "aaaaaaaa", "bbbbbbbb", "cccccccc"
KIND = "coord_prompt_inbox"


def acquire(scene: SimulatedScene, ident: str, slug: str, text: str, *, fleet=None, preserve: bool = False) -> Path:
    fleet = fleet or scene.fleet
    fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
    wanted = WantedPrompt(owner=f"project/{PROJECT}/slug/{slug}", preserve=preserve)
    return Path(fleet.claims.acquire_prompt(ident, text, wanted).path)


def inbox(scene: SimulatedScene, ident: str) -> Claim:
    rows = scene.fleet.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=ident))
    return next(Claim.of(row) for row in rows if row.kind == KIND)


def inbox_from(scene: SimulatedScene, ident: str, old: str) -> Claim:
    return next(claim for claim in claims_of(scene, ident) if claim.data.get("rewritten_from") == old)


class Watched:
    """Every sync and rename of this process, and what a reader finds at a path just then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self.path, self.calls, self.read = path, [], set()
        self._fsync, self._rename = os.fsync, os.rename
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(os, "rename", self.rename)

    def fsync(self, handle: int) -> None:
        self._look()
        self._fsync(handle)
        self.calls.append(("sync", os.fstat(handle).st_ino, os.fstat(handle).st_size))

    def rename(self, source: str, target: str, **how: int) -> None:
        self._look()
        self.calls.append(("rename", os.stat(source).st_ino, os.stat(source).st_size))
        self._rename(source, target, **how)
        self._look()

    def _look(self) -> None:
        self.read.add(self.path.read_text() if self.path.exists() else None)


@pytest.mark.req("DEL-1", "DEL-3")
def test_a_prompt_is_synced_before_it_has_its_name_and_its_folder_after(scene, monkeypatch):
    long = "x" * 100_000
    path = Path(scene.home, "inbox", f"{A}.md")
    first = Watched(monkeypatch, path)
    assert acquire(scene, A, "a", long) == path
    made, folder = path.stat(), path.parent.stat().st_ino
    assert [call[:2] for call in first.calls if call[1] in {made.st_ino, folder}] == [
        ("sync", made.st_ino),
        ("rename", made.st_ino),
        ("sync", folder),
    ]
    assert {call[2] for call in first.calls if call[1] == made.st_ino} == {len(long)}, (
        "synced and named when it is whole"
    )
    assert (first.read, made.st_mode & 0o777, made.st_nlink) == ({None, long}, 0o600, 1)

    acquire(scene, B, "b", "another\n")
    again = Watched(monkeypatch, path)
    scene.fleet.claims.rewrite_prompt(B, A, "new\n")
    new = path.stat().st_ino
    assert new != made.st_ino, "not written in its place"
    assert [call[:2] for call in again.calls if call[1] in {new, folder}] == [
        ("sync", new),
        ("rename", new),
        ("sync", folder),
    ]
    assert again.read == {long, "new\n"}, "a reader sees the old one or the new one"
    assert os.listdir(path.parent) == sorted([f"{A}.md", f"{B}.md"])


@pytest.mark.req("DEL-2")
def test_a_released_prompt_goes_or_is_kept_in_the_archive_as_its_claim_says(scene):
    gone, kept = acquire(scene, A, "a", "gone\n"), acquire(scene, B, "b", "kept\n", preserve=True)
    for ident in (A, B):
        assert scene.fleet.claims.release_prompt(ident, KIND).outcome == "released"
        assert inbox(scene, ident).state == "released"
    archive = Path(scene.home, "inbox", "archive")
    assert (gone.exists(), kept.exists(), os.listdir(archive)) == (False, False, [kept.name])
    assert (archive / kept.name).read_text() == "kept\n"


@pytest.mark.req("DEL-2", "CLAIMS-4")
def test_the_release_of_a_dispatch_with_two_inboxes_releases_both(scene):
    theirs, mine = acquire(scene, A, "a", "first\n"), acquire(scene, B, "b", "-")
    fleet = scene.fleet
    fleet.claims.rewrite_prompt(B, A, "new\n")
    assert fleet.claims.release_prompt(B, KIND).outcome == "released"
    assert (theirs.exists(), mine.exists(), fleet.claims.list("delivery")) == (False, False, [])
    assert fleet.claims.release_prompt(B, KIND).outcome == "already_released"


@pytest.mark.req("DEL-2", "CLAIMS-4")
def test_of_two_inboxes_the_one_that_is_ours_is_released_when_the_other_is_not(scene):
    theirs, mine = acquire(scene, A, "a", "first\n"), acquire(scene, B, "b", "-")
    scene.fleet.claims.rewrite_prompt(B, A, "new\n")
    theirs.unlink()
    theirs.mkdir()
    with pytest.raises(LeftAlone, match=f"inbox/{A}.md: foreign"):
        scene.fleet.claims.release_prompt(B, KIND)
    assert (theirs.is_dir(), mine.exists()) == (True, False)


@pytest.mark.req("DEL-3", "DEL-4")
def test_a_rewrite_that_is_repeated_after_its_release_writes_no_file(scene):
    path = acquire(scene, A, "a", "first\n")
    acquire(scene, B, "b", "-")
    fleet = scene.fleet
    fleet.context.commit(prompts._hand_over_inbox(inbox(scene, A), B, "second\n"))  # and the rewriter is killed
    assert fleet.claims.release_prompt(B, "handoff_resume_inbox").outcome == "released"
    assert not path.exists()
    again = fleet.claims.rewrite_prompt(B, A, "second\n")
    assert (again.outcome, again.path) == ("already_rewritten", None)
    assert not path.exists(), "nobody would ever release it"
    assert f"inbox/{A}.md" not in {each.what for each in fleet.sweep.run(kill=True)}


@pytest.mark.req("DEL-3", "DEL-4")
def test_an_inbox_is_not_released_between_the_last_look_of_its_rewriter_and_the_file(scene, monkeypatch):
    monkeypatch.setattr("fleet.verbs.dispatch.acquire._PATIENCE", 0.0)
    path = acquire(scene, A, "a", "first\n")
    acquire(scene, B, "b", "-")
    fleet, other, tried = scene.fleet, scene.open(), []

    class Release:
        def before(self, effect: str) -> None:
            if effect.startswith("publish inbox/") and not tried:
                tried.append(release(other.context, inbox_from(scene, B, A)))

        def during(self, effect: str, pid: int) -> None:
            pass

        def after(self, effect: str) -> None:
            pass

    fleet.funnel.watcher = Release()
    assert fleet.claims.rewrite_prompt(B, A, "second\n").outcome == "rewritten"
    fleet.funnel.watcher = None
    assert [why.cause for why in tried] == ["busy"]
    assert (path.read_text(), inbox_from(scene, B, A).state) == ("second\n", "live")
    assert release(other.context, inbox_from(scene, B, A)) == ""
    assert not path.exists()


@pytest.mark.req("DEL-3")
def test_a_rewrite_that_another_process_keeps_to_itself_is_contested(scene, monkeypatch):
    monkeypatch.setattr(prompts, "_PATIENCE", 0.0)
    path = acquire(scene, A, "a", "first\n")
    acquire(scene, B, "b", "-")
    lock = scene.fleet.world.effect_lock(inbox(scene, A).id)
    lock.take()
    try:
        with pytest.raises(Contested, match="another process works on it"):
            scene.fleet.claims.rewrite_prompt(B, A, "second\n")
    finally:
        lock.give()
    assert path.read_text() == "first\n"
    assert scene.fleet.claims.rewrite_prompt(B, A, "second\n").outcome == "already_rewritten"
    assert path.read_text() == "second\n"


@pytest.mark.req("DEL-3")
def test_a_rewrite_that_somebody_else_has_finished_and_handed_on_is_not_written_again(scene):
    path = acquire(scene, A, "a", "first\n")
    acquire(scene, B, "b", "-")
    acquire(scene, C, "c", "-")
    fleet = scene.fleet
    fleet.context.commit(prompts._hand_over_inbox(inbox(scene, A), B, "second\n"))
    remembered = next(claim for claim in claims_of(scene, B) if "rewrite" in claim.data)
    assert path.read_text() == "first\n"
    prompts.finish_rewrite(fleet.context, remembered)
    assert path.read_text() == "second\n"
    assert fleet.claims.rewrite_prompt(C, B, "third\n").path == str(path)
    prompts.finish_rewrite(fleet.context, remembered)
    assert path.read_text() == "third\n", "what a slow sweeper remembers is over"


@pytest.mark.req("DEL-3")
def test_an_inbox_that_is_handed_on_while_its_file_is_written_keeps_the_content_of_its_new_owner(scene):
    path = acquire(scene, A, "a", "first\n")
    acquire(scene, B, "b", "-")
    acquire(scene, C, "c", "-")
    fleet, other = scene.fleet, scene.open()
    fleet.context.commit(prompts._hand_over_inbox(inbox(scene, A), B, "second\n"))
    slow = next(claim for claim in claims_of(scene, B) if "rewrite" in claim.data)

    class HandOn:
        def before(self, effect: str) -> None:
            pass

        def during(self, effect: str, pid: int) -> None:
            pass

        def after(self, effect: str) -> None:
            if effect.startswith("publish inbox/"):
                fleet.funnel.watcher = None
                other.context.commit(prompts._hand_over_inbox(slow, C, "third\n"))

    fleet.funnel.watcher = HandOn()
    prompts.finish_rewrite(fleet.context, slow)
    handed = next(claim for claim in claims_of(scene, C) if claim.id == slow.id)
    assert (handed.data["rewrite"], handed.data["rewritten_from"]) == ("third\n", B), "it is still to be written"
    other.sweep.run(kill=True, phases=frozenset({"orphans"}))
    assert path.read_text() == "third\n"
    assert "rewrite" not in json.loads(next(claim for claim in raw_claims(scene, C) if claim.id == slow.id).data)


@pytest.mark.req("DEL-3")
def test_only_the_owner_s_live_inbox_is_handed_over(scene):
    acquire(scene, A, "a", "first\n")
    acquire(scene, B, "b", "-")
    acquire(scene, C, "c", "-")
    mine, fleet = inbox(scene, A), scene.fleet

    def take(tx, ident):
        return {"taken": prompts.take_over(tx, mine, ident, "new\n") is not None}

    assert fleet.store.transact("first", lambda tx: take(tx, B), fleet.caller())["taken"]
    assert not fleet.store.transact("second", lambda tx: take(tx, C), fleet.caller())["taken"], "it is B's by now"
    fleet.claims.release_prompt(C, KIND)
    released = inbox(scene, C)
    answer = fleet.store.transact(
        "third", lambda tx: {"taken": prompts.take_over(tx, released, B, "new\n") is not None}, fleet.caller()
    )
    assert not answer["taken"], "it is released"


@pytest.mark.req("DEL-4", "DEL-2")
def test_a_file_is_managed_when_a_claim_names_it_whatever_its_name_says(scene):
    fleet = scene.fleet
    path = acquire(scene, A, "a", "first\n")
    with scene.called_by_program() as (command, program):
        acquire(scene, B, "b", "-", fleet=command)
    fleet.claims.rewrite_prompt(B, A, "new\n")
    stray = path.with_name("0123abcd.md")
    stray.write_text("a person's\n")
    found = {each.what: (each.action, each.done) for each in fleet.sweep.run(kill=True, phases=frozenset({"orphans"}))}
    assert found["inbox/0123abcd.md"] == ("listed only", False)
    assert f"inbox/{A}.md" not in found, "it has A's name, and B has it"
    assert fleet.claims.release_prompt(A, KIND).outcome == "already_released"
    assert (path.read_text(), stray.read_text()) == ("new\n", "a person's\n")
    scene.machine.table.exit(program)
    fleet.dispatches.kill(B, "a test")
    assert (path.exists(), stray.read_text()) == (False, "a person's\n"), "it went with its owner"


class Killed(BaseException):
    """The process that was writing is no more."""


class DieAt:
    """Ends the process at the effect that publishes a prompt."""

    def __init__(self, when: str) -> None:
        self.when = when

    def before(self, effect: str) -> None:
        self._at("before", effect)

    def during(self, effect: str, pid: int) -> None:
        pass

    def after(self, effect: str) -> None:
        self._at("after", effect)

    def _at(self, when: str, effect: str) -> None:
        if (when, effect.partition("/")[0]) == (self.when, "publish inbox"):
            raise Killed


@pytest.mark.req("DEL-5", "DEL-3")
def test_a_kill_around_the_file_of_a_prompt_or_of_its_rewrite_is_repaired_by_the_next_sweep(scene):
    fleet = scene.fleet
    acquire(scene, C, "c", "-")
    for number, when in enumerate(("before", "after")):
        doomed, slug = scene.open(), f"t{number}"
        fleet.tasks.add(project=PROJECT, title=slug, slug=slug)
        doomed.funnel.watcher = DieAt(when)
        with pytest.raises(Killed):
            scene.dispatch(slug, doomed)
        (ident,) = (each.id for each in fleet.dispatches.list(ended=False) if each.slug == slug)
        assert inbox(scene, ident).state == "allocating"
        fleet.sweep.run(kill=True)
        assert inbox(scene, ident).state == "allocating", "its maker lives"
        scene.machine.table.exit(scene.process_of(doomed))
        fleet.sweep.run(kill=True)
        assert f"{ident}.md" not in fleet.files.names("inbox")
        assert fleet.tasks.show(project=PROJECT, slug=slug).status == "open"

        path, rewriter = acquire(scene, f"{number}aaaaaaa", f"a{number}", "old\n"), scene.open()
        rewriter.funnel.watcher = DieAt(when)
        with pytest.raises(Killed):
            rewriter.claims.rewrite_prompt(C, f"{number}aaaaaaa", "new\n")
        assert path.read_text() == ("old\n" if when == "before" else "new\n")
        fleet.sweep.run(kill=True)
        assert path.read_text() == "new\n", "the store has what it was to say"
        assert not any("rewrite" in claim.data for claim in claims_of(scene, C))


@pytest.mark.req("DEL-6")
def test_a_claim_of_an_unknown_kind_is_shown_and_nobody_releases_it(scene):
    ident, fleet = scene.work("a"), scene.fleet
    host, home = fleet.world.host.id, fleet.world.record.id
    columns = "id, dispatch, host, home, kind, name, state, actor, effect_lock, data, created_at, updated_at"
    values = f"'x', '{ident}', '{host}', '{home}', 'remote_control_inbox', 'rc/1', 'live', '', 'x', '{{}}', 1, 1"
    insert = f"INSERT INTO claims ({columns}) VALUES ({values})"
    fleet.store.transact("a newer fleet", lambda tx: tx.write(Query("raw", insert, insert), {}), fleet.caller())
    (strange,) = (claim for claim in claims_of(scene, ident) if claim.kind == "remote_control_inbox")
    assert "unknown kind, left alone" in release(fleet.context, strange)
    fleet.dispatches.kill(ident, "a test")
    fleet.tasks.archive(project=PROJECT, slug="a")
    fleet.sweep.run(kill=True)
    assert next(claim.state for claim in claims_of(scene, ident) if claim.id == "x") == "live"
    (shown,) = fleet.claims.list(kind="remote_control_inbox")
    assert (shown.class_, shown.name, shown.state) == ("unknown", "rc/1", "live")


def raw_claims(scene: SimulatedScene, ident: str) -> list:
    return scene.fleet.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch=ident))


def claims_of(scene: SimulatedScene, ident: str) -> list[Claim]:
    return [Claim.of(row) for row in raw_claims(scene, ident)]

"""`fleet claims` for programs, without the command line: each outcome, its exit code, and what becomes of the prompt. On both stores."""

from pathlib import Path

import pytest
from contract.dispatch.journals import write

from fleet import errors
from fleet.verbs.agents.prompts import WantedPrompt

A, B, C = "aaaaaaaa", "bbbbbbbb", "cccccccc"
KIND = "coord_prompt_inbox"


class Programs:
    """What programs ask for, and what they find."""

    def __init__(self, fleet, home: Path) -> None:
        self.fleet, self.home = fleet, home
        for slug in ("t", "u"):
            fleet.tasks.add(project="p", title=slug, slug=slug)

    def acquire(self, ident: str, content: str = "first", *, owner: str = "project/p/slug/t", **wanted) -> str:
        answer = self.fleet.claims.acquire_prompt(ident, content, WantedPrompt(owner=owner, **wanted))
        assert (answer.dispatch_id, answer.kind, answer.path) == (ident, KIND, str(self.home / "inbox" / f"{ident}.md"))
        return answer.outcome

    def release(self, ident: str, kind: str = KIND) -> str:
        return self.fleet.claims.release_prompt(ident, kind).outcome

    def rewrite(self, new: str, old: str, content: str = "second") -> str:
        return self.fleet.claims.rewrite_prompt(new, old, content).outcome

    def text(self, ident: str) -> str | None:
        path = self.home / "inbox" / f"{ident}.md"
        return path.read_text() if path.exists() else None

    def dispatches(self) -> list[str]:
        return [each.id for each in self.fleet.dispatches.list()]


@pytest.fixture
def programs(fleet, home):
    return Programs(fleet, home)


@pytest.mark.req("CLAIMS-1", "CLAIMS-3", "CLAIMS-4")
def test_a_prompt_is_published_once_and_its_dispatch_is_pending(programs):
    assert programs.acquire(A) == "acquired"
    assert programs.acquire(A, "another") == "already_acquired"
    assert programs.text(A) == "first"
    row = programs.fleet.dispatches.show(A)
    assert (row.exec_state, row.kind, row.owner) == ("pending", "worker", "project/p/slug/t")


@pytest.mark.req("CLAIMS-1", "CLAIMS-4")
@pytest.mark.parametrize(
    ("wanted", "error", "code"),
    [
        ({"owner": "coord/p"}, errors.NotOwned, 10),
        ({"ident": B, "owner": "project/p/slug/nowhere"}, errors.Absent, 11),
        ({"ident": B}, errors.BundleHeld, 12),
        ({"ident": B, "owner": "project/p/slug/u", "host_id": "elsewhere"}, errors.OtherHost, 14),
        ({"ident": B, "owner": "project/p/slug/u", "tmux_socket": "/elsewhere"}, errors.OtherHost, 14),
        ({"ident": B, "owner": "project/p/slug/u", "kind": "coord"}, errors.BadInput, 2),
        ({"ident": B, "owner": "coord/p", "kind": "worker"}, errors.BadInput, 2),
        ({"ident": B, "owner": "project/p/slug/u/v"}, errors.BadInput, 2),
        ({"ident": "nonsense"}, errors.FleetError, 2),
    ],
)
def test_a_refused_prompt_has_its_code_and_makes_nothing(programs, wanted, error, code):
    programs.acquire(A)
    with pytest.raises(error) as refused:
        programs.acquire(**{"ident": A, **wanted})
    assert refused.value.code == code
    assert (programs.dispatches(), programs.text(A), programs.text(B)) == ([A], "first", None)


@pytest.mark.req("CLAIMS-4", "STORE-1")
def test_an_id_that_was_used_before_is_superseded(programs):
    programs.acquire(A)
    programs.release(A)
    write(programs.fleet, f"DELETE FROM claims WHERE dispatch = '{A}'", f"DELETE FROM dispatches WHERE id = '{A}'")
    with pytest.raises(errors.Superseded) as refused:
        programs.acquire(A)
    assert refused.value.code == 13
    assert (programs.dispatches(), programs.text(A)) == ([], None)


@pytest.mark.req("CLAIMS-1", "CLAIMS-4")
def test_a_dispatch_that_ended_gets_no_prompt(programs):
    programs.acquire(A)
    programs.release(A)
    write(programs.fleet, f"UPDATE dispatches SET exec_state = 'failed' WHERE id = '{A}'")
    with pytest.raises(errors.Superseded):
        programs.acquire(A)
    assert programs.text(A) is None


@pytest.mark.req("CLAIMS-1", "CLAIMS-4")
@pytest.mark.parametrize("preserve", [False, True])
def test_a_release_removes_the_prompt_or_keeps_it_in_the_archive_and_may_be_repeated(programs, preserve):
    programs.acquire(A, preserve=preserve)
    assert (programs.release(A), programs.release(A)) == ("released", "already_released")
    assert programs.text(A) is None
    kept = programs.home / "inbox/archive" / f"{A}.md"
    assert (kept.read_text() if kept.exists() else None) == ("first" if preserve else None)


@pytest.mark.req("CLAIMS-4")
def test_a_release_of_what_is_unknown_or_the_tasks_is_refused(programs):
    programs.acquire(A)
    for ident, kind, code in ((B, KIND, 11), (A, "nonsense", 2), (A, "worktree", 2)):
        with pytest.raises(errors.FleetError) as refused:
            programs.release(ident, kind)
        assert refused.value.code == code
    assert programs.text(A) == "first"


@pytest.mark.req("CLAIMS-1", "CLAIMS-4", "DEL-3")
def test_a_rewrite_moves_the_prompt_to_its_new_owner_once(programs):
    programs.acquire(A)
    programs.acquire(B, "its own", owner="project/p/slug/u")
    assert (programs.rewrite(B, A), programs.rewrite(B, A, "third")) == ("rewritten", "already_rewritten")
    assert programs.text(A) == "second"
    assert programs.release(A) == "already_released"
    assert programs.text(A) == "second", "it is not the old owner's any more"
    [moved] = [claim for claim in programs.fleet.claims.list(kind=KIND) if "rewritten_from" in claim.data]
    assert (moved.dispatch, moved.state, moved.data["rewritten_from"]) == (B, "live", A)
    assert "rewrite" not in moved.data, "the fact is written down"


@pytest.mark.req("CLAIMS-4", "DEL-3")
def test_a_rewrite_without_a_prompt_or_for_nobody_is_refused(programs):
    programs.acquire(A)
    programs.acquire(B, "its own", owner="project/p/slug/u")
    for new, old, code in ((C, A, 11), (B, C, 11)):
        with pytest.raises(errors.FleetError) as refused:
            programs.rewrite(new, old)
        assert refused.value.code == code
    write(programs.fleet, f"UPDATE dispatches SET exec_state = 'failed' WHERE id = '{B}'")
    with pytest.raises(errors.Superseded) as late:
        programs.rewrite(B, A)
    assert (late.value.code, programs.text(A)) == (13, "first")


@pytest.mark.req("CLAIMS-1", "CLAIMS-3")
def test_inspect_looks_anew_at_each_claim(programs):
    programs.acquire(A)
    inbox = programs.home / "inbox" / f"{A}.md"
    seen = []
    for change in (lambda: None, inbox.unlink, inbox.mkdir):
        change()
        answer = programs.fleet.claims.inspect(A)
        [claim] = [claim for claim in answer.claims if claim.kind == KIND]
        seen.append((answer.outcome, claim.state, claim.look))
    assert seen == [("inspected", "live", "ours"), ("inspected", "live", "absent"), ("inspected", "live", "foreign")]
    inbox.rmdir()
    with pytest.raises(errors.Absent):
        programs.fleet.claims.inspect(C)

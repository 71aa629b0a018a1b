"""A dispatch leaves the tables only after its journal is in the archive, and the journal says what the rows said. On both stores."""

import json

import pytest
from contract.dispatch.journals import AT, begin, write

from fleet.store import queries as q
from fleet.verbs.dispatch.journal import archive, archived_dispatch


@pytest.fixture
def ended(fleet):
    """A dispatch that ended and holds nothing any more."""
    begin(fleet, "00000001", "a", state="failed")
    columns = "id, dispatch, host, kind, name, state, actor, created_at, updated_at"
    write(
        fleet,
        "UPDATE dispatches SET recl_state = 'complete', blocked_reason = 'why', report = 'failed' WHERE id = '00000001'",
        f"INSERT INTO claims ({columns}) VALUES ('c1', '00000001', 'h', 'tmux_session', 'n', 'released', 'x', 1, 1)",
    )
    return fleet


def is_stored(fleet) -> bool:
    return fleet.store.read(lambda rows: q.dispatch_by_id(rows, id="00000001")) is not None


@pytest.mark.req("AUD-2")
def test_the_journal_is_written_and_synced_before_the_rows_go(ended, monkeypatch):
    order = []
    publish, commit = type(ended.files).publish, type(ended.context).commit
    monkeypatch.setattr(
        type(ended.files),
        "publish",
        lambda files, *given, **more: order.append("file") or publish(files, *given, **more),
    )
    monkeypatch.setattr(
        type(ended.context), "commit", lambda context, change: order.append("rows") or commit(context, change)
    )
    name = archive(ended.context, "00000001")
    assert order == ["file", "rows"]
    assert name == f"dispatches/archive/00000001-{AT}.json"
    assert not is_stored(ended)
    assert ended.store.read(lambda rows: q.claims_of_dispatch(rows, dispatch="00000001")) == []


@pytest.mark.req("AUD-2")
def test_a_journal_that_cannot_be_written_keeps_its_rows(ended, monkeypatch):
    def full(*_given: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(ended.files), "publish", full)
    with pytest.raises(OSError, match="No space"):
        archive(ended.context, "00000001")
    assert is_stored(ended)


@pytest.mark.req("AUD-2")
def test_the_archived_journal_says_what_the_rows_said(ended, home):
    before = ended.store.read(lambda rows: q.dispatch_by_id(rows, id="00000001"))
    document = json.loads((home / archive(ended.context, "00000001")).read_text())
    assert (document["exec_state"], document["blocked_reason"], document["report"]) == ("failed", "why", "failed")
    assert [(claim["kind"], claim["state"]) for claim in document["claims"]] == [("tmux_session", "released")]
    again = archived_dispatch(ended.context, "00000001")
    assert again is not None
    assert again.as_json() == before.as_json()
    assert archive(ended.context, "00000001") == "", "the second time there is nothing to do"


@pytest.mark.req("AUD-2")
def test_an_archiving_that_is_repeated_writes_the_same_file(ended, home, monkeypatch):
    """Killed between the file and the rows: the next one writes it once more, under the same name."""

    class Killed(BaseException):
        pass

    def killed(*_given: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(type(ended.context), "commit", killed)
        with pytest.raises(Killed):
            archive(ended.context, "00000001")
    assert is_stored(ended)
    archive(ended.context, "00000001")
    assert len(list((home / "dispatches/archive").iterdir())) == 1


@pytest.mark.req("AUD-2")
def test_a_dispatch_that_still_holds_something_stays(ended):
    write(ended, "UPDATE dispatches SET recl_state = 'partial' WHERE id = '00000001'")
    archive(ended.context, "00000001")
    assert is_stored(ended)

"""`fleet dispatches show` and `list`: what is recorded, what is there now, and how old it is."""

import pytest

from fleet.api.fleet import Fleet
from fleet.model.text.times import HOUR, MINUTE
from fleet.store.transaction import Change

A = "aaaaaaaa"


def made_before(line, milliseconds: int) -> None:
    """Let the dispatch and its claims be older."""
    with Fleet.open(str(line.home), actor="tester") as fleet:

        def work(tx) -> None:
            for table, key in (("dispatches", "id"), ("claims", "dispatch")):
                tx._db.execute(f"UPDATE {table} SET created_at = created_at - {milliseconds} WHERE {key} = '{A}'")

        fleet.context.commit(Change("let time pass", work))


@pytest.fixture
def line(either):
    either.add("t")
    either("claims", "acquire-prompt", A, "--owner", "t", stdin=b"x").ok()
    made_before(either, 3 * HOUR + 5 * MINUTE)
    return either


@pytest.mark.req("OBS-1")
def test_show_says_what_is_there_now_and_how_old_each_claim_is(line):
    shown = line("dispatches", "show", A).ok().out.splitlines()
    assert ["age", "3h"] in [row.split() for row in shown]
    assert shown[-2].split() == ["delivery", "coord_prompt_inbox", "live", "ours", "3h", f"inbox/{A}.md"]
    assert shown[-1].split() == ["exclusive", "agent_record", "missing", "missing"]
    (line.home / "inbox" / f"{A}.md").unlink()
    journal = line.ask("dispatches", "show", A)
    inbox, record = journal["claims"]
    assert (inbox["state"], inbox["look"], inbox["age"] // 60) == ("live", "absent", 185), "looked at anew"
    assert (record["look"], "age" in record, journal["age"] // 60) == ("missing", False, 185)
    assert inbox["created_at"] < journal["updated_at"]


@pytest.mark.req("OBS-1")
def test_the_list_says_how_old_each_dispatch_is(line):
    head, row = line("dispatches", "list").ok().out.splitlines()
    cells = dict(zip(head.split(), row.split(), strict=False))
    assert (cells["ID"], cells["EXEC"], cells["RECLAIM"], cells["CLAIMS"], cells["AGE"]) == (
        A,
        "pending",
        "pending",
        "1",
        "3h",
    )
    assert line.ask("dispatches", "list")[0]["age"] // 60 == 185


@pytest.mark.req("OBS-1", "EXC-7")
def test_of_a_claim_of_another_home_nothing_is_known_here(line):
    with Fleet.open(str(line.home), actor="tester") as fleet:

        def work(tx) -> None:
            tx._db.execute(f"UPDATE claims SET home = 'another', host = 'elsewhere' WHERE dispatch = '{A}'")

        fleet.context.commit(Change("a claim of another home", work))
    (line.home / "inbox" / f"{A}.md").unlink()
    assert line.ask("dispatches", "show", A)["claims"][0]["look"] == "unknown"

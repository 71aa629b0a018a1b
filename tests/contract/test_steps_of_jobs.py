"""Every state and every event of items, jobs and their phases, driven through the code on a store, as in tasks/test_steps.py."""

from types import SimpleNamespace

import pytest

from fleet.model.jobs import items as jobs
from fleet.verbs.jobs import cancel, records
from fleet.verbs.jobs.items import dead_letters


@pytest.fixture
def job(table):
    new = records.NewJob(id="0000000c", project="p", name="j", source="s", folder="f", parameters={}, home="h")
    table.fleet.commit(records.create(new, ["setup"]))
    table.do("INSERT INTO items (job, id, part, number, data) VALUES ('0000000c', 'i', 'map', 1, '{}')")
    return SimpleNamespace(id="0000000c", project="p", name="j"), new


def test_items(table, job, monkeypatch):
    mine, _new = job
    one = "SELECT * FROM items WHERE id = 'i'"
    commit = table.fleet.commit
    monkeypatch.setattr(dead_letters, "_named_items", lambda *_given, **_how: [SimpleNamespace(id="i")])
    monkeypatch.setattr(dead_letters, "refuse_foreign", lambda *_given: None)
    monkeypatch.setattr(dead_letters.merge_item, "release_item", lambda *_given, **_how: [])
    context = SimpleNamespace(store=table.fleet.store, commit=commit)

    def failed(state):
        failure = records.FailedAttempt(
            item=SimpleNamespace(**table.one(one)), state=state, reason="so", signature="s", where="w"
        )
        commit(records.record_outcomes(mine, [], [failure], [], merge=True))

    def listed(found, number):
        table.do(f"UPDATE items SET number = {number}, reason = '{records.GONE}' WHERE id = 'i'")
        commit(records.add_items(mine.id, found))

    drivers = {
        "start": lambda: commit(records.start(mine, [SimpleNamespace(id="i")], tasks=False)),
        "put_back": lambda: commit(records.put_back(mine, ["i"], began=True)),
        "pass": lambda: commit(records.record_outcomes(mine, [SimpleNamespace(id="i")], [], [], merge=True)),
        "finish": lambda: commit(records.finish(mine, "i", None)),
        "retry": lambda: failed("waiting"),
        "give_up": lambda: failed("dead"),
        "park": lambda: failed("parked"),
        "skip": lambda: failed("skipped"),
        "revive": lambda: dead_letters.retry(context, mine.id, (), everything=True),
        "drop": lambda: dead_letters.drop(context, mine.id, (), everything=True),
        "reset": lambda: commit(records.repeat_part(mine, "i")),
        "go_missing": lambda: listed([], 1),
        "come_back": lambda: table.tx(lambda tx: records.bring_back(tx, mine.id)),
    }
    assert set(drivers) == set(jobs.EVENTS)

    def put(state):
        gone = f"number = 1, reason = '{records.GONE}', verdict = NULL"
        table.do(
            f"UPDATE items SET state = '{state}', {gone} WHERE id = 'i'",
            "UPDATE jobs SET state = 'running', phase = 'map'",
        )

    table.compare(jobs.STEPS, jobs.STATES, drivers, put=put, now=lambda: table.one(one)["state"])


def test_jobs(table, job, monkeypatch):
    mine, new = job
    ident, commit = mine.id, table.fleet.commit
    monkeypatch.setattr(dead_letters, "_named_items", lambda *_given, **_how: [SimpleNamespace(id="i")])
    monkeypatch.setattr(dead_letters, "refuse_foreign", lambda *_given: None)
    context = SimpleNamespace(store=table.fleet.store, commit=commit)
    drivers = {
        "begin": lambda: commit(records.begin(ident)),
        "renew": lambda: commit(records.renew(new, [])),
        "finish": lambda: commit(records.end(ident, "done", None)),
        "pause": lambda: commit(records.end(ident, "paused", None)),
        "fail": lambda: commit(records.end(ident, "failed", None)),
        "cancel": lambda: commit(cancel._set_cancelled(ident, "so")),
        "reopen": lambda: dead_letters.retry(context, ident, (), everything=True),
    }
    assert set(drivers) == set(jobs.JOB_EVENTS)

    def put(state):
        table.do(f"UPDATE jobs SET state = '{state}', phase = 'map'", "UPDATE items SET state = 'dead' WHERE id = 'i'")

    now = lambda: table.one("SELECT state FROM jobs")["state"]  # noqa: E731
    table.compare(jobs.JOB_STEPS, jobs.JOB_STATES, drivers, put=put, now=now)


def test_phases_of_jobs(table, job, monkeypatch):
    mine, new = job
    commit = table.fleet.commit
    monkeypatch.setattr(dead_letters, "_named_items", lambda *_given, **_how: [SimpleNamespace(id="i")])
    monkeypatch.setattr(dead_letters, "refuse_foreign", lambda *_given: None)
    context = SimpleNamespace(store=table.fleet.store, commit=commit)
    now = lambda: table.one("SELECT phase FROM jobs")["phase"]  # noqa: E731
    drivers = {
        "list": lambda: commit(records.add_items(mine.id, [])),
        "reduce": lambda: commit(records.step_phase(mine.id, now(), "reduce")),
        "close": lambda: commit(records.step_phase(mine.id, now(), "close")),
        "renew": lambda: commit(records.renew(new, [])),
        "reopen": lambda: dead_letters.retry(context, mine.id, (), everything=True),
    }
    assert set(drivers) == set(jobs.PHASE_EVENTS)

    def put(phase):
        table.do(
            f"UPDATE jobs SET state = 'paused', phase = '{phase}'", "UPDATE items SET state = 'dead' WHERE id = 'i'"
        )

    table.compare(jobs.PHASE_STEPS, jobs.PHASES, drivers, put=put, now=now)

"""How often a verb reads the settings, looks into the store and commits: what it costs, and a promise that it decides on one state."""

from collections import Counter
from pathlib import Path

import pytest
from staging.stage import process_of

from fleet.store.sqlite import SqliteStore
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.jobs.begin import JobRequest
from fleet.world.home import settings

JOB = "name: list\nmap:\n  isolation: none\n  max_parallel: 1\n  input: [{items}]\n  steps: [{{shell: 'true'}}]\n"


@pytest.fixture
def counts(monkeypatch) -> Counter:
    """What this process does, counted."""
    found: Counter = Counter()

    def counting(where: object, name: str) -> None:
        genuine = getattr(where, name)

        def counted(*given, **named):
            found[name] += 1
            return genuine(*given, **named)

        monkeypatch.setattr(where, name, counted)

    counting(SqliteStore, "read")
    counting(SqliteStore, "transact")
    counting(settings, "merged")  # each reading of config.toml and fleet.toml ends in it
    return found


def test_a_dispatch_and_a_settle_read_the_settings_of_the_home_and_of_the_project_once(scene, counts):
    with scene.fleet() as fleet:
        scene.without_hint(fleet)
        fleet.tasks.add(project=PROJECT, title="T", slug="t")
        counts.clear()
        wanted = Wanted(project=PROJECT, slug="t", engine="shell", command=("sh", "-c", "fleet done"))
        ident = fleet.dispatches.start(wanted).id
        assert counts["merged"] == 2
        assert counts["read"] <= 11
        assert counts["transact"] == 2
        until(lambda: fleet.context.dispatch(ident).process)
        who = process_of(fleet, ident)
        until(lambda: fleet.world.processes.life(who) == "dead")
        counts.clear()
        assert fleet.sessions.settle(ident).settled
        assert counts["merged"] == 2
        assert counts["read"] <= 11
        assert counts["transact"] <= 8


def test_an_item_of_a_job_in_place_costs_two_transactions(scene, counts):
    cost = []
    for items in ("1", "1, 2, 3, 4, 5, 6, 7, 8, 9"):
        path = Path(scene.root, f"job-{len(cost)}.yml")
        path.write_text(JOB.format(items=items))
        with scene.fleet() as fleet:
            counts.clear()
            fleet.jobs.run(JobRequest(project=PROJECT, file=str(path)), lambda _event: None)
            cost.append(Counter(counts))
    setup = 4  # of the setup's session: its things are let go by this process, or by the session itself
    assert cost[1]["transact"] - cost[0]["transact"] <= 2 * 8 + setup

"""Metrics: a text that Prometheus' own parser reads, with the figures that the status page shows."""

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from fleet.model.results.home import DaemonFigures
from fleet.model.text.open_metrics import Family, Sample, text
from fleet.testing.simulated.scene import PROJECT

DAEMON = DaemonFigures(uptime=12.5, requests=7, errors=1, batches=3, batched=6, largest_batch=4, clients=2, duty_failures={"sweep": 5}, is_store_up=True)  # fmt: skip


def parsed(given: str) -> dict[tuple[str, frozenset], float]:
    """Every sample, by its name and labels, as the parser of Prometheus reads them."""
    found = [sample for family in text_string_to_metric_families(given) for sample in family.samples]
    return {(each.name, frozenset(each.labels.items())): each.value for each in found}


def figure(found: dict, name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


@pytest.mark.parametrize("store_url_kind", ["sqlite", "postgres"])
def test_the_figures_are_those_of_the_home(scene):
    scene.work("a")
    scene.fleet.tasks.add(project=PROJECT, title="b", slug="b")
    scene.fleet.tasks.add(project=PROJECT, title="c", slug="c")
    scene.fleet.tasks.fail(project=PROJECT, slug="c", reason="no")
    found = parsed(scene.fleet.views.metrics())
    for status, number in (("open", 1), ("in_progress", 1), ("failed", 1), ("done", 0)):
        assert figure(found, "fleet_tasks", project=PROJECT, status=status) == number
    assert figure(found, "fleet_tasks_ready", project=PROJECT) == 1
    assert figure(found, "fleet_dispatches_active", project=PROJECT) == 1
    assert figure(found, "fleet_dispatches_blocked_reclaim", project=PROJECT) == 0
    assert figure(found, "fleet_questions_waiting", project=PROJECT) == 0
    [agent] = scene.fleet.agents.list()
    assert figure(found, "fleet_agents", project=PROJECT, kind="worker", state=agent.state) == 1
    assert figure(found, "fleet_operations_total") == scene.fleet.operations.newest()
    assert figure(found, "fleet_limit", limit="limits.agents") == 20
    assert figure(found, "fleet_cost_dollars_total", project=PROJECT) == 0
    assert not [name for name, _labels in found if "daemon" in name], "no daemon answers"


def test_the_figures_of_a_daemon_stand_beside_them(scene):
    found = parsed(scene.fleet.views.metrics(DAEMON))
    assert figure(found, "fleet_daemon_uptime_seconds") == 12.5
    assert figure(found, "fleet_daemon_requests_total") == 7
    assert figure(found, "fleet_daemon_batches_total") == 3
    assert figure(found, "fleet_daemon_batched_requests_total") == 6
    assert figure(found, "fleet_daemon_largest_batch") == 4
    assert figure(found, "fleet_daemon_errors_total") == 1
    assert figure(found, "fleet_daemon_clients") == 2
    assert figure(found, "fleet_daemon_duty_failures_total", duty="sweep") == 5


def test_every_family_has_type_and_help_and_the_text_has_an_end(scene):
    given = scene.fleet.views.metrics(DAEMON)
    families = list(text_string_to_metric_families(given))
    assert all(each.documentation and each.type in {"gauge", "counter", "info"} for each in families)
    assert given.endswith("# EOF\n")
    assert given.count("# EOF") == 1
    names = [each.name for each in families]
    assert len(names) == len(set(names))


@pytest.mark.req("SEC-4")
def test_labels_are_escaped_and_survive():
    strange = 'a "quoted" \\ back\nslash'
    family = Family(name="x", kind="gauge", help='says "it" \\ in\ntwo lines', samples=(Sample(value=1, labels={"a": strange}),))  # fmt: skip
    given = text([family])
    [read] = text_string_to_metric_families(given)
    assert read.samples[0].labels == {"a": strange}
    assert read.documentation == family.help
    hostile = text(
        [Family(name="x", kind="gauge", help="h", samples=(Sample(value=0.25, labels={"a": "\x1b[31m\x9b"}),))]
    )
    assert hostile.replace("\n", "").isprintable()
    assert next(iter(text_string_to_metric_families(hostile))).samples[0].value == 0.25


def test_a_family_without_figures_is_left_out():
    assert text([Family(name="x", kind="counter", help="h", samples=())]) == "# EOF\n"

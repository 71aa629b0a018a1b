"""Writes down what each test showed: its rows, its store, its outcome, its part of the whole. checks/conformance.py reads it."""

import json
import os

import pytest
from plugins.samples import RUNNING

OUTCOMES = ".build/conformance.json"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Properties travel with the reports from the workers to the controller."""
    for item in items:
        rows = [row for marker in item.iter_markers("req") for row in marker.args]
        item.user_properties += [("rows", rows), ("store", store_of(item))]


def pytest_runtest_setup(item: pytest.Item) -> None:
    RUNNING[:] = [item]


def store_of(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("store_url_kind", "any") if callspec else "any"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "fleet-recorder")


class Recorder:
    """Lives in the controller, which sees the reports of all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.path = config.rootpath / OUTCOMES
        # checks/again.py runs some tests a second time; what the others showed stays.
        again = os.environ.get("FLEET_TESTS_AGAIN")
        before = json.loads(self.path.read_text()) if again else []
        self.tests: dict[str, dict[str, object]] = {test.pop("test"): test for test in before}
        self.seconds: dict[str, float] = {test: seen.pop("seconds", 0.0) for test, seen in self.tests.items()}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            self.tests.pop(report.nodeid, None)
        known = {name: value for name, value in report.user_properties if name in {"rows", "store"}}
        seen = self.tests.setdefault(report.nodeid, {**known, "outcome": "passed"})
        self.seconds[report.nodeid] = round(self.seconds.get(report.nodeid, 0.0) + report.duration, 2)
        samples = [value for name, value in report.user_properties if name == "sample"]
        seen |= {"samples": samples} if samples else {}
        if report.outcome == "failed" or (report.outcome == "skipped" and seen["outcome"] == "passed"):
            seen["outcome"] = report.outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be collected as a failed test: what it would have shown is not shown."""
        if report.failed:
            self.tests[report.nodeid] = {"rows": [], "store": "any", "outcome": "failed"}

    def pytest_sessionfinish(self) -> None:
        self.path.parent.mkdir(exist_ok=True)
        tests = [
            {"test": nodeid, **seen, "seconds": self.seconds.get(nodeid, 0.0)}
            for nodeid, seen in sorted(self.tests.items())
        ]
        self.path.write_text(json.dumps(tests, indent=1))

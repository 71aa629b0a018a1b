"""A test that tries a part of what it could try says which part; `make conformance` prints it."""

import pytest

RUNNING: list[pytest.Item] = []


def sampled(what: str, *, ran: int, of: int | None) -> None:
    """Say that the test that runs now tried a part. `of` is None where nobody knows how many there are."""
    for item in RUNNING:
        item.user_properties.append(("sample", {"what": what, "ran": ran, "of": of}))


def last_reports(terminalreporter: pytest.TerminalReporter) -> list[pytest.TestReport]:
    """Return one report of each test of a run: that of its end, which has all that the test said."""
    reports = (report for group in terminalreporter.stats.values() for report in group)
    return [report for report in reports if getattr(report, "when", "") == "teardown"]

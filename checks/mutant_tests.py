"""Run by checks/mutate.py, with pytest: collect the tests of files, or run tests until those of each store have noticed.

python checks/mutant_tests.py collect OUT FILE...   write the tests of the files: id, rows, store
python checks/mutant_tests.py run ORDER OUT         run the tests that the file ORDER names; write a line for the call
                                                    of each, and for each setup or teardown that did not pass

A test notices when its call fails, or when its teardown fails by an assertion: that is where a test looks for what was left behind.
A failed setup does not count, nor does a name or a module that is missing, nor a test that never ended.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

NAMES_MISSING = (ImportError, NameError, SyntaxError)


class Collector:
    """A pytest plugin that writes the collected tests to a file."""

    def __init__(self, out: Path) -> None:
        self.out = out

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the id, rows and store of each collected test."""
        tests = [{"test": item.nodeid, **dict(item.user_properties)} for item in session.items]
        self.out.write_text(json.dumps(tests), encoding="utf-8")


class Watcher:
    """A pytest plugin that runs the wanted tests in the wanted order, until one has noticed the mutant for each need.

    A need is a store on which the mutant has to be noticed; `needs` has the one for which each test counts. `open` has
    the needs for which no test has noticed yet. It has "" when all tests are to run to the end.
    """

    def __init__(self, order: Path, out: Path) -> None:
        wanted = json.loads(order.read_text(encoding="utf-8"))
        self.needs: dict[str, str] = wanted["needs"]
        self.open = set(self.needs.values()) if wanted["until_noticed"] else {""}
        self.out = out
        self.places = {test: place for place, test in enumerate(self.needs)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep only the wanted tests, in the wanted order."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self.places), key=lambda item: self.places[item.nodeid]
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Return True, which skips the test, when its need is already satisfied; None lets pytest run the test."""
        return None if "" in self.open or self.needs[item.nodeid] in self.open else True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Write the result of each call, and of each setup or teardown that did not pass; return pytest's report.

        Stop the run once every need is satisfied.
        """
        report = yield
        kind = kind_of(report, call.excinfo.value if call.excinfo else None)
        if kind != "passed" or report.when == "call":
            self.write(item.nodeid, kind, report)
        if kind == "noticed":
            self.open.discard(self.needs[item.nodeid])
        if not self.open:
            item.session.shouldstop = "noticed"
        return report

    def write(self, test: str, kind: str, report: pytest.TestReport) -> None:
        """Append the result of a phase of a test to the output file, with the last line of what pytest says of it."""
        words = report.longreprtext.strip().splitlines()[-1:] if kind != "passed" else []
        need = self.needs[test]
        line = {"test": test, "need": need, "kind": kind, "seconds": round(report.duration, 3), "words": "".join(words)}
        with self.out.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")


def kind_of(report: pytest.TestReport, error: BaseException | None) -> str:
    """Return the result of one phase of a test: passed, skipped, noticed, or a failure that does not count (hang, error)."""
    if not report.failed:
        return report.outcome
    if isinstance(error, pytest.fail.Exception) and str(error).startswith("Timeout"):
        return "hang"
    if report.when == "setup" or isinstance(error, NAMES_MISSING):
        return "error"
    return "noticed" if report.when == "call" or isinstance(error, AssertionError) else "error"


def main() -> int:
    """Collect or run tests, as the command line says; return pytest's exit code."""
    what, first, *others = sys.argv[1:]
    words = ["-n0", "-p", "no:randomly", "-q", "--no-header"]
    if what == "collect":
        return int(pytest.main([*words, "--collect-only", *others], plugins=[Collector(Path(first))]))
    watcher = Watcher(Path(first), Path(others[0]))
    files = list(dict.fromkeys(test.partition("::")[0] for test in watcher.needs))
    return int(pytest.main([*words, "--timeout=120", *files], plugins=[watcher]))


if __name__ == "__main__":
    sys.exit(main())

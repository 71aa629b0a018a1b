"""`--quick`: the tests for the inner loop. A test is left out because of what it needs.

It needs PostgreSQL when it, or a fixture that it uses, asks for `postgres_directory`; tmux, when it asks for `tmux`, or when the
parameter that it runs with has the mark `tmux`; a daemon, a broken home or merges, when it is in the folder about those. A test
that starts a tmux server without asking for `tmux` fails the quick run: a stand-in on PATH writes such a test down.
`@pytest.mark.slow("why")` is for a test that takes a second or more by its nature: a crowd of processes, a flood of data, a time
limit that really has to pass. A property that does not say how many examples it needs gets a quarter of the usual ones.
"""

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis
import pytest
from plugins.recording import store_of

POSTGRES, TMUX = "postgres_directory", "tmux"
# Folders whose tests all need the same, and what that is.
FOLDERS = {
    "tests/cli/daemon/": "a daemon",
    "tests/cli/homes/": "processes in broken homes",
    "tests/verbs/merge/": "merges with real git",
}
SLOWEST = 5
EXAMPLES = 25
# A disk in memory: what is under test syncs its files, and need not wait for a real one.
MEMORY = Path("/dev/shm")
STAND_IN = """\
#!/bin/sh
case " $* " in *" start-server "*) echo "$PYTEST_CURRENT_TEST" >>'{record}'; echo "no tmux in a quick run" >&2; exit 1;; esac
exec '{tmux}' "$@"
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out what needs tmux or PostgreSQL, and what is slow")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.quick and not config.option.collectonly:
        config.pluginmanager.register(Quick(config), "fleet-quick")
        hypothesis.settings.register_profile("quick", deadline=None, max_examples=EXAMPLES)
        hypothesis.settings.load_profile("quick")


def why_left_out(item: pytest.Item) -> str:
    """Why a test is not for the inner loop; empty when it is."""
    fixtures = getattr(item, "fixturenames", ())
    if POSTGRES in fixtures or store_of(item) == "postgres":
        return "PostgreSQL"
    if TMUX in fixtures or item.get_closest_marker(TMUX):
        return "tmux"
    for folder, need in FOLDERS.items():
        if getattr(item, "nodeid", "").startswith(folder):
            return need
    return "slow by nature" if item.get_closest_marker("slow") else ""


def put_stand_in(path: Path, record: Path) -> None:
    """A tmux that starts no server, and writes down which test wanted one."""
    path.parent.mkdir(parents=True)
    path.write_text(STAND_IN.format(record=record, tmux=shutil.which("tmux") or "/bin/false"))
    path.chmod(0o755)


class Quick:
    """Leaves tests out, and says at the end how many and why."""

    def __init__(self, config: pytest.Config) -> None:
        self.folder = config.rootpath / ".build" / "quick"
        self.is_worker = hasattr(config, "workerinput")
        self.left_out: Counter[str] = Counter()
        self.durations: dict[str, float] = {}
        self.memory: str | None = None
        if not self.is_worker and config.option.basetemp is None and os.access(MEMORY, os.W_OK):
            self.memory = config.option.basetemp = tempfile.mkdtemp(prefix="fleet-quick-", dir=MEMORY)

    @property
    def record(self) -> Path:
        return self.folder / "started-tmux"

    def pytest_sessionstart(self) -> None:
        if not self.is_worker:
            shutil.rmtree(self.folder, ignore_errors=True)
            put_stand_in(self.folder / "bin" / "tmux", self.record)
            os.environ["PATH"] = f"{self.folder}/bin:{os.environ['PATH']}"

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        why = {item: why_left_out(item) for item in items}
        self.left_out.update(filter(None, why.values()))
        config.hook.pytest_deselected(items=[item for item in items if why[item]])
        items[:] = [item for item in items if not why[item]]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        """Every worker collects the same tests."""
        self.left_out = Counter(node.workeroutput.get("left_out", {})) or self.left_out

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0) + report.duration

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.is_worker:
            session.config.workeroutput["left_out"] = dict(self.left_out)
        elif self.record.exists():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self) -> None:
        if self.memory:
            shutil.rmtree(self.memory, ignore_errors=True)

    def pytest_terminal_summary(self, terminalreporter) -> None:
        ran = sum(len(terminalreporter.stats.get(outcome, ())) for outcome in ("passed", "failed"))
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(self.left_out.items()))
        terminalreporter.write_line(f"quick: {ran} ran, {self.left_out.total()} were left out ({why})")
        slowest = sorted(self.durations.items(), key=lambda test: -test[1])[:SLOWEST]
        for test, seconds in slowest:
            terminalreporter.write_line(f"  {seconds:.1f} s {test}")
        if self.record.exists():
            tests = sorted(set(self.record.read_text().splitlines()))
            terminalreporter.write_line("quick: these start tmux; let them ask for the fixture `tmux`:", red=True)
            terminalreporter.write_line("\n".join(f"  {test}" for test in tests))

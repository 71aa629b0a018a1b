"""The part of the deaths that a run plays: spread over all, begun anywhere, the same for every worker, and replayed by a number."""

import importlib.util
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from crash import deaths
from plugins import daemons

from fleet.testing.crash import double, harness, scenarios
from fleet.testing.crash.catalogue import FAULTY, SCENARIOS
from fleet.testing.crash.fault_acts import ACTS
from fleet.testing.crash.harness import Case, Played, part_of

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs/explanation/proof.md"
SHOW = "from crash import deaths; print(deaths.OFFSET, deaths.HEADER)"


def offset(**env: str) -> str:
    around = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
    words = [sys.executable, "-c", SHOW]
    return subprocess.run(words, env=around | env, cwd=TESTS, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(("count", "every"), [(20, 5), (3, 13), (61, 61), (7, 1)])
def test_all_offsets_together_play_every_death_and_each_plays_one_at_least(count, every):
    cases = [(number, "before") for number in range(count)]
    parts = [part_of(cases, every, start) for start in range(every)]
    assert all(parts)
    assert {case for part in parts for case in part} == set(cases)
    assert part_of(cases, every, 7) == part_of(cases, every, 7 + min(every, count))


def test_a_run_is_replayed_by_the_number_that_it_printed():
    assert offset(FLEET_DEATHS_OFFSET="4711") == "4711 deaths: a part, replayed by FLEET_DEATHS_OFFSET=4711"
    assert len({offset() for _ in range(4)}) > 1


def test_a_part_with_fewer_deaths_than_its_floor_fails_and_says_how_many_there_were():
    cases = [{"effect": "git merge", "died": True}, {"effect": "SIGTERM", "died": False}]
    deaths.enough(cases, 1)
    with pytest.raises(AssertionError, match=r"only 1 of 2 deaths happened"):
        deaths.enough(cases, 2)
    assert deaths.floor("merge", 15) == deaths.FEWEST["merge"] // 15 > 1
    assert deaths.floor("launch", 37) == 1


def test_every_scenario_has_a_floor():
    assert set(deaths.FEWEST) == set(SCENARIOS)


DOOMED = """
import os
from types import SimpleNamespace
from fleet.demo import show
from fleet.testing.crash import scenarios

def fail(*_given, **_more):
    raise LookupError("no fleet today")

parent = os.getpid()
try:
    {act}
except (LookupError, RuntimeError) as error:
    said = repr(error)
print("goes on:", os.getpid() == parent, said, flush=True)
"""
ACTS_OF_CHILDREN = {
    "a scenario": (
        "scenarios._add_task = id; scenarios._dispatch_without_session(SimpleNamespace(fleet=fail))",
        "RuntimeError('the dispatch ended before it could be killed')",
    ),
    "the demo": (
        (
            "show.Fleet.open, said, home = fail, [], SimpleNamespace(home='');"
            " show.Play._kill_dispatcher_half_way(SimpleNamespace(_fleet=home, _add_event=said.append), 'doors')"
        ),
        "['the dispatcher of doors ended before it could be killed']",
    ),
}


@pytest.mark.parametrize(("act", "said"), ACTS_OF_CHILDREN.values(), ids=ACTS_OF_CHILDREN)
def test_a_child_whose_act_fails_before_it_is_killed_does_not_go_on_as_its_parent(act, said):
    done = subprocess.run([sys.executable, "-c", DOOMED.format(act=act)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"goes on: True {said}"]


@pytest.mark.parametrize(
    ("agents", "assignee", "faults"),
    [(["a"], "a", 0), (["a"], "b", 1), (["a", "b"], "a", 1), (["b", "a"], "a", 1)],
)
def test_a_second_agent_on_the_task_of_a_killed_dispatch_is_a_fault(agents, assignee, faults):
    fleet = SimpleNamespace(
        tasks=SimpleNamespace(show=lambda **_task: SimpleNamespace(assignee=assignee, status="in_progress")),
        agents=SimpleNamespace(list=lambda: [SimpleNamespace(id=ident) for ident in agents]),
    )
    assert len(scenarios._check_dispatch(SimpleNamespace(fleet=lambda: nullcontext(fleet)))) == faults


@pytest.mark.parametrize(("whole", "fails"), [(80, False), (79, True)])
def test_a_scenario_that_has_lost_a_death_fails_whichever_part_is_played(monkeypatch, whole, fails):
    cases = [{"effect": "git merge", "died": True, "deaths": whole}] * 5
    said = []
    monkeypatch.setattr(deaths, "run", lambda *_words: cases)
    monkeypatch.setattr(deaths, "sampled", lambda what, **part: said.append((what, part)))
    with pytest.raises(AssertionError, match="merge has 79 deaths, and had at least 80") if fails else nullcontext():
        deaths.play("merge", "sqlite", 15)
    assert said == [("deaths of merge", {"ran": 5, "of": whole})], "and says which share it was"


def test_the_harness_counts_all_deaths_of_a_scenario_and_all_faults_of_an_act_beside_the_part_that_it_plays(
    monkeypatch,
):
    played = Played(effects=["add", "tell"], performed={1})
    monkeypatch.setattr(harness, "effects_of", lambda *_: played)
    monkeypatch.setattr(harness, "kill_once", lambda *_: harness.Killed(died=True, faults=[], held=[]))
    monkeypatch.setattr(harness, "look_after", lambda *_: ([], []))
    [case] = harness.cases(SimpleNamespace(name="s", prepare=id, scene=nullcontext), "sqlite", every=100, offset=3)
    assert case.deaths == len(played.deaths()) > 4


class Reporter:
    """The end of a run, with reports of these tests."""

    def __init__(self, *tests: str) -> None:
        reports = [
            SimpleNamespace(nodeid=test, when="teardown", user_properties=[("deaths", (3, 2))]) for test in tests
        ]
        self.stats = {"": [*reports, object()]}
        self.lines: list[str] = []

    def write_line(self, line: str) -> None:
        self.lines.append(line)


DEATHS = [deaths.HEADER, "deaths: 3 happened in 1 tests, at least 2 have to"]
DAEMON = "tests of the command line through a daemon: one in 4, repeated by FLEET_TESTS_DAEMON_SEED=7"


@pytest.mark.parametrize(
    ("test", "quick", "said"),
    [
        ("tests/crash/test_every_death.py::test[sqlite-merge]", False, DEATHS),
        ("tests/cli/tasks/test_edit.py::test", False, [DAEMON]),
        ("tests/cli/tasks/test_edit.py::test", True, []),
        ("tests/unit/test_other.py::test", False, []),
    ],
)
def test_the_end_of_a_run_says_how_to_repeat_its_part_because_a_quiet_run_has_no_header(
    pytestconfig, test, quick, said
):
    reporter = Reporter(test)
    of_this_run = SimpleNamespace(stash={daemons.CHOSEN: (False, "7")}, option=SimpleNamespace(quick=quick))
    [conftest] = [
        each
        for each in pytestconfig.pluginmanager.get_plugins()
        if getattr(each, "__file__", "") == str(TESTS / "conftest.py")
    ]
    conftest.pytest_terminal_summary(reporter)
    daemons.pytest_terminal_summary(reporter, of_this_run)
    assert reporter.lines == said


def test_the_page_of_figures_has_every_scenario_and_every_act_whose_calls_fail():
    figures = re.search(r"<!-- figures -->(.*)<!-- end of figures -->", PAGE.read_text(), re.DOTALL)
    rows = set(re.findall(r"^\| ([\w-]+) \| (sqlite|postgres) \|", figures[1], re.MULTILINE))
    acts = set(re.findall(r"^\| ([\w-]+) \| \d", figures[1], re.MULTILINE))
    lacking = sorted(
        {f"{name} ({store})" for name in SCENARIOS for store in ("sqlite", "postgres") if (name, store) not in rows}
    )
    lacking += sorted(set(ACTS) - acts)
    again = 'make deaths PART="--every 40 --most 1"'
    assert lacking == [], (
        f"{PAGE} has no figures of these; `{again}` writes it anew in some ten minutes, `make deaths` in hours"
    )


@pytest.mark.parametrize(
    ("every", "most", "said"),
    [
        (1, 0, ["All deaths and failing calls, played on"]),
        (
            40,
            1,
            [
                "Not the whole, but a part",
                "one in 40 deaths",
                "1 of the double deaths of each",
                "--every 40 --most 1 --offset 7",
            ],
        ),
        (1, 2, ["Not the whole, but a part", ": all deaths; 2 of the double deaths of each scenario"]),
    ],
)
def test_the_heading_of_the_figures_says_which_part_they_are_and_how_to_repeat_it(every, most, said):
    heading = load_command().heading(SimpleNamespace(every=every, most=most, offset=7, only=[]), 8.2)
    assert [words for words in [*said, f"{datetime.now(UTC):%Y-%m-%d} in 8 minutes"] if words not in heading] == []


def test_figures_of_some_scenarios_alone_are_not_called_the_whole():
    heading = load_command().heading(SimpleNamespace(every=1, most=0, offset=7, only=["merge", "settle"]), 8.2)
    assert heading.startswith("Not the whole, but a part")
    assert "--only merge,settle" in heading


def load_command():
    """The file behind `make deaths`."""
    spec = importlib.util.spec_from_file_location("make_deaths", TESTS.parent / "checks" / "deaths.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it
    spec.loader.exec_module(module)
    return module


LINE = (
    '{"scenario": "s", "effect": "e", "number": 0, "of": 1, "way": "after", "second": "", "second_way": "", "died": true, '
    '"faults": [], "swept": []}'
)


@pytest.mark.parametrize(
    ("harness", "broken"),
    [
        (f"print('{LINE}')", ""),
        (f"import sys; print('{LINE}'); sys.exit({FAULTY})", ""),
        (f"print('{LINE}', flush=True); raise RuntimeError('in the middle')", "RuntimeError: in the middle"),
        (f"import os; print('{LINE}', flush=True); print('half', end='', flush=True); os.kill(os.getpid(), 9)", "exit code -9"),
        ("pass", "nothing was played"),
    ],
    ids=["to its end", "with faults", "raised", "killed", "nothing"],
)  # fmt: skip
def test_a_harness_that_ended_in_the_middle_is_no_pass(monkeypatch, harness, broken):
    command, run = load_command(), subprocess.run
    monkeypatch.setattr(
        command.subprocess, "run", lambda words, **how: run([words[0], "-c", harness], cwd=TESTS.parent, **how)
    )
    result = command.run(command.Play(kind="single", name="s", store="sqlite", words=()))
    assert bool(result.broken) == bool(broken)
    assert broken in result.broken
    assert len(result.cases()) == (harness != "pass"), "what was played before counts"
    assert [broken in line for line in command.complaints(result)] == ([True] if broken else [])


@pytest.fixture
def doubles(monkeypatch) -> list[tuple[int, str]]:
    """Two first deaths with a recovery of three effects each, the last of which is the same. Returns what was played."""
    played: list[tuple[int, str]] = []
    monkeypatch.setattr(double, "effects_of", lambda *_: Played(effects=["add", "tell"], performed=set()))
    monkeypatch.setattr(
        double,
        "_recovery_after",
        lambda _scenario, _store, first: Played(effects=[f"look {first.way}", "mend", "end"], performed=set()),
    )

    def run(_scenario, _store, first, second):
        played.append((first[1].number, f"{second[1].way} {second[0].effects[second[1].number]}"))
        return Case(scenario="s", effect="e", number=0, of=2, way="after", second="x", second_way="y", died=True, faults=[], swept=[])  # fmt: skip

    monkeypatch.setattr(double, "_run_double", run)
    return played


@pytest.mark.parametrize("most", range(1, 6))
def test_as_many_double_deaths_are_played_as_were_asked_for(doubles, most):
    assert len(list(double.double_cases(None, "sqlite", offset=7, most=most))) == most
    assert len(set(doubles)) == most


def test_no_two_double_deaths_leave_the_same_to_do_and_all_are_played_at_last(doubles):
    every = len(list(double.double_cases(None, "sqlite", offset=7, most=0)))
    doubles.clear()
    assert len(list(double.double_cases(None, "sqlite", offset=7, most=1000))) == every > 5
    assert len({second for _first, second in doubles}) == every

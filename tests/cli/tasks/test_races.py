"""GRAPH-2 and GRAPH-3 with real processes, on both stores."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

CROWD = Path(__file__).parents[1] / "crowd.py"
CLAIMERS = 16


@pytest.mark.req("GRAPH-3")
@pytest.mark.slow("a crowd of processes")
def test_of_sixteen_racing_claimers_one_wins_and_fifteen_are_told_who(either, program):
    either.add("a")
    racers = [program.start("task", "claim", "a", "--as", f"racer-{number}") for number in range(CLAIMERS)]
    said = [(racer.communicate(timeout=60), racer.returncode) for racer in racers]
    [winner] = [out for (out, _err), code in said if code == 0]
    name = re.fullmatch(r"web/a is yours, (racer-\d+)\n", winner)[1]
    refusals = [err for (_out, err), code in said if code == 12]
    assert len(refusals) == CLAIMERS - 1
    assert {err.split(", since")[0] for err in refusals} == {f"fleet: task web/a is held by {name}"}
    shown = either.show("a")
    assert (shown["assignee"], shown["attempts"], shown["status"]) == (name, 1, "in_progress")


@pytest.mark.req("GRAPH-2", "LOG-2")
@pytest.mark.slow("a crowd of processes")
def test_fifty_processes_of_twenty_mutations_leave_a_thousand_of_a_thousand(either):
    either.add("a")
    before = len(either("ops", "--json", "--limit", "5000").ok().objects)
    done = subprocess.run([sys.executable, CROWD, "50", "20"], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = [name for line in done.stdout.splitlines() for name in json.loads(line)]
    shown = either.show("a")
    kept = [each["message"] for each in shown["log"]] + [each["path"] for each in shown["artifacts"]]
    assert len(told) == 1_000
    assert sorted(kept) == sorted(told)
    operations = either("ops", "--json", "--limit", "5000").ok().objects
    assert len(operations) == before + 1_000
    assert [each["seq"] for each in operations] == list(range(1, before + 1_001))


@pytest.mark.req("GRAPH-2")
@pytest.mark.slow("a crowd of processes")
def test_tasks_of_one_title_added_at_once_get_a_slug_each(either, program):
    racers = [program.start("task", "add", "Same title") for _ in range(8)]
    said = [(racer.communicate(timeout=60), racer.returncode) for racer in racers]
    assert {code for _said, code in said} == {0}
    slugs = {"same-title", *(f"same-title-{number}" for number in range(2, 9))}
    assert {out.strip() for (out, _err), _code in said} == {f"added web/{slug}" for slug in slugs}
    assert {task["slug"] for task in either.ask("task", "list")} == slugs


@pytest.mark.slow("a crowd of processes")
def test_many_who_come_first_at_once_make_one_home(program):
    racers = [program.start("init") for _ in range(8)]
    said = [(racer.communicate(timeout=60), racer.returncode) for racer in racers]
    assert [(err, code) for (_out, err), code in said] == [("", 0)] * 8
    assert sum("already" not in out for (out, _err), _code in said) == 1

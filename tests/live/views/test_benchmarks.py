"""Every benchmark still runs: once, at its smallest size. What it measures there means nothing."""

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[3]
NAMES = ("start", "mutations", "crowd", "documents", "scale", "dispatching", "resuming", "jobs", "screen", "daemon")
# A program with the words of wg and of bd: a folder of its own, one file a task.
STAND_IN = """#!/bin/sh
set -eu
name=$(basename "$0")
echo "$name $*" >>"$CALLS"
case "$name $1" in
"wg init" | "bd init") mkdir tasks ;;
"wg add" | "bd create") test "$3" = --id; : >"tasks/$4" ;;
"wg log") if [ "$3" = --list ]; then cat "tasks/$2"; else echo "$3" >>"tasks/$2"; fi ;;
"bd comments") if [ "$2" = add ]; then echo "$4" >>"tasks/$3"; else cat "tasks/$2"; fi ;;
"wg ready" | "bd ready") ls tasks ;;
*) echo "no such command: $*" >&2; exit 2 ;;
esac
"""


def run(*words: str, **env: str) -> str:
    """Run benchmarks at their smallest size; return what they print."""
    words = (sys.executable, "-m", "benchmarks", "--smallest", *words)
    done = subprocess.run(words, cwd=ROOT, env=os.environ | env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def row(said: str, name: str) -> list[str]:
    """The cells of the row that begins with this name."""
    (line,) = [line for line in said.splitlines() if line.strip().startswith(name)]
    return re.split(r"  +", line.strip())[1:]


@pytest.mark.req("GRAPH-10")
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_to_its_end(tmux, name):
    said = run(name)
    assert re.search(r"^\d+ missed their target, \d+ s$", said, re.MULTILINE)
    if name == "scale":
        assert row(said, "claim")[-2] == "≤ 1.2", "the target stands beside the figure"
        assert row(said, "status")[-2] == "≤ 2"
    if name == "dispatching":
        assert row(said, "ps")[-2] == "≤ 2"
        assert all(int(row(said, act)[column]) for act in ("dispatch ", "launch ", "settle ") for column in (0, 1))
    if name == "jobs":
        # How often the runner looks until an item has ended depends on the machine; what it writes does not.
        assert all(float(row(said, place)[1]) > 0 for place in ("one checkout ", "a worktree "))
    if name == "start":
        _title, _sep, at_work = said.partition("2 agents at work")
        assert [row(at_work.partition("start:")[0], read)[-2] for read in ("ps", "status")] == ["≤ 4", "≤ 4"]
        assert row(said, "functools ")[-2] == "≥ 1.1"
    if name == "crowd":
        assert row(said, "fleet's errors")[0] == "0"


def test_every_benchmark_is_among_those_that_are_run_here(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    main = __import__("benchmarks.__main__", fromlist=["NAMES"])
    assert {*NAMES, "others"} == set(main.NAMES)


def test_other_programs_get_a_column_where_they_are_on_the_path(tmp_path):
    for name in ("wg", "bd"):
        tmp_path.joinpath(name).write_text(STAND_IN)
        tmp_path.joinpath(name).chmod(0o755)
    calls = tmp_path / "calls"
    said = run("others", PATH=f"{tmp_path}:{os.environ['PATH']}", CALLS=str(calls))
    for act in ("one durable log line", "ready", "many writers"):
        assert all(float(cell) >= 0 for cell in row(said, act)), said
        assert len(row(said, act)) == 3
    assert row(said, "lines lost") == ["0", "0", "0"]
    assert "bd comments add bench-0 parser done, 40 tests green\n" in calls.read_text()
    assert "wg log bench-0 parser done, 40 tests green\n" in calls.read_text()


def test_other_programs_that_are_missing_or_fail_are_named_and_have_no_figures(tmp_path):
    tmp_path.joinpath("wg").write_text("#!/bin/sh\necho 'no home' >&2\nexit 3\n")
    tmp_path.joinpath("wg").chmod(0o755)
    said = run("others", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert row(said, "ready")[1:] == ["-", "-"]
    assert "init gave 3: no home" in said
    assert "bd is not on the PATH: https://github.com/steveyegge/beads" in said


def test_a_crowd_in_which_nobody_writes_is_shown_and_missed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    crowd = __import__("benchmarks.crowd", fromlist=["_rate"])
    assert crowd._rate([[1.0], []]) == (0.0, [])
    silent = {name: crowd.Outcome(rates=[0.0, 0.0], errors=["it is locked"]) for name in (crowd.OURS, crowd.BARE)}
    table = crowd._table(silent)
    assert "the bare writer has written nothing: there is nothing to compare with" in str(table)
    assert len(table.misses) == 2


PROGRESS = '{"event": "progress", "total": 2, "done": 1}'
END = '{"event": "end", "items": {"done": %d}}'


@pytest.mark.parametrize(
    ("lines", "code", "why"),
    [
        ([PROGRESS, END % 2], 0, None),
        ([], 0, "exit code 0, last said: {}"),
        ([PROGRESS], 0, "last said: {'event': 'progress'"),
        ([PROGRESS, END % 2], 1, "exit code 1"),
        ([PROGRESS, END % 1], 0, "'done': 1"),
        ([END % 2], 0, "no item was ever on its way"),
    ],
)
def test_a_job_that_did_not_run_to_its_end_is_no_figure(monkeypatch, tmp_path, lines, code, why):
    monkeypatch.syspath_prepend(str(ROOT))
    jobs = __import__("benchmarks.jobs", fromlist=["_played"])
    program = tmp_path / "fleet"
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines) + f"exit {code}\n")
    program.chmod(0o700)
    monkeypatch.setattr(jobs, "sys", SimpleNamespace(executable=str(tmp_path / "python")))
    with pytest.raises(AssertionError, match=re.escape(why)) if why else nullcontext():
        seconds, _memory_by_items = jobs._played(tmp_path, tmp_path, isolation="none", parallel=1, count=2)
        assert seconds > 0

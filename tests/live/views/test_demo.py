"""`fleet demo`, the first thing that many people see of fleet: all work is merged, and it leaves nothing behind."""

import io
import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli.json_page import faults, read_page
from staging.stage import FLEET

from fleet.demo.graph import GRAPH
from fleet.model.results.home import Demonstration, NightResult, Show
from fleet.surfaces.cli.commands.home import demo
from fleet.surfaces.cli.ui import streams, terminal

SHAPES, ANSWERS = read_page()
UP_THREE = "\033[3A\033[J"
NIGHT = NightResult(
    merged=30,
    replacements=["aaaaaaaa by bbbbbbbb, alive", "bbbbbbbb by cccccccc, killed"],
    handed_off=["dddddddd to eeeeeeee"],
    paused=["claude waits for its limit"],
    mended=["dispatch ffffffff (fix of step-11)"],
    faults=[],
    leaked=[],
    seconds=61.25,
)
SHOW = Show(done=12, merged=12, recovered=["doors: killed"], refused=["walls: not committed"], leaked=[], seconds=9.5)
CROWD = Demonstration(
    processes=50, failed_processes=0, tasks=200, done=200, lost_races=7, acknowledged=600, kept=600, operations=1000, seconds=4.0
)  # fmt: skip


def test_the_demonstration_merges_all_recovers_from_its_mishaps_and_leaves_nothing(tmux, tmp_path):
    around = {**os.environ, "HOME": str(tmp_path / "ann"), "TMPDIR": str(tmp_path / "tmp")}
    for name in ("ann", "tmp"):
        (tmp_path / name).mkdir()
    done = subprocess.run([FLEET, "demo"], cwd=tmp_path, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, leaked, _hint = done.stdout.splitlines()
    assert leaked == "0 leaked"
    counts = [line.split() for line in done.stdout.splitlines() if line.startswith("tasks ")]
    assert [row[:3] for row in counts] == [["tasks", "done", "12"], ["tasks", "merged", "12"]]
    for mishap in (
        "failed, exit status 137",
        "killed: it hangs",
        "its dispatcher was killed half-way",
        "had uncommitted work",
    ):
        assert mishap in done.stdout
    assert os.listdir(tmp_path / "ann") == []
    assert os.listdir(tmp_path / "tmp") == []


class Terminal(io.StringIO):
    """A stdout that is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        """What was written, as the terminal gets it."""
        return streams.escape_controls(self.getvalue())


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def played(plain, tmp_path, monkeypatch, capsys):
    """Run `fleet demo` with these words, where every play is over at once and has this result. Return the exit code and output."""
    place = tmp_path / "scene"

    def play(*words: str, result: NightResult | Show | Demonstration) -> tuple[int, str]:
        over = SimpleNamespace(run=lambda: result)
        monkeypatch.setattr(demo.night, "Night", lambda *_given: over)
        monkeypatch.setattr(demo.show, "Play", lambda *_given: over)
        monkeypatch.setattr(demo.crowd, "run", lambda *_given, **_more: result)
        monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda **_given: place.mkdir() or str(place))
        capsys.readouterr()
        code = demo.demo.main(list(words), standalone_mode=False)
        assert place.exists() == ("--keep" in words)
        return code, capsys.readouterr().out

    return play


def counted(out: str) -> list[tuple[str, str]]:
    """The rows of the table: what, and the rest."""
    return [(line[:22].rstrip(), " ".join(line[22:].split())) for line in out.splitlines()[2:-2]]


def test_a_night_says_how_often_everything_happened_and_where_to_look(played):
    code, out = played("--night", result=NIGHT)
    assert code == 0
    assert counted(out) == [
        ("tasks merged", "30 each once, by git's word"),
        ("coordinator replaced", "aaaaaaaa by bbbbbbbb, alive"),
        ("coordinator replaced", "bbbbbbbb by cccccccc, killed"),
        ("handed off", "dddddddd to eeeeeeee"),
        ("waited for a limit", "claude waits for its limit"),
        ("fixed", "dispatch ffffffff (fix of step-11)"),
        ("wrong", "0"),
        ("leaked", "0"),
        ("seconds", "61.2"),
    ]
    assert out.splitlines()[-2:] == [
        "0 leaked",
        "look around: fleet demo --keep leaves the home and the repository for you",
    ]


@pytest.mark.parametrize(
    ("words", "result", "flawless"),
    [
        (("--night",), NIGHT, True),
        (("--night",), NIGHT.replaced(merged=29), False),
        (("--night",), NIGHT.replaced(leaked=["a worktree"]), False),
        (("--night",), NIGHT.replaced(faults=["step-01 is merged twice"]), False),
        ((), SHOW, True),
        ((), SHOW.replaced(merged=11), False),
        ((), SHOW.replaced(leaked=["a worktree"]), False),
        (("--crowd",), CROWD, True),
        (("--crowd",), CROWD.replaced(failed_processes=1), False),
        (("--crowd",), CROWD.replaced(done=199), False),
        (("--crowd",), CROWD.replaced(kept=599), False),
    ],
)
@pytest.mark.req("OBS-5")
def test_a_play_succeeds_only_when_all_of_it_went_well_and_prints_json_as_the_page_says(
    played, words, result, flawless
):
    assert played(*words, result=result)[0] == (0 if flawless else 1)
    code, out = played(*words, "--json", result=result)
    assert (code, json.loads(out)) == (0 if flawless else 1, result.as_json())
    assert faults(json.loads(out), ANSWERS[" ".join(["demo", *words])], SHAPES) == []


def test_what_went_wrong_is_named(played):
    _, out = played(
        "--night", result=NIGHT.replaced(leaked=["a worktree", "a branch"], faults=["step-01 is merged twice"])
    )
    assert ("wrong", "1 step-01 is merged twice") in counted(out)
    assert ("leaked", "2 a worktree; a branch") in counted(out)
    assert out.splitlines()[-2] == "2 leaked"


def test_what_is_kept_is_said_with_the_commands_that_look_at_it(played, tmp_path):
    _, out = played("--keep", result=SHOW)
    assert out.splitlines()[-1] == (
        f"look around: export FLEET_HOME={tmp_path}/scene/home; cd {tmp_path}/scene/repository; "
        "fleet status; fleet ops; git log --graph fleet/main"
    )
    assert Path(tmp_path, "scene/home").is_dir()


@pytest.mark.parametrize(("kept", "lost", "verdict"), [(600, 0, "nothing was lost"), (598, 2, "something is wrong")])
def test_a_crowd_is_counted_with_what_it_lost(played, kept, lost, verdict):
    _, out = played("--crowd", result=CROWD.replaced(kept=kept))
    *rows, last = [" ".join(line.split()) for line in out.splitlines()]
    assert rows[1:] == [
        "processes at once 50 0 failed",
        "tasks done 200 of 200 each by one process",
        "claims lost to another 7 refused, and took the next task",
        "messages acknowledged 600 written and synced",
        f"messages kept {kept} {lost} lost",
        "operations 1000 250 a second",
        "seconds 4.0",
    ]
    assert last == verdict


def test_in_a_pipe_each_event_is_printed_once(plain, capsys):
    view = demo._LiveView(quiet=False, slugs=["doors"])
    view([], ["first"])
    view([], ["first", "second"])
    assert capsys.readouterr().out == "first\nsecond\n"
    demo._LiveView(quiet=True)([], ["first"])
    demo._CrowdBar(10, quiet=False)(SimpleNamespace())
    assert capsys.readouterr().out == "", "json alone; and a bar is for terminals"


def test_on_a_terminal_the_tasks_and_the_last_events_are_drawn_over_the_drawing_before(plain, monkeypatch):
    monkeypatch.setattr("sys.stdout", out := Terminal())
    view = demo._LiveView(quiet=False, slugs=["doors", "walls"])
    view([SimpleNamespace(slug="doors", state="ready"), SimpleNamespace(slug="walls", state="waiting")], [])
    first = out.shown
    assert [line.split() for line in first.splitlines()] == [["○", "ready", "doors"], ["·", "waiting", "walls"], []]
    view([SimpleNamespace(slug="walls", state="in_progress")], [f"event {number}" for number in range(8)])
    second = out.shown.removeprefix(first)
    assert second.startswith(UP_THREE), "over the three lines of the first"
    lines = second.removeprefix(UP_THREE).splitlines()
    assert [line.split() for line in lines[:3]] == [["✓", "done", "doors"], ["▶", "in_progress", "walls"], []]
    assert lines[3:] == [f"  event {number}" for number in range(2, 8)]
    view.close()
    view([], [])
    assert "\033[" not in out.shown.removeprefix(first + second), "what was printed since stays"


def test_on_a_terminal_the_bar_of_a_crowd_shows_how_far_it_is(plain, monkeypatch):
    monkeypatch.setattr("sys.stdout", out := Terminal())
    count = SimpleNamespace(done=100, in_progress=50)
    demo._CrowdBar(200, quiet=False)(SimpleNamespace(tasks=count, ready=3))
    assert out.shown == f"\033[G\033[K{'█' * 20}{'▓' * 10}{'░' * 10}   100 done   50 working    3 ready"
    before = out.shown
    monkeypatch.setattr(terminal, "cut_width", lambda: 120)
    demo._print_crowd(CROWD)
    assert out.shown.removeprefix(before).startswith("\nWHAT "), "the table begins on a line of its own"


def test_every_task_of_the_demonstration_is_drawn(plain, monkeypatch):
    monkeypatch.setattr("sys.stdout", out := Terminal())
    demo._LiveView(quiet=False)([], [])
    assert [line.split()[-1] for line in out.getvalue().splitlines() if line] == list(GRAPH)

"""How far a job is: lines in a pipe, JSON lines for programs, a live view in a terminal; and the report at its end."""

import json
import os
import pty
import re
import select
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from staging.stage import FLEET, answer, raw

from fleet.model.results.jobs import JobProgress
from fleet.surfaces.cli.commands.jobs import progress as job_progress
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT

TEXT = """
name: shown
map:
  isolation: none
  max_parallel: 2
  input: [good, "<b>&bad|", fine]
  steps:
    - shell: 'test -n "{item}" && case {item} in "<"*) echo "no <tags>"; exit 1;; esac'
  retry: {attempts: 1}
"""
COUNTS = {"waiting": 3, "running": 2, "merging": 0, "done": 4, "dead": 1, "skipped": 0, "parked": 0, "total": 10}


@pytest.mark.req("JOB-6")
def test_in_a_pipe_every_change_is_a_line_and_the_end_says_what_to_do_next(either):
    said = either.program("job", "run", either.write(TEXT), "-p", PROJECT)
    assert (said.code, said.err) == (1, "")
    lines = said.out.splitlines()
    ident = re.match(r"job ([0-9a-f]{8}) \(shown\) running, setup$", lines[0])
    assert ident is not None, said
    for label in ("good", "fine"):
        assert len([line for line in lines if re.fullmatch(rf"[0-9a-f]{{12}}  {label}  (running|done)", line)]) == 2
    assert any(re.fullmatch(r"[0-9a-f]{12}  <b>&bad\|  dead: map step 1: exit status 1", line) for line in lines)
    assert lines[-3].endswith("is done; of 3 items 2 done, 1 dead")
    assert lines[-1] == f"  what failed: fleet job dlq list {ident[1]}"
    assert "\033" not in said.out


@pytest.mark.req("JOB-6")
def test_programs_get_an_object_a_line_with_counts_rate_and_time_left(scene):
    said = scene.program("job", "run", scene.write(TEXT), "-p", PROJECT, "--json")
    events = [json.loads(line) for line in said.out.splitlines()]
    progress = [each for each in events if each["event"] == "progress"]
    assert {each["total"] for each in progress} in ({3}, {0, 3})  # during setup there are none yet
    assert (progress[-1]["done"], progress[-1]["dead"], progress[-1]["eta"]) == (2, 1, 0)
    for each in progress:
        assert (
            sum(each[state] for state in ("waiting", "running", "merging", "done", "dead", "skipped", "parked"))
            == each["total"]
        )
    assert events[-1]["event"] == "end"
    assert events[-1]["items"]["done"] == 2


@pytest.mark.req("JOB-6")
def test_one_line_says_how_far_it_is_and_how_long_it_may_take():
    event = JobProgress(job="0a0b0c0d", **COUNTS, rate=0.5, eta=90)
    assert (
        job_progress.progress_line(event)
        == f"{'█' * 15}{'░' * 15} 5/10  4 done  2 running  3 waiting  1 dead  30.0/min  1m left"
    )
    empty = event.replaced(total=0, rate=0.0, eta=None, done=0, dead=0)
    assert job_progress.progress_line(empty).startswith("░" * 30)


@pytest.mark.req("JOB-6")
def test_in_a_terminal_the_view_is_drawn_over_itself_and_failures_stay(scene):
    path = scene.write(TEXT)
    master, slave = pty.openpty()
    with subprocess.Popen([FLEET, "job", "run", path, "-p", PROJECT], env=scene.around(TERM="xterm"), cwd=scene.repository,
                          stdin=subprocess.DEVNULL, stdout=slave, stderr=slave) as live:  # fmt: skip
        os.close(slave)
        shown = read_all(master)
        assert live.wait() == 1
    os.close(master)
    assert re.search(r"\033\[\d+F\033\[J", shown)
    assert "█" * 30 + " 3/3  2 done  1 dead" in shown
    assert shown.count("dead: map step 1: exit status 1") == 1


def read_all(handle: int) -> str:
    """Until the other end is closed."""
    found = b""
    while True:
        select.select([handle], [], [], 60)
        try:
            chunk = os.read(handle, 65_536)
        except OSError:
            return found.decode()
        if not chunk:
            return found.decode()
        found += chunk


class Seen(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data):
        self.text += data


@pytest.mark.req("JOB-6")
def test_the_report_has_a_chart_and_every_item_and_needs_nothing_else(scene):
    done, _events = scene.run(TEXT)
    with scene.jobs() as fleet:
        paths = fleet.jobs.show(done.id).report
    page = Seen()
    page.feed(Path(paths.html).read_text())
    assert page.tags.count("svg") == 1
    assert page.tags.count("polyline") == 2  # done and dead
    assert page.tags.count("tr") == 1 + 3
    assert (page.links, page.tags.count("script")) == ([], 0)
    assert "<b>&bad|" in page.text
    assert "no <tags>" in page.text
    markdown = Path(paths.md).read_text().splitlines()
    assert markdown[0] == f"# shown ({done.id})"
    rows = [line for line in markdown if line.startswith("| ") and not line.startswith("| #")]
    assert len(rows) == 3
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 8 for row in rows)


def test_items_are_listed_shown_and_their_output_told(scene):
    done, _events = scene.run(TEXT)
    listed = scene.program("job", "show", done.id, "--items", "--state", "dead").out
    dead = listed.splitlines()[1].split()[0]
    assert "<b>&bad|" in listed
    assert "no <tags>" in scene.program("job", "logs", "@last", dead[:6]).out
    assert "map step 1: exit status 1" in scene.program("job", "dlq", "show", done.id, dead).out
    assert "  attempt 1, step 1: shell: " in scene.program("job", "show", done.id, dead).out
    assert f"branch      fleet/job-{done.id}" in scene.program("job", "show", done.id[:5]).out
    assert scene.program("job", "show", "nothing").code == 11
    assert scene.program("job", "show", done.id, "nothing").code == 11


SLOW = """
name: slow
map:
  isolation: {isolation}
  max_parallel: 1
  input: [a, b]
  steps:
    - shell: 'touch {{env.OUT}}/{{item}}; while ! test -e {{env.OUT}}/go; do sleep 0.05; done; test {{item}} != b -o -e {{env.OUT}}/mended'
  retry: {{attempts: 1}}
"""


@pytest.mark.parametrize("isolation", ["none", "worktree"])
def test_a_job_that_runs_can_be_cancelled_from_elsewhere(either, tmp_path, isolation):
    path = either.write(SLOW.format(isolation=isolation))
    child = either.start(FLEET, "job", "run", path, "-p", PROJECT, "--set", f"OUT={tmp_path}")
    until((tmp_path / "a").exists)
    with either.jobs() as fleet:
        (job,) = fleet.jobs.list()
        assert "pid=" in fleet.jobs.cancel(job.id, "not wanted").runner
    said = answer(child)
    assert said.code == 1
    assert f"job {job.id} (slow) is cancelled: not wanted" in said.out
    with either.jobs() as fleet:
        assert [agent for agent in fleet.agents.list() if agent["project"] == PROJECT] == []
        assert fleet.world.processes.of_job(job.id) == []
    assert not (tmp_path / "b").exists()
    assert either.leftovers() == []


@pytest.mark.req("JOB-3")
def test_an_item_taken_out_of_the_queue_while_the_job_runs_is_tried_by_that_runner(scene, tmp_path):
    text = SLOW.format(isolation="none").replace("[a, b]", "[b, a]")
    child = scene.start(FLEET, "job", "run", scene.write(text.replace("while !", "while test {item} != b && !")), "-p", PROJECT,
                        "--set", f"OUT={tmp_path}", "--json")  # fmt: skip
    until((tmp_path / "a").exists)
    (tmp_path / "mended").touch()
    with scene.jobs() as fleet:
        (job,) = fleet.jobs.list()
        assert [each.label for each in fleet.jobs.dead_items(job.id)] == ["b"]
        assert fleet.jobs.retry(job.id, (), everything=True).state == "running"
    (tmp_path / "go").touch()
    said = answer(child)
    assert said.code == 0, said.out


@pytest.mark.req("JOB-5")
def test_what_a_runner_did_not_live_to_let_go_is_swept(scene):
    done, _events = scene.run("name: n\nmap:\n  input: [x]\n  steps: [{shell: 'exit 1'}]\n  retry: {attempts: 1}\n")
    slug = f"job-{done.id}-{scene.items(done.id)['x'].id}"
    with scene.jobs() as fleet:
        scene.swept(fleet)
        assert scene.tree(slug).exists()  # it is dead, not over: somebody may want to look at it
        raw(fleet, "UPDATE items SET state = 'skipped' WHERE state = 'dead'")
        scene.swept(fleet)
    assert not scene.tree(slug).exists()


@pytest.mark.req("JOB-3")
def test_the_items_that_failed_are_read_tried_again_and_dropped_as_the_report_says(either):
    ident = either.program("job", "run", either.write(TEXT), "-p", PROJECT, "--json").objects[0]["job"]
    dlq = lambda *words: either.program("job", "dlq", *words)  # noqa: E731
    head, row = dlq("list", ident).ok().out.splitlines()
    assert head.split() == ["ITEM", "LABEL", "STATE", "ATTEMPTS", "REASON"]
    item, *rest = row.split(maxsplit=4)
    assert rest == ["<b>&bad|", "dead", "1", "map step 1: exit status 1 no <tags>"]
    first, attempt, *why, last = dlq("show", ident, item).ok().out.splitlines()
    assert first == f"{item}  <b>&bad|  dead"
    assert re.fullmatch(r"  attempt 1 ended \S+ \S+ UTC \(.+\), dispatch none", attempt)
    assert why[0] == "    map step 1: exit status 1"
    assert last == f"  what it printed: fleet job logs {ident} {item}"
    assert "no <tags>" in either.program("job", "logs", ident, item).ok().out
    said = dlq("retry", ident, item).ok().out
    assert said == f"1 item of job {ident} to be tried again; now: fleet resume {ident}\n"
    assert either.program("resume", ident).code == 1, "it fails again"
    assert dlq("drop", ident, "--all").ok().out.splitlines()[0] == f"1 item of job {ident} dropped"
    assert dlq("list", ident).ok().out == "the queue is empty\n"

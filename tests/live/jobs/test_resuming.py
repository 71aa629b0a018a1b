"""A job whose runner died, was interrupted or lost what it worked with: resumed, every item ends once."""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from cli.commandline import CONFINED
from live.jobs.stage import states
from staging.stage import FLEET, PATIENCE, answer

from fleet.errors.contested import ResumeInProgress
from fleet.errors.refused import NotResumable
from fleet.store import queries as q
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT

# Each item writes that it was begun and that it ended; the gate lets it end.
COUNTED = """
name: counted
map:
  isolation: {isolation}
  max_parallel: 2
  breaker: 0
  input: [a, b, c]
  steps:
    - shell: 'echo "begin {{item}}" >> {{env.OUT}}/log; while ! test -e {{env.OUT}}/go; do sleep 0.05; done; echo "end {{item}}" >> {{env.OUT}}/log'
  retry: {{attempts: 1}}
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path


def _killed(fleet) -> list[object]:
    """Everything that carries a dispatch's id dies, as with the machine; what was still there."""
    found = [who for whom in fleet.world.processes.marks().values() for who in whom]
    fleet.world.processes.kill_all(found)
    return found


def leads(pid: int) -> bool:
    """Whether it is a step itself, not one of the short-lived programs that a step starts."""
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def lines(out: Path) -> list[str]:
    return sorted((out / "log").read_text().splitlines()) if (out / "log").exists() else []


def begun(stage, out: Path, isolation: str, *, at: int):
    """A runner as a process, once so many items are under way; and the job's id."""
    path = stage.write(COUNTED.format(isolation=isolation))
    child = stage.start(FLEET, "job", "run", path, "-p", PROJECT, "--set", f"OUT={out}", "--json")
    assert child.stdout is not None
    ident = json.loads(child.stdout.readline())["job"]
    until(lambda: len(lines(out)) >= at)
    return child, ident


@pytest.mark.req("JOB-5", "RES-11")
@pytest.mark.parametrize("isolation", ["none", "worktree"])
def test_a_runner_killed_in_the_middle_is_resumed_and_every_item_ends_once(either, out, isolation):
    child, ident = begun(either, out, isolation, at=2)
    child.kill()
    child.wait(PATIENCE)
    resumed = either.start(FLEET, "resume", ident, "--json")
    until(lambda: json.loads(resumed.stdout.readline())["event"] == "progress")  # it has looked at the items
    (out / "go").touch()
    with either.jobs() as fleet:
        assert answer(resumed).code == 0
        done = fleet.jobs.show(ident)
    assert (done.state, done.items.done, done.items.total) == ("done", 3, 3)
    ends = [line for line in lines(out) if line.startswith("end")]
    # In worktrees the attempts go on while nobody runs the job; in place they die with their runner and begin again.
    assert set(ends) == {"end a", "end b", "end c"}
    if isolation == "worktree":
        assert lines(out) == ["begin a", "begin b", "begin c", "end a", "end b", "end c"]
        with either.jobs() as fleet:
            assert {each.attempts for each in fleet.jobs.items(ident)} == {1}


@pytest.mark.req("RES-11", "RES-1")
def test_a_job_that_runs_is_not_run_twice(scene, out):
    child, ident = begun(scene, out, "none", at=2)
    with scene.jobs() as fleet:
        with pytest.raises(ResumeInProgress):
            fleet.jobs.resume(ident, lambda _event: None)
        again = scene.asked(COUNTED.format(isolation="none"), id=ident, variables={"OUT": str(out)})
        with pytest.raises(ResumeInProgress):
            fleet.jobs.run(again, lambda _event: None)
        assert fleet.jobs.show(ident).runs
    (out / "go").touch()
    assert answer(child).code == 0


@pytest.mark.req("RES-11")
def test_what_a_dead_runner_had_started_is_ended_before_it_is_begun_again(scene, out):
    child, ident = begun(scene, out, "none", at=2)
    with scene.jobs() as fleet:
        left = [who for who in fleet.world.processes.of_job(ident) if leads(who.pid)]
        assert len(left) == 2
        child.kill()
        child.wait(PATIENCE)
        assert all(fleet.world.processes.life(who) == "alive" for who in left)
        resumed = scene.start(FLEET, "resume", ident)
        until(lambda: len(lines(out)) >= 4)
        assert all(fleet.world.processes.life(who) == "dead" for who in left)
    (out / "go").touch()
    assert answer(resumed).code == 0
    assert [line for line in lines(out) if line.startswith("end")] == ["end a", "end b", "end c"]


@pytest.mark.req("JOB-5")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_job_says_how_to_go_on_and_does(scene, out, number):
    path = scene.write(COUNTED.format(isolation="none"))
    child = scene.start(FLEET, "job", "run", path, "-p", PROJECT, "--set", f"OUT={out}")
    until(lambda: len(lines(out)) >= 2)
    child.send_signal(number)
    said = answer(child)
    assert said.code == 1
    with scene.jobs() as fleet:
        (found,) = fleet.jobs.list()
        assert (found.state, found.reason, found.items.waiting) == ("paused", "interrupted", 3)
        assert fleet.world.processes.of_job(found.id) == []
    assert f"fleet resume {found.id}" in said.out
    (out / "go").touch()
    assert scene.program("resume", found.id).code == 0


@pytest.mark.req("JOB-2", "RES-11")
def test_items_that_changed_between_runs_are_told_apart_by_their_content(either):
    document = "name: n\nmap:\n  isolation: none\n  input: {{command: 'cat {path}'}}\n  steps:\n    - shell: 'echo {{item.id}} >> {out}; test {{item.id}} != fails'\n  retry: {{attempts: 1}}\n"
    path, out = Path(either.root, "list.json"), Path(either.root, "out")
    text = document.format(path=path, out=out)
    path.write_text(json.dumps([{"id": "stays"}, {"id": "fails"}]))
    done, _events = either.run(text, id="0a0b0c0d")
    path.write_text(json.dumps([{"id": "new"}, {"id": "stays"}]))
    again, _events = either.run(text, id="0a0b0c0d")
    assert (done.id, again.id) == ("0a0b0c0d", "0a0b0c0d")
    assert sorted(out.read_text().split()) == ["fails", "new", "stays"], "each ran once"
    assert states(either.items("0a0b0c0d")) == {"stays": "done", "fails": "dead", "new": "done"}
    path.write_text("[]")
    assert either.run(text, id="0a0b0c0d")[0].items.done == 2


@pytest.mark.req("RES-11")
def test_an_item_that_is_not_in_the_input_any_more_is_not_begun(scene):
    text = "name: n\nmap:\n  isolation: none\n  on_failure: stop\n  max_parallel: 1\n  input: {{command: 'cat {path}'}}\n  steps:\n    - shell: 'test {{item}} != bad'\n  retry: {{attempts: 1}}\n"
    path = Path(scene.root, "list")
    path.write_text("bad\ngone\n")
    document = text.format(path=path)
    done, _events = scene.run(document, id="0a0b0c0e")
    assert states(scene.items(done.id)) == {"bad": "dead", "gone": "waiting"}
    path.write_text("other\n")
    scene.run(document, id="0a0b0c0e")
    found = scene.items(done.id)
    assert states(found) == {"bad": "dead", "gone": "skipped", "other": "done"}
    assert found["gone"].reason == "it is not in the input any more"


@pytest.mark.req("RES-11")
def test_a_resume_does_not_need_the_input_or_the_document_any_more(either, out):
    listed = Path(either.root, "list")
    listed.write_text("a\nb\n")
    text = f"name: n\nmap:\n  isolation: none\n  on_failure: stop\n  input: {{command: cat {listed}}}\n  steps:\n    - shell: 'test -e {out}/go'\n  retry: {{attempts: 1}}\n"
    done, _events = either.run(text)
    assert done.state == "failed"
    listed.unlink()
    Path(either.root, "job.yml").unlink()
    (out / "go").touch()
    with either.jobs() as fleet:
        fleet.jobs.retry(done.id, (), everything=True)
    assert either.resume(done.id).items.done == 2


@pytest.mark.req("JOB-1")
def test_an_input_that_is_not_there_is_named_and_looked_for_again(scene):
    done, _events = scene.run(
        "name: n\nmap:\n  isolation: none\n  input: {file: nowhere.json}\n  steps: [{shell: 'true'}]\n"
    )
    assert (done.state, done.phase) == ("failed", "setup")
    assert "the input is not there" in done.reason
    assert f"{scene.root}/nowhere.json" in done.reason
    Path(scene.root, "nowhere.json").write_text('["x"]')
    assert scene.resume(done.id).items.done == 1


@pytest.mark.req("RES-11")
@pytest.mark.parametrize("isolation", ["none", "worktree"])
def test_a_worktree_that_somebody_removed_is_made_anew(scene, out, isolation):
    shell = f"test -e {out}/go && echo {{item}} > {{item}}.txt && git add . && git commit -qm {{item}}"
    text = f"name: n\nmap:\n  isolation: {isolation}\n  on_failure: stop\n  input: [x]\n  steps:\n    - shell: '{shell}'\n  retry: {{attempts: 1}}\n"
    done, _events = scene.run(text)
    slug = f"job-{done.id}-{'setup' if isolation == 'none' else scene.items(done.id)['x'].id}"
    shutil.rmtree(scene.tree(slug))
    (out / "go").touch()
    with scene.jobs() as fleet:
        fleet.jobs.retry(done.id, (), everything=True)
    again = scene.resume(done.id)
    assert (again.state, again.items.done) == ("done", 1), scene.items(done["id"])
    assert scene.git("show", f"{again.branch}:x.txt") == "x"


@pytest.mark.req("JOB-5")
def test_a_full_disk_stops_the_runner_and_loses_nothing(scene, out):
    """No file of the runner's may grow beyond a limit, as on a disk that is full from some moment on."""
    text = COUNTED.format(isolation="none").replace("[a, b, c]", json.dumps([f"i{n}" for n in range(60)]))
    (out / "go").touch()
    with scene.jobs() as fleet:
        fleet.world.tmux.ensure_server()  # not one of the confined
    words = [
        CONFINED,
        "file-size=1500000",
        "--",
        FLEET,
        "job",
        "run",
        scene.write(text),
        "-p",
        PROJECT,
        "--set",
        f"OUT={out}",
    ]
    said = answer(scene.start(sys.executable, *map(str, words)))
    assert said.code == 1, said
    assert "nothing was changed" in said.err
    with scene.jobs() as fleet:
        (found,) = fleet.jobs.list()
        assert (found.state, found.runs) == ("running", False)
        done = fleet.jobs.resume(found.id, lambda _event: None)
    assert (done.state, done.items.done) == ("done", 60)


@pytest.mark.req("RES-11")
def test_attempts_that_the_machine_took_with_it_are_no_failures(either, out):
    """The tmux server and all that ran on it are gone, and nobody knows an exit status."""
    child, ident = begun(either, out, "worktree", at=2)
    child.kill()
    child.wait(PATIENCE)
    with either.jobs() as fleet:
        either.tmux("kill-server")
        until(lambda: not _killed(fleet))
        (out / "go").touch()
        done = fleet.jobs.resume(ident, lambda _event: None)
        assert (done.state, done.items.done) == ("done", 3), list(fleet.jobs.items(ident))
        rows = fleet.store.read(
            lambda snapshot: q.items_page(snapshot, job=ident, state=None, after=0, after_id="", most=9)
        )
        assert {row.failures for row in rows} == {0}


@pytest.mark.req("RES-11")
def test_jobs_that_lost_their_runner_are_listed_and_brought_back_with_all_else(either, out):
    child, ident = begun(either, out, "none", at=2)
    with either.jobs() as fleet:
        assert [each["id"] for each in fleet.dispatches.resumable()] == []  # its runner lives
        child.kill()
        child.wait(PATIENCE)
        (left,) = fleet.dispatches.resumable(PROJECT)
        assert (left.id, left.kind, left.interrupted) == (ident, "job", True)
        (out / "go").touch()
        assert fleet.dispatches.resume_all().jobs == [ident]
        until(lambda: fleet.jobs.show(ident).state == "done" and not fleet.jobs.show(ident).runs)
        assert fleet.dispatches.resumable() == []


@pytest.mark.req("RES-11")
def test_an_attempt_of_a_job_is_not_resumed_beside_it(scene):
    done, _events = scene.run("name: n\nmap:\n  input: [x]\n  steps: [{shell: 'exit 1'}]\n  retry: {attempts: 1}\n")
    with scene.jobs() as fleet, pytest.raises(NotResumable, match=f"it worked for job {done.id}"):
        fleet.dispatches.resume(scene.items(done.id)["x"].dispatch)

"""What a job's runner starts itself is claimed: listed, swept when the runner is proven dead, and never touched while it lives."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from live.jobs.stage import states
from staging.stage import FLEET, PATIENCE, acted, answer, is_alive, raw, standing

from fleet.errors.families import Refused
from fleet.errors.refused import OtherHost, ProjectInUse
from fleet.model.dispatch.claim import Claim
from fleet.store import queries as q
from fleet.testing.crash.scenarios import until
from fleet.testing.scene import PROJECT
from fleet.verbs.jobs.items import inputs

WAIT = "echo $$ >> {env.OUT}/pids; while ! test -e {env.OUT}/go; do sleep 0.05; done"
# The command of the input hangs until it is let go; or the items do.
TEXTS = {
    "input": f"""
name: fed
map:
  isolation: worktree
  input:
    command: '{WAIT}; echo a; echo b'
  steps:
    - shell: 'echo "end {{item}}" >> {{env.OUT}}/log'
""",
    "step": f"""
name: worked
map:
  isolation: none
  max_parallel: 2
  input: [a, b]
  steps:
    - shell: '{WAIT}; echo "end {{item}}" >> {{env.OUT}}/log'
""",
}
COUNT = {"input": 1, "step": 2}
# Drops the mark and the lock, so that only what the runner recorded of it tells who it is.
HIDDEN = """\
import os, sys
os.closerange(3, 1000)
os.execve("/bin/sh", ["/bin/sh", "-c", "echo $$ >> " + sys.argv[1] + "/pids; exec sleep 1000"], {"PATH": os.environ["PATH"]})
"""


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Path]:
    """Where they say who they are; whoever outlives its test does not outlive this."""
    yield tmp_path
    for pid in pids(tmp_path):
        if "fleet-scene-" in place(pid):
            os.kill(pid, signal.SIGKILL)


def place(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def pids(out: Path) -> list[int]:
    return [int(line) for line in (out / "pids").read_text().split()] if (out / "pids").exists() else []


def begun(stage, out: Path, part: str, *, count: int = 0):
    """A runner as a process, once what it starts itself is under way; the job's id; and who that is."""
    path = stage.write(TEXTS.get(part, part))
    child = stage.start(FLEET, "job", "run", path, "-p", PROJECT, "--set", f"OUT={out}", "--json")
    ident = json.loads(child.stdout.readline())["job"]
    until(lambda: len(pids(out)) >= (count or COUNT[part]))
    return child, ident, pids(out)


def killed(child) -> None:
    child.kill()
    child.wait(PATIENCE)


def of_job(fleet, ident: str) -> list[dict]:
    return [each for each in fleet.claims.list("exclusive", "job_process") if each.job == ident]


def about_jobs(findings) -> list:
    return [each for each in findings if each.what.startswith("processes of job")]


@pytest.mark.req("SWEEP-2", "SWEEP-12", "OBS-2", "JOB-5")
@pytest.mark.parametrize("part", ["input", "step"])
def test_what_a_killed_runner_left_running_is_listed_and_swept(either, out, part):
    child, ident, whom = begun(either, out, part)
    killed(child)
    assert all(is_alive(pid) for pid in whom)
    with either.jobs() as fleet:
        (claim,) = of_job(fleet, ident)
        assert (claim.state, claim.dispatch, claim.slug, claim.project) == ("live", None, None, PROJECT)
        shown = fleet.jobs.show(ident).processes
        assert set(whom) <= {each.pid for each in shown}
        assert {each.runner for each in shown} == {"dead"}
        assert [each for each in fleet.views.status().reclaim if ident in each and str(whom[0]) in each]
        (dry,) = about_jobs(fleet.sweep.run(kill=False))
        assert dry.action == "would kill them and release their claim"
        assert all(str(pid) in dry.why for pid in whom)
        assert all(is_alive(pid) for pid in whom)
        (done,) = about_jobs(fleet.sweep.run(kill=True))
        assert done.done, done
        assert not any(is_alive(pid) for pid in whom)
        assert of_job(fleet, ident) == []
        assert about_jobs(fleet.sweep.run(kill=True)) == []
    (out / "go").touch()
    assert either.resume(ident).items.done == 2
    assert sorted((out / "log").read_text().split("\n")) == ["", "end a", "end b"]


@pytest.mark.req("OBS-2")
def test_a_person_sees_what_a_dead_runner_left(scene, out):
    child, ident, (pid,) = begun(scene, out, "input")
    running = scene.program("claims", "list", "exclusive", "job_process").out
    assert f"job {ident}" in running
    killed(child)
    assert f"job {ident}" in scene.program("claims", "list").out
    assert f"pid {pid}, item input, runner dead" in scene.program("job", "show", ident).out
    assert f"job {ident}: " in scene.program("status").out
    assert f"processes of job {ident}" in scene.program("maintenance", "sweep-leaks").out


@pytest.mark.req("SWEEP-8", "SWEEP-12")
@pytest.mark.parametrize("part", ["input", "step"])
@pytest.mark.parametrize("stopped", [False, True], ids=["at work", "stopped"])
def test_a_living_runner_and_what_it_started_are_never_swept(scene, out, part, stopped):
    child, ident, whom = begun(scene, out, part)
    if stopped:
        child.send_signal(signal.SIGSTOP)
    with scene.jobs() as fleet:
        assert about_jobs(fleet.sweep.run(kill=True)) == []
        assert len(of_job(fleet, ident)) == 1
        assert {each.runner for each in fleet.jobs.show(ident).processes} == {"alive"}
        assert not any(ident in each for each in fleet.views.status().reclaim)
    assert all(is_alive(pid) for pid in whom)
    child.send_signal(signal.SIGCONT)
    (out / "go").touch()
    assert answer(child).code == 0
    with scene.jobs() as fleet:
        assert of_job(fleet, ident) == []


@pytest.mark.req("RES-11", "JOB-5")
@pytest.mark.parametrize("part", ["input", "step"])
def test_a_resume_ends_what_a_dead_runner_left_and_every_item_ends_once(either, out, part):
    child, ident, whom = begun(either, out, part)
    killed(child)
    resumed = either.start(FLEET, "resume", ident)
    until(lambda: len(pids(out)) >= 2 * COUNT[part])
    assert not any(is_alive(pid) for pid in whom)
    (out / "go").touch()
    assert answer(resumed).code == 0
    assert states(either.items(ident)) == {"a": "done", "b": "done"}
    assert sorted((out / "log").read_text().split("\n")) == ["", "end a", "end b"]
    with either.jobs() as fleet:
        assert of_job(fleet, ident) == []
        rows = fleet.store.read(q.open_claims)
        assert all(row["job"] is None for row in rows)


@pytest.mark.parametrize("part", ["input", "step"])
def test_a_cancel_ends_what_a_dead_runner_left(either, out, part):
    child, ident, whom = begun(either, out, part)
    killed(child)
    with either.jobs() as fleet:
        assert fleet.jobs.cancel(ident, "not wanted").state == "cancelled"
        assert of_job(fleet, ident) == []
    assert not any(is_alive(pid) for pid in whom)
    assert either.leftovers() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_runner_ends_the_command_of_the_input(scene, out, number):
    child, ident, whom = begun(scene, out, "input")
    child.send_signal(number)
    assert answer(child).code == 1
    assert not any(is_alive(pid) for pid in whom)
    with scene.jobs() as fleet:
        job = fleet.jobs.show(ident)
        assert (job.state, job.phase, job.reason) == ("paused", "setup", "interrupted")
        assert of_job(fleet, ident) == []


def test_a_cancel_from_elsewhere_ends_the_command_of_the_input(scene, out):
    child, ident, whom = begun(scene, out, "input")
    with scene.jobs() as fleet:
        assert fleet.jobs.cancel(ident, "not wanted").runner
    assert answer(child).code == 1
    assert not any(is_alive(pid) for pid in whom)


def test_an_input_that_takes_too_long_is_ended_with_all_it_started(scene, out, monkeypatch):
    monkeypatch.setattr(inputs, "_LIMIT", 0.3)
    text = "name: n\nmap:\n  isolation: none\n  input:\n    command: '{wait}'\n  steps: [{{shell: 'true'}}]\n"
    wait = f'setsid sh -c "echo \\$\\$ > {out}/pids; exec sleep 1000" & sleep 1000'
    done, _events = scene.run(text.format(wait=wait))
    assert (done.state, done.phase) == ("failed", "setup")
    assert "it took longer than 0.3 s and was ended" in done.reason
    assert not any(is_alive(pid) for pid in pids(out))
    with scene.jobs() as fleet:
        assert of_job(fleet, done.id) == []


@pytest.mark.parametrize(
    "start",
    [
        "setsid sh -c 'echo $$ >> {env.OUT}/pids; exec sleep 1000' &",
        "env -i setsid sh -c 'echo $$ >> '{env.OUT}'/pids; exec sleep 1000' &",
    ],
    ids=["marked", "unmarked"],
)
def test_what_a_step_leaves_in_the_background_is_ended_with_the_job(scene, out, start):
    text = f"""
name: n
map:
  isolation: none
  input: [x]
  steps:
    - shell: |
        {start}
        while ! test -s {{env.OUT}}/pids; do sleep 0.02; done
"""
    with scene.jobs() as fleet:
        done = fleet.jobs.run(scene.asked(text, variables={"OUT": str(out)}), lambda _event: None)
        assert done.state == "done"
        assert of_job(fleet, done.id) == []
    assert [is_alive(pid) for pid in pids(out)] == [False]


@pytest.mark.req("SWEEP-12")
def test_a_step_without_mark_and_lock_is_known_by_what_the_runner_recorded(either, out):
    script = out / "hidden.py"
    script.write_text(HIDDEN)
    text = (
        f"name: n\nmap:\n  isolation: none\n  input: [x]\n  steps:\n    - shell: 'exec python3 {script} {{env.OUT}}'\n"
    )
    child, ident, (pid,) = begun(either, out, text, count=1)
    with either.jobs() as fleet:
        until(lambda: of_job(fleet, ident)[0].data["processes"])
        killed(child)
        assert fleet.world.processes.of_job(ident) == []
        (dry,) = about_jobs(fleet.sweep.run(kill=False))
        assert str(pid) in dry.why
        assert about_jobs(fleet.sweep.run(kill=True))[0].done
    assert not is_alive(pid)


@pytest.mark.req("EXC-10")
def test_what_another_host_started_is_left_alone_until_a_person_gives_it_up(scene, out):
    child, ident, (pid,) = begun(scene, out, "input")
    killed(child)
    with scene.jobs() as fleet:
        with pytest.raises(Refused, match="is of this home"):
            fleet.claims.disown(ident, "job_process", "a test")
        raw(fleet, "UPDATE claims SET host = 'elsewhere' WHERE kind = 'job_process'")
        (found,) = about_jobs(fleet.sweep.run(kill=True))
        assert found.standing
        assert "elsewhere" in found.proof
        assert not any(ident in each for each in fleet.views.status().reclaim)
        assert fleet.jobs.show(ident).processes == []
        with pytest.raises(OtherHost, match="elsewhere"):
            fleet.jobs.cancel(ident, "not wanted")
        assert is_alive(pid)
        assert fleet.claims.disown(ident, "job_process", "that machine is gone").count == 1
        assert fleet.jobs.cancel(ident, "not wanted").state == "cancelled"
    assert not is_alive(pid)


@pytest.mark.req("EXC-10")
def test_a_job_of_a_home_that_is_gone_is_taken_over_with_its_claims(either, out):
    child, ident, (pid,) = begun(either, out, "input")
    killed(child)
    with either.jobs() as fleet:
        raw(fleet, f"UPDATE jobs SET home = 'gone' WHERE id = '{ident}'")
        raw(fleet, "UPDATE claims SET home = 'gone' WHERE kind = 'job_process'")
        assert [each.standing for each in about_jobs(fleet.sweep.run(kill=True))] == [True]
        with pytest.raises(OtherHost):
            fleet.jobs.cancel(ident, "not wanted")
        assert is_alive(pid)
        assert len(fleet.homes.disown(ident, "that home is gone").claims) == 1
        assert of_job(fleet, ident) == []
        assert fleet.jobs.cancel(ident, "not wanted").state == "cancelled"
    assert not is_alive(pid)


def unjudged(fleet) -> Claim:
    """Nothing can be said of the runner any more: it is of another machine. The claim as it was."""
    (row,) = fleet.store.read(q.open_claims_of_jobs)
    claim = Claim.of(row)
    runner = "/".join(["another-machine", *claim.data["runner"].split("/")[1:]])
    raw(fleet, f"UPDATE claims SET data = '{json.dumps(claim.data | {'runner': runner})}' WHERE id = '{claim.id}'")
    return claim


@pytest.mark.req("SWEEP-7")
def test_a_runner_that_cannot_be_judged_is_left_alone(scene, out):
    child, ident, (pid,) = begun(scene, out, "input")
    killed(child)
    with scene.jobs() as fleet:
        claim = unjudged(fleet)
        assert standing(about_jobs(fleet.sweep.run(kill=True))) != []
        done = fleet.jobs.resume(ident, lambda _event: None)
        assert (done.state, str(pid) in done.reason) == ("failed", True)
        assert is_alive(pid)
        raw(fleet, f"UPDATE claims SET data = '{json.dumps(claim.data)}' WHERE id = '{claim.id}'")
        assert acted(fleet.sweep.run(kill=True)) != []
    assert not is_alive(pid)


@pytest.mark.req("RES-11")
def test_a_job_whose_runner_cannot_be_judged_goes_on_when_nobody_holds_its_lock(scene, out):
    child, ident, whom = begun(scene, out, "step")
    with scene.jobs() as fleet:
        killed(child)
        fleet.world.processes.kill_all(fleet.world.processes.of_job(ident))
        until(lambda: not any(is_alive(pid) for pid in whom))
        unjudged(fleet)
        (out / "go").touch()
        assert fleet.jobs.resume(ident, lambda _event: None).items.done == 2
        assert of_job(fleet, ident) == []


@pytest.mark.req("SWEEP-12")
def test_processes_of_a_job_that_nobody_claimed_are_swept_too(scene, out):
    """Started by a fleet that did not claim them, or in a database that was restored since."""
    child, _ident, (pid,) = begun(scene, out, "input")
    with scene.jobs() as fleet:
        raw(fleet, "DELETE FROM claims WHERE kind = 'job_process'")
        assert about_jobs(fleet.sweep.run(kill=True)) == []
        assert is_alive(pid)
        killed(child)
        (found,) = about_jobs(fleet.sweep.run(kill=True))
        assert (found.done, found.proof) == (True, "nobody holds the job's gate")
    assert not is_alive(pid)


def test_a_project_is_not_removed_while_what_a_runner_started_may_run(either, out):
    child, ident, _whom = begun(either, out, "input")
    killed(child)
    with either.jobs() as fleet:
        with pytest.raises(ProjectInUse, match="1 job"):
            fleet.projects.remove(PROJECT, with_tasks=True)
        fleet.jobs.cancel(ident, "not wanted")
        either.swept(fleet)
        fleet.projects.remove(PROJECT, with_tasks=True)
        assert fleet.jobs.list() == []
        fleet.projects.register(either.repository, PROJECT)

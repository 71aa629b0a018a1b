"""A job that waits for a held engine says so, with until when; paused and failed jobs are in the status."""

from pathlib import Path

import pytest

from fleet.api.views.sections import job_in_words
from fleet.model.results.jobs import JobProgress
from fleet.model.text.times import HOUR
from fleet.store import queries as q
from fleet.store.transaction import Change
from fleet.surfaces.cli.commands.jobs import progress, show
from fleet.surfaces.cli.commands.views import status
from fleet.testing.simulated.scene import SimulatedScene
from fleet.verbs.jobs import records

SOURCE = "name: modernise\nmap:\n  engine: claude\n  input: [a, b]\n  steps:\n    - agent: do it\n"
COUNTS = {"waiting": 2, "running": 0, "merging": 0, "done": 0, "dead": 0, "skipped": 0, "parked": 0, "total": 2}
JOB = "0a0b0c0d"


def begin_job(scene: SimulatedScene, source: str = SOURCE) -> None:
    fleet = scene.fleet
    new = records.NewJob(
        id=JOB,
        project="p",
        name="modernise",
        source=source,
        folder="/",
        parameters={},
        home=fleet.context.world.record.id,
    )
    fleet.commit(records.create(new, ()))


def hold_engine(scene: SimulatedScene, until: int | None) -> None:
    reason, kind = ("You've hit your limit", "limit") if until else ("not logged in", "login")
    scene.fleet.commit(
        Change("hold", lambda tx: q.hold_engine(tx, engine="claude", kind=kind, reason=reason, until=until, at=tx.at))
    )


@pytest.mark.req("JOB-6", "LIMIT-1")
def test_a_job_that_waits_for_a_limit_says_until_when(scene):
    begin_job(scene)
    assert scene.fleet.jobs.show(JOB).waits is None
    hold_engine(scene, scene.clock.now() + HOUR)
    waits = scene.fleet.jobs.show(JOB).waits
    assert waits.startswith("claude is held back until ")
    assert waits.endswith(" UTC (You've hit your limit)")
    scene.clock.wait(2 * 3600)
    assert scene.fleet.jobs.show(JOB).waits is None, "the time has passed"


@pytest.mark.req("JOB-6", "LIMIT-1")
def test_a_job_that_waits_for_a_login_says_so(scene):
    begin_job(scene)
    hold_engine(scene, None)
    assert scene.fleet.jobs.show(JOB).waits == "claude is held back until somebody logs in (not logged in)"


@pytest.mark.req("JOB-6", "OBS-3")
@pytest.mark.parametrize("state", ["paused", "failed"])
def test_a_job_that_stopped_is_in_the_status_with_the_command_that_continues_it(scene, state, capsys):
    begin_job(scene)
    scene.fleet.commit(records.end(JOB, state, "the disk is full"))
    page = scene.fleet.views.status()
    assert [(job.id, job.state, job.reason) for job in page.jobs] == [(JOB, state, "the disk is full")]
    status._print_page(page, scene.clock.now())
    assert (
        f"Jobs 1\n  fleet resume {JOB}  modernise (p)  {state}, 0 of 0 items: the disk is full\n"
        in capsys.readouterr().out
    )
    scene.fleet.commit(records.begin(JOB))
    scene.fleet.commit(records.end(JOB, "done", None))
    assert scene.fleet.views.status().jobs == []


@pytest.mark.req("JOB-6")
def test_a_job_is_shown_in_sentences(scene, capsys):
    begin_job(scene)
    scene.fleet.commit(records.end(JOB, "paused", "the disk is full"))
    show._print_job(scene.fleet.jobs.show(JOB), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"job {JOB} (modernise) of p is paused, phase setup: the disk is full"
    assert "  items       0 in all" in lines
    assert lines[-1] == f"  continue: fleet resume {JOB}   end: fleet job cancel {JOB}"
    assert not any(character in "\n".join(lines) for character in "{}[]")


@pytest.mark.req("JOB-6")
def test_the_screen_of_a_job_says_what_it_waits_for_once(capsys):
    event = JobProgress(job=JOB, **COUNTS, rate=0.0, eta=None, waits="claude is held back until noon")
    lines = progress.ProgressLines()
    for each in (event, event, event.replaced(waits=None), event):
        lines(each)
    said = f"job {JOB} waits: claude is held back until noon\n"
    assert capsys.readouterr().out == said * 2
    progress.Live()(event)
    assert said in capsys.readouterr().out


def test_the_state_of_a_job_in_one_word(scene):
    begin_job(scene)
    job = scene.fleet.jobs.show(JOB)
    assert job_in_words(job) == "interrupted"
    assert job_in_words(job.replaced(runs=True)) == "running"
    assert job_in_words(job.replaced(runs=True, waits="x")) == "waiting"
    assert job_in_words(job.replaced(state="failed")) == "failed"


@pytest.mark.req("JOB-6", "OBS-3")
def test_a_job_of_a_project_whose_settings_cannot_be_read_is_shown_all_the_same(scene):
    begin_job(scene, SOURCE.replace("  engine: claude\n", ""))
    hold_engine(scene, None)
    Path(scene.repository, "fleet.toml").write_text("engine = [")
    assert [(job.id, job.waits) for job in scene.open().views.status().jobs] == [(JOB, None)]
    Path(scene.repository, "fleet.toml").write_text("")
    assert [job.id for job in scene.open().views.status().jobs] == [JOB]

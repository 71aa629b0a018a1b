"""`fleet up` starts the daemon, which holds the coordinator's seat; `fleet down` ends it when nothing needs it any more."""

import os
import signal
import subprocess

import pytest

from fleet.testing.crash.scenarios import until

BEGIN = ("up", "--engine", "scripted", "--autonomy", "full", "--review", "none", "--no-tui")


@pytest.fixture
def repository(repository):
    subprocess.run(["git", "commit", "--quiet", "--allow-empty", "-m", "first"], cwd=repository, check=True)
    return repository


@pytest.mark.req("CLI-2")
def test_up_starts_the_daemon_and_the_coordinator_in_it_and_down_ends_both(program):
    program(*BEGIN).ok()
    daemon = program("daemon", "status", "--json").ok().json
    assert daemon["running"] is True
    (coordinator,) = program("ps", "--json").ok().json
    assert (coordinator["kind"], coordinator["source"]) == ("coord", "daemon")
    assert program(*BEGIN).ok().code == 0
    assert program("daemon", "status", "--json").ok().json["pid"] == daemon["pid"]
    said = program("down").ok().out
    assert "the daemon is ended" in said
    assert program("daemon", "status", "--json").ok().json["running"] is False


@pytest.mark.req("GATE-6", "IPC-6")
def test_a_daemon_that_ends_says_who_has_no_coordinator_and_the_next_one_has_taken_the_seat(program):
    program(*BEGIN).ok()
    (first,) = program("ps", "--json").ok().json
    again = program("daemon", "restart", "--json").ok().json
    (second,) = program("ps", "--json").ok().json
    assert (again["unheld"], second["detail"], second["state"]) == ([], f"daemon, pid {again['pid']}", "running")
    assert second["id"] != first["id"]
    says = f"without a coordinator now: {second['project']}; `fleet daemon start`"
    assert says in program("daemon", "stop").ok().out
    assert says in program("daemon", "status").ok().out
    assert program("daemon", "start").ok().out.count("\n") == 1
    os.kill(program("daemon", "status", "--json").ok().json["pid"], signal.SIGTERM)
    until(lambda: not program("daemon", "status", "--json").ok().json["running"])
    assert program("daemon", "status", "--json").ok().json["unheld"] == [second["project"]]
    program("daemon", "start").ok()
    program("down").ok()


@pytest.mark.req("CLI-2")
def test_up_starts_no_daemon_where_the_settings_say_never(program, home, tmux):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('daemon = "never"\n')
    program(*BEGIN).ok()
    assert program("daemon", "status", "--json").ok().json["running"] is False
    (coordinator,) = program("ps", "--json").ok().json
    assert coordinator["source"] != "daemon"
    program("down").ok()


@pytest.mark.req("OBS-6")
def test_doctor_says_whether_a_daemon_runs(program):
    program("init").ok()
    found = {each["about"]: each for each in program("doctor", "--json").json}
    assert "fleet daemon start" in found["daemon"]["says"]
    pid = program("daemon", "start", "--json").ok().json["pid"]
    found = {each["about"]: each for each in program("doctor", "--json").json}
    assert found["daemon"]["says"] == f"runs as process {pid}"
    program("daemon", "stop").ok()


@pytest.mark.req("IPC-4")
def test_a_daemon_that_cannot_serve_its_home_says_why_at_once(program, home):
    program("init").ok()
    (home / "daemon.sock").mkdir()
    program("daemon", "start").refused(1, "the daemon did not start", "daemon.sock is in the way")

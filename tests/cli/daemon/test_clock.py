"""A real daemon whose clock is set a year ahead and back while it serves."""

import os

import pytest
from staging.daemon import RunningDaemon

# Python loads it before anything else: the clock of the process is wrong by as many seconds as a file says.
_SHIFTED = """
import time
_now = time.time
def _shifted():
    with open({path!r}) as file:
        return _now() + int(file.read())
time.time = _shifted
"""
_YEAR = 365 * 24 * 3600


@pytest.mark.req("IPC-4")
def test_requests_are_answered_and_the_seat_is_kept_while_the_clock_is_a_year_ahead_and_after(fleet, tmp_path):
    shift = tmp_path / "shift"
    shift.write_text("0")
    (tmp_path / "sitecustomize.py").write_text(_SHIFTED.format(path=str(shift)))
    fleet("task", "add", "A", "--slug", "a").ok()
    with RunningDaemon(fleet.home, PYTHONPATH=str(tmp_path)) as daemon:
        fleet.has_daemon = True
        fleet("coord", "start", "--engine", "fleet").ok()
        (holder,) = fleet("ps", "--json").ok().json
        for number, seconds in enumerate((_YEAR, 0)):
            _set(shift, seconds)
            fleet("task", "log", "a", f"line {number}").ok()
            assert fleet("task", "list", "--json").ok().json[0]["slug"] == "a"
            status = daemon.call("daemon.status")
            assert [duty["name"] for duty in status["duties"] if duty["state"] == "failing"] == []
            assert (status["unheld"], fleet("ps", "--json").ok().json[0]["id"]) == ([], holder["id"])
        first, second = fleet("task", "show", "a", "--json").ok().json["log"][-2:]
        assert (first["message"], second["message"]) == ("line 0", "line 1")
        assert first["at"] > second["at"], "its clock was ahead"
        fleet("coord", "stop").ok()


def _set(path, seconds: int) -> None:
    """Set the clock in one step: nobody reads half a number."""
    new = path.with_name("new")
    new.write_text(str(seconds))
    os.replace(new, path)

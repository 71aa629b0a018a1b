"""A real daemon notices deaths and reboots by itself."""

import os
import signal
from pathlib import Path

import pytest
from live.duties.daemons import Daemon
from live.resume.test_after_a_reboot import reboot
from staging.speaking import scripted
from staging.stage import status_of

from fleet.store import queries as q
from fleet.testing.crash.scenarios import until
from fleet.verbs.views.operations import FOREVER

SLEEP = ("sleep", "1000")


@pytest.mark.req("EXC-2")
def test_an_agent_that_dies_is_settled_although_tmux_gives_no_hint(either, daemon):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", *SLEEP)
        who = either.launched(fleet, ident)
        either.without_hint(fleet)
        os.kill(who.pid, signal.SIGKILL)
        until(lambda: status_of(fleet, "t")[0] == "failed")
        assert daemon.lives()


@pytest.mark.req("RES-12")
def test_the_daemon_resumes_what_a_reboot_interrupted_if_the_setting_says_so(either):
    with either.fleet() as fleet:
        ident = either.dispatch(fleet, "t", *SLEEP)
        either.launched(fleet, ident)
        reboot(either, fleet, ident)
        asks = Daemon(either)
        until(lambda: status_of(fleet, "t") == ("blocked", "interrupted"))
        asks.stop()
        assert [each.id for each in fleet.dispatches.resumable()] == [ident], "by default a person is asked"
        settings = Path(either.home, "config.toml")
        settings.write_text(f"resume_on_boot = true\n{settings.read_text()}")
        resumes = Daemon(either)
        until(lambda: status_of(fleet, "t")[0] == "in_progress")
        (new,) = [agent.id for agent in fleet.agents.list()]
        either.launched(fleet, new)
        assert fleet.dispatches.show(new).predecessor == ident
        resumes.stop()


@pytest.mark.req("IPC-2", "ASK-1")
def test_the_daemon_records_what_hooks_tell_and_their_agent_gets_its_answer(either, daemon):
    with either.fleet() as fleet:
        ident = scripted(either, fleet, "ask rm -rf build", "hang")
        until(fleet.messages.questions)
        assert either.program("approve", "t").code == 0
        either.shows(fleet, ident, 'verdict {"behavior": "allow"}')
        rows = fleet.store.read(lambda each: q.operations_to_rotate(each, before=FOREVER, most=500))
        keys = [row.key for row in rows if row.why.startswith(("hook ", "answer taken"))]
        assert [key for key in keys if ":" not in key] == [], "each is a step of a request that the daemon was asked"
        assert len(keys) >= 3

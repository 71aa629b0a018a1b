"""What happens around a running daemon: the disk fills, the database server breaks its connections, others write beside it."""

import resource
import subprocess
import sys

import psycopg
import pytest
from cli.commandline import FLEET

from fleet.api.fleet import Fleet


def log_of(command_line, slug="a"):
    return [entry["message"] for entry in command_line.show(slug)["log"]]


@pytest.mark.req("IPC-1", "STORE-10")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux sets the limits of another process")
def test_on_a_full_disk_a_change_is_refused_and_the_daemon_goes_on_when_there_is_room(fleet, served):
    fleet.add("a")
    fleet("task", "log", "a", "before").ok()
    before = resource.prlimit(served.pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    fleet("task", "log", "a", "meanwhile").refused(1, "nothing was changed")
    fleet("task", "list").ok()
    resource.prlimit(served.pid, resource.RLIMIT_FSIZE, before)
    fleet("task", "log", "a", "after").ok()
    assert log_of(fleet) == ["before", "after"]
    assert served.process.poll() is None


@pytest.mark.req("IPC-2")
@pytest.mark.parametrize("store_url_kind", ["postgres"], indirect=True)
def test_a_database_server_that_ends_all_connections_costs_no_change(either, daemon, store_url):
    either.add("a")
    for number in range(4):
        either("task", "log", "a", f"line {number}").ok()
        with psycopg.connect(store_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
    assert log_of(either) == [f"line {number}" for number in range(4)]
    assert daemon.call("daemon.status")["running"] is True


@pytest.mark.req("IPC-1")
@pytest.mark.slow("two crowds")
def test_direct_writers_beside_the_daemon_get_their_turn_and_nothing_is_lost(either, daemon):
    either.add("a")
    script = 'for n in 1 2 3 4 5 6 7 8; do "$0" task log a "$1 $n" -p web >/dev/null || exit 1; done'
    ways = {"direct": {"FLEET_DIRECT": "1"}, "through": {}}
    with Fleet.open() as fleet:
        around = {"FLEET_HOME": fleet.home, "PATH": "/usr/bin:/bin", "USER": "ann"}
    crowd = [
        subprocess.Popen(["sh", "-c", script, str(FLEET), f"{way} {number}"], env=around | more, cwd=either.where)
        for way, more in ways.items()
        for number in range(3)
    ]
    assert [child.wait(100) for child in crowd] == [0] * 6
    expected = {f"{way} {number} {line}" for way in ways for number in range(3) for line in range(1, 9)}
    written = log_of(either)
    assert (set(written), len(written)) == (expected, len(expected))

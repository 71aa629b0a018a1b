"""What happens around a running daemon: the disk fills, the database server goes away, others write beside it."""

import resource
import subprocess
import sys
import time
from threading import Event
from types import SimpleNamespace

import psycopg
import pytest
from cli.commandline import FLEET
from staging.daemon import RunningDaemon

from fleet import errors
from fleet.api.fleet import Fleet
from fleet.model.agents.actors import Caller
from fleet.store import queries as q
from fleet.store.registry import open_store
from fleet.surfaces.daemon.serving import changes
from fleet.surfaces.daemon.writer import WaitingChange, Writer
from fleet.testing.crash.scenarios import until
from fleet.testing.postgres import ThrowawayPostgres
from fleet.verbs.projects.register import register
from fleet.world.funnel import Funnel

AWAY = "does not answer"


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


@pytest.fixture
def server():
    """A PostgreSQL server of the test's own, which can be ended and started again."""
    with ThrowawayPostgres(lives=2) as running:
        yield running


@pytest.fixture
def writer(home, server):
    """A writer in front of a home on that server, held back until `start`."""
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f'store = "{server.url()}"\n')
    Fleet.open(str(home)).close()
    return Writer(lambda: open_store(str(home), Funnel()), longest=60.0)


def end_after_commit(store, server) -> None:
    """Let the store's next commit be done, and let the server be gone before its answer is heard."""

    def deaf() -> None:
        type(store)._commit(store)
        store._in_doubt = True
        server.end()
        store._db.execute("SELECT 1")

    store._commit = deaf


def wish(writer: Writer, key: str, outcomes: dict, *, reads_first: bool = False) -> WaitingChange:
    """A request that registers a project."""
    change = register(name=f"p-{key}", path=f"/repositories/{key}")

    def act() -> object:
        if reads_first:
            writer.read(q.all_projects)
        return writer.transact(change.why, change.work, Caller(actor="ann", at=1, key=f"{key}:step"), *change.request)

    return WaitingChange(act, lambda done: outcomes.update({key: done.error or done.result}), key=key)


@pytest.mark.req("IPC-2", "STORE-16")
def test_a_commit_before_the_server_went_away_is_not_told_as_a_change_that_was_not_made(writer, server, home):
    outcomes: dict = {}
    store = writer._opened()
    end_after_commit(store, server)
    writer.submit(wish(writer, "k1", outcomes))
    writer.submit(wish(writer, "k2", outcomes, reads_first=True))
    writer.start()
    writer.stop()
    for key in ("k1", "k2"):
        assert isinstance(outcomes[key], errors.OutcomeUnknown), outcomes[key]
        assert f"--key {key}," in outcomes[key].next_step
    server.begin_again()
    again = Writer(lambda: open_store(str(home), Funnel()))
    for key in ("k1", "k2"):
        again.submit(wish(again, key, outcomes))
    again.start()
    again.stop()
    assert not any(isinstance(outcome, BaseException) for outcome in outcomes.values())
    check = open_store(str(home), Funnel())
    done = check.read(lambda rows: q.operations_after(rows, after=0, until=1 << 60, most=1 << 60))
    check.close()
    assert sorted(each.why for each in done) == ["register project p-k1", "register project p-k2"]


@pytest.mark.req("IPC-2")
def test_a_server_that_went_away_before_the_commit_has_changed_nothing(writer, server):
    outcomes: dict = {}
    store = writer._opened()

    def ended() -> None:
        type(store).open_shared(store)
        server.end()

    store.open_shared = ended
    writer.submit(wish(writer, "k1", outcomes))
    writer.start()
    writer.stop()
    assert isinstance(outcomes["k1"], errors.StoreUnreachable)


# away for longer -----------------------------------------------------------------------------------------------------
@pytest.fixture
def on_server(program, home, server):
    """The program at a home on that server, with a task; a daemon that the test leaves is ended."""
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f'store = "{server.url()}"\n')
    program("init").ok()
    program("task", "add", "A", "--slug", "a").ok()
    yield program
    program("daemon", "stop")


def store_finding(fleet) -> dict:
    """What doctor says about the store; it finds the daemon too."""
    findings = {each["about"]: each for each in fleet("doctor", "--json").json}
    assert findings["daemon"]["says"].startswith("runs as process")
    return findings["store"]


@pytest.mark.req("IPC-4", "OBS-6")
@pytest.mark.slow("a server of its own, and a dozen commands")
def test_while_the_database_is_away_the_daemon_says_so_and_it_goes_on_when_it_is_back(on_server, home, server):
    fleet = on_server
    pid = fleet("daemon", "start", "--json").ok().json["pid"]
    daemon = RunningDaemon(home)
    server.end()

    told = fleet("daemon", "status", "--json").ok().json
    assert (told["pid"], told["running"], told["unheld"]) == (pid, True, [])
    assert AWAY in told["store_error"]
    assert AWAY in fleet("daemon", "status").ok().out
    assert AWAY in daemon.call("daemon.status")["store_error"]
    for metrics in (daemon.call("daemon.metrics"), fleet("status", "--metrics").ok().out):
        assert "fleet_store_up 0" in metrics
        assert "fleet_daemon_requests_total" in metrics
        assert "fleet_tasks" not in metrics
    found = store_finding(fleet)
    assert (found["ok"], AWAY in found["says"]) == (False, True)
    fleet("task", "log", "a", "lost").refused(1, AWAY)

    again = fleet("daemon", "restart").ok().out
    assert AWAY in again
    assert f"process {pid})" not in again
    stopped = fleet("daemon", "stop").ok().out
    assert "has ended" in stopped
    assert AWAY in stopped
    assert AWAY in fleet("daemon", "status").ok().out
    started = fleet("daemon", "start", "--json").ok().json
    assert (started["running"], AWAY in started["store_error"]) == (True, True)

    server.begin_again()
    until(lambda: daemon.call("daemon.status")["store_error"] is None)
    assert store_finding(fleet)["ok"] is True
    assert "fleet_store_up 1" in daemon.call("daemon.metrics")
    fleet("task", "log", "a", "back").ok()
    assert [each["message"] for each in fleet("task", "show", "a", "--json").ok().json["log"]] == ["back"]
    assert fleet("daemon", "status", "--json").ok().json["pid"] == started["pid"]


class Home:
    """A home whose store is away, and which counts how often it was looked for."""

    def __init__(self) -> None:
        self.is_away = True
        self.looks = 0
        # A store that is cut off answers nothing until this is set.
        self.answers = Event()
        self.answers.set()

    def open(self):
        self.looks += 1
        self.answers.wait(60)
        if self.is_away:
            raise errors.StoreUnreachable(url="postgresql", why=f"no answer to look {self.looks}")
        return SimpleNamespace(store=SimpleNamespace(read=lambda _query: 0))

    def forget(self, _error) -> None:
        """Close nothing."""

    def leave(self) -> None:
        """Close nothing."""


@pytest.fixture
def looking(monkeypatch):
    """The part of the daemon that looks for changes, on such a home; it looks often."""
    monkeypatch.setattr(changes, "_LOOK", 0.001)
    monkeypatch.setattr(changes, "_APART", 0.001)
    monkeypatch.setattr(changes, "PATIENCE", 0.01)
    home, logged = Home(), []
    said = lambda event, **_why: logged.append(event)  # noqa: E731
    part = changes.ChangeFeed(home, send=print, tell=print, lost=print, log=said)
    yield part, home, logged
    home.answers.set()
    part.stop(time.monotonic() + 60)


@pytest.mark.req("IPC-4")
def test_a_store_that_is_away_is_logged_once_and_once_when_it_is_back(looking):
    part, home, logged = looking
    part.start()
    until(lambda: home.looks > 5)
    assert logged == ["cannot read what changed"]
    assert "no answer to look" in part.store_error()
    home.is_away = False
    until(lambda: part.store_error() is None)
    assert logged == ["cannot read what changed", "reads what changed again"]


@pytest.mark.req("IPC-4")
def test_a_store_that_never_answers_does_not_keep_the_status_waiting(looking):
    part, home, _logged = looking
    home.answers.clear()
    part.start()
    assert part.store_error() == "the store has not answered for 0.01 s"
    home.answers.set()
    until(lambda: "no answer to look" in (part.store_error() or ""))

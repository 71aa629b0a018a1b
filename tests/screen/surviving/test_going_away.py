"""The screen never waits for tmux, git or the store. When one of them goes away it says so, and it comes back by itself."""

import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest
from screen.driving import sit_down
from staging.daemon import RunningDaemon

from fleet.api.fleet import Fleet
from fleet.surfaces.tui.feeds.loader import Loader
from fleet.surfaces.tui.feeds.repeating import Repeating
from fleet.surfaces.tui.pages.timeline import TimelinePage
from fleet.testing.crash.scenarios import until
from fleet.world.tmux import LIMIT

WORKS = "say hello there\nhang"


@pytest.mark.req("TUI-5")
def test_a_store_that_goes_away_is_said_and_comes_back(scene):
    with scene.fleet() as fleet:
        fleet.tasks.add(project="p", title="Here before", slug="before")

    async def act(person):
        await person.sees("before")
        os.rename(scene.home, f"{scene.home}.away")
        await person.sees("fleet cannot be read", "what you see is of", "trying again")
        assert "before" in person.text, "what was known stays"
        await person.presses("j", "k")
        assert "before" in person.text
        os.rename(f"{scene.home}.away", scene.home)
        with scene.fleet() as fleet:
            fleet.tasks.add(project="p", title="Here after", slug="after")
        await person.sees("after")
        await person.until(lambda: "cannot be read" not in person.text, "no trouble")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-5")
def test_a_tmux_that_does_not_answer_is_said_and_the_keys_still_work(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "works", engine="scripted", script=WORKS)
        scene.launched(fleet, ident)
        server = scene.server(fleet)

    async def act(person):
        await person.goes_to("p/works")
        await person.sees("hello there")
        os.kill(server, signal.SIGSTOP)
        try:
            slowest = 0.0
            for _ in range(20):
                started = time.monotonic()
                await person.presses("k", "j")
                slowest = max(slowest, time.monotonic() - started)
            assert slowest < 4, "tmux is given five seconds, a key never waits for it"
            await person.sees("tmux does not answer")
            await person.presses("o")
            await person.is_told("tmux did not answer")
            assert "there is no session" not in person.told
            assert "nothing was kept" not in person.text
        finally:
            os.kill(server, signal.SIGCONT)
        await person.until(lambda: "tmux does not answer" not in person.text, "no trouble")
        await person.goes_to("p/works")
        await person.sees("hello there")

    sit_down(scene.home, act)


@pytest.mark.req("TUI-5")
def test_a_snapshot_waits_once_for_a_tmux_that_hangs(scene):
    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "works", engine="scripted", script=WORKS)
        scene.launched(fleet, ident)
        server = scene.server(fleet)
        os.kill(server, signal.SIGSTOP)
        try:
            started = time.monotonic()
            snapshot = fleet.views.snapshot()
            took = time.monotonic() - started
        finally:
            os.kill(server, signal.SIGCONT)
        assert snapshot.tmux
        assert took < LIMIT + 3, "one call that tmux does not answer, not one after the other"
        until(lambda: not fleet.views.snapshot().tmux)


def let_daemon(scene, wanted: str) -> None:
    """Write into the settings whether `fleet up` starts a daemon."""
    settings = Path(scene.home, "config.toml")
    settings.write_text(re.sub(r"(?m)^daemon = .*$", f'daemon = "{wanted}"', settings.read_text()))


@pytest.mark.req("TUI-5")
def test_a_daemon_that_dies_is_said_here_and_in_status_until_one_runs_again(scene):
    line = "the daemon of this home has died"
    let_daemon(scene, "up")
    with RunningDaemon(Path(scene.home)) as daemon, scene.fleet() as fleet:

        async def act(person):
            await person.sees("coordinator")
            assert line not in person.text
            daemon.kill()
            await person.sees(line, "`fleet daemon start`")
            assert line in scene.program("status").out
            assert line in fleet.views.status("p").daemon
            let_daemon(scene, "never")
            assert fleet.views.status().daemon == "", "nobody wants one, and no coordinator misses it"
            daemon.start()
            await person.until(lambda: line not in person.text, "no trouble")

        sit_down(scene.home, act)
        daemon.stop()
        assert fleet.views.status().daemon == "", "whoever stops it knows"


@pytest.mark.req("TUI-5")
def test_nothing_of_the_screen_reads_in_its_own_thread(scene, monkeypatch):
    mine, opened = threading.get_ident(), []
    really = Fleet.open.__func__

    def spy(cls, *words, **given):
        opened.append(threading.get_ident())
        return really(cls, *words, **given)

    with scene.fleet() as fleet:
        ident = scene.dispatch(fleet, "works", engine="scripted", script=WORKS)
        scene.launched(fleet, ident)
    monkeypatch.setattr(Fleet, "open", classmethod(spy))

    async def act(person):
        await person.goes_to("p/works")
        for _ in range(5):
            await person.presses("tab")
        await person.presses("g")
        await person.sees("Graph of p", "works")
        await person.presses("q", "t")
        await person.sees("Timeline")
        await person.presses("q")

    sit_down(scene.home, act)
    assert opened
    assert mine not in opened


@pytest.mark.req("TUI-5")
def test_whatever_a_snapshot_raises_is_reported_and_the_next_one_is_taken(scene, monkeypatch):
    lost, loaded, calls = [], [], []
    done = threading.Event()

    def changes_of(fleet):
        calls.append(fleet)
        if len(calls) == 1:
            raise ZeroDivisionError("a fault of fleet")
        return fleet.views.changes()

    loader = Loader(
        scene.home,
        loaded=lambda snapshot: (loaded.append(snapshot), done.set()),
        lost=lost.append,
        changes_of=changes_of,
    )
    loader.start()
    assert done.wait(60)
    loader.stop()
    loader.join(60)
    assert lost == ["ZeroDivisionError: a fault of fleet"]
    assert loaded


class Waiting:
    """A source of changes in which nothing changes, and for which nobody waits any more after an act of the person."""

    def __init__(self) -> None:
        self.act = None
        self.was_wanted = []

    def next_change(self, _after, _timeout, *, wanted) -> None:
        self.was_wanted.append(wanted())
        self.act()
        self.was_wanted.append(wanted())

    def close(self) -> None:
        pass


@pytest.mark.req("TUI-5")
@pytest.mark.parametrize("act", ["hurry", "stop"])
def test_a_wait_for_a_change_ends_when_the_person_acts_or_leaves(scene, act):
    loaded, lost, is_loaded_again = [], [], threading.Event()

    def take(snapshot) -> None:
        loaded.append(snapshot)
        if len(loaded) > 1:
            is_loaded_again.set()

    changes = Waiting()
    loader = Loader(scene.home, loaded=take, lost=lost.append, changes_of=lambda _fleet: changes)
    changes.act = getattr(loader, act)
    loader.start()
    if act == "hurry":
        assert is_loaded_again.wait(60)
        loader.stop()
    loader.join(60)
    assert not loader.is_alive()
    assert (changes.was_wanted[:2], lost) == ([True, False], [])


@pytest.mark.req("TUI-5")
def test_whoever_leaves_just_before_a_snapshot_does_not_wait_for_one(scene, monkeypatch):
    loaded, lost = [], []
    loader = Loader(scene.home, loaded=loaded.append, lost=lost.append, changes_of=lambda _fleet: Waiting())
    clear = loader._hurry.clear

    def stop_and_clear() -> None:
        loader.stop()
        clear()

    monkeypatch.setattr(loader._hurry, "clear", stop_and_clear)
    loader.run()
    assert (loaded, lost) == ([], [])


@pytest.mark.req("TUI-5")
def test_a_page_says_why_its_lines_cannot_be_read_and_shows_them_as_soon_as_they_can_be(scene, monkeypatch):
    monkeypatch.setitem(Repeating.__init__.__kwdefaults__, "every", 0.01)
    fetch, is_broken = TimelinePage.fetch, threading.Event()

    def fetch_or_fail(page, fleet):
        if is_broken.is_set():
            raise ZeroDivisionError("a fault of fleet")
        return fetch(page, fleet)

    monkeypatch.setattr(TimelinePage, "fetch", fetch_or_fail)
    is_broken.set()

    async def act(person):
        await person.sees("coordinator")
        await person.presses("t")
        await person.sees("ZeroDivisionError: a fault of fleet")
        is_broken.clear()
        await person.sees("no agent has worked in this time")
        assert "a fault of fleet" not in person.text

    sit_down(scene.home, act)


def test_what_a_stopped_page_still_fetches_is_not_shown(scene):
    begun, goes_on, shown, failed = threading.Event(), threading.Event(), [], []

    def fetch(_fleet):
        begun.set()
        assert goes_on.wait(60)
        return "late"

    feed = Repeating(scene.home, fetch, shown=shown.append, failed=failed.append)
    feed.start()
    assert begun.wait(60)
    feed.stop()
    goes_on.set()
    feed.join(60)
    assert (feed.is_alive(), shown, failed) == (False, [], [])


def test_a_change_is_shown_without_waiting_for_the_next_look(scene):
    async def act(person):
        await person.sees("coordinator")
        with scene.fleet() as fleet:
            fleet.tasks.add(project="p", title="New work", slug="fresh")
            seq = fleet.operations.newest()
        await person.sees("fresh")
        assert person.app.board.snapshot.seq == seq

    sit_down(scene.home, act)
